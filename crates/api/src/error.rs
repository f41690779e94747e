//! Errors of a call.

use std::io;
use std::time::Duration;

use serde::Deserialize;
use wh_wire::control::{ErrorBody, ExitBody};

use crate::ended::EndedRun;

/// Reason why a call has no answer, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not an address.
    #[error("{url:?} is not an address; write it as http://HOST:PORT, for example http://127.0.0.1:9090")]
    Address {
        /// The text.
        url: String,
    },
    /// The token cannot be sent in a header.
    #[error("the token has characters that cannot be sent")]
    Token,
    /// The address is not on this machine, and no token was given.
    #[error("{url} is another machine: asking it needs a token")]
    TokenNeeded {
        /// The address.
        url: String,
    },
    /// The request cannot be sent: its path, its body or a header is not valid.
    #[error("the request is not valid: {0}")]
    Invalid(String),
    /// Nobody listens there, or the connection was closed before the whole answer was here.
    #[error("{url} {problem}")]
    Unreachable {
        /// The address.
        url: String,
        /// The problem, as the end of a sentence that begins with the address.
        problem: String,
    },
    /// The run that had this address has ended, and has left a record.
    #[error("{} at {} has ended{}", .0.run.command.join(" "), .0.run.url, ending(.0.exit()))]
    Ended(Box<EndedRun>),
    /// The server answered with an error.
    #[error("{}", .0.message())]
    Refused(Box<Refusal>),
    /// No answer, or not all of it, within the deadline.
    #[error("{url} did not answer within {after:?}")]
    Timeout {
        /// The address.
        url: String,
        /// The deadline.
        after: Duration,
    },
    /// The request is larger than the server reads. It was not sent.
    #[error("the request has {bytes} bytes, and at most {limit} can be sent; send it in parts")]
    RequestTooLarge {
        /// Size of its body.
        bytes: usize,
        /// The largest size.
        limit: usize,
    },
    /// The answer is larger than this client reads.
    #[error("the answer of {url} has more than {limit} bytes")]
    AnswerTooLarge {
        /// The address.
        url: String,
        /// The largest size.
        limit: usize,
    },
    /// The peer is not Wheelhouse, or not of this version: not HTTP, not JSON, or JSON of another form.
    #[error("what answers at {url} {problem}")]
    NotOurs {
        /// The address.
        url: String,
        /// The problem, as the end of a sentence that begins with the peer.
        problem: String,
    },
    /// TLS could not be set up: no feature `tls`, or certificates that cannot be read.
    #[error("TLS cannot be used: {0}")]
    Tls(String),
    /// The runtime of a blocking client could not be started.
    #[error("no runtime can be started: {0}")]
    Runtime(#[source] io::Error),
}

impl Error {
    /// The answer of the server, if it refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Exit code and signal of the program, if its run has ended.
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

/// An error answer of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The words and the stable code, as the server sent them. Empty words if it sent other JSON.
    pub body: ErrorBody,
    /// The screen's last lines, if the server sent them.
    pub screen: Vec<String>,
}

/// The body of an error answer. A wait that has ended in vain adds the screen.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Objection {
    error: String,
    code: Option<String>,
    detail: Option<String>,
    position: Option<usize>,
    screen: Vec<String>,
}

impl Refusal {
    /// Reads the body of an error answer. JSON of another form has no words and no code.
    pub fn read(status: u16, body: &[u8]) -> Self {
        let Objection { error, code, detail, position, screen } = serde_json::from_slice(body).unwrap_or_default();
        Self { status, body: ErrorBody { error, code, detail, position }, screen }
    }

    /// Stable code for programs, as `request_id_reused`.
    pub fn code(&self) -> Option<&str> {
        self.body.code.as_deref()
    }

    /// Words for people: the error, and its details unless they repeat it.
    pub fn message(&self) -> String {
        let error = self.body.error.to_lowercase();
        match &self.body.detail {
            Some(detail) if error.is_empty() || detail.to_lowercase().contains(&error) => detail.clone(),
            Some(detail) => format!("{error}: {detail}"),
            None if error.is_empty() => format!("the server answered with status {}", self.status),
            None => error,
        }
    }

    /// Advice for the caller, where the status alone gives one.
    pub fn hint(&self) -> Option<&'static str> {
        match self.status {
            401 => Some("send the token that the run was started with"),
            404 | 405 if matches!(self.code(), None | Some("not_found" | "method_not_allowed")) => {
                Some("the server is not Wheelhouse, or has another version")
            }
            503 => Some("ask again later"),
            _ => None,
        }
    }
}
