//! What happened: numbered in the order in which it did, never edited. Who watches has missed nothing if no number is
//! missing.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::space;
use crate::terminal::{Exit, Size};

/// Events that are kept for those who come back. Beyond that the oldest go, and who has not seen them starts anew.
pub const MOST_KEPT: usize = 8192;

/// The same in bytes, about: of an item that changes often every shape is an event.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Something that happened in a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The program runs.
    Started {
        /// What runs.
        command: Vec<String>,
        /// Its process id.
        pid: i32,
    },
    /// A door typed to it. What was typed is not kept.
    Typed {
        /// How much.
        bytes: usize,
    },
    /// Its terminal has another size.
    Resized(Size),
    /// It told its terminal something beside the screen.
    Noticed(Notice),
    /// A door marked this moment, by this name.
    Marked(String),
    /// A person's terminal was attached, or is no longer.
    Attached(bool),
    /// A signal has stopped it, or it goes on.
    Stopped(bool),
    /// Something happened in the space that it shows.
    Space(Arc<Numbered<space::event::Event>>),
    /// So much happened in the space at once that not all of it is told: its state has to be looked at anew.
    SpaceMissed,
    /// It ended, and all of its output has been seen.
    Exited(Exit),
}

/// What a program tells its terminal beside the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The window title, if any.
    Title(Option<String>),
    /// The bell, so many times at once.
    Bell(u64),
    /// Where it is (OSC 7).
    Directory(String),
    /// A notification (OSC 9, OSC 777).
    Notification(String),
    /// Progress (OSC 9;4).
    Progress(String),
    /// A shell integration mark (OSC 133).
    ShellMark(String),
}

/// Which run of an engine: numbers of one run mean nothing in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch(Arc<str>);

impl Epoch {
    /// An epoch by its name: letters and digits, different for every run.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How far somebody has seen: everything up to and including this number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Of which run.
    pub epoch: Epoch,
    /// Up to which event; 0 is before the first.
    pub seq: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.epoch, self.seq)
    }
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cursor is EPOCH.NUMBER, as the id of an event")]
pub struct InvalidCursor;

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (epoch, seq) = text.split_once('.').ok_or(InvalidCursor)?;
        let fits = (1..=64).contains(&epoch.len()) && epoch.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let seq = seq.parse().map_err(|_| InvalidCursor)?;
        fits.then(|| Self { epoch: Epoch::new(epoch), seq }).ok_or(InvalidCursor)
    }
}

/// An event with its number and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered<E = Event> {
    /// Its number: one more than that of the event before.
    pub seq: u64,
    /// When.
    pub at: SystemTime,
    /// What.
    pub event: E,
}

/// Why somebody cannot go on from where they were: their next event is no longer kept, or is of another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FellOut;

/// The newest events of a run.
#[derive(Debug)]
pub struct Journal<E = Event> {
    epoch: Epoch,
    kept: VecDeque<Arc<Numbered<E>>>,
    weights: VecDeque<usize>,
    bytes: usize,
    last: u64,
}

impl<E> Journal<E> {
    /// An empty journal.
    pub fn new(epoch: Epoch) -> Self {
        Self { epoch, kept: VecDeque::new(), weights: VecDeque::new(), bytes: 0, last: 0 }
    }

    /// Enters an event that holds next to nothing.
    pub fn enter(&mut self, event: E, at: SystemTime) {
        self.enter_heavy(event, at, 0);
    }

    /// Enters an event that holds about so many bytes.
    pub fn enter_heavy(&mut self, event: E, at: SystemTime, weight: usize) {
        self.last += 1;
        self.bytes += weight;
        self.weights.push_back(weight);
        while self.kept.len() == MOST_KEPT || (self.bytes > MOST_BYTES && !self.kept.is_empty()) {
            self.kept.pop_front();
            self.bytes -= self.weights.pop_front().unwrap_or(0);
        }
        self.kept.push_back(Arc::new(Numbered { seq: self.last, at, event }));
    }

