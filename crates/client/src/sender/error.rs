//! Why a message was not acknowledged.

use std::io;
use std::time::Duration;

use wh_wire::socket::{ControlKind, ControlResult, ErrorCode};

use super::line::LineError;

/// Why a message was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no line to the daemon, it broke, or the daemon refused what was asked.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Nothing was heard in time.
    #[error("{} within {} s", if *.sent { "no acknowledgement" } else { "the daemon does not answer" }, .waited.as_secs_f64())]
    Timeout {
        /// For how long was waited.
        waited: Duration,
        /// Whether the message is on its way; otherwise what had to be asked first was not answered.
        sent: bool,
    },
    /// The daemon does not speak this version, or does not take such messages.
    #[error("{server} takes no {} messages of this version", .kind.as_str())]
    Unable {
        /// What the daemon says to be.
        server: String,
        /// Which messages.
        kind: ControlKind,
    },
    /// Nothing proves who sends.
    #[error("there is no credential of {member}@{team}: {why}")]
    NoCredential {
        /// Who.
        member: String,
        /// In which team.
        team: String,
        /// Why.
        why: String,
    },
    /// The daemon takes no text of this length.
    #[error("the text has {bytes} bytes; at most {allowed} can be sent")]
    TooLong {
        /// Its length.
        bytes: u64,
        /// The longest.
        allowed: u64,
    },
    /// The acknowledgement is of another message. This one may have arrived.
    #[error("the daemon acknowledges another message, {acked:?}")]
    OtherRequest {
        /// The message that it names.
        acked: String,
    },
    /// A text that is too long for a line could not be put into a file.
    #[error("the text cannot be written: {0}")]
    Text(#[source] io::Error),
}

impl SendError {
    /// In a word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Line(LineError::Unreachable(_)) => "unreachable",
            Self::Line(LineError::Broken(_)) => "broken_line",
            Self::Line(LineError::Refused(failure)) => match failure.code {
                ErrorCode::SessionNotFound => "no_session",
                ErrorCode::Busy => "busy",
                ErrorCode::InternalError => "daemon_failed",
                _ => "refused",
            },
            Self::Timeout { .. } => "no_answer",
            Self::OtherRequest { .. } => "other_request",
            Self::Unable { .. } => "unsupported",
            Self::NoCredential { .. } => "no_credential",
            Self::TooLong { .. } => "too_long",
            Self::Text(_) => "text_not_written",
        }
    }

    /// What the sender takes it for, as there is no acknowledgement that says it.
    pub fn result(&self) -> ControlResult {
        match self {
            Self::Line(LineError::Unreachable(_)) => ControlResult::NotLive,
            Self::Line(LineError::Broken(_)) | Self::Timeout { .. } | Self::OtherRequest { .. } => {
                ControlResult::Timeout
            }
            Self::Line(LineError::Refused(failure)) => match failure.code {
                ErrorCode::SessionNotFound => ControlResult::NotFound,
                ErrorCode::Busy => ControlResult::Busy,
                ErrorCode::InternalError => ControlResult::InternalError,
                _ => ControlResult::Rejected,
            },
            Self::Unable { .. } | Self::NoCredential { .. } | Self::TooLong { .. } => ControlResult::Rejected,
            Self::Text(_) => ControlResult::InternalError,
        }
    }

    /// Whether the same message may yet be taken, if it is sent again under its name.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Line(LineError::Refused(failure)) => {
                matches!(failure.code, ErrorCode::Busy | ErrorCode::InternalError)
            }
            Self::Line(_) | Self::Timeout { .. } | Self::OtherRequest { .. } => true,
            Self::Unable { .. } | Self::NoCredential { .. } | Self::TooLong { .. } | Self::Text(_) => false,
        }
    }
}

/// Whether the same message may yet be taken after an acknowledgement with this result.
pub fn may_come_again(result: ControlResult) -> bool {
    matches!(result, ControlResult::Busy | ControlResult::Timeout)
}
