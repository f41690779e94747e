//! What is wrong with a payload that is no control message.

use super::ack::{ControlAck, ControlResult};
use super::{CONTROL_VERSION, ControlKey, ControlKind};
use crate::socket::envelope::{ErrorCode, Failure};

/// A payload that is no control message, with what could be read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlProblem {
    /// What it would have been, if it says.
    pub kind: Option<ControlKind>,
    /// Which message; what is missing is empty.
    pub key: ControlKey,
    /// Who says that it is theirs.
    pub sender: Option<String>,
    /// What is wrong.
    pub reason: ControlReason,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlReason {
    /// It is something else than an object.
    #[error("the payload must be a JSON object")]
    NoObject,
    /// It says neither `type` nor `action`.
    #[error("the payload says neither type nor action; give type \"control.stdin.request\", or action \"stdin\"")]
    NoKind,
    /// It names a kind that there is not.
    #[error("{field} {given:?} is not known; there are {known}")]
    UnknownKind {
        /// `type` or `action`.
        field: &'static str,
        /// What it says.
        given: String,
        /// What there is.
        known: &'static str,
    },
    /// It says the same thing twice, and differently.
    #[error("{one} and {other} contradict each other")]
    Contradiction {
        /// One field.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// It is of another version.
    #[error("unsupported control schema version {0}; expected {CONTROL_VERSION}")]
    Version(String),
    /// It lacks something.
    #[error("the required field {0} is missing or empty")]
    Missing(&'static str),
    /// A field is of another type.
    #[error("{field} must be {wanted}")]
    Wrong {
        /// Which.
        field: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// The text is in another encoding.
    #[error("content_encoding {0:?} is not supported; send utf-8")]
    Encoding(String),
    /// An interrupt with another signal.
    #[error("signal {0:?} is not supported; an interrupt has signal \"interrupt\"")]
    Signal(String),
    /// An interrupt with a text, which nobody would get.
    #[error("an interrupt carries no {0}; send the text as stdin, with interrupt true to interrupt first")]
    InterruptWithText(&'static str),
    /// An answer that answers nothing.
    #[error("an answer needs an option, a decision or a text")]
    EmptyAnswer,
}

impl ControlReason {
    /// In a word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoObject | Self::NoKind | Self::Wrong { .. } => "invalid_field",
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
    /// How such a message ends.
    pub fn result(&self) -> ControlResult {
        ControlResult::Rejected
    }

    /// The acknowledgement; none if it is not known of what.
    pub fn ack(&self, acked_at: impl Into<String>) -> Option<ControlAck> {
        let ack = ControlAck::new(self.kind?, &self.key, acked_at, self.result());
        Some(ack.with_detail(self.reason.to_string()).with_error(self.reason.code()))
    }

    /// The answer where there can be no acknowledgement.
    pub fn failure(&self) -> Failure {
        Failure::new(ErrorCode::InvalidPayload, self.reason.to_string())
    }
}
