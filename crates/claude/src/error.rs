//! What can go wrong between us and Claude Code.

use std::sync::Arc;
use std::time::Duration;

use wh_pipe::{NoReply, StartError};
use wh_wire::claude::Refusal;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is not on the path.
    #[error(
        "Claude Code is not installed: there is no {0:?} on the path; run npm install -g @anthropic-ai/claude-code"
    )]
    NotInstalled(String),
    /// The program is there and could not be started.
    #[error("Claude Code could not be started: {0}")]
    Start(#[source] StartError),
    /// It did not introduce itself in time.
    #[error("Claude Code did not answer the initialize request within {0:?}")]
    InitializeTimeout(Duration),
    /// A request was not answered in time. It may still have been carried out.
    #[error("Claude Code did not answer {request} within {after:?}")]
    ControlTimeout {
        /// Which request, by its subtype.
        request: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The running version does not know the request.
    #[error("this version of Claude Code does not support {request}: {message}")]
    NotSupported {
        /// Which request, by its subtype.
        request: String,
        /// What it said.
        message: String,
    },
    /// It knows the request and says no.
    #[error("Claude Code refused {request}: {message}")]
    Refused {
        /// Which request, by its subtype.
        request: String,
        /// What it said.
        message: String,
        /// The same in one word, where the version has one.
        code: Option<String>,
    },
    /// It is gone, or nothing can be sent to it any more.
    #[error("Claude Code is gone: {0}")]
    Disconnected(Arc<str>),
    /// It answered with something else than was expected.
    #[error("Claude Code answered {request} with something else: {reason}")]
    Unexpected {
        /// Which request, by its subtype.
        request: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    pub(crate) fn no_reply(request: &str, error: NoReply) -> Self {
        match error {
            NoReply::Timeout(after) if request == "initialize" => Self::InitializeTimeout(after),
            NoReply::Timeout(after) => Self::ControlTimeout { request: request.to_owned(), after },
            NoReply::Disconnected(reason) => Self::Disconnected(reason),
            NoReply::Taken => {
                Self::Unexpected { request: request.to_owned(), reason: "its id is taken already".to_owned() }
            }
        }
    }

    pub(crate) fn refused(request: &str, refusal: Refusal) -> Self {
        let request = request.to_owned();
        let Refusal { message, code } = refusal;
        // Newer versions say it in one word, older ones only in a sentence.
        if code.as_deref() == Some("unsupported_request") || message.starts_with("Unsupported control request") {
            Self::NotSupported { request, message }
        } else {
            Self::Refused { request, message, code }
        }
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotFound(program) => Self::NotInstalled(program.to_string_lossy().into_owned()),
            other => Self::Start(other),
        }
    }
}
