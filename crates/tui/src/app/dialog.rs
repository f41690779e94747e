//! Dialog of the open question, and the progress of answering it. If several questions are open, the dialog shows the
//! oldest one that has not been answered in this UI.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wh_core::input::{Gesture, KeyPress};
use wh_core::space::ItemId;
use wh_core::space::item::Item;
use wh_core::space::question::{Answer, OptionMeaning, Question};
use wh_core::space::state::SpaceState;
use wh_core::terminal::Size;

use super::reading::ReadProgress;
use super::time_left;
use crate::composer::{Composer, ComposerOutcome};
use crate::panes::QuestionText;

/// Grace period for typing. A question that opens while the user types receives input only after a pause of this
/// length. Prevents accidental answers.
pub(super) const TYPING_GRACE: Duration = Duration::from_millis(500);

const CHOOSE_HINT: &str = "Choose by number, or with ↑ ↓ and Enter; Esc interrupts";

/// Hint shown if a gesture has no effect while the user must confirm an answer.
const CONFIRM_HINT: &str = "Choose by number, or with ↑ ↓ and Enter; Esc goes back";

/// Hint shown for an answer that grants a permission before the end of the question was shown.
const UNREAD_HINT: &str = "Scroll to the end first: End jumps there, Ctrl+O opens the full text";

/// Choices offered when the user must confirm an answer. Only the last choice grants the permission, and none is
/// preselected.
pub(crate) const CONFIRMATIONS: [&str; 3] = ["Back", "Open the full text", "Allow without seeing the rest"];

/// Effect of a gesture on the dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DialogOutcome {
    /// The dialog does not handle the gesture.
    Nothing,
    /// The selection or the text in the field changed.
    Changed,
    /// The user answered this question.
    Answer(ItemId, Answer),
    /// The user must confirm the answer.
    Confirm,
    /// The user asked for the full text of this question.
    Open(ItemId),
    /// The gesture has no effect in the dialog. Contains a hint for the status bar.
    Hint(&'static str),
}

#[derive(Debug, Default)]
pub(crate) struct Dialog {
    shown: Option<ItemId>,
    /// Index of the highlighted entry. The text field has the index after the last option.
    pub(crate) selected: Option<usize>,
    /// Text field for a free-text answer.
    pub(crate) field: Composer,
    /// Index of the first visible line of the question's text.
    pub(crate) scroll: usize,
    /// Maximum value of `scroll`, as last drawn.
    pub(crate) max_scroll: usize,
    /// Text of the question, as last drawn.
    pub(crate) text: Option<Arc<QuestionText>>,
    /// True if the last frame had no room for the options. The options cannot be chosen until a frame shows them.
    pub(crate) hidden: bool,
    /// Progress of showing the question, for answers that grant a permission.
    pub(crate) read_progress: ReadProgress,
    /// Index of the entry to highlight in the next frame, if that entry can be selected then. Set when the question
    /// opens and after a resize.
    preselected: Option<usize>,
    /// Answer that the user must confirm, because it grants a permission.
    pub(crate) confirming: Option<PendingConfirmation>,
    /// Questions that were answered in this UI but are still open in the mirrored state.
    answered: BTreeSet<ItemId>,
    /// Time of the first frame that showed the question; `None` if no frame has shown it yet.
    drawn: Option<SystemTime>,
    /// True if the user has selected the question with Tab or a click.
    question_focused: bool,
    /// Time until which typing goes to the composer. Cleared by the first frame after that time.
    draft_until: Option<SystemTime>,
    /// Time until which answers are ignored, because an answer may be meant for the previous content of the dialog.
    /// Cleared by the first frame after that time.
    ignore_until: Option<SystemTime>,
    /// Time at which the last question closed; `None` if another question followed it.
    closed: Option<SystemTime>,
}

/// Answer that grants a permission although the question was not shown completely. The user must confirm the answer.
#[derive(Debug)]
pub(crate) struct PendingConfirmation {
    answer: Answer,
    /// Index of the highlighted entry in [`CONFIRMATIONS`].
    pub(crate) selected: Option<usize>,
}

