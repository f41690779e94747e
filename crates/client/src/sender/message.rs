//! Control messages to send, with the request id and time that stay the same in every attempt.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wh_core::time::iso;
use wh_wire::socket::{AnswerDecision, ControlKind};

/// Action that a control message requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlIntent {
    /// Send text: a prompt for an agent, or input for a terminal program.
    Text {
        text: String,
        /// True to interrupt the current work first.
        interrupt: bool,
    },
    /// Interrupt the current work.
    Interrupt,
    /// Answer a question by an option, a decision, or a text.
    Answer {
        /// Id of the question.
        question: String,
        /// Id of the option.
        option: Option<String>,
        /// Approval or rejection.
        decision: Option<AnswerDecision>,
        text: Option<String>,
    },
}

impl ControlIntent {
    /// Returns the kind of message for this action.
    pub fn kind(&self) -> ControlKind {
        match self {
            Self::Text { .. } => ControlKind::Stdin,
            Self::Interrupt => ControlKind::Interrupt,
            Self::Answer { .. } => ControlKind::Answer,
        }
    }

    /// Returns the text of the action, if it has one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Interrupt => None,
            Self::Answer { text, .. } => text.as_deref(),
        }
    }
}

/// Control message. Every attempt to send the message, even from another process or after a restart, must use the same
/// request id and time. The daemon remembers the id for `dedupe_secs` and rejects messages older than `max_age_secs`
/// (see the capabilities). `dedupe_secs` is longer than `max_age_secs`, so a late retry is never executed twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingControl {
    pub intent: ControlIntent,
    pub request_id: String,
    /// Time of the first attempt, sent with millisecond precision.
    pub sent_at: SystemTime,
    /// Request id of an earlier message that this message replaces.
    pub retry_of: Option<String>,
    /// Name of the UI that sends the message; absent for other senders.
    pub ui_source: Option<String>,
}

impl OutgoingControl {
    /// Creates a message with the current time and a new request id.
    pub fn new(intent: ControlIntent) -> Self {
        Self { intent, request_id: new_request_id(), sent_at: SystemTime::now(), retry_of: None, ui_source: None }
    }

    /// Creates a text message.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(ControlIntent::Text { text: text.into(), interrupt: false })
    }

    /// Returns the time of the first attempt in wire format.
    pub fn sent_at(&self) -> String {
        iso(self.sent_at)
    }
}

/// Generates a unique request id.
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

/// Milliseconds added to the timeout per MiB of text. The text is written to a file, read by the daemon, and hashed on
/// both sides.
const TIMEOUT_MS_PER_MIB: u64 = 1000;

/// Retry policy for messages of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Timeout for each of two steps: the requests before the message, and the acknowledgement. Extended by one second
    /// per MiB of text.
    pub timeout: Duration,
    /// Number of retries after a timeout, a broken connection or a busy daemon.
    pub retries: u32,
    /// Delay before the first retry; doubles with each retry.
    pub backoff: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(2), retries: 1, backoff: Duration::from_millis(250) }
    }
}

impl RetryPolicy {
    /// Returns the timeout for a message with a text of this length.
    pub(super) fn timeout_for(&self, bytes: usize) -> Duration {
        let more = (bytes as u64).saturating_mul(TIMEOUT_MS_PER_MIB) >> 20;
        self.timeout.saturating_add(Duration::from_millis(more))
    }

    /// Returns the delay before the retry with this number. The first retry has number 0.
    pub fn delay_before(&self, retry: u32) -> Duration {
        self.backoff.saturating_mul(2_u32.saturating_pow(retry.min(16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_and_has_an_end() {
        let tries = RetryPolicy { backoff: Duration::from_millis(100), ..RetryPolicy::default() };
        let pauses: Vec<u128> = (0..4).map(|retry| tries.delay_before(retry).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800]);
        assert_eq!(tries.delay_before(u32::MAX), tries.delay_before(16));
        let default = RetryPolicy::default();
        assert_eq!(
            (default.timeout, default.retries, default.delay_before(0)),
            (Duration::from_secs(2), 1, default.backoff)
        );
    }

    #[test]
    fn a_long_text_has_more_time() {
        let tries = RetryPolicy::default();
        assert_eq!(tries.timeout_for(0), Duration::from_secs(2));
        assert_eq!(tries.timeout_for(3 << 19), Duration::from_millis(3500));
        assert_eq!(tries.timeout_for(16 << 20), Duration::from_secs(18));
    }

    #[test]
    fn a_message_says_when_it_was_sent_to_the_millisecond() {
        let sent_at = UNIX_EPOCH + Duration::from_nanos(1_771_622_100_123_456_789);
        assert_eq!(OutgoingControl { sent_at, ..OutgoingControl::text("hello") }.sent_at(), "2026-02-20T21:15:00.123Z");
        assert_ne!(new_request_id(), new_request_id());
    }
}
