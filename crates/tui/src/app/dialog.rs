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
use wh_core::terminal::Size;

use super::reading::Reading;
use super::time_left;
use crate::composer::{Composer, Outcome};
use crate::panes::Text;

/// Whoever is writing when a question comes goes on writing until they pause for so long: no answer by accident.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

const HOW: &str = "Choose by number, or with ↑ ↓ and Enter; Esc interrupts";

/// Hint for a gesture that means nothing in the second confirmation.
const HOW_TO_CONFIRM: &str = "Choose by number, or with ↑ ↓ and Enter; Esc goes back";

/// Hint for a granting answer given before the end was shown.
const UNREAD: &str = "Read to the end first: End jumps there, Ctrl+O opens the whole";

/// Entries of the second confirmation. Granting is the last, and none is highlighted at first.
pub(crate) const CONFIRMATIONS: [&str; 3] = ["Back", "Open the whole", "Grant without having seen the rest"];

/// What came of a gesture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    /// It is not for the dialog.
    Nothing,
    /// Something is selected or written otherwise.
    Changed,
    /// This is the answer.
    Answer(ItemId, Answer),
    /// A second confirmation is needed.
    Confirm,
    /// The whole of this question is to be opened.
    Open(ItemId),
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
    /// Read progress of the question.
    pub(crate) reading: Reading,
    /// The entry that is highlighted by the first frame of the question, or by the first after a resize, if it can be
    /// selected then.
    preselected: Option<usize>,
    /// A granting answer that waits for a second confirmation.
    pub(crate) confirming: Option<Confirming>,
    /// Answered here, though the space has not said so yet.
    sent: BTreeSet<ItemId>,
    /// When a frame first showed the question.
    drawn: Option<SystemTime>,
    /// The person said by Tab or a click that they mean the question.
    attended: bool,
    /// What is typed goes to the composer until a frame is drawn after this time.
    held: Option<SystemTime>,
    /// Nothing answers until a frame is drawn after this time: it may have been meant for the question before.
    deaf: Option<SystemTime>,
    /// When the last question was closed that no other came after.
    closed: Option<SystemTime>,
}

/// A granting answer to a question that was not shown whole, until it is confirmed.
#[derive(Debug)]
pub(crate) struct Confirming {
    answer: Answer,
    /// Index of the highlighted entry in [`CONFIRMATIONS`].
    pub(crate) selected: Option<usize>,
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

    /// True if the dialog shows this question.
    pub(crate) fn shows(&self, question: &ItemId) -> bool {
        self.shown.as_ref() == Some(question)
    }

    /// True if the entry at `place` can be selected. Granting options require that the end of the question has been
    /// shown.
    pub(crate) fn selectable(&self, question: &Question, place: usize) -> bool {
        match question.options.get(place) {
            Some(option) => self.reading.is_complete() || !option.meaning.grants(),
            None => takes_text(question) && place == question.options.len(),
        }
    }

    /// A frame shows the question; `end` says whether with the last line of what is asked.
    pub(crate) fn displayed(&mut self, question: &Question, end: bool) {
        if end {
            self.reading.show_end();
        }
        let preselected = self.preselected.take().filter(|place| self.selectable(question, *place));
        self.selected = self.selected.or(preselected);
    }

    /// Follows the size of the terminal. At another size nothing is granted before a frame has shown the end again.
    pub(crate) fn resize(&mut self, size: Size, state: &State, now: SystemTime) {
        if !self.reading.resize(size) {
            return;
        }
        if self.confirming.take().is_some() {
            // A digit for the second confirmation must not choose among the options.
            self.deafen(now);
        }
        let Some((_, question, _)) = self.current(state) else { return };
        if let Some(place) = self.selected.filter(|place| !self.selectable(question, *place)) {
            (self.selected, self.preselected) = (None, Some(place));
        }
    }

    /// Whether words of one's own are being written.
    pub(crate) fn in_field(&self, question: &Question) -> bool {
        self.is_open()
            && self.confirming.is_none()
            && takes_text(question)
            && self.selected == Some(question.options.len())
    }

