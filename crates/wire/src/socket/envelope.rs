//! What every request and every answer has around it.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The version of the envelope that is spoken here.
pub const VERSION: u64 = 1;

/// The request id of an answer to a line in which none could be read.
pub const UNKNOWN_REQUEST: &str = "unknown";

/// Credentials in one request, beside the first.
pub const MAX_CREDENTIALS: usize = 256;

/// One request: one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// The version of the envelope.
    pub version: u64,
    /// The caller's name for this exchange: the answer has it too. It is not what a repetition of a control message is known by.
    pub request_id: String,
    /// Who asks, proven.
    #[serde(rename = "token", skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// Further credentials of the caller: with them it sees the sessions of several teams.
    #[serde(rename = "tokens", skip_serializing_if = "Vec::is_empty")]
    pub more_credentials: Vec<Credential>,
    /// What is asked for.
    pub command: String,
    /// The command's own fields.
    pub payload: Value,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A secret that proves who asks. It is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credential(pub String);

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credential(…)")
    }
}

impl Request {
    /// A request of this version.
    pub fn new(request_id: impl Into<String>, command: impl Into<String>, payload: Value) -> Self {
        Self {
            version: VERSION,
            request_id: request_id.into(),
            credential: None,
            more_credentials: Vec::new(),
            command: command.into(),
            payload,
            rest: Map::new(),
        }
    }

    /// Reads one line. What cannot be read comes back as the answer to send.
    pub fn decode(line: &[u8]) -> Result<Self, Response> {
        let invalid = |id: &str, message: String| Response::failed(id, ErrorCode::InvalidRequest, message);
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| invalid(UNKNOWN_REQUEST, format!("the line is no JSON: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(invalid(UNKNOWN_REQUEST, "a request is a JSON object".to_owned()));
        };
        let request_id = match fields.remove("request_id") {
            Some(Value::String(id)) if !id.is_empty() => id,
            _ => return Err(invalid(UNKNOWN_REQUEST, "request_id must be a text that is not empty".to_owned())),
        };
        let version = match fields.remove("version") {
            Some(Value::Number(version)) if version.as_u64() == Some(VERSION) => VERSION,
            Some(Value::Number(version)) => {
                let message = format!("unsupported protocol version {version}; this server speaks {VERSION}");
                return Err(Response::failed(request_id, ErrorCode::VersionMismatch, message));
            }
            _ => return Err(invalid(&request_id, "version must be a number".to_owned())),
        };
        let command = match fields.remove("command") {
            Some(Value::String(command)) => command,
            _ => return Err(invalid(&request_id, "command must be a text".to_owned())),
        };
        let credential = match fields.remove("token") {
            None | Some(Value::Null) => None,
            Some(Value::String(token)) => Some(Credential(token)),
            Some(_) => return Err(invalid(&request_id, "token must be a text".to_owned())),
        };
        let more_credentials = match fields.remove("tokens") {
            None | Some(Value::Null) => Vec::new(),
            Some(tokens) => match Vec::deserialize(tokens) {
                Ok(tokens) if tokens.len() <= MAX_CREDENTIALS => tokens,
                _ => {
                    let message = format!("tokens must be a list of at most {MAX_CREDENTIALS} texts");
                    return Err(invalid(&request_id, message));
                }
            },
        };
        let payload = match fields.remove("payload") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(payload) => payload,
        };
        Ok(Self { version, request_id, credential, more_credentials, command, payload, rest: fields })
    }

    /// All credentials that are shown.
    pub fn credentials(&self) -> impl Iterator<Item = &Credential> {
        self.credential.iter().chain(&self.more_credentials)
    }

    /// The request as a line, with its end.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }
}

/// The answer to one request: one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The version of the envelope.
    pub version: u64,
    /// The request's id.
    pub request_id: String,
    /// What became of it.
    #[serde(flatten)]
    pub body: Body,
}

/// What became of a request. A control message that was refused is an `ok` with a `rejected` inside: the socket did its part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Body {
    /// It was done.
    Ok {
        /// The command's answer.
        #[serde(default)]
        payload: Value,
    },
    /// It was not.
    Error {
        /// Why.
        error: Failure,
    },
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In a word for programs.
    pub code: ErrorCode,
    /// In a sentence for people.
    pub message: String,
}

impl Failure {
    /// A failure.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Why, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The line is no request.
    InvalidRequest,
    /// The envelope is of another version.
    VersionMismatch,
    /// The payload is not what the command takes.
    InvalidPayload,
    /// There is no such command.
    UnknownCommand,
    /// The payload lacks a field.
    MissingParameter,
    /// There is no such session, or none that the caller may know of.
    SessionNotFound,
    /// There is no such agent.
    AgentNotFound,
    /// There is no such team.
    TeamNotFound,
    /// The team's configuration cannot be read.
    InvalidTeamConfig,
    /// The caller did not prove who it is, or may not.
    Unauthorized,
    /// Too much is under way; later it may succeed.
    Busy,
    /// wh failed.
    InternalError,
    /// A code of another version.
    #[serde(other)]
    Unknown,
}

impl Response {
    /// Done, with this answer.
    pub fn ok(request_id: impl Into<String>, payload: &impl Serialize) -> Self {
        let request_id = request_id.into();
        match serde_json::to_value(payload) {
            Ok(payload) => Self { version: VERSION, request_id, body: Body::Ok { payload } },
            Err(error) => {
                Self::failed(request_id, ErrorCode::InternalError, format!("the answer has no JSON: {error}"))
            }
        }
    }

    /// Not done.
    pub fn failed(request_id: impl Into<String>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            version: VERSION,
            request_id: request_id.into(),
            body: Body::Error { error: Failure::new(code, message) },
        }
    }

    /// The answer as a line, with its end.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }

    /// Reads a line of the server.
    pub fn decode(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// The answer, or why there is none.
    pub fn into_answer<T: DeserializeOwned>(self) -> Result<T, Failure> {
        match self.body {
            Body::Error { error } => Err(error),
            Body::Ok { payload } => serde_json::from_value(payload).map_err(|error| {
                Failure::new(ErrorCode::InvalidPayload, format!("an answer of another shape: {error}"))
            }),
        }
    }
}

/// As JSON on one line. The types here always have a JSON form; an empty line would say otherwise.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
