//! How old a message may be, and how long its text.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::refused::Refused;
use crate::request::TextDigest;

/// How old a message may be, and how wrong its sender's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The oldest that is taken.
    pub max_age: Duration,
    /// How far ahead of ours its clock may be.
    pub max_skew: Duration,
    /// How long a repetition is known as one, at least. Less than `max_age` and `max_skew` together has no effect.
    pub dedupe: Duration,
}

impl Default for Times {
    fn default() -> Self {
        let (max_age, max_skew) = (Duration::from_secs(600), Duration::from_secs(300));
        Self { max_age, max_skew, dedupe: max_age + max_skew }
    }
}

impl Times {
    /// How long a repetition must be known as one, counted from the insert, and including the last moment. A message can come first when
    /// it is `max_skew` ahead of our clock, and again until it is `max_age` old: forgotten in between, it would be carried out twice.
    pub fn remembered(&self) -> Duration {
        self.dedupe.max(self.max_age.saturating_add(self.max_skew))
    }

    pub(super) fn check(&self, sent_at: &str, now: SystemTime) -> Result<(), Refused> {
        let sent: Timestamp =
            sent_at.parse().map_err(|_| Refused::NoTime { field: "sent_at", given: sent_at.to_owned() })?;
        let sent = SystemTime::from(sent);
        match now.duration_since(sent) {
            Ok(age) if age > self.max_age => {
                Err(Refused::TooOld { age: rounded_up(age), allowed: self.max_age.as_secs() })
            }
            Err(ahead) if ahead.duration() > self.max_skew => {
                Err(Refused::Ahead { by: rounded_up(ahead.duration()), allowed: self.max_skew.as_secs() })
            }
            _ => Ok(()),
        }
    }
}

/// Whole seconds, never fewer than there are: 300.4 s are more than the 300 s that are allowed.
fn rounded_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// How long a text may be, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Above this the sender is warned.
    pub soft: usize,
    /// The longest that is sent inline.
    pub hard: usize,
    /// The longest behind a reference.
    pub reference: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { soft: 64 << 10, hard: 1 << 20, reference: 16 << 20 }
    }
}

impl Limits {
    /// Refuses an inline text that is blank or too long; gives what its sender should be warned of.
    pub fn check_inline(&self, text: &str) -> Result<Option<String>, Refused> {
        let bytes = text.len();
        if text.trim().is_empty() {
            Err(Refused::Empty)
        } else if bytes > self.hard {
            Err(Refused::TooLong { bytes, allowed: self.hard })
        } else if bytes > self.soft {
            Ok(Some(format!("the text has {bytes} bytes; above {} a content_ref is better", self.soft)))
        } else {
            Ok(None)
        }
    }

    /// Whether what a reference says of itself can be. The file is not looked at.
    pub fn check_reference(&self, bytes: u64, sha256: &str) -> Result<(), Refused> {
        if bytes == 0 {
            return Err(Refused::Empty);
        }
        if bytes > self.reference {
            return Err(Refused::ReferenceTooLong { bytes, allowed: self.reference });
        }
        TextDigest::from_hex(sha256).map(drop).ok_or(Refused::NoDigest)
    }
}
