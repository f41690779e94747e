//! What is sent: a wish, with the name and the time that stay the same in every try.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wh_core::time::iso;
use wh_wire::socket::{ControlKind, Decision};

/// What is wanted of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Give it this text: a prompt to an agent, typing to a terminal program.
    Text {
        /// The text.
        text: String,
        /// Interrupt first what is under way.
        interrupt: bool,
    },
    /// Interrupt what it does.
    Interrupt,
    /// Answer its question, by an option or a decision, or in words.
    Answer {
        /// The question's id.
        question: String,
        /// The option's id.
        option: Option<String>,
        /// Yes or no.
        decision: Option<Decision>,
        /// Words of one's own.
        text: Option<String>,
    },
}

impl Wish {
    /// Which kind of message it takes.
    pub fn kind(&self) -> ControlKind {
        match self {
            Self::Text { .. } => ControlKind::Stdin,
            Self::Interrupt => ControlKind::Interrupt,
            Self::Answer { .. } => ControlKind::Answer,
        }
    }

    /// Its text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Interrupt => None,
            Self::Answer { text, .. } => text.as_deref(),
        }
    }
}

/// One message. Whoever sends it again, in another process or after a restart too, keeps its name and its time: by the name it is
/// known as a repetition for as long as `dedupe_secs` of the capabilities says, and by the time it is refused as too old before that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What is wanted.
    pub wish: Wish,
    /// Its own name.
    pub request_id: String,
    /// When it was sent first. It is written down to the millisecond.
    pub sent_at: SystemTime,
    /// The name of an earlier message that this one replaces.
    pub retry_of: Option<String>,
    /// From which UI it comes.
    pub ui_source: Option<String>,
}

impl Message {
    /// A new one, of this moment and with a name that no other has.
    pub fn new(wish: Wish) -> Self {
        Self { wish, request_id: new_request_id(), sent_at: SystemTime::now(), retry_of: None, ui_source: None }
    }

    /// A text for a session.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Wish::Text { text: text.into(), interrupt: false })
    }

    /// When it was sent first, as it is written.
    pub fn sent_at(&self) -> String {
        iso(self.sent_at)
    }
}

/// A name that no other message has.
pub fn new_request_id() -> String {
    let mut bytes = [0_u8; 12];
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => format!("req_{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            format!("req_{:x}_{}", now.as_nanos(), std::process::id())
        }
    }
}

/// Added to the timeout for each MiB of a text: it is written to a file, read by the daemon and hashed on both sides.
const TIMEOUT_MS_PER_MIB: u64 = 1000;

/// How patiently messages of one kind are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// How long an acknowledgement is waited for, and likewise what is asked for before the message; a second more for each
    /// MiB of text.
    pub timeout: Duration,
    /// How often it is tried again: when nothing is heard, the line breaks or the daemon is busy.
    pub retries: u32,
    /// The pause before the first retry; it doubles.
    pub backoff: Duration,
}

impl Default for Tries {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(2), retries: 1, backoff: Duration::from_millis(250) }
    }
}

impl Tries {
    /// The timeout for a message with a text of this length.
    pub(super) fn timeout_for(&self, bytes: usize) -> Duration {
        let more = (bytes as u64).saturating_mul(TIMEOUT_MS_PER_MIB) >> 20;
        self.timeout.saturating_add(Duration::from_millis(more))
    }

    /// The pause before this retry, the first being 0.
    pub fn pause(&self, retry: u32) -> Duration {
        self.backoff.saturating_mul(2_u32.saturating_pow(retry.min(16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_and_has_an_end() {
        let tries = Tries { backoff: Duration::from_millis(100), ..Tries::default() };
        let pauses: Vec<u128> = (0..4).map(|retry| tries.pause(retry).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800]);
        assert_eq!(tries.pause(u32::MAX), tries.pause(16));
        let default = Tries::default();
        assert_eq!((default.timeout, default.retries, default.pause(0)), (Duration::from_secs(2), 1, default.backoff));
    }

    #[test]
    fn a_long_text_has_more_time() {
        let tries = Tries::default();
        assert_eq!(tries.timeout_for(0), Duration::from_secs(2));
        assert_eq!(tries.timeout_for(3 << 19), Duration::from_millis(3500));
        assert_eq!(tries.timeout_for(16 << 20), Duration::from_secs(18));
    }

    #[test]
    fn a_message_says_when_it_was_sent_to_the_millisecond() {
        let sent_at = UNIX_EPOCH + Duration::from_nanos(1_771_622_100_123_456_789);
        assert_eq!(Message { sent_at, ..Message::text("hello") }.sent_at(), "2026-02-20T21:15:00.123Z");
        assert_ne!(new_request_id(), new_request_id());
    }
}
