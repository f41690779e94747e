//! Encodes one line to the agent.

use std::{error, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{answer::Answer, request::ClientRequest};

/// Line sent to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outgoing {
    /// Message of the conversation.
    User(Box<UserInput>),
    /// Control request of the client. The [`Reply`](super::Reply) contains the same id.
    ControlRequest {
        /// Id of the request.
        request_id: String,
        /// Content of the request.
        request: ClientRequest,
    },
    /// Response to a control request ([`IncomingRequest`](super::IncomingRequest)) of the agent.
    ControlResponse {
        /// Result of the request.
        response: ClientResponse,
    },
    /// Withdraws a control request of the client. The agent does not reply to the withdrawn request.
    ControlCancelRequest {
        /// Id of the withdrawn request.
        request_id: String,
    },
    /// Keep-alive frame without content.
    KeepAlive {},
}

/// Response to a control request of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "lowercase", deny_unknown_fields)]
pub enum ClientResponse {
    /// The request was executed or decided.
    Success {
        /// Id of the request.
        request_id: String,
        /// Result, if the request has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Answer>,
    },
    /// The request failed.
    Error {
        /// Id of the request.
        request_id: String,
        /// Description of the error.
        error: String,
        /// Error code for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
    },
}

/// User message to the agent. A message that arrives during a turn is queued or added to that turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserInput {
    /// Content of the message.
    #[serde(rename = "message", with = "body")]
    pub content: UserContent,
    /// Id of the tool call that started the subagent; `None` for a message to the main conversation.
    #[serde(default)]
    pub parent_tool_use_id: Option<String>,
    /// Session id. May be empty, because a process has one session.
    #[serde(default)]
    pub session_id: String,
    /// Message id assigned by the client. The agent uses this id in later frames, and `rewind_files` accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Priority, which determines when the agent handles the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// If false, the message does not start a turn.
    #[serde(default, rename = "shouldQuery", skip_serializing_if = "Option::is_none")]
    pub should_query: Option<bool>,
    /// Disables `@path` and slash command expansion if true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_composed: Option<bool>,
}

/// Serializes the content as a message of the Messages API with the role `user`.
mod body {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct UserMessageBody<T> {
        role: MessageRole,
        content: T,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum MessageRole {
        User,
    }

    pub(super) fn serialize<T: Serialize, S: Serializer>(content: &T, serializer: S) -> Result<S::Ok, S::Error> {
        UserMessageBody { role: MessageRole::User, content }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        UserMessageBody::deserialize(deserializer).map(|body| body.content)
    }
}

/// Content of a user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserContent {
    /// Plain text only.
    Text(String),
    /// Text, images and files.
    Blocks(Vec<InputBlock>),
}

/// Part of a user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum InputBlock {
    /// Text for the model.
    Text {
        /// The text itself.
        text: String,
    },
    /// Image for the model.
    Image {
        /// Image source, as defined by the Messages API.
        source: Value,
    },
    /// Any other block of the Messages API.
    #[serde(untagged)]
    Other(Value),
}

/// Priority of a message: determines when the agent handles it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Handled at once.
    Now,
    /// Handled at the next opportunity within the turn.
    Next,
    /// Handled after the turn.
    Later,
}

/// Error for a message that cannot be serialized.
#[derive(Debug)]
pub struct EncodeError(serde_json::Error);

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "the message to the agent cannot be written as JSON: {}", self.0)
    }
}

impl error::Error for EncodeError {}

impl From<UserContent> for UserInput {
    fn from(content: UserContent) -> Self {
        Self {
            content,
            parent_tool_use_id: None,
            session_id: String::new(),
            uuid: None,
            priority: None,
            should_query: None,
            client_composed: None,
        }
    }
}

impl Outgoing {
    /// Creates a text message with an id assigned by the client.
    pub fn text(text: impl Into<String>, uuid: impl Into<String>) -> Self {
        let input = UserInput::from(UserContent::Text(text.into()));
        Self::User(Box::new(UserInput { uuid: Some(uuid.into()), ..input }))
    }

    /// Creates a control request.
    pub fn request(request_id: impl Into<String>, request: ClientRequest) -> Self {
        Self::ControlRequest { request_id: request_id.into(), request }
    }

    /// Creates a successful response.
    pub fn success(request_id: impl Into<String>, answer: impl Into<Answer>) -> Self {
        let response = Some(answer.into());
        Self::ControlResponse { response: ClientResponse::Success { request_id: request_id.into(), response } }
    }

    /// Creates an error response.
    pub fn error(request_id: impl Into<String>, error: impl Into<String>) -> Self {
        let response = ClientResponse::Error { request_id: request_id.into(), error: error.into(), error_code: None };
        Self::ControlResponse { response }
    }

    /// Creates the error response for a request of an unknown kind.
    pub fn unsupported(request_id: impl Into<String>, subtype: &str) -> Self {
        let response = ClientResponse::Error {
            request_id: request_id.into(),
            error: format!("unsupported control request subtype: {subtype}"),
            error_code: Some("unsupported_request".to_owned()),
        };
        Self::ControlResponse { response }
    }

    /// Creates a frame that withdraws a request.
    pub fn cancel(request_id: impl Into<String>) -> Self {
        Self::ControlCancelRequest { request_id: request_id.into() }
    }

    /// Encodes the line, including its line terminator.
    ///
    /// # Errors
    ///
    /// Cannot fail for values of the types in this module; returns an error rather than panicking.
    pub fn encode(&self) -> Result<String, EncodeError> {
        let mut line = serde_json::to_string(self).map_err(EncodeError)?;
        // JSON does not escape these two characters, but some JavaScript readers treat them as line terminators.
        for (separator, escape) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")] {
            if line.contains(separator) {
                line = line.replace(separator, escape);
            }
        }
        line.push('\n');
        Ok(line)
    }
}