    /// True while typing goes to the composer, because the person was writing when the question came.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// True while nothing answers, because the question has come in the place of another.
    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf.is_some()
    }

    /// A frame is drawn. Only a frame ends the times in which typing is not for the question: input that waited while the
    /// UI was busy was typed before the person could see that they had ended. Returns when the next of them ends.
    pub(crate) fn frame(&mut self, now: SystemTime) -> Option<Duration> {
        if self.drawn.is_some() || self.shown.is_none() {
            self.held = self.held.filter(|until| *until > now);
            self.deaf = self.deaf.filter(|until| *until > now);
        } else {
            self.drawn = Some(now);
            self.held = self.held.map(|until| until.max(now + PAUSE));
        }
        [self.held, self.deaf].into_iter().filter_map(|until| time_left(until, now)).min()
    }

    /// True if a gesture is for the composer although a question is open: the person was writing when it came, or cannot
    /// have read it yet. `drafting` says that the composer is not empty. At an empty composer a digit or Enter is never
    /// for it, nor are several characters at once after the first frame: only a program types those.
    pub(crate) fn interrupts(&self, gesture: &Gesture, drafting: bool, now: SystemTime) -> bool {
        if self.held.is_some() || self.attended || self.deaf.is_some() {
            return self.held.is_some();
        }
        let begins = match (gesture, self.drawn) {
            (Gesture::Text(typed), Some(_)) => is_one_key(typed) && !is_number(typed),
            (Gesture::Text(typed), None) => !is_number(typed),
            (Gesture::Paste(_), None) => true,
            _ => false,
        };
        self.drawn.is_none_or(|drawn| drawn + PAUSE > now) && (drafting || begins)
    }

    /// True for a gesture that could answer a question that no frame has shown.
    pub(crate) fn answers_unseen(&self, gesture: &Gesture) -> bool {
        self.drawn.is_none() && is_answer(gesture)
    }

    /// Goes to the next question if the one that was shown is closed. `writing` is when the draft was last written.
    pub(crate) fn settle(&mut self, state: &State, writing: Option<SystemTime>, now: SystemTime) {
        self.sent.retain(|id| state.items.get(id).is_some_and(|item| item.open_question().is_some()));
        let follows = self.shown.is_some();
        let next = self.current(state).map(|(item, question, _)| {
            // After another one nothing is highlighted: an Enter for that one must not answer this one.
            let selected = first(question).filter(|_| !follows || question.options.is_empty());
            (Arc::clone(item), selected, question.options.is_empty())
        });
        let id = next.as_ref().map(|(item, ..)| item.id.clone());
        let asks_anew = next.as_ref().is_some_and(|(item, ..)| self.reading.follow(item));
        let words_only = next.as_ref().is_some_and(|(_, _, words_only)| *words_only);
        let selected = next.and_then(|(_, selected, _)| selected);
        if asks_anew {
            self.confirming = None;
        }
        if self.shown == id {
            if asks_anew && !words_only {
                (self.selected, self.preselected) = (None, None);
            }
            return;
        }
        let hurried = follows || self.closed.take().is_some_and(|at| at + PAUSE > now);
        if self.held.is_none() {
            self.held = writing.map(|at| at + PAUSE).filter(|until| !follows && id.is_some() && *until > now);
        }
        (self.drawn, self.attended) = (None, false);
        self.deaf = (hurried && id.is_some()).then(|| now + PAUSE);
        self.closed = id.is_none().then_some(now);
        // Nothing is highlighted before a frame has shown the question.
        (self.shown, self.selected, self.preselected) = (id, selected.filter(|_| words_only), selected);
        (self.scroll, self.field, self.confirming) = (0, Composer::new(), None);
    }

    /// Whether a gesture comes too soon after another question to be an answer to this one. Whoever goes on pressing keys has
    /// not yet seen it.
    pub(crate) fn is_deaf_to(&mut self, gesture: &Gesture, now: SystemTime) -> bool {
        if self.deaf.is_none() {
            return false;
        }
        self.deaf = Some(now + PAUSE);
        is_answer(gesture)
    }

    /// Nothing answers for a moment: the key that led to a second confirmation must not give it.
    pub(crate) fn deafen(&mut self, now: SystemTime) {
        self.deaf = Some(now + PAUSE);
    }

    pub(crate) fn send(&mut self, question: ItemId) {
        self.sent.insert(question);
    }

    /// The answer was refused: the question is still there.
    pub(crate) fn unsend(&mut self, question: &ItemId) {
        self.sent.remove(question);
    }

    /// The person goes on writing the draft.
    pub(crate) fn hold_on(&mut self, now: SystemTime) {
        self.held = Some(now + PAUSE);
    }

    pub(crate) fn attend(&mut self) {
        (self.held, self.attended) = (None, true);
    }

    /// Back from the second confirmation, or from the field, to the options; says whether there was anything to go back
    /// from.
    pub(crate) fn leave_field(&mut self, state: &State) -> bool {
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
        self.scroll = before.saturating_add_signed(lines).min(self.most_scroll);
        self.scroll != before
    }

    /// Chooses an option by its place, as a click does.
    pub(crate) fn choose(&mut self, place: usize, state: &State) -> Did {
        let Some((item, question, _)) = self.current(state) else { return Did::Nothing };
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
                Did::Changed
            }
            None => Did::Hint(HOW),
        }
    }

    fn how(&self) -> &'static str {
        if self.confirming.is_some() { HOW_TO_CONFIRM } else { HOW }
    }

    /// Gives an answer, if what is asked has been seen as far as the answer needs it.
    fn answer(&mut self, item: &Item, question: &Question, answer: Answer) -> Did {
        if !question.grants(&answer) {
            return Did::Answer(item.id.clone(), answer);
        }
        if !self.reading.is_complete() {
            return Did::Hint(UNREAD);
        }
        if self.reading.unread_bytes() > 0 {
            self.confirming = Some(Confirming { answer, selected: None });
            return Did::Confirm;
        }
        Did::Answer(item.id.clone(), answer)
    }

    /// Chooses one of [`CONFIRMATIONS`].
    fn confirm(&mut self, place: usize, item: &Item) -> Did {
        let Some(confirming) = self.confirming.take_if(|_| place < CONFIRMATIONS.len()) else {
            return Did::Hint(HOW_TO_CONFIRM);
        };
        match place {
            0 => Did::Changed,
            1 => Did::Open(item.id.clone()),
            _ => Did::Answer(item.id.clone(), confirming.answer),
        }
    }

    pub(crate) fn handle(&mut self, gesture: &Gesture, state: &State) -> Did {
        let Some((item, question, _)) = self.current(state) else { return Did::Nothing };
        if self.in_field(question) {
            if is_open_key(gesture) {
                return Did::Open(item.id.clone());
            }
            let Some(text) = self.write(gesture, question) else { return Did::Changed };
            let did = self.answer(item, question, Answer { option: None, text: Some(text.clone()) });
            if !matches!(did, Did::Answer(..)) {
                self.field.set_text(&text);
            }
            return did;
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
                Did::Open(item.id.clone())
            }
            Gesture::Key(press) => self.press(press, question, state),
            Gesture::Mouse(_) => Did::Nothing,
        }
    }

    fn press(&mut self, press: &KeyPress, question: &Question, state: &State) -> Did {
        // Until the end has been on the screen, the arrows lead there.
        let reads = !self.reading.is_complete() && self.confirming.is_none();
        match press.to_string().as_str() {
            "up" | "ctrl+p" if reads => drop(self.scroll(-1)),
            "down" | "ctrl+n" if reads => drop(self.scroll(1)),
            "up" | "ctrl+p" | "shift+tab" => self.step(question, false),
            "down" | "ctrl+n" => self.step(question, true),
            "tab" if takes_text(question) && self.confirming.is_none() => self.selected = Some(question.options.len()),
            "tab" => self.step(question, true),
            "enter" => {
                let selected = self.confirming.as_ref().map_or(self.selected, |confirming| confirming.selected);
                return selected.map_or(Did::Hint(self.how()), |place| self.choose(place, state));
            }
            "pageup" if self.scroll(-5) => {}
            "pagedown" if self.scroll(5) => {}
            "home" => drop(self.scroll(isize::MIN)),
            "end" => drop(self.scroll(isize::MAX)),
            "pageup" | "pagedown" => return Did::Nothing,
            _ => return Did::Nothing,
        }
        Did::Changed
    }

    /// Highlights the next entry that can be selected, or the one before.
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

    /// Words of one's own begin with the first of them, where they are an answer.
    fn begin_writing(&mut self, gesture: &Gesture, question: &Question) -> Did {
        if !takes_text(question) || self.confirming.is_some() {
            return Did::Hint(self.how());
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
            Outcome::Submit(text) => Some(text),
            Outcome::Ignored | Outcome::Changed => None,
        }
    }
}

/// True for a gesture that can give an answer.
fn is_answer(gesture: &Gesture) -> bool {
    match gesture {
        Gesture::Text(_) | Gesture::Paste(_) | Gesture::Mouse(_) => true,
        Gesture::Key(press) => press.to_string() == "enter",
    }
}

/// True for text that chooses an option.
fn is_number(typed: &str) -> bool {
    typed.parse::<usize>().is_ok()
}

/// True if this is what one key types. A program types more at once.
pub(crate) fn is_one_key(typed: &str) -> bool {
    typed.chars().nth(1).is_none()
}

/// True for Ctrl+O, which opens the pager.
fn is_open_key(gesture: &Gesture) -> bool {
    matches!(gesture, Gesture::Key(press) if press.to_string() == "ctrl+o")
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
