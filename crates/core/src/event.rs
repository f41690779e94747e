//! Events of a session or a space. Events have consecutive numbers and never change, so a gap in the numbers shows a
//! client that it missed events.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::space;
use crate::terminal::{Exit, Size};

/// Maximum number of stored events. Above this number, the oldest events are dropped. A client that has not read a
/// dropped event must read the complete state again.
pub const MAX_JOURNAL_EVENTS: usize = 8192;

/// Approximate maximum size of the stored events in bytes. An item that changes often takes much space, because each of
/// its versions is an event.
pub const MAX_JOURNAL_BYTES: usize = 64 * 1024 * 1024;

/// Event of a session, published to all subscribers.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Started {
        command: Vec<String>,
        pid: i32,
    },
    /// A client sent input. The input itself is not stored.
    Typed {
        /// Size of the input.
        bytes: usize,
    },
    Resized(Size),
    /// The program sent a notice to the terminal, such as a new title.
    Noticed(TerminalNotice),
    /// A client set a marker with this label.
    Marked(String),
    /// A terminal was attached (true) or detached (false).
    Attached(bool),
    /// A signal has stopped the program (true) or continued it (false).
    Stopped(bool),
    /// An event of the space that the session shows.
    Space(Arc<NumberedEvent<space::event::SpaceEvent>>),
    /// Too many events of the space occurred at once and some were dropped. The client must read the state of the space
    /// again.
    SpaceMissed,
    /// The program has exited, and all output of the program was read.
    Exited(Exit),
}

/// Information that a program sends to the terminal by an escape sequence, without changing the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalNotice {
    Title(Option<String>),
    /// Bell, with the number of times that it rang.
    Bell(u64),
    /// Working directory that the program reports (OSC 7).
    Directory(String),
    /// Desktop notification (OSC 9, OSC 777).
    Notification(String),
    /// Progress of the program (OSC 9;4).
    Progress(String),
    /// Shell integration mark (OSC 133).
    ShellMark(String),
}

/// Name of one run of an engine. An event number is unique only within its epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch(Arc<str>);

impl Epoch {
    /// Creates an epoch with this name. The name must consist of ASCII letters and digits, and must differ for every
    /// run.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Position of a client in the events. The client has read every event up to and including number `seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub epoch: Epoch,
    /// Number of the last event that was read; 0 if none was read.
    pub seq: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.epoch, self.seq)
    }
}

/// Error for a text that is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is invalid; write EPOCH.SEQ, like the id of an event")]
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedEvent<E = Event> {
    /// Number of the event: consecutive, starting at 1.
    pub seq: u64,
    pub at: SystemTime,
    pub event: E,
}

/// Error for a cursor from which reading cannot continue: the next event was dropped, or the cursor belongs to another
/// epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorExpired;

/// Buffer of the newest events of an epoch.
#[derive(Debug)]
pub struct Journal<E = Event> {
    epoch: Epoch,
    events: VecDeque<Arc<NumberedEvent<E>>>,
    weights: VecDeque<usize>,
    bytes: usize,
    last: u64,
}

impl<E> Journal<E> {
    pub fn new(epoch: Epoch) -> Self {
        Self { epoch, events: VecDeque::new(), weights: VecDeque::new(), bytes: 0, last: 0 }
    }

    /// Appends an event whose size is not counted.
    pub fn append(&mut self, event: E, at: SystemTime) {
        self.append_sized(event, at, 0);
    }

    /// Appends an event with its approximate size in bytes.
    pub fn append_sized(&mut self, event: E, at: SystemTime, weight: usize) {
        self.last += 1;
        self.bytes += weight;
        self.weights.push_back(weight);
        while self.events.len() == MAX_JOURNAL_EVENTS || (self.bytes > MAX_JOURNAL_BYTES && !self.events.is_empty()) {
            self.events.pop_front();
            self.bytes -= self.weights.pop_front().unwrap_or(0);
        }
        self.events.push_back(Arc::new(NumberedEvent { seq: self.last, at, event }));
    }

    /// Returns the number of the newest event.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the cursor after the newest event.
    pub fn end(&self) -> Cursor {
        Cursor { epoch: self.epoch.clone(), seq: self.last }
    }

    /// Returns up to `most` events after `cursor`, oldest first.
    pub fn after(&self, cursor: &Cursor, most: usize) -> Result<Vec<Arc<NumberedEvent<E>>>, CursorExpired> {
        let missing =
            usize::try_from(self.last.checked_sub(cursor.seq).ok_or(CursorExpired)?).map_err(|_| CursorExpired)?;
        if cursor.epoch != self.epoch || missing > self.events.len() {
            return Err(CursorExpired);
        }
        Ok(self.events.iter().skip(self.events.len() - missing).take(most).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn journal(events: usize) -> Journal {
        let mut journal = Journal::new(Epoch::new("a"));
        for bytes in 1..=events {
            journal.append(Event::Typed { bytes }, SystemTime::UNIX_EPOCH);
        }
        journal
    }

    fn at(epoch: &str, seq: u64) -> Cursor {
        Cursor { epoch: Epoch::new(epoch), seq }
    }

    #[test]
    fn a_returning_client_gets_the_missed_events() {
        let journal = journal(5);
        let seen =
            |cursor| journal.after(&cursor, 99).map(|events| events.iter().map(|event| event.seq).collect::<Vec<_>>());
        assert_eq!(seen(at("a", 3)), Ok(vec![4, 5]));
        assert_eq!(seen(at("a", 5)), Ok(vec![]));
        assert_eq!(seen(at("a", 0)), Ok(vec![1, 2, 3, 4, 5]));
    }

    #[test]
    fn an_expired_or_foreign_cursor_is_refused() {
        let journal = journal(MAX_JOURNAL_EVENTS + 10);
        assert_eq!(journal.after(&at("a", 9), 9), Err(CursorExpired));
        assert!(journal.after(&at("a", 10), 9).is_ok());
        assert_eq!(journal.after(&at("a", journal.last() + 1), 9), Err(CursorExpired));
        assert_eq!(journal.after(&at("b", journal.last()), 9), Err(CursorExpired));
    }

    #[test]
    fn large_events_drop_the_oldest_earlier() {
        let mut journal = Journal::new(Epoch::new("a"));
        for bytes in 1..=9 {
            journal.append_sized(Event::Typed { bytes }, SystemTime::UNIX_EPOCH, MAX_JOURNAL_BYTES / 4);
        }
        assert_eq!(journal.after(&at("a", 4), 9), Err(CursorExpired));
        assert_eq!(journal.after(&at("a", 5), 9).unwrap().len(), 4);
        journal.append_sized(Event::Typed { bytes: 10 }, SystemTime::UNIX_EPOCH, 2 * MAX_JOURNAL_BYTES);
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
        fn reading_in_pieces_gives_every_event_once(total in 0usize..300, pieces in proptest::collection::vec(1usize..40, 1..60)) {
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
