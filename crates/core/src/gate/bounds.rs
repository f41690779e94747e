//! Limits on the age of a message and the length of its text.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::refusal::GateRefusal;
use crate::request::TextDigest;

/// Limits on the age of a message and on the clock skew of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeLimits {
    /// Maximum accepted age of a message.
    pub max_age: Duration,
    /// Maximum time by which the sender's clock may be ahead of the local clock.
    pub max_skew: Duration,
    /// Minimum period for which request ids are stored. The period is at least `max_age` plus `max_skew`: a lower value
    /// has no effect.
    pub dedupe: Duration,
}

impl Default for AgeLimits {
    fn default() -> Self {
        let (max_age, max_skew) = (Duration::from_secs(600), Duration::from_secs(300));
        Self { max_age, max_skew, dedupe: max_age + max_skew }
    }
}

impl AgeLimits {
    /// Returns the period for which a request id must be stored after the message first arrived. A message may arrive
    /// when its `sent_at` is still `max_skew` in the future, and a retry is accepted until `max_age` after `sent_at`.
    /// If the request id were dropped earlier, the retry would execute the message a second time.
    pub fn dedupe_window(&self) -> Duration {
        self.dedupe.max(self.max_age.saturating_add(self.max_skew))
    }

    pub(super) fn check(&self, sent_at: &str, now: SystemTime) -> Result<(), GateRefusal> {
        let sent: Timestamp =
            sent_at.parse().map_err(|_| GateRefusal::NoTime { field: "sent_at", given: sent_at.to_owned() })?;
        let sent = SystemTime::from(sent);
        match now.duration_since(sent) {
            Ok(age) if age > self.max_age => {
                Err(GateRefusal::TooOld { age: rounded_up(age), allowed: self.max_age.as_secs() })
            }
            Err(ahead) if ahead.duration() > self.max_skew => {
                Err(GateRefusal::Ahead { by: rounded_up(ahead.duration()), allowed: self.max_skew.as_secs() })
            }
            _ => Ok(()),
        }
    }
}

/// Rounds up to whole seconds: an age of 300.4 s must not be reported as 300 s if 300 s are allowed.
fn rounded_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// Limits on the length of a text in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimits {
    /// Length above which the sender receives a warning.
    pub soft: usize,
    /// Maximum length of a text in a message.
    pub hard: usize,
    /// Maximum length of a referenced text.
    pub reference: u64,
}

impl Default for TextLimits {
    fn default() -> Self {
        Self { soft: 64 << 10, hard: 1 << 20, reference: 16 << 20 }
    }
}

impl TextLimits {
    /// Refuses a text in a message that is blank or too long. Returns a warning if the text exceeds the soft limit.
    pub fn check_inline(&self, text: &str) -> Result<Option<String>, GateRefusal> {
        let bytes = text.len();
        if text.trim().is_empty() {
            Err(GateRefusal::Empty)
        } else if bytes > self.hard {
            Err(GateRefusal::TooLong { bytes, allowed: self.hard })
        } else if bytes > self.soft {
            Ok(Some(format!(
                "the text has {bytes} bytes; send a text of more than {} bytes as a content_ref",
                self.soft
            )))
        } else {
            Ok(None)
        }
    }

    /// Checks the size and the digest in a reference. Does not read the file.
    pub fn check_reference(&self, bytes: u64, sha256: &str) -> Result<(), GateRefusal> {
        if bytes == 0 {
            return Err(GateRefusal::Empty);
        }
        if bytes > self.reference {
            return Err(GateRefusal::ReferenceTooLong { bytes, allowed: self.reference });
        }
        TextDigest::from_hex(sha256).map(drop).ok_or(GateRefusal::NoDigest)
    }
}
