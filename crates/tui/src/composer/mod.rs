//! Composer: a small multi-line editor for messages. [`Composer::handle`] takes a gesture and returns its outcome
//! without any I/O, and [`ComposerView`] draws the composer.

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

pub use completion::{Completion, CompletionCandidate, CompletionToken, TokenKind};
pub use files::{FileListLimits, list};
pub use fuzzy::rank;
pub use view::{CompletionView, ComposerView};

use chips::{PasteChips, sanitized};
use kills::{CutDirection, KillRing};
use layout::ComposerLayout;
use recall::InputHistory;
use text::EditableText;
use undo::{EditKind, UndoHistory};

use std::sync::Arc;

use ratatui::layout::Position;

use crate::keymap::KeyMap;

/// Effect of a gesture on the composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComposerOutcome {
    /// The gesture had no effect on the composer. The caller may handle it.
    Ignored,
    /// The text, the caret or the completion list changed.
    Changed,
    /// Text that the user submitted, with folded pastes expanded. The composer is now empty.
    Submit(String),
}

/// Last edit, for commands that depend on it: consecutive cuts are joined, and only a yank can be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastEdit {
    Other,
    Cut,
    /// Text was yanked and inserted at this offset.
    Yanked(usize),
}

/// Editor for one message: the text with caret, undo history, kill ring and input history.
#[derive(Debug)]
pub struct Composer {
    keys: Arc<KeyMap>,
    text: EditableText,
    chips: PasteChips,
    undo: UndoHistory,
    recall: InputHistory,
    kills: KillRing,
    last: LastEdit,
    /// Column that Up and Down try to reach in each row when pressed repeatedly.
    goal_column: Option<usize>,
    completion: Option<Completion>,
    /// Start of the token for which the user has closed the completion list.
    dismissed: Option<usize>,
    ghost: String,
    /// Width of the composer when last drawn. Up and Down move by the rows of this width.
    width: u16,
    /// Index of the first visible row.
    scroll: usize,
}

impl Default for Composer {
    fn default() -> Self {
        Self {
            keys: Arc::default(),
            text: EditableText::default(),
            chips: PasteChips::default(),
            undo: UndoHistory::default(),
            recall: InputHistory::default(),
            kills: KillRing::default(),
            last: LastEdit::Other,
            goal_column: None,
            completion: None,
            dismissed: None,
            ghost: String::new(),
            width: u16::MAX,
            scroll: 0,
        }
    }
}

impl Composer {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty composer with these key bindings.
    #[must_use]
    pub fn with_keys(keys: Arc<KeyMap>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// Returns the whole text, with folded pastes expanded.
    #[must_use]
    pub fn text(&self) -> String {
        self.chips.expand(self.text.content())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.content().is_empty()
    }

    /// Replaces the text. The user can undo this.
    pub fn set_text(&mut self, text: &str) {
        self.undo.record(EditKind::Single, &self.text);
        self.text = EditableText::new(sanitized(text));
        self.after_edit();
    }

    /// Clears the composer. Returns false if it was already empty. The user can undo this.
    pub fn clear(&mut self) -> bool {
        if self.is_empty() {
            return false;
        }
        self.set_text("");
        true
    }

    /// Inserts typed text at the caret.
    pub fn insert(&mut self, typed: &str) {
        let typed = sanitized(typed);
        if typed.is_empty() {
            return;
        }
        if typed.starts_with(char::is_whitespace) {
            self.undo.pause();
        }
        self.undo.record(EditKind::Typing, &self.text);
        self.text.insert(&typed);
        self.after_edit();
    }

    /// Inserts pasted text at the caret, as one undo step. A large paste is folded into a chip.
    pub fn paste(&mut self, pasted: &str) {
        let pasted = self.chips.fold(sanitized(pasted));
        if pasted.is_empty() {
            return;
        }
        self.undo.record(EditKind::Single, &self.text);
        self.text.insert(&pasted);
        self.after_edit();
    }

    /// Returns the token at the caret; `None` if there is no token or the user has closed its completion list.
    #[must_use]
    pub fn token(&self) -> Option<CompletionToken> {
        self.token_at_caret().filter(|token| self.dismissed != Some(token.start))
    }

    /// Shows the candidates that match the token at the caret. Call this after each change with the candidates for
    /// [`token`](Self::token). If no candidate matches, the completion list closes.
    pub fn offer(&mut self, candidates: &[CompletionCandidate]) {
        let chosen = self.completion.take().and_then(Completion::into_chosen);
        self.completion = self.token().and_then(|token| Completion::new(token, candidates));
        if let (Some(completion), Some(chosen)) = (&mut self.completion, chosen) {
            completion.choose(&chosen);
        }
    }

    /// Returns the completion list, if it is open.
    #[must_use]
    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }

