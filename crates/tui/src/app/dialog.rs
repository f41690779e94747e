//! The question that is being asked, and how far its answer is. The questions themselves are the space's: the oldest that
//! is open and not answered from here is shown.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wh_core::input::{Gesture, KeyPress};
use wh_core::space::ItemId;
use wh_core::space::item::Item;
use wh_core::space::question::{Answer, Meaning, Question};
use wh_core::space::state::State;

use crate::composer::{Composer, Outcome};
use crate::view::Text;

/// Whoever is writing when a question comes goes on writing until they pause for so long: no answer by accident.
const PAUSE: Duration = Duration::from_millis(500);

const HOW: &str = "Choose by number, or with ↑ ↓ and Enter; Esc interrupts";

/// What came of a gesture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Did {
    /// It is not for the dialog.
    Nothing,
    /// Something is selected or written otherwise.
    Changed,
    /// This is the answer.
    Answer(ItemId, Answer),
    /// It means nothing here, and the person should know what does.
    Hint(&'static str),
}

/// The dialog's state.
#[derive(Debug, Default)]
pub(crate) struct Dialog {
    shown: Option<ItemId>,
    /// Which option is highlighted; as many as there are options is the field.
    pub(crate) selected: Option<usize>,
    /// Where words of one's own are written.
    pub(crate) field: Composer,
    /// The first line that is shown of what the question is about.
    pub(crate) scroll: usize,
    /// How far that may go, as drawn last.
    pub(crate) most_scroll: usize,
    /// What is asked, as drawn last.
    pub(crate) text: Option<Arc<Text>>,
    /// There was no room for its options the last time: who does not see them does not choose.
    pub(crate) hidden: bool,
    /// Answered here, though the space has not said so yet.
    sent: BTreeSet<ItemId>,
    /// Until then what is typed goes where it went before.
    held: Option<SystemTime>,
    /// Until then nothing answers: it may have been meant for the question before.
    deaf: Option<SystemTime>,
    /// When the last question was closed that no other came after.
    closed: Option<SystemTime>,
}

