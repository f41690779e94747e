//! Errors of the connection to Claude Code.

use std::sync::Arc;
use std::time::Duration;

use wh_pipe::{LaunchError, NoReply};
use wh_wire::claude::ReplyError;

/// Failure of an operation on Claude Code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is not on the PATH.
    #[error("Claude Code is not installed: {0:?} is not on the PATH; run npm install -g @anthropic-ai/claude-code")]
    NotInstalled(String),
    /// The program exists but could not be started.
    #[error("Claude Code could not be started: {0}")]
    Start(#[source] LaunchError),
    /// The handshake timed out.
    #[error("Claude Code did not answer the initialize request within {0:?}")]
    InitializeTimeout(Duration),
    /// A request timed out. Claude Code may still have executed it.
    #[error("Claude Code did not answer {request} within {after:?}")]
    ControlTimeout {
        /// Subtype of the request.
        request: String,
        /// Timeout that expired.
        after: Duration,
    },
    /// The running version does not know the request.
    #[error("this version of Claude Code does not support {request}: {message}")]
    NotSupported {
        /// Subtype of the request.
        request: String,
        /// Error message from Claude Code.
        message: String,
    },
    /// Claude Code refused the request.
    #[error("Claude Code refused {request}: {message}")]
    Refused {
        /// Subtype of the request.
        request: String,
        /// Error message from Claude Code.
        message: String,
        /// Machine-readable code; `None` if the running version sends none.
        code: Option<String>,
    },
    /// Claude Code has exited, or its input is closed.
    #[error("Claude Code is not running: {0}")]
    Disconnected(Arc<str>),
    /// [`ClaudeTurn::next`](crate::ClaudeTurn::next) has already read the turn to its end.
    #[error("the turn was already read to its end; an earlier call of next() returned the result or error of the turn")]
    TurnAlreadyRead,
    /// The reply does not have the expected form.
    #[error("Claude Code sent an unexpected reply to {request}: {reason}")]
    Unexpected {
        /// Subtype of the request.
        request: String,
        /// Description of the mismatch.
        reason: String,
    },
}

impl Error {
    pub(crate) fn no_reply(request: &str, error: NoReply) -> Self {
        match error {
            NoReply::Timeout(after) if request == "initialize" => Self::InitializeTimeout(after),
            NoReply::Timeout(after) => Self::ControlTimeout { request: request.to_owned(), after },
            NoReply::Disconnected(reason) => Self::Disconnected(reason),
            NoReply::DuplicateKey => {
                Self::Unexpected { request: request.to_owned(), reason: "the request id is already in use".to_owned() }
            }
        }
    }

    pub(crate) fn refused(request: &str, refusal: ReplyError) -> Self {
        let request = request.to_owned();
        let ReplyError { message, code } = refusal;
        // Newer versions send a code, older versions only a message.
        if code.as_deref() == Some("unsupported_request") || message.starts_with("Unsupported control request") {
            Self::NotSupported { request, message }
        } else {
            Self::Refused { request, message, code }
        }
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::NotFound(program) => Self::NotInstalled(program.to_string_lossy().into_owned()),
            other => Self::Start(other),
        }
    }
}
