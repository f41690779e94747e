//! JSON-RPC over the pipes of a program, one message per line. Both sides send requests and assign their own request
//! ids. Every request from the program must be answered, if necessary with [`RpcFrame::unknown`].

mod message;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wh_pipe::link::{Codec, DecodedLine, EncodedFrame, FrameRole, Link, LinkError, LinkEvents};
use wh_pipe::{LaunchError, LaunchSpec, NoReply};

use message::RpcMessage;

/// Default timeout of a request.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// JSON-RPC error code for an unknown method.
pub const METHOD_NOT_FOUND: i64 = -32601;

/// Message from the program, except replies.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcIncoming {
    /// Request that must be answered with the same id.
    Request {
        /// Request id as received: a number or a string.
        id: Value,
        method: String,
        params: Value,
    },
    /// Notification, which has no reply.
    Notification { method: String, params: Value },
    /// Line that is not a valid message. Contains the parse error.
    Unreadable(String),
}

/// Message to the program.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcFrame {
    /// Request to the program. The link assigns the id.
    Request { method: &'static str, params: Value },
    /// Notification, which has no reply.
    Notification { method: &'static str, params: Value },
    /// Successful reply to a request from the program.
    Answer { id: Value, result: Value },
    /// Error reply to a request from the program.
    Refusal { id: Value, code: i64, message: String },
}

impl RpcFrame {
    /// Creates a request to the program.
    pub fn request(method: &'static str, params: Value) -> Self {
        Self::Request { method, params }
    }

    /// Creates an error reply to a request with an unknown method.
    pub fn unknown(id: Value, method: &str) -> Self {
        Self::Refusal { id, code: METHOD_NOT_FOUND, message: format!("there is no method {method:?}") }
    }
}

/// Failure of a request to the program.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RpcError {
    /// The program replied with an error.
    #[error("{message}")]
    Refused {
        code: i64,
        message: String,
        /// Additional data of the JSON-RPC error.
        data: Option<Value>,
    },
    /// The program did not reply in time. The program may still execute the request.
    #[error("the program did not answer the request {method} within {after:?}")]
    Timeout {
        method: String,
        /// Timeout of the request.
        after: Duration,
    },
    /// The program has exited. Contains the reason.
    #[error("{0}")]
    Gone(Arc<str>),
    /// The request could not be sent. Contains the reason.
    #[error("{0}")]
    Failed(String),
}

impl RpcError {
    /// Returns true if the error means that the program does not know the method.
    pub fn is_unknown_method(&self) -> bool {
        matches!(self, Self::Refused { code: METHOD_NOT_FOUND, .. })
    }

    fn no_reply(method: &str, error: NoReply) -> Self {
        match error {
            NoReply::Timeout(after) => Self::Timeout { method: method.to_owned(), after },
            NoReply::Disconnected(reason) => Self::Gone(reason),
            NoReply::DuplicateKey => Self::Gone("the request id is already in use".into()),
        }
    }
}

impl From<LinkError> for RpcError {
    fn from(gone: LinkError) -> Self {
        Self::Gone(gone.0)
    }
}

/// Codec for JSON-RPC 2.0, one message per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonRpc {
    /// True to include `"jsonrpc": "2.0"` in messages. Codex does not use this field.
    pub names_version: bool,
}

impl Codec for JsonRpc {
    type Frame = RpcFrame;
    type Id = u64;
    type Reply = Result<Value, RpcError>;
    type Message = RpcIncoming;

    fn encode(&self, frame: RpcFrame, number: u64) -> Result<EncodedFrame<u64>, String> {
        let (mut message, role) = match frame {
            RpcFrame::Request { method, params } => {
                (json!({ "id": number, "method": method, "params": params }), FrameRole::Request(number))
            }
            RpcFrame::Notification { method, params } => {
                (json!({ "method": method, "params": params }), FrameRole::Message)
            }
            RpcFrame::Answer { id, result } => {
                let key = id.to_string();
                (json!({ "id": id, "result": result }), FrameRole::Answer(key))
            }
            RpcFrame::Refusal { id, code, message } => {
                let key = id.to_string();
                (json!({ "id": id, "error": { "code": code, "message": message } }), FrameRole::Answer(key))
            }
        };
        if self.names_version {
            message["jsonrpc"] = json!("2.0");
        }
        Ok(EncodedFrame { line: message.to_string(), role })
    }

    fn decode(&self, line: &[u8]) -> DecodedLine<Self> {
        match RpcMessage::read(line) {
            Ok(None) => DecodedLine::Nothing,
            Ok(Some(RpcMessage::Request { id, method, params })) => {
                DecodedLine::Request(id.to_string(), RpcIncoming::Request { id, method, params })
            }
            Ok(Some(RpcMessage::Notification { method, params })) => {
                DecodedLine::Message(RpcIncoming::Notification { method, params })
            }
            Ok(Some(RpcMessage::Reply { id, outcome })) => match id.as_u64() {
                Some(id) => DecodedLine::Reply(id, outcome),
                None => DecodedLine::Nothing,
            },
            Err(reason) => DecodedLine::Message(RpcIncoming::Unreadable(reason)),
        }
    }
}

/// Link to a JSON-RPC program.
pub type RpcLink = Link<JsonRpc>;

/// Events of a JSON-RPC link.
pub type RpcEvents = LinkEvents<JsonRpc>;

/// Starts a JSON-RPC program.
///
/// # Errors
///
/// Fails if the program cannot be started.
pub async fn start(launch: &LaunchSpec, codec: JsonRpc) -> Result<(RpcLink, RpcEvents), LaunchError> {
    Link::start(launch, codec, wh_pipe::lines::MAX_LINE_BYTES).await
}

/// Sends a request and waits for the reply, at most [`REQUEST_TIMEOUT`].
///
/// # Errors
///
/// Fails if the request is refused or times out, or if the program exits.
pub async fn request(link: &RpcLink, method: &'static str, params: Value) -> Result<Value, RpcError> {
    request_within(link, method, params, REQUEST_TIMEOUT).await
}

/// Sends a request and waits for the reply, at most the given timeout.
///
/// # Errors
///
/// See [`request`].
pub async fn request_within(
    link: &RpcLink,
    method: &'static str,
    params: Value,
    timeout: Duration,
) -> Result<Value, RpcError> {
    let failed = |error| RpcError::no_reply(method, error);
    link.request(RpcFrame::request(method, params), Some(timeout)).await.map_err(failed)?.await.map_err(failed)?
}

/// Starts a program, runs `talk` to send requests, closes the link, and waits until the program has exited.
///
/// # Errors
///
/// Fails if the program cannot be started, exits, or does not answer all requests in time.
pub async fn request_once<T>(
    launch: &LaunchSpec,
    codec: JsonRpc,
    timeout: Duration,
    talk: impl AsyncFnOnce(&RpcLink) -> Result<T, RpcError>,
) -> Result<T, RpcError> {
    let (link, mut events) = start(launch, codec).await.map_err(|error| RpcError::Failed(error.to_string()))?;
    let answer = tokio::time::timeout(timeout, talk(&link)).await;
    link.close();
    while events.next().await.is_some() {}
    answer.unwrap_or_else(|_| Err(RpcError::Failed("the program did not answer in time".to_owned())))
}

#[cfg(test)]
mod tests;