    /// The number of the newest event.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Where somebody stands who has seen everything.
    pub fn end(&self) -> Cursor {
        Cursor { epoch: self.epoch.clone(), seq: self.last }
    }

    /// What happened after `cursor`, oldest first, at most `most` of it.
    pub fn after(&self, cursor: &Cursor, most: usize) -> Result<Vec<Arc<Numbered<E>>>, FellOut> {
        let missing = usize::try_from(self.last.checked_sub(cursor.seq).ok_or(FellOut)?).map_err(|_| FellOut)?;
        if cursor.epoch != self.epoch || missing > self.kept.len() {
            return Err(FellOut);
        }
        Ok(self.kept.iter().skip(self.kept.len() - missing).take(most).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn journal(events: usize) -> Journal {
        let mut journal = Journal::new(Epoch::new("a"));
        for bytes in 1..=events {
            journal.enter(Event::Typed { bytes }, SystemTime::UNIX_EPOCH);
        }
        journal
    }

    fn at(epoch: &str, seq: u64) -> Cursor {
        Cursor { epoch: Epoch::new(epoch), seq }
    }

    #[test]
    fn who_comes_back_gets_what_was_missed() {
        let journal = journal(5);
        let seen =
            |cursor| journal.after(&cursor, 99).map(|events| events.iter().map(|event| event.seq).collect::<Vec<_>>());
        assert_eq!(seen(at("a", 3)), Ok(vec![4, 5]));
        assert_eq!(seen(at("a", 5)), Ok(vec![]));
        assert_eq!(seen(at("a", 0)), Ok(vec![1, 2, 3, 4, 5]));
    }

    #[test]
    fn who_is_too_late_or_from_elsewhere_is_told_so() {
        let journal = journal(MOST_KEPT + 10);
        assert_eq!(journal.after(&at("a", 9), 9), Err(FellOut));
        assert!(journal.after(&at("a", 10), 9).is_ok());
        assert_eq!(journal.after(&at("a", journal.last() + 1), 9), Err(FellOut));
        assert_eq!(journal.after(&at("b", journal.last()), 9), Err(FellOut));
    }

    #[test]
    fn what_is_heavy_makes_the_oldest_go_earlier() {
        let mut journal = Journal::new(Epoch::new("a"));
        for bytes in 1..=9 {
            journal.enter_heavy(Event::Typed { bytes }, SystemTime::UNIX_EPOCH, MOST_BYTES / 4);
        }
        assert_eq!(journal.after(&at("a", 4), 9), Err(FellOut));
        assert_eq!(journal.after(&at("a", 5), 9).unwrap().len(), 4);
        journal.enter_heavy(Event::Typed { bytes: 10 }, SystemTime::UNIX_EPOCH, 2 * MOST_BYTES);
        assert_eq!(journal.after(&at("a", 9), 9).unwrap().len(), 1, "the newest is always there");
    }

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        assert_eq!(at("a1", 7).to_string().parse(), Ok(at("a1", 7)));
        for wrong in ["", ".", "a.", ".7", "a.-1", "a b.7", "a.7.8", "é.1"] {
            assert_eq!(wrong.parse::<Cursor>(), Err(InvalidCursor), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn nobody_misses_or_doubles_anything_however_they_read(total in 0usize..300, pieces in proptest::collection::vec(1usize..40, 1..60)) {
            let (journal, mut cursor, mut seen) = (journal(total), at("a", 0), Vec::new());
            for most in pieces {
                let events = journal.after(&cursor, most).unwrap();
                cursor.seq = events.last().map_or(cursor.seq, |event| event.seq);
                seen.extend(events.iter().map(|event| event.seq));
            }
            prop_assert_eq!(seen.clone(), (1..=seen.len() as u64).collect::<Vec<_>>());
        }
    }
}
