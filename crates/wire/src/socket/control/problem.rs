//! Errors of invalid control messages.

use super::ack::{ControlAck, ControlResult};
use super::{CONTROL_VERSION, ControlKey, ControlKind};
use crate::socket::envelope::{ErrorCode, Failure};

/// Invalid control message, with the fields that could be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlProblem {
    /// Kind of the message, if it could be determined.
    pub kind: Option<ControlKind>,
    /// Identity of the message. Missing parts are empty.
    pub key: ControlKey,
    /// Sender as stated in the message, not authenticated.
    pub sender: Option<String>,
    /// Reason for the rejection.
    pub reason: ControlReason,
}

/// Reason why a control message is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlReason {
    /// The payload is not an object.
    #[error("the payload must be a JSON object")]
    NotAnObject,
    /// Both `type` and `action` are missing.
    #[error("the payload has neither type nor action; set type to \"control.stdin.request\" or action to \"stdin\"")]
    NoKind,
    /// The kind of message is unknown.
    #[error("unknown {field} {given:?}; expected one of: {known}")]
    UnknownKind {
        /// Field that names the kind: `type` or `action`.
        field: &'static str,
        /// Value of the field.
        given: String,
        /// Comma-separated list of supported values.
        known: &'static str,
    },
    /// Two fields contradict each other.
    #[error("{one} and {other} contradict each other; omit one of them")]
    Contradiction {
        /// Name of the first field.
        one: &'static str,
        /// Name of the second field.
        other: &'static str,
    },
    /// The payload version is not supported.
    #[error("unsupported control schema version {0}; expected {CONTROL_VERSION}")]
    Version(String),
    /// A required field is missing or empty.
    #[error("the required field {0} is missing or empty")]
    Missing(&'static str),
    /// A field has the wrong type.
    #[error("{field} must be {wanted}")]
    WrongType {
        /// Name of the field.
        field: &'static str,
        /// Description of the expected value.
        wanted: &'static str,
    },
    /// The content encoding is not supported.
    #[error("content_encoding {0:?} is not supported; send utf-8")]
    Encoding(String),
    /// The signal of an interrupt is not supported.
    #[error("signal {0:?} is not supported; set signal to \"interrupt\"")]
    Signal(String),
    /// An interrupt contains text, which would be lost.
    #[error("an interrupt cannot contain {0}; send the text as stdin and set interrupt to true to interrupt first")]
    InterruptWithText(&'static str),
    /// An answer contains neither option, decision nor text.
    #[error("an answer needs an option, a decision or a text")]
    EmptyAnswer,
}

impl ControlReason {
    /// Returns the error code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAnObject | Self::NoKind | Self::WrongType { .. } => "invalid_field",
            Self::UnknownKind { .. } => "unsupported_action",
            Self::Contradiction { .. } | Self::InterruptWithText(_) => "contradiction",
            Self::Version(_) => "unsupported_version",
            Self::Missing(_) => "missing_field",
            Self::Encoding(_) => "unsupported_encoding",
            Self::Signal(_) => "unsupported_signal",
            Self::EmptyAnswer => "empty",
        }
    }
}

impl ControlProblem {
    /// Returns the outcome to acknowledge: always [`ControlResult::Rejected`].
    pub fn result(&self) -> ControlResult {
        ControlResult::Rejected
    }

    /// Builds the acknowledgement; `None` if the kind of the message is unknown.
    pub fn ack(&self, acked_at: impl Into<String>) -> Option<ControlAck> {
        let ack = ControlAck::new(self.kind?, &self.key, acked_at, self.result());
        Some(ack.with_detail(self.reason.to_string()).with_error(self.reason.code()))
    }

    /// Builds the error to send if no acknowledgement can be built.
    pub fn failure(&self) -> Failure {
        Failure::new(ErrorCode::InvalidPayload, self.reason.to_string())
    }
}