impl Dialog {
    /// The question that is shown, its place among those that are open, and their number.
    pub(crate) fn current<'a>(&self, state: &'a State) -> Option<(&'a Arc<Item>, &'a Question, usize)> {
        let mut waiting = state.questions().filter(|item| !self.sent.contains(&item.id));
        let item = waiting.next()?;
        Some((item, item.open_question()?, 1 + waiting.count()))
    }

    /// Whether a question is shown.
    pub(crate) fn is_open(&self) -> bool {
        self.shown.is_some()
    }

    /// Whether words of one's own are being written.
    pub(crate) fn in_field(&self, question: &Question) -> bool {
        self.is_open() && takes_text(question) && self.selected == Some(question.options.len())
    }

    /// How long typing still goes to the composer, because the person was writing when the question came.
    pub(crate) fn held(&self, now: SystemTime) -> Option<Duration> {
        self.held.and_then(|until| until.duration_since(now).ok()).filter(|left| !left.is_zero())
    }

    /// How long nothing answers yet, because the question has come in the place of another.
    pub(crate) fn deaf(&self, now: SystemTime) -> Option<Duration> {
        self.deaf.and_then(|until| until.duration_since(now).ok()).filter(|left| !left.is_zero())
    }

    /// Goes to the next question if the one that was shown is closed. `writing` is when the draft was last written.
    pub(super) fn settle(&mut self, state: &State, writing: Option<SystemTime>, now: SystemTime) {
        self.sent.retain(|id| state.items.get(id).is_some_and(|item| item.open_question().is_some()));
        let follows = self.shown.is_some();
        let next = self.current(state).map(|(item, question, _)| {
            // After another one nothing is highlighted: an Enter for that one must not answer this one.
            let selected = first(question).filter(|_| !follows || question.options.is_empty());
            (item.id.clone(), selected)
        });
        let (id, selected) = next.unzip();
        if self.shown == id {
            return;
        }
        let hurried = follows || self.closed.take().is_some_and(|at| at + PAUSE > now);
        if self.held(now).is_none() {
            self.held = writing.map(|at| at + PAUSE).filter(|until| !follows && id.is_some() && *until > now);
        }
        self.deaf = (hurried && id.is_some()).then(|| now + PAUSE);
        self.closed = id.is_none().then_some(now);
        (self.shown, self.selected, self.scroll, self.field) = (id, selected.flatten(), 0, Composer::new());
    }

    /// Whether a gesture comes too soon after another question to be an answer to this one. Whoever goes on pressing keys has
    /// not yet seen it.
    pub(super) fn is_deaf_to(&mut self, gesture: &Gesture, now: SystemTime) -> bool {
        if self.deaf(now).is_none() {
            return false;
        }
        self.deaf = Some(now + PAUSE);
        match gesture {
            Gesture::Text(_) | Gesture::Paste(_) | Gesture::Mouse(_) => true,
            Gesture::Key(press) => press.to_string() == "enter",
        }
    }

    pub(super) fn send(&mut self, question: ItemId) {
        self.sent.insert(question);
    }

    /// The answer was refused: the question is still there.
    pub(super) fn unsend(&mut self, question: &ItemId) {
        self.sent.remove(question);
    }

    /// The person goes on writing the draft.
    pub(super) fn hold_on(&mut self, now: SystemTime) {
        self.held = Some(now + PAUSE);
    }

    pub(super) fn attend(&mut self) {
        self.held = None;
    }

    /// Back from the field to the options; says whether there was anything to go back from.
    pub(super) fn leave_field(&mut self, state: &State) -> bool {
        let Some((_, question, _)) = self.current(state) else { return false };
        let leaves = self.in_field(question) && !question.options.is_empty();
        if leaves {
            self.selected = first(question);
        }
        leaves
    }

    pub(super) fn scroll(&mut self, lines: isize) -> bool {
        let before = self.scroll;
        self.scroll = before.saturating_add_signed(lines).min(self.most_scroll);
        self.scroll != before
    }

    /// Chooses an option by its place, as a click does.
    pub(super) fn choose(&mut self, place: usize, state: &State) -> Did {
        let Some((item, question, _)) = self.current(state) else { return Did::Nothing };
        match question.options.get(place) {
            Some(option) => {
                let answer = Answer { option: Some(option.id.clone()), text: None };
                Did::Answer(item.id.clone(), answer)
            }
            None if takes_text(question) && place == question.options.len() => {
                self.selected = Some(place);
                Did::Changed
            }
            None => Did::Hint(HOW),
        }
    }

    pub(super) fn handle(&mut self, gesture: &Gesture, state: &State) -> Did {
        let Some((item, question, _)) = self.current(state) else { return Did::Nothing };
        if self.in_field(question) {
            return match self.write(gesture, question) {
                Some(text) => Did::Answer(item.id.clone(), Answer { option: None, text: Some(text) }),
                None => Did::Changed,
            };
        }
        match gesture {
            Gesture::Text(typed) => match typed.parse::<usize>() {
                Ok(number) if number > 0 && number <= question.options.len() => self.choose(number - 1, state),
                _ => self.begin_writing(gesture, question),
            },
            Gesture::Paste(_) => self.begin_writing(gesture, question),
            Gesture::Key(press) => self.press(press, question, state),
            Gesture::Mouse(_) => Did::Nothing,
        }
    }

    fn press(&mut self, press: &KeyPress, question: &Question, state: &State) -> Did {
        let entries = question.options.len() + usize::from(takes_text(question));
        match press.to_string().as_str() {
            "up" | "ctrl+p" | "shift+tab" => {
                self.selected = Some(self.selected.map_or(0, |place| (place + entries - 1) % entries));
            }
            "down" | "ctrl+n" => self.selected = Some(self.selected.map_or(0, |place| (place + 1) % entries)),
            "tab" if takes_text(question) => self.selected = Some(question.options.len()),
            "tab" => self.selected = Some(self.selected.map_or(0, |place| (place + 1) % entries)),
            "enter" => return self.selected.map_or(Did::Hint(HOW), |place| self.choose(place, state)),
            "pageup" if self.scroll(-5) => {}
            "pagedown" if self.scroll(5) => {}
            "pageup" | "pagedown" => return Did::Nothing,
            _ => return Did::Nothing,
        }
        Did::Changed
    }

    /// Words of one's own begin with the first of them, where they are an answer.
    fn begin_writing(&mut self, gesture: &Gesture, question: &Question) -> Did {
        if !takes_text(question) {
            return Did::Hint(HOW);
        }
        self.selected = Some(question.options.len());
        self.field.handle(gesture);
        Did::Changed
    }

    /// Writes in the field; what was written when it is to be sent.
    fn write(&mut self, gesture: &Gesture, question: &Question) -> Option<String> {
        if let Gesture::Key(press) = gesture {
            let name = press.to_string();
            let empty = self.field.is_empty();
            match name.as_str() {
                "tab" | "shift+tab" if !question.options.is_empty() => {
                    self.selected = Some(0);
                    return None;
                }
                "up" if empty && !question.options.is_empty() => {
                    self.selected = Some(question.options.len() - 1);
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
            Outcome::Submit(text) => Some(text),
            Outcome::Ignored | Outcome::Changed => None,
        }
    }
}

/// Whether words of one's own are an answer.
pub(crate) fn takes_text(question: &Question) -> bool {
    question.accepts_text || question.options.is_empty()
}

/// What is highlighted at first: never something that would hold from now on.
fn first(question: &Question) -> Option<usize> {
    match question.options.first() {
        None => Some(0),
        Some(option) => (question.preselects && option.meaning != Meaning::AllowAlways).then_some(0),
    }
}
