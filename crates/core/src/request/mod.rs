//! The caller's own name for a command, by which a retry is known, and the book of those already carried out.

mod fingerprint;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Identity of a command on every interface: the same key is the same command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The team that the session belongs to.
    pub team: String,
    /// The session.
    pub session: String,
    /// The agent in it.
    pub agent: String,
    /// The caller's id for the command.
    pub request: String,
}

pub use fingerprint::{Content, Decision, Fingerprint, Request, TextDigest};

/// How long an answer is kept for retries.
pub const KEPT_FOR: Duration = Duration::from_secs(600);

/// How many answers are kept at once. Beyond that a new id is refused: forgetting an old one early would let its retry
/// be carried out twice.
const MOST_KEPT: usize = 50_000;

/// The longest id, in characters.
const LONGEST: usize = 128;

/// The caller's name for one command: the same name is the same command.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestId(String);

/// A text that cannot be a request id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("request_id must have 1 to {LONGEST} printable characters without blanks")]
pub struct InvalidRequestId;

impl TryFrom<String> for RequestId {
    type Error = InvalidRequestId;

    fn try_from(text: String) -> Result<Self, InvalidRequestId> {
        Self::new(text)
    }
}

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl RequestId {
    /// The id, if it can be one.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidRequestId> {
        let text = text.into();
        let fits = (1..=LONGEST).contains(&text.chars().count())
            && text.chars().all(|character| !character.is_control() && !character.is_whitespace());
        fits.then_some(Self(text)).ok_or(InvalidRequestId)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// No more ids can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerFull;

/// What was answered to which id. Only commands that were carried out are entered: what was refused may be tried again.
#[derive(Debug)]
pub struct Ledger<A> {
    entries: HashMap<RequestId, A>,
    by_age: VecDeque<(Instant, RequestId)>,
}

impl<A> Default for Ledger<A> {
    fn default() -> Self {
        Self { entries: HashMap::new(), by_age: VecDeque::new() }
    }
}

impl<A> Ledger<A> {
    /// What was answered to this id within [`KEPT_FOR`].
    pub fn find(&mut self, id: &RequestId, now: Instant) -> Option<&A> {
        while self.by_age.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= KEPT_FOR) {
            if let Some((_, old)) = self.by_age.pop_front() {
                self.entries.remove(&old);
            }
        }
        self.entries.get(id)
    }

    /// The same, to be brought up to date.
    pub(crate) fn get_mut(&mut self, id: &RequestId) -> Option<&mut A> {
        self.entries.get_mut(id)
    }

    /// Whether one more can be entered.
    pub fn room(&self) -> Result<(), LedgerFull> {
        if self.entries.len() < MOST_KEPT { Ok(()) } else { Err(LedgerFull) }
    }

    /// Enters what was answered.
    pub fn enter(&mut self, id: RequestId, answer: A, now: Instant) {
        if self.entries.insert(id.clone(), answer).is_none() {
            self.by_age.push_back((now, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::new(text).unwrap()
    }

    #[test]
    fn an_answer_is_found_for_ten_minutes_and_not_longer() {
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        ledger.enter(id("a"), 1, start);
        ledger.enter(id("b"), 2, start + Duration::from_secs(60));
        assert_eq!(ledger.find(&id("a"), start + KEPT_FOR - Duration::from_millis(1)), Some(&1));
        assert_eq!(ledger.find(&id("a"), start + KEPT_FOR), None);
        assert_eq!(ledger.find(&id("b"), start + KEPT_FOR), Some(&2));
        assert_eq!(ledger.entries.len(), 1);
    }

    #[test]
    fn a_full_ledger_takes_no_more_until_the_oldest_is_too_old() {
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        for number in 0..MOST_KEPT {
            ledger.enter(id(&number.to_string()), (), start);
        }
        assert_eq!(ledger.room(), Err(LedgerFull));
        assert_eq!(ledger.find(&id("0"), start + KEPT_FOR), None);
        assert_eq!(ledger.room(), Ok(()));
    }

    #[test]
    fn an_id_is_short_and_printable() {
        assert!(RequestId::new("9f1c-α").is_ok());
        for wrong in ["", "a b", "a\nb", &"x".repeat(129)] {
            assert_eq!(RequestId::new(wrong), Err(InvalidRequestId), "{wrong:?}");
        }
    }
}
