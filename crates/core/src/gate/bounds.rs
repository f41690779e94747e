//! Limits on the age of a message and the length of its text.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::refusal::GateRefusal;
use crate::request::TextDigest;

/// Limits on the age of a message and on the error of its sender's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeLimits {
    /// Maximum accepted age.
    pub max_age: Duration,
    /// Maximum lead of the sender's clock over the local clock.
    pub max_skew: Duration,
    /// Minimum period for which request ids are stored. A value below `max_age` plus `max_skew` has no effect.
    pub dedupe: Duration,
}

impl Default for AgeLimits {
    fn default() -> Self {
        let (max_age, max_skew) = (Duration::from_secs(600), Duration::from_secs(300));
        Self { max_age, max_skew, dedupe: max_age + max_skew }
    }
}

impl AgeLimits {
    /// Returns the period for which a request id must be stored, counted from the insert and inclusive. A message can
    /// arrive first when it is `max_skew` ahead of the local clock, and again until it is `max_age` old. Dropping its
    /// id in between would execute it twice.
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

/// Rounds up to whole seconds: 300.4 s exceed the allowed 300 s.
fn rounded_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// Limits on the length of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimits {
    /// Above this length, the sender is warned.
    pub soft: usize,
    /// Maximum length of an inline text.
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
    /// Refuses an inline text that is blank or too long. Returns a warning if the text is above the soft limit.
    pub fn check_inline(&self, text: &str) -> Result<Option<String>, GateRefusal> {
        let bytes = text.len();
        if text.trim().is_empty() {
            Err(GateRefusal::Empty)
        } else if bytes > self.hard {
            Err(GateRefusal::TooLong { bytes, allowed: self.hard })
        } else if bytes > self.soft {
            Ok(Some(format!("the text has {bytes} bytes; use a content_ref above {} bytes", self.soft)))
        } else {
            Ok(None)
        }
    }

    /// Checks the size and digest that a reference states. The file is not read.
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
