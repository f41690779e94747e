//! Where a person writes: a small editor of several lines. The model is pure, [`Composer::handle`] takes a gesture and
//! says what came of it; [`ComposerView`] draws it.

mod bindings;
mod chips;
mod completion;
mod files;
mod fuzzy;
mod kills;
mod layout;
mod recall;
#[cfg(test)]
mod tests;
mod text;
mod undo;
mod view;

pub use completion::{Candidate, Completion, Token, TokenKind};
pub use files::{Files, list};
pub use fuzzy::rank;
pub use view::{CompletionView, ComposerView};

use chips::{Chips, harmless};
use kills::{Direction, Kills};
use layout::Layout;
use recall::Recall;
use text::Text;
use undo::{Edit, Undo};

use std::sync::Arc;

use ratatui::layout::Position;

use crate::keymap::KeyMap;

/// What came of a gesture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: the gesture means nothing here, or there was nothing to do. The caller may use it otherwise.
    Ignored,
    /// The text, the caret or the list of completions is another.
    Changed,
    /// This is to be sent, with every folded paste in its place. The composer is empty again.
    Submit(String),
}

/// What was done last, where the next step depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Other,
    Cut,
    /// What was put in begins here.
    PutIn(usize),
}

/// The editor: its text, and all that its keys remember.
#[derive(Debug)]
pub struct Composer {
    keys: Arc<KeyMap>,
    text: Text,
    chips: Chips,
    undo: Undo,
    recall: Recall,
    kills: Kills,
    last: Last,
    /// The column that up and down keep to, while only they are used.
    goal: Option<usize>,
    completion: Option<Completion>,
    /// Where the token begins whose completions a person has closed.
    dismissed: Option<usize>,
    ghost: String,
    /// As drawn last; up and down go by the rows that a person sees.
    width: u16,
    /// The first row that is shown.
    scroll: usize,
}

impl Default for Composer {
    fn default() -> Self {
        Self {
            keys: Arc::default(),
            text: Text::default(),
            chips: Chips::default(),
            undo: Undo::default(),
            recall: Recall::default(),
            kills: Kills::default(),
            last: Last::Other,
            goal: None,
            completion: None,
            dismissed: None,
            ghost: String::new(),
            width: u16::MAX,
            scroll: 0,
        }
    }
}

impl Composer {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty one with these key bindings.
    #[must_use]
    pub fn with_keys(keys: Arc<KeyMap>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// The whole text, with every folded paste in its place.
    #[must_use]
    pub fn text(&self) -> String {
        self.chips.expand(self.text.content())
    }

    /// Whether there is no text at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.content().is_empty()
    }

    /// Puts another text in place of this one; it can be undone.
    pub fn set_text(&mut self, text: &str) {
        self.undo.record(Edit::Single, &self.text);
        self.text = Text::new(harmless(text));
        self.settle();
    }

    /// Empties the composer; it can be undone. Says whether there was anything.
    pub fn clear(&mut self) -> bool {
        if self.is_empty() {
            return false;
        }
        self.set_text("");
        true
    }

    /// Inserts at the caret, as typed.
    pub fn insert(&mut self, typed: &str) {
        let typed = harmless(typed);
        if typed.is_empty() {
            return;
        }
        if typed.starts_with(char::is_whitespace) {
            self.undo.pause();
        }
        self.undo.record(Edit::Typing, &self.text);
        self.text.insert(&typed);
        self.settle();
    }

    /// Inserts at the caret, as pasted: one step to undo, and a chip if it is large.
    pub fn paste(&mut self, pasted: &str) {
        let pasted = self.chips.fold(harmless(pasted));
        if pasted.is_empty() {
            return;
        }
        self.undo.record(Edit::Single, &self.text);
        self.text.insert(&pasted);
        self.settle();
    }