    /// Replaces the token with the selected candidate. Returns false if the completion list is closed.
    pub fn accept(&mut self) -> bool {
        let Some((token, replacement)) = self.completion.take().and_then(Completion::accept) else {
            return false;
        };
        self.undo.record(EditKind::Single, &self.text);
        self.text.remove(token.start..token.end);
        self.text.insert(&replacement);
        self.after_edit();
        true
    }

    /// Sets the dim hint after the text, such as the arguments of a command. An empty string removes the hint.
    pub fn set_ghost(&mut self, ghost: &str) {
        ghost.clone_into(&mut self.ghost);
    }

    /// Returns the position of the caret relative to the upper left corner of a composer of this width that is high
    /// enough to show all rows. The prompt counts as part of the first row.
    #[must_use]
    pub fn cursor_in(&self, width: u16) -> Position {
        let (row, column) = self.layout(width).position(self.text.caret());
        let x = layout::PROMPT_WIDTH.saturating_add(column);
        Position::new(u16::try_from(x).unwrap_or(u16::MAX), u16::try_from(row).unwrap_or(u16::MAX))
    }

    /// Sets the width of the composer, scrolls to the caret, and returns the height that the composer needs, at most
    /// `most`. Call this before drawing.
    pub fn fit(&mut self, width: u16, most: u16) -> u16 {
        self.width = width;
        let layout = self.layout(width);
        let (rows, (caret, _)) = (layout.rows(), layout.position(self.text.caret()));
        let height = rows.min(usize::from(most.max(1)));
        self.scroll = self.scroll.clamp((caret + 1).saturating_sub(height), caret).min(rows - height);
        u16::try_from(height).unwrap_or(most)
    }

    fn layout(&self, width: u16) -> ComposerLayout {
        ComposerLayout::new(self.text.content(), &self.chips, width)
    }

    /// Resets the state that an edit invalidates.
    fn after_edit(&mut self) {
        self.last = LastEdit::Other;
        self.goal_column = None;
        self.completion = None;
        self.ghost.clear();
        let start = self.token_at_caret().map(|token| token.start);
        self.dismissed = self.dismissed.filter(|dismissed| Some(*dismissed) == start);
    }

    fn token_at_caret(&self) -> Option<CompletionToken> {
        completion::token(self.text.content(), self.text.caret())
    }

    fn go_to(&mut self, caret: usize) -> ComposerOutcome {
        if caret == self.text.caret() {
            return ComposerOutcome::Ignored;
        }
        self.text.place(caret);
        self.undo.pause();
        self.after_edit();
        ComposerOutcome::Changed
    }

    fn delete(&mut self, from: usize, to: usize) -> ComposerOutcome {
        if from == to {
            return ComposerOutcome::Ignored;
        }
        self.undo.record(EditKind::Deleting, &self.text);
        self.text.remove(from..to);
        self.after_edit();
        ComposerOutcome::Changed
    }

