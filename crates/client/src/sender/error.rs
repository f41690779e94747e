//! Errors of sending a control message.

use std::io;
use std::time::Duration;

use wh_wire::socket::{ControlKind, ControlResult, ErrorCode};

use super::line::ConnectionError;

/// Reason why a message was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The connection failed or broke, or the daemon refused the request.
    #[error(transparent)]
    Line(#[from] ConnectionError),
    /// No answer arrived in time.
    #[error("{} within {} s", if *.sent { "no acknowledgement" } else { "the daemon did not answer" }, .waited.as_secs_f64())]
    Timeout {
        waited: Duration,
        /// True if the message was sent; false if an earlier request, such as the capability query, was not answered.
        sent: bool,
    },
    /// The daemon does not support this version or kind of message.
    #[error("{server} does not support {} messages of this version of wh; use the same version for both", .kind.as_str())]
    Unable {
        /// Name and version of the daemon.
        server: String,
        kind: ControlKind,
    },
    /// The member has no credential in the session's team.
    #[error("no credential for {member}@{team}: {why}")]
    NoCredential {
        /// Member that the sender acts as.
        member: String,
        /// Team of the session.
        team: String,
        why: String,
    },
    /// The text is longer than the daemon accepts.
    #[error("the text has {bytes} bytes; at most {allowed} can be sent")]
    TooLong {
        /// Length of the text.
        bytes: u64,
        allowed: u64,
    },
    /// The acknowledgement is for another message. The daemon may have received the sent message anyway.
    #[error("the daemon acknowledged another message, {acked:?}")]
    OtherRequest {
        /// Acknowledged request id.
        acked: String,
    },
    /// A long text could not be written to a file.
    #[error("cannot write the text to a file: {0}")]
    Text(#[source] io::Error),
}

impl SendError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Line(ConnectionError::Unreachable(_)) => "unreachable",
            Self::Line(ConnectionError::Broken(_)) => "broken_line",
            Self::Line(ConnectionError::Refused(failure)) => match failure.code {
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

    /// Returns the result to report in place of the missing acknowledgement.
    pub fn result(&self) -> ControlResult {
        match self {
            Self::Line(ConnectionError::Unreachable(_)) => ControlResult::NotLive,
            Self::Line(ConnectionError::Broken(_)) | Self::Timeout { .. } | Self::OtherRequest { .. } => {
                ControlResult::Timeout
            }
            Self::Line(ConnectionError::Refused(failure)) => match failure.code {
                ErrorCode::SessionNotFound => ControlResult::NotFound,
                ErrorCode::Busy => ControlResult::Busy,
                ErrorCode::InternalError => ControlResult::InternalError,
                _ => ControlResult::Rejected,
            },
            Self::Unable { .. } | Self::NoCredential { .. } | Self::TooLong { .. } => ControlResult::Rejected,
            Self::Text(_) => ControlResult::InternalError,
        }
    }

    /// True if sending the same message again may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Line(ConnectionError::Refused(failure)) => {
                matches!(failure.code, ErrorCode::Busy | ErrorCode::InternalError)
            }
            Self::Line(_) | Self::Timeout { .. } | Self::OtherRequest { .. } => true,
            Self::Unable { .. } | Self::NoCredential { .. } | Self::TooLong { .. } | Self::Text(_) => false,
        }
    }
}

/// True if sending the same message again may succeed after an acknowledgement with this result.
pub fn is_retryable_result(result: ControlResult) -> bool {
    matches!(result, ControlResult::Busy | ControlResult::Timeout)
}
