//! Errors of the client, and error responses of the server.

use std::io;
use std::time::Duration;

use serde::Deserialize;
use wh_wire::control::{ErrorBody, ExitBody};

use crate::ended::EndedRun;

/// Error of a call to the API.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not a valid address.
    #[error("{url:?} is not a valid address; use http://HOST:PORT, for example http://127.0.0.1:9090")]
    Address {
        /// The rejected text.
        url: String,
    },
    /// The token cannot be sent in a header.
    #[error("the token contains characters that are not allowed in a header")]
    Token,
    /// The address is remote and no token was given.
    #[error("{url} is a remote address and requires a token")]
    TokenNeeded {
        /// URL of the server.
        url: String,
    },
    /// The method, path, body or a header of the request is invalid.
    #[error("invalid request: {0}")]
    Invalid(String),
    /// No server is listening, or the connection was closed before the response was complete.
    #[error("{url} {problem}")]
    Unreachable {
        /// URL of the server.
        url: String,
        /// Description of the problem. Continues a sentence that begins with the URL.
        problem: String,
    },
    /// The run has ended and left a record.
    #[error("{} at {} has ended{}", .0.run.command.join(" "), .0.run.url, ending(.0.exit()))]
    Ended(Box<EndedRun>),
    /// The server sent an error response.
    #[error("{}", .0.message())]
    Refused(Box<ErrorResponse>),
    /// The complete response did not arrive before the timeout.
    #[error("{url} did not answer within {after:?}")]
    Timeout {
        /// URL of the server.
        url: String,
        /// Timeout that expired, including the time that the server needs to execute the request.
        after: Duration,
    },
    /// The request exceeds the size that the server accepts. The client did not send the request.
    #[error("the request has {bytes} bytes, more than the maximum of {limit}; split the request")]
    RequestTooLarge {
        /// Size of the body in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The response exceeds the size that this client accepts.
    #[error("the response of {url} exceeds the maximum of {limit} bytes")]
    ResponseTooLarge {
        /// URL of the server.
        url: String,
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The server is not Wheelhouse or has an incompatible version. The server sent data that is not HTTP, invalid
    /// JSON, or JSON with unexpected fields.
    #[error("the server at {url} {problem}")]
    UnexpectedServer {
        /// URL of the server.
        url: String,
        /// Description of the problem. Continues a sentence that begins with the URL.
        problem: String,
    },
    /// TLS is not available: the feature `tls` is disabled, or certificates are invalid.
    #[error("TLS is not available: {0}")]
    Tls(String),
    /// The runtime of a blocking client could not be started.
    #[error("cannot start the async runtime: {0}")]
    Runtime(#[source] io::Error),
}

impl Error {
    /// Returns the error response of the server if the error is [`Error::Refused`].
    pub fn error_response(&self) -> Option<&ErrorResponse> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns the exit status of the program, if the run has ended.
    pub fn exit(&self) -> Option<&ExitBody> {
        match self {
            Self::Ended(run) => run.exit(),
            _ => None,
        }
    }
}

fn ending(exit: Option<&ExitBody>) -> String {
    match exit {
        Some(ExitBody { signal: Some(signal), .. }) => format!(" by signal {signal}"),
        Some(ExitBody { code, .. }) => format!(" with code {code}"),
        None => String::new(),
    }
}

/// Error response of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorResponse {
    /// HTTP status code.
    pub status: u16,
    /// Body of the response: error, code and details. Empty if the server sent JSON with unexpected fields.
    pub body: ErrorBody,
    /// Last lines of the screen; empty if the server sent none.
    pub screen: Vec<String>,
}

/// Body of an error response. The response to a failed wait also contains the screen.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorResponseBody {
    error: String,
    code: Option<String>,
    detail: Option<String>,
    position: Option<usize>,
    screen: Vec<String>,
}

impl ErrorResponse {
    /// Decodes the body of an error response. If the body is JSON with unexpected fields, the result has an empty body.
    pub fn read(status: u16, body: &[u8]) -> Self {
        let ErrorResponseBody { error, code, detail, position, screen } =
            serde_json::from_slice(body).unwrap_or_default();
        Self { status, body: ErrorBody { error, code, detail, position }, screen }
    }

    /// Returns the stable error code for programs, for example `request_id_reused`.
    pub fn code(&self) -> Option<&str> {
        self.body.code.as_deref()
    }

    /// Returns a message for display: the error followed by the details, or only the details if they contain the error.
    pub fn message(&self) -> String {
        let error = self.body.error.to_lowercase();
        match &self.body.detail {
            Some(detail) if error.is_empty() || detail.to_lowercase().contains(&error) => detail.clone(),
            Some(detail) => format!("{error}: {detail}"),
            None if error.is_empty() => format!("the server responded with status {}", self.status),
            None => error,
        }
    }

    /// Returns a suggested fix for display. `None` if there is no suggestion for the status.
    pub fn hint(&self) -> Option<&'static str> {
        match self.status {
            401 => Some("send the token that the run was started with"),
            404 | 405 if matches!(self.code(), None | Some("not_found" | "method_not_allowed")) => {
                Some("the server is not Wheelhouse, or has another version")
            }
            503 => Some("retry later"),
            _ => None,
        }
    }
}
