//! JSON-RPC with a program, one message a line, in both directions: our requests and the program's have ids of their own,
//! and neither waits for the other. Every request of the program must be answered, also unknown ones ([`Frame::unknown`]).

mod message;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wh_pipe::link::{Codec, Decoded, Encoded, Events, Gone, Link, Role};
use wh_pipe::{Launch, NoReply, StartError};

use message::Message;

/// Timeout of a request, unless said otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Error code: there is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;

/// A message of the program that is not a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// It asks something and waits for an answer by this id.
    Request {
        /// The id, as it wrote it: a number or a string.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A line that is not a message, and the error.
    Unreadable(String),
}

/// A message to the program.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A request; the link gives it an id.
    Request {
        /// The method.
        method: &'static str,
        /// The parameters.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: &'static str,
        /// The parameters.
        params: Value,
    },
    /// The result of a request of the program.
    Answer {
        /// Its id.
        id: Value,
        /// The result.
        result: Value,
    },
    /// The refusal of a request of the program.
    Refusal {
        /// Its id.
        id: Value,
        /// The error's number.
        code: i64,
        /// The error in words.
        message: String,
    },
}

impl Frame {
    /// A request.
    pub fn request(method: &'static str, params: Value) -> Self {
        Self::Request { method, params }
    }

    /// The refusal of a method that is not known here.
    pub fn unknown(id: Value, method: &str) -> Self {
        Self::Refusal { id, code: METHOD_NOT_FOUND, message: format!("there is no method {method:?}") }
    }
}

/// Reason why a request of ours came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RpcError {
    /// The program refuses.
    #[error("{message}")]
    Refused {
        /// The error's number.
        code: i64,
        /// The error in words.
        message: String,
        /// More about it.
        data: Option<Value>,
    },
    /// It did not answer in time. It may still have done it.
    #[error("no answer to {method} within {after:?}")]
    Timeout {
        /// The method.
        method: String,
        /// The timeout.
        after: Duration,
    },
    /// It is gone.
    #[error("{0}")]
    Gone(Arc<str>),
    /// It could not be asked.
    #[error("{0}")]
    Failed(String),
}

impl RpcError {
    /// True if the program does not know the method.
    pub fn is_unknown_method(&self) -> bool {
        matches!(self, Self::Refused { code: METHOD_NOT_FOUND, .. })
    }

    fn no_reply(method: &str, error: NoReply) -> Self {
        match error {
            NoReply::Timeout(after) => Self::Timeout { method: method.to_owned(), after },
            NoReply::Disconnected(reason) => Self::Gone(reason),
            NoReply::Taken => Self::Gone("its id is taken".into()),
        }
    }
}

impl From<Gone> for RpcError {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone.0)
    }
}

/// The lines of JSON-RPC 2.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonRpc {
    /// Messages carry `"jsonrpc": "2.0"`. Codex leaves it out.
    pub names_version: bool,
}

impl Codec for JsonRpc {
    type Frame = Frame;
    type Id = u64;
    type Reply = Result<Value, RpcError>;
    type Message = Incoming;

    fn encode(&self, frame: Frame, number: u64) -> Result<Encoded<u64>, String> {
        let (mut message, role) = match frame {
            Frame::Request { method, params } => {
                (json!({ "id": number, "method": method, "params": params }), Role::Request(number))
            }
            Frame::Notification { method, params } => (json!({ "method": method, "params": params }), Role::Message),
            Frame::Answer { id, result } => {
                let key = id.to_string();
                (json!({ "id": id, "result": result }), Role::Answer(key))
            }
            Frame::Refusal { id, code, message } => {
                let key = id.to_string();
                (json!({ "id": id, "error": { "code": code, "message": message } }), Role::Answer(key))
            }
        };
        if self.names_version {
            message["jsonrpc"] = json!("2.0");
        }
        Ok(Encoded { line: message.to_string(), role })
    }

    fn decode(&self, line: &[u8]) -> Decoded<Self> {
        match Message::read(line) {
            Ok(None) => Decoded::Nothing,
            Ok(Some(Message::Request { id, method, params })) => {
                Decoded::Request(id.to_string(), Incoming::Request { id, method, params })
            }
            Ok(Some(Message::Notification { method, params })) => {
                Decoded::Message(Incoming::Notification { method, params })
            }
            Ok(Some(Message::Reply { id, outcome })) => match id.as_u64() {
                Some(id) => Decoded::Reply(id, outcome),
                None => Decoded::Nothing,
            },
            Err(reason) => Decoded::Message(Incoming::Unreadable(reason)),
        }
    }
}

/// A link to a program that speaks JSON-RPC.
pub type RpcLink = Link<JsonRpc>;

/// Events of such a link.
pub type RpcEvents = Events<JsonRpc>;

/// Starts a program that speaks JSON-RPC.
///
/// # Errors
///
/// If it cannot be started.
pub async fn start(launch: &Launch, codec: JsonRpc) -> Result<(RpcLink, RpcEvents), StartError> {
    Link::start(launch, codec, wh_pipe::lines::MAX).await
}

/// Sends a request and waits for its reply, at most [`REQUEST_TIMEOUT`].
///
/// # Errors
///
/// If it is refused or not answered in time, or the program is gone.
pub async fn request(link: &RpcLink, method: &'static str, params: Value) -> Result<Value, RpcError> {
    request_within(link, method, params, REQUEST_TIMEOUT).await
}

/// The same with a timeout of its own.
///
/// # Errors
///
/// As for [`request`].
pub async fn request_within(
    link: &RpcLink,
    method: &'static str,
    params: Value,
    timeout: Duration,
) -> Result<Value, RpcError> {
    let failed = |error| RpcError::no_reply(method, error);
    link.request(Frame::request(method, params), Some(timeout)).await.map_err(failed)?.await.map_err(failed)?
}

/// Starts a program for a few requests only, and waits until nothing of it is left.
///
/// # Errors
///
/// If it cannot be started, is gone, or does not answer all of them in time.
pub async fn ask_aside<T>(
    launch: &Launch,
    codec: JsonRpc,
    timeout: Duration,
    talk: impl AsyncFnOnce(&RpcLink) -> Result<T, RpcError>,
) -> Result<T, RpcError> {
    let (link, mut events) = start(launch, codec).await.map_err(|error| RpcError::Failed(error.to_string()))?;
    let answer = tokio::time::timeout(timeout, talk(&link)).await;
    link.close();
    while events.next().await.is_some() {}
    answer.unwrap_or_else(|_| Err(RpcError::Failed("it did not answer in time".to_owned())))
}

#[cfg(test)]
mod tests;