    /// Deletes the text in a range and stores it in the kill ring.
    fn cut(&mut self, from: usize, to: usize) -> ComposerOutcome {
        if from == to {
            return ComposerOutcome::Ignored;
        }
        let direction = if to == self.text.caret() { CutDirection::Back } else { CutDirection::Forward };
        let continues = self.last == LastEdit::Cut;
        self.undo.record(EditKind::Single, &self.text);
        let cut = self.text.remove(from..to);
        self.after_edit();
        self.kills.push(cut, direction, continues);
        self.last = LastEdit::Cut;
        ComposerOutcome::Changed
    }

    fn yank(&mut self) -> ComposerOutcome {
        let Some(cut) = self.kills.newest() else { return ComposerOutcome::Ignored };
        self.insert_yanked(&cut)
    }

    /// Replaces the text that was just yanked with the next older cut.
    fn yank_older(&mut self) -> ComposerOutcome {
        let LastEdit::Yanked(start) = self.last else { return ComposerOutcome::Ignored };
        let Some(cut) = self.kills.older() else { return ComposerOutcome::Ignored };
        self.undo.undo(&mut self.text);
        self.text.place(start);
        self.insert_yanked(&cut)
    }

    fn insert_yanked(&mut self, cut: &str) -> ComposerOutcome {
        let start = self.text.caret();
        self.undo.record(EditKind::Single, &self.text);
        self.text.insert(cut);
        self.after_edit();
        self.last = LastEdit::Yanked(start);
        ComposerOutcome::Changed
    }

    fn undo(&mut self) -> ComposerOutcome {
        let changed = self.undo.undo(&mut self.text);
        self.after_edit();
        if changed { ComposerOutcome::Changed } else { ComposerOutcome::Ignored }
    }

    fn redo(&mut self) -> ComposerOutcome {
        let changed = self.undo.redo(&mut self.text);
        self.after_edit();
        if changed { ComposerOutcome::Changed } else { ComposerOutcome::Ignored }
    }

    fn up(&mut self) -> ComposerOutcome {
        match self.row_beside(-1) {
            Some(caret) => self.go_along(caret),
            None => self.show(|recall, text| recall.previous(text)),
        }
    }

    fn down(&mut self) -> ComposerOutcome {
        match self.row_beside(1) {
            Some(caret) => self.go_along(caret),
            None => self.show(|recall, text| recall.next(text)),
        }
    }

    /// Returns the offset in the text that is `rows` rows below the caret; a negative number means above. The column is
    /// as near as possible to the column where the vertical movement began. Returns `None` if there is no such row.
    fn row_beside(&mut self, rows: isize) -> Option<usize> {
        let layout = self.layout(self.width);
        let (row, column) = layout.position(self.text.caret());
        let goal = *self.goal_column.get_or_insert(column);
        layout.offset(row.checked_add_signed(rows)?, goal)
    }

    fn go_along(&mut self, caret: usize) -> ComposerOutcome {
        let goal = self.goal_column;
        let outcome = self.go_to(caret);
        self.goal_column = goal;
        outcome
    }

    fn show(&mut self, page: impl FnOnce(&mut InputHistory, &EditableText) -> Option<EditableText>) -> ComposerOutcome {
        let Some(text) = page(&mut self.recall, &self.text) else { return ComposerOutcome::Ignored };
        self.text = text;
        self.undo.forget();
        self.after_edit();
        ComposerOutcome::Changed
    }

    /// Handles Enter: submits the text, unless it is blank. If a backslash precedes the caret, replaces the backslash
    /// with a line break instead.
    fn submit(&mut self) -> ComposerOutcome {
        if self.text.before().ends_with('\\') {
            let caret = self.text.caret();
            self.undo.record(EditKind::Single, &self.text);
            self.text.remove(caret - 1..caret);
            self.text.insert("\n");
            self.after_edit();
            return ComposerOutcome::Changed;
        }
        if self.text.content().trim().is_empty() {
            return ComposerOutcome::Ignored;
        }
        let text = self.text();
        self.recall.push(self.text.content().to_owned());
        self.text = EditableText::default();
        self.undo.forget();
        self.after_edit();
        ComposerOutcome::Submit(text)
    }
}