impl Dialog {
    /// Returns the question to show, and the number of open questions that have not been answered in this UI.
    pub(crate) fn current<'a>(&self, state: &'a SpaceState) -> Option<(&'a Arc<Item>, &'a Question, usize)> {
        let mut waiting = state.questions().filter(|item| !self.answered.contains(&item.id));
        let item = waiting.next()?;
        Some((item, item.open_question()?, 1 + waiting.count()))
    }

    /// Returns true if the dialog shows a question.
    pub(crate) fn is_open(&self) -> bool {
        self.shown.is_some()
    }

    /// Returns true if the dialog shows this question.
    pub(crate) fn shows(&self, question: &ItemId) -> bool {
        self.shown.as_ref() == Some(question)
    }

    /// Returns true if the entry at index `place` can be selected. Options that grant a permission can be selected only
    /// after the end of the question has been shown.
    pub(crate) fn selectable(&self, question: &Question, place: usize) -> bool {
        match question.options.get(place) {
            Some(option) => self.read_progress.is_complete() || !option.meaning.grants(),
            None => takes_text(question) && place == question.options.len(),
        }
    }

    /// Records that a frame shows the question. `end` is true if the last line of the question's text is visible.
    pub(crate) fn displayed(&mut self, question: &Question, end: bool) {
        if end {
            self.read_progress.show_end();
        }
        let preselected = self.preselected.take().filter(|place| self.selectable(question, *place));
        self.selected = self.selected.or(preselected);
    }

    /// Sets the size of the terminal. After a resize, answers that grant a permission are rejected until a frame has
    /// shown the end of the question again.
    pub(crate) fn resize(&mut self, size: Size, state: &SpaceState, now: SystemTime) {
        if !self.read_progress.resize(size) {
            return;
        }
        if self.confirming.take().is_some() {
            // A digit that is meant to confirm an answer must not choose an option.
            self.ignore_answers(now);
        }
        let Some((_, question, _)) = self.current(state) else { return };
        if let Some(place) = self.selected.filter(|place| !self.selectable(question, *place)) {
            (self.selected, self.preselected) = (None, Some(place));
        }
    }

    /// Returns true if the text field for a free-text answer has the focus.
    pub(crate) fn in_field(&self, question: &Question) -> bool {
        self.is_open()
            && self.confirming.is_none()
            && takes_text(question)
            && self.selected == Some(question.options.len())
    }

    /// Returns true if typing goes to the composer, because the user was typing when the question opened.
    pub(crate) fn typing_to_draft(&self) -> bool {
        self.draft_until.is_some()
    }

    /// Returns true if answers are ignored, because the content of the dialog has just changed.
    pub(crate) fn ignores_answers(&self) -> bool {
        self.ignore_until.is_some()
    }

    /// Records that a frame is drawn. Ends each guard period (`draft_until`, `ignore_until`) that is over. Returns the
    /// time until the next guard period ends; `None` if no period is active. Only a frame ends a guard period, because
    /// queued input was typed before the user could see the change.
    pub(crate) fn frame(&mut self, now: SystemTime) -> Option<Duration> {
        if self.drawn.is_some() || self.shown.is_none() {
            self.draft_until = self.draft_until.filter(|until| *until > now);
            self.ignore_until = self.ignore_until.filter(|until| *until > now);
        } else {
            self.drawn = Some(now);
            self.draft_until = self.draft_until.map(|until| until.max(now + TYPING_GRACE));
        }
        [self.draft_until, self.ignore_until].into_iter().filter_map(|until| time_left(until, now)).min()
    }

    /// Returns true if a gesture is for the composer although a question is open: the user was typing when the question
    /// opened, or cannot have read the question yet. `drafting` is true if the composer contains text. If the composer
    /// is empty, digits and Enter go to the question. After the first frame, text of several characters also goes to
    /// the question, because only programs send such text.
    pub(crate) fn goes_to_draft(&self, gesture: &Gesture, drafting: bool, now: SystemTime) -> bool {
        if self.draft_until.is_some() || self.question_focused || self.ignore_until.is_some() {
            return self.draft_until.is_some();
        }
        let begins = match (gesture, self.drawn) {
            (Gesture::Text(typed), Some(_)) => is_one_key(typed) && !is_number(typed),
            (Gesture::Text(typed), None) => !is_number(typed),
            (Gesture::Paste(_), None) => true,
            _ => false,
        };
        self.drawn.is_none_or(|drawn| drawn + TYPING_GRACE > now) && (drafting || begins)
    }

    /// Returns true for a gesture that could answer the question before a frame has shown it.
    pub(crate) fn answers_unseen(&self, gesture: &Gesture) -> bool {
        self.drawn.is_none() && is_answer(gesture)
    }

    /// Shows the next question if the current question is closed or was answered in this UI. `writing` is the time of
    /// the last edit in the composer.
    pub(crate) fn follow_state(&mut self, state: &SpaceState, writing: Option<SystemTime>, now: SystemTime) {
        self.answered.retain(|id| state.items.get(id).is_some_and(|item| item.open_question().is_some()));
        let follows = self.shown.is_some();
        let next = self.current(state).map(|(item, question, _)| {
            // If this question replaces another question, no option is highlighted. An Enter that is meant for the
            // previous question then does not answer this question.
            let selected = first(question).filter(|_| !follows || question.options.is_empty());
            (Arc::clone(item), selected, question.options.is_empty())
        });
        let id = next.as_ref().map(|(item, ..)| item.id.clone());
        let changed = next.as_ref().is_some_and(|(item, ..)| self.read_progress.follow(item));
        let text_only = next.as_ref().is_some_and(|(_, _, text_only)| *text_only);
        let selected = next.and_then(|(_, selected, _)| selected);
        if changed {
            self.confirming = None;
        }
        if self.shown == id {
            if changed && !text_only {
                (self.selected, self.preselected) = (None, None);
            }
            return;
        }
        let too_soon = follows || self.closed.take().is_some_and(|at| at + TYPING_GRACE > now);
        if self.draft_until.is_none() {
            self.draft_until =
                writing.map(|at| at + TYPING_GRACE).filter(|until| !follows && id.is_some() && *until > now);
        }
        (self.drawn, self.question_focused) = (None, false);
        self.ignore_until = (too_soon && id.is_some()).then(|| now + TYPING_GRACE);
        self.closed = id.is_none().then_some(now);
        // No option is highlighted before a frame has shown the question.
        (self.shown, self.selected, self.preselected) = (id, selected.filter(|_| text_only), selected);
        (self.scroll, self.field, self.confirming) = (0, Composer::new(), None);
    }

    /// Returns true if a gesture would answer the question too soon after another question. Each further key press
    /// extends the period in which answers are ignored.
    pub(crate) fn rejects_early_answer(&mut self, gesture: &Gesture, now: SystemTime) -> bool {
        if self.ignore_until.is_none() {
            return false;
        }
        self.ignore_until = Some(now + TYPING_GRACE);
        is_answer(gesture)
    }

    /// Ignores answers for [`TYPING_GRACE`], so that the key press that gives an answer cannot also confirm the answer.
    pub(crate) fn ignore_answers(&mut self, now: SystemTime) {
        self.ignore_until = Some(now + TYPING_GRACE);
    }

    pub(crate) fn mark_answered(&mut self, question: ItemId) {
        self.answered.insert(question);
    }

    /// Shows a question again after the space has refused the answer.
    pub(crate) fn unmark_answered(&mut self, question: &ItemId) {
        self.answered.remove(question);
    }

    /// Extends the period in which typing goes to the composer.
    pub(crate) fn extend_draft_time(&mut self, now: SystemTime) {
        self.draft_until = Some(now + TYPING_GRACE);
    }

    pub(crate) fn focus_question(&mut self) {
        (self.draft_until, self.question_focused) = (None, true);
    }

    /// Returns from the confirmation or the text field to the options. Returns false if the options already have the
    /// focus.
    pub(crate) fn leave_field(&mut self, state: &SpaceState) -> bool {
        if self.confirming.take().is_some() {
            return true;
        }
        let Some((_, question, _)) = self.current(state) else { return false };
        let leaves = self.in_field(question) && !question.options.is_empty();
        if leaves {
            self.selected = first(question).filter(|place| self.selectable(question, *place));
        }
        leaves
    }

    pub(crate) fn scroll(&mut self, lines: isize) -> bool {
        let before = self.scroll;
        self.scroll = before.saturating_add_signed(lines).min(self.max_scroll);
        self.scroll != before
    }

    /// Chooses the option at this index, as a click does.
    pub(crate) fn choose(&mut self, place: usize, state: &SpaceState) -> DialogOutcome {
        let Some((item, question, _)) = self.current(state) else { return DialogOutcome::Nothing };
        if self.confirming.is_some() {
            return self.confirm(place, item);
        }
        match question.options.get(place) {
            Some(option) => {
                let answer = Answer { option: Some(option.id.clone()), text: None };
                self.answer(item, question, answer)
            }
            None if takes_text(question) && place == question.options.len() => {
                self.selected = Some(place);
                DialogOutcome::Changed
            }
            None => DialogOutcome::Hint(CHOOSE_HINT),
        }
    }

    fn gesture_hint(&self) -> &'static str {
        if self.confirming.is_some() { CONFIRM_HINT } else { CHOOSE_HINT }
    }

    /// Answers the question. If too little of the question has been shown, returns a hint or asks the user to confirm.
    fn answer(&mut self, item: &Item, question: &Question, answer: Answer) -> DialogOutcome {
        if !question.grants(&answer) {
            return DialogOutcome::Answer(item.id.clone(), answer);
        }
        if !self.read_progress.is_complete() {
            return DialogOutcome::Hint(UNREAD_HINT);
        }
        if self.read_progress.unread_bytes() > 0 {
            self.confirming = Some(PendingConfirmation { answer, selected: None });
            return DialogOutcome::Confirm;
        }
        DialogOutcome::Answer(item.id.clone(), answer)
    }

    /// Chooses the entry of [`CONFIRMATIONS`] at this index.
    fn confirm(&mut self, place: usize, item: &Item) -> DialogOutcome {
        let Some(confirming) = self.confirming.take_if(|_| place < CONFIRMATIONS.len()) else {
            return DialogOutcome::Hint(CONFIRM_HINT);
        };
        match place {
            0 => DialogOutcome::Changed,
            1 => DialogOutcome::Open(item.id.clone()),
            _ => DialogOutcome::Answer(item.id.clone(), confirming.answer),
        }
    }

    pub(crate) fn handle(&mut self, gesture: &Gesture, state: &SpaceState) -> DialogOutcome {
        let Some((item, question, _)) = self.current(state) else { return DialogOutcome::Nothing };
        if self.in_field(question) {
            if is_open_key(gesture) {
                return DialogOutcome::Open(item.id.clone());
            }
            let Some(text) = self.write(gesture, question) else { return DialogOutcome::Changed };
            let outcome = self.answer(item, question, Answer { option: None, text: Some(text.clone()) });
            if !matches!(outcome, DialogOutcome::Answer(..)) {
                self.field.set_text(&text);
            }
            return outcome;
        }
        let count = if self.confirming.is_some() { CONFIRMATIONS.len() } else { question.options.len() };
        match gesture {
            Gesture::Text(typed) => match typed.parse::<usize>() {
                Ok(number) if number > 0 && number <= count => self.choose(number - 1, state),
                _ => self.begin_writing(gesture, question),
            },
            Gesture::Paste(_) => self.begin_writing(gesture, question),
            Gesture::Key(_) if is_open_key(gesture) => {
                self.confirming = None;
                DialogOutcome::Open(item.id.clone())
            }
            Gesture::Key(press) => self.press(press, question, state),
            Gesture::Mouse(_) => DialogOutcome::Nothing,
        }
    }

    fn press(&mut self, press: &KeyPress, question: &Question, state: &SpaceState) -> DialogOutcome {
        // The arrow keys scroll until the end has been shown.
        let reads = !self.read_progress.is_complete() && self.confirming.is_none();
        match press.to_string().as_str() {
            "up" | "ctrl+p" if reads => drop(self.scroll(-1)),
            "down" | "ctrl+n" if reads => drop(self.scroll(1)),
            "up" | "ctrl+p" | "shift+tab" => self.step(question, false),
            "down" | "ctrl+n" => self.step(question, true),
            "tab" if takes_text(question) && self.confirming.is_none() => self.selected = Some(question.options.len()),
            "tab" => self.step(question, true),
            "enter" => {
                let selected = self.confirming.as_ref().map_or(self.selected, |confirming| confirming.selected);
                return selected.map_or(DialogOutcome::Hint(self.gesture_hint()), |place| self.choose(place, state));
            }
            "pageup" if self.scroll(-5) => {}
            "pagedown" if self.scroll(5) => {}
            "home" => drop(self.scroll(isize::MIN)),
            "end" => drop(self.scroll(isize::MAX)),
            "pageup" | "pagedown" => return DialogOutcome::Nothing,
            _ => return DialogOutcome::Nothing,
        }
        DialogOutcome::Changed
    }

    /// Highlights the next or the previous entry that can be selected.
    fn step(&mut self, question: &Question, forward: bool) {
        if let Some(confirming) = &mut self.confirming {
            let count = CONFIRMATIONS.len();
            let step = if forward { 1 } else { count - 1 };
            confirming.selected = Some(confirming.selected.map_or(0, |place| (place + step) % count));
            return;
        }
        let entries = question.options.len() + usize::from(takes_text(question));
        let step = if forward { 1 } else { entries.saturating_sub(1) };
        let first = self.selected.map_or(0, |place| place + step);
        let mut places = (0..entries).map(|count| (first + count * step.max(1)) % entries);
        self.selected = places.find(|place| self.selectable(question, *place)).or(self.selected);
    }

    /// Begins a free-text answer with the text of this gesture, if the question accepts text.
    fn begin_writing(&mut self, gesture: &Gesture, question: &Question) -> DialogOutcome {
        if !takes_text(question) || self.confirming.is_some() {
            return DialogOutcome::Hint(self.gesture_hint());
        }
        self.selected = Some(question.options.len());
        self.field.handle(gesture);
        DialogOutcome::Changed
    }

    /// Applies a gesture to the text field. Returns the text when the user submits it.
    fn write(&mut self, gesture: &Gesture, question: &Question) -> Option<String> {
        if let Gesture::Key(press) = gesture {
            let name = press.to_string();
            let empty = self.field.is_empty();
            match name.as_str() {
                "tab" if !question.options.is_empty() => {
                    self.step(question, true);
                    return None;
                }
                "shift+tab" if !question.options.is_empty() => {
                    self.step(question, false);
                    return None;
                }
                "up" if empty && !question.options.is_empty() => {
                    self.step(question, false);
                    return None;
                }
                "home" | "end" if empty => {
                    self.scroll(if name == "home" { isize::MIN } else { isize::MAX });
                    return None;
                }
                "pageup" | "pagedown" => {
                    self.scroll(if name == "pageup" { -5 } else { 5 });
                    return None;
                }
                _ => {}
            }
        }
        match self.field.handle(gesture) {
            ComposerOutcome::Submit(text) => Some(text),
            ComposerOutcome::Ignored | ComposerOutcome::Changed => None,
        }
    }
}

