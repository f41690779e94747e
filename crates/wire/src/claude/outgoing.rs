//! One line to the agent.

use std::{error, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{answer::Answer, request::Request};

/// What we write to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outgoing {
    /// Part of the conversation.
    User(Box<UserInput>),
    /// We ask something; the [`Reply`](super::Reply) has the same id.
    ControlRequest {
        /// The id.
        request_id: String,
        /// What we ask.
        request: Request,
    },
    /// We answer an [`Ask`](super::Ask).
    ControlResponse {
        /// How.
        response: Response,
    },
    /// We withdraw a request of ours. There is no answer.
    ControlCancelRequest {
        /// Which.
        request_id: String,
    },
    /// We are alive.
    KeepAlive {},
}

/// Our answer to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "lowercase", deny_unknown_fields)]
pub enum Response {
    /// It was done, or decided.
    Success {
        /// What it answers.
        request_id: String,
        /// What came of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Answer>,
    },
    /// It was not.
    Error {
        /// What it answers.
        request_id: String,
        /// Why.
        error: String,
        /// The same in one word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
    },
}

/// Something said to the agent. While a turn runs it waits, or is taken into the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserInput {
    /// What is said.
    #[serde(rename = "message", with = "body")]
    pub content: UserContent,
    /// The subagent's call that it is for; none for the main conversation.
    #[serde(default)]
    pub parent_tool_use_id: Option<String>,
    /// The session; may be empty, as there is one in a process.
    #[serde(default)]
    pub session_id: String,
    /// Our id for it. The agent comes back to it, and files can be rewound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// When it is to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// False: it begins no turn.
    #[serde(default, rename = "shouldQuery", skip_serializing_if = "Option::is_none")]
    pub should_query: Option<bool>,
    /// True: `@path` and slash commands in it mean nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_composed: Option<bool>,
}

/// The content stands in a message of the Messages API, which has a role.
mod body {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body<T> {
        role: Role,
        content: T,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Role {
        User,
    }

    pub(super) fn serialize<T: Serialize, S: Serializer>(content: &T, serializer: S) -> Result<S::Ok, S::Error> {
        Body { role: Role::User, content }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        Body::deserialize(deserializer).map(|body| body.content)
    }
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserContent {
    /// Words.
    Text(String),
    /// Words, pictures and files.
    Blocks(Vec<InputBlock>),
}

/// A part of what is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum InputBlock {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// Where it comes from, as the Messages API has it.
        source: Value,
    },
    /// Another block of the Messages API.
    #[serde(untagged)]
    Other(Value),
}

/// When a message is to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// At once.
    Now,
    /// At the next opportunity within the turn.
    Next,
    /// After the turn.
    Later,
}

/// What could not be written.
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
    /// Words to the agent, under an id of ours.
    pub fn text(text: impl Into<String>, uuid: impl Into<String>) -> Self {
        let input = UserInput::from(UserContent::Text(text.into()));
        Self::User(Box::new(UserInput { uuid: Some(uuid.into()), ..input }))
    }

    /// A request.
    pub fn request(request_id: impl Into<String>, request: Request) -> Self {
        Self::ControlRequest { request_id: request_id.into(), request }
    }

    /// An answer.
    pub fn success(request_id: impl Into<String>, answer: impl Into<Answer>) -> Self {
        let response = Some(answer.into());
        Self::ControlResponse { response: Response::Success { request_id: request_id.into(), response } }
    }

    /// A refusal.
    pub fn error(request_id: impl Into<String>, error: impl Into<String>) -> Self {
        let response = Response::Error { request_id: request_id.into(), error: error.into(), error_code: None };
        Self::ControlResponse { response }
    }

    /// The answer to a question of a kind that we do not know.
    pub fn unsupported(request_id: impl Into<String>, subtype: &str) -> Self {
        let response = Response::Error {
            request_id: request_id.into(),
            error: format!("unsupported control request subtype: {subtype}"),
            error_code: Some("unsupported_request".to_owned()),
        };
        Self::ControlResponse { response }
    }

    /// Withdraws a request.
    pub fn cancel(request_id: impl Into<String>) -> Self {
        Self::ControlCancelRequest { request_id: request_id.into() }
    }

    /// One line, with its end.
    ///
    /// # Errors
    ///
    /// None that the types here can have; the answer says so rather than panic.
    pub fn encode(&self) -> Result<String, EncodeError> {
        let mut line = serde_json::to_string(self).map_err(EncodeError)?;
        // JSON leaves these two as they are, and readers in JavaScript may take them for the end of a line.
        for (separator, escape) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")] {
            if line.contains(separator) {
                line = line.replace(separator, escape);
            }
        }
        line.push('\n');
        Ok(line)
    }
}