    /// What the caret is in that can be completed; `None` also while its list is closed by a person.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        self.token_at_caret().filter(|token| self.dismissed != Some(token.start))
    }

    /// Offers what the token at the caret may become; call it after each change with the candidates for
    /// [`token`](Self::token). Those that do not match are left out, and without any the list is closed.
    pub fn offer(&mut self, candidates: &[Candidate]) {
        let chosen = self.completion.take().and_then(Completion::into_chosen);
        self.completion = self.token().and_then(|token| Completion::new(token, candidates));
        if let (Some(completion), Some(chosen)) = (&mut self.completion, chosen) {
            completion.choose(&chosen);
        }
    }

    /// The list of completions, if one is open.
    #[must_use]
    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }

    /// Puts the selected candidate in place of the token. Says whether there was one.
    pub fn accept(&mut self) -> bool {
        let Some((token, replacement)) = self.completion.take().and_then(Completion::accept) else {
            return false;
        };
        self.undo.record(Edit::Single, &self.text);
        self.text.remove(token.start..token.end);
        self.text.insert(&replacement);
        self.settle();
        true
    }

    /// A hint shown behind the text, such as a command's arguments; empty for none.
    pub fn set_ghost(&mut self, ghost: &str) {
        ghost.clone_into(&mut self.ghost);
    }

    /// Where the caret stands if all rows are shown at this width, counted from the upper left corner with the prompt.
    #[must_use]
    pub fn cursor_in(&self, width: u16) -> Position {
        let (row, column) = self.layout(width).position(self.text.caret());
        let x = layout::PROMPT_WIDTH.saturating_add(column);
        Position::new(u16::try_from(x).unwrap_or(u16::MAX), u16::try_from(row).unwrap_or(u16::MAX))
    }

    /// Fits the composer into this width and at most this height: returns the height that it takes, and sees to it that
    /// the caret is within. Call it before drawing.
    pub fn fit(&mut self, width: u16, most: u16) -> u16 {
        self.width = width;
        let layout = self.layout(width);
        let (rows, (caret, _)) = (layout.rows(), layout.position(self.text.caret()));
        let height = rows.min(usize::from(most.max(1)));
        self.scroll = self.scroll.clamp((caret + 1).saturating_sub(height), caret).min(rows - height);
        u16::try_from(height).unwrap_or(most)
    }

    fn layout(&self, width: u16) -> Layout {
        Layout::new(self.text.content(), &self.chips, width)
    }

    /// After every edit.
    fn settle(&mut self) {
        self.last = Last::Other;
        self.goal = None;
        self.completion = None;
        self.ghost.clear();
        let start = self.token_at_caret().map(|token| token.start);
        self.dismissed = self.dismissed.filter(|dismissed| Some(*dismissed) == start);
    }

    fn token_at_caret(&self) -> Option<Token> {
        completion::token(self.text.content(), self.text.caret())
    }

    fn go_to(&mut self, caret: usize) -> Outcome {
        if caret == self.text.caret() {
            return Outcome::Ignored;
        }
        self.text.place(caret);
        self.undo.pause();
        self.settle();
        Outcome::Changed
    }

    fn delete(&mut self, from: usize, to: usize) -> Outcome {
        if from == to {
            return Outcome::Ignored;
        }
        self.undo.record(Edit::Deleting, &self.text);
        self.text.remove(from..to);
        self.settle();
        Outcome::Changed
    }

    /// Deletes, and keeps what was deleted to be put in again.
    fn cut(&mut self, from: usize, to: usize) -> Outcome {
        if from == to {
            return Outcome::Ignored;
        }
        let direction = if to == self.text.caret() { Direction::Back } else { Direction::Forward };
        let goes_on = self.last == Last::Cut;
        self.undo.record(Edit::Single, &self.text);
        let cut = self.text.remove(from..to);
        self.settle();
        self.kills.push(cut, direction, goes_on);
        self.last = Last::Cut;
        Outcome::Changed
    }

    fn put_in(&mut self) -> Outcome {
        let Some(cut) = self.kills.newest() else { return Outcome::Ignored };
        self.put(&cut)
    }

    /// Another cut in place of the one just put in.
    fn put_in_older(&mut self) -> Outcome {
        let Last::PutIn(start) = self.last else { return Outcome::Ignored };
        let Some(cut) = self.kills.older() else { return Outcome::Ignored };
        self.undo.undo(&mut self.text);
        self.text.place(start);
        self.put(&cut)
    }

    fn put(&mut self, cut: &str) -> Outcome {
        let start = self.text.caret();
        self.undo.record(Edit::Single, &self.text);
        self.text.insert(cut);
        self.settle();
        self.last = Last::PutIn(start);
        Outcome::Changed
    }

    fn undo(&mut self) -> Outcome {
        let changed = self.undo.undo(&mut self.text);
        self.settle();
        if changed { Outcome::Changed } else { Outcome::Ignored }
    }

    fn redo(&mut self) -> Outcome {
        let changed = self.undo.redo(&mut self.text);
        self.settle();
        if changed { Outcome::Changed } else { Outcome::Ignored }
    }

    fn up(&mut self) -> Outcome {
        match self.row_beside(-1) {
            Some(caret) => self.go_along(caret),
            None => self.show(|recall, text| recall.previous(text)),
        }
    }

    fn down(&mut self) -> Outcome {
        match self.row_beside(1) {
            Some(caret) => self.go_along(caret),
            None => self.show(|recall, text| recall.next(text)),
        }
    }

    /// The place in the row above or below, in the column that was left last by anything but up and down.
    fn row_beside(&mut self, rows: isize) -> Option<usize> {
        let layout = self.layout(self.width);
        let (row, column) = layout.position(self.text.caret());
        let goal = *self.goal.get_or_insert(column);
        layout.offset(row.checked_add_signed(rows)?, goal)
    }

    fn go_along(&mut self, caret: usize) -> Outcome {
        let goal = self.goal;
        let outcome = self.go_to(caret);
        self.goal = goal;
        outcome
    }

    fn show(&mut self, page: impl FnOnce(&mut Recall, &Text) -> Option<Text>) -> Outcome {
        let Some(text) = page(&mut self.recall, &self.text) else { return Outcome::Ignored };
        self.text = text;
        self.undo.forget();
        self.settle();
        Outcome::Changed
    }

    /// Enter: a backslash before the caret makes it a line break; blanks alone are not sent.
    fn submit(&mut self) -> Outcome {
        if self.text.before().ends_with('\\') {
            let caret = self.text.caret();
            self.undo.record(Edit::Single, &self.text);
            self.text.remove(caret - 1..caret);
            self.text.insert("\n");
            self.settle();
            return Outcome::Changed;
        }
        if self.text.content().trim().is_empty() {
            return Outcome::Ignored;
        }
        let text = self.text();
        self.recall.push(self.text.content().to_owned());
        self.text = Text::default();
        self.undo.forget();
        self.settle();
        Outcome::Submit(text)
    }
}