/// Returns true for a gesture that can answer a question.
fn is_answer(gesture: &Gesture) -> bool {
    match gesture {
        Gesture::Text(_) | Gesture::Paste(_) | Gesture::Mouse(_) => true,
        Gesture::Key(press) => press.to_string() == "enter",
    }
}

/// Returns true for text that chooses an option by its number.
fn is_number(typed: &str) -> bool {
    typed.parse::<usize>().is_ok()
}

/// Returns true for the input of a single key. Programs send several characters at once.
pub(crate) fn is_one_key(typed: &str) -> bool {
    typed.chars().nth(1).is_none()
}

/// Returns true for Ctrl+O, which opens the pager.
fn is_open_key(gesture: &Gesture) -> bool {
    matches!(gesture, Gesture::Key(press) if press.to_string() == "ctrl+o")
}

/// Returns true if the question accepts a free-text answer.
pub(crate) fn takes_text(question: &Question) -> bool {
    question.accepts_text || question.options.is_empty()
}

/// Returns the index of the entry to preselect. An option that grants a permission permanently is never preselected.
fn first(question: &Question) -> Option<usize> {
    match question.options.first() {
        None => Some(0),
        Some(option) => (question.preselects && option.meaning != OptionMeaning::AllowAlways).then_some(0),
    }
}
