//! Request ids, and the ledger with the answers to executed commands. A retry with the same request id receives the
//! stored answer, and the command is not executed again.

mod fingerprint;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use fingerprint::{CommandContent, Decision, Fingerprint, FingerprintedId, TextDigest};

/// Idempotency key of a command, equal on every interface: two commands with equal keys are the same command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey {
    /// Team that owns the session.
    pub team: String,
    pub session: String,
    /// Agent of the session.
    pub agent: String,
    pub request: String,
}

/// Period for which an answer is stored.
pub const LEDGER_TTL: Duration = Duration::from_secs(600);

/// Maximum number of stored answers. Above this number, new request ids are refused: if an answer were dropped early, a
/// retry would execute the command a second time.
const MAX_LEDGER_ENTRIES: usize = 50_000;

const MAX_REQUEST_ID_CHARS: usize = 128;

/// Id of a command, chosen by the caller. Makes the command idempotent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestId(String);

/// Error for a text that is not a valid request id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("request_id must have 1 to {MAX_REQUEST_ID_CHARS} printable characters without blanks")]
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
    /// Creates a request id. Fails if the text is empty, too long, or has blanks or control characters.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidRequestId> {
        let text = text.into();
        let fits = (1..=MAX_REQUEST_ID_CHARS).contains(&text.chars().count())
            && text.chars().all(|character| !character.is_control() && !character.is_whitespace());
        fits.then_some(Self(text)).ok_or(InvalidRequestId)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Error of a ledger that has reached the maximum number of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerFull;

/// Stored answers by request id. Only executed commands have an answer: a refused command may be sent again under the
/// same id.
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
    /// Returns the answer stored under this id, if it is younger than [`LEDGER_TTL`].
    pub fn find(&mut self, id: &RequestId, now: Instant) -> Option<&A> {
        while self.by_age.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= LEDGER_TTL) {
            if let Some((_, old)) = self.by_age.pop_front() {
                self.entries.remove(&old);
            }
        }
        self.entries.get(id)
    }

    /// Returns the stored answer as a mutable reference.
    pub(crate) fn get_mut(&mut self, id: &RequestId) -> Option<&mut A> {
        self.entries.get_mut(id)
    }

    /// Fails if the ledger has reached the maximum number of entries.
    pub fn check_capacity(&self) -> Result<(), LedgerFull> {
        if self.entries.len() < MAX_LEDGER_ENTRIES { Ok(()) } else { Err(LedgerFull) }
    }

    /// Stores the answer to a request.
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
        assert_eq!(ledger.find(&id("a"), start + LEDGER_TTL - Duration::from_millis(1)), Some(&1));
        assert_eq!(ledger.find(&id("a"), start + LEDGER_TTL), None);
        assert_eq!(ledger.find(&id("b"), start + LEDGER_TTL), Some(&2));
        assert_eq!(ledger.entries.len(), 1);
    }

    #[test]
    fn a_full_ledger_takes_no_more_until_the_oldest_is_too_old() {
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        for number in 0..MAX_LEDGER_ENTRIES {
            ledger.enter(id(&number.to_string()), (), start);
        }
        assert_eq!(ledger.check_capacity(), Err(LedgerFull));
        assert_eq!(ledger.find(&id("0"), start + LEDGER_TTL), None);
        assert_eq!(ledger.check_capacity(), Ok(()));
    }

    #[test]
    fn an_id_is_short_and_printable() {
        assert!(RequestId::new("9f1c-α").is_ok());
        for wrong in ["", "a b", "a\nb", &"x".repeat(129)] {
            assert_eq!(RequestId::new(wrong), Err(InvalidRequestId), "{wrong:?}");
        }
    }
}
