//! Envelope of requests and responses: version, request id, credentials and payload.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Supported version of the envelope.
pub const SOCKET_VERSION: u64 = 1;

/// Request id in the response to a line that has no valid request id.
pub const UNKNOWN_REQUEST: &str = "unknown";

/// Maximum number of additional credentials in a request.
pub const MAX_CREDENTIALS: usize = 256;

/// Request, encoded as one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SocketRequest {
    /// Version of the envelope.
    pub version: u64,
    /// Id of this request, repeated in the response. Not used to deduplicate control messages.
    pub request_id: String,
    /// Credential of the caller.
    #[serde(rename = "token", skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// Additional credentials, for access to the sessions of several teams.
    #[serde(rename = "tokens", skip_serializing_if = "Vec::is_empty")]
    pub more_credentials: Vec<Credential>,
    /// Name of the command.
    pub command: String,
    /// Parameters of the command.
    pub payload: Value,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Secret that authenticates the caller. `Debug` omits the secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credential(pub String);

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credential(…)")
    }
}

impl SocketRequest {
    /// Creates a request of the supported version without credentials.
    pub fn new(request_id: impl Into<String>, command: impl Into<String>, payload: Value) -> Self {
        Self {
            version: SOCKET_VERSION,
            request_id: request_id.into(),
            credential: None,
            more_credentials: Vec::new(),
            command: command.into(),
            payload,
            rest: Map::new(),
        }
    }

    /// Decodes one line. The error is the response to send.
    pub fn decode(line: &[u8]) -> Result<Self, SocketResponse> {
        let invalid = |id: &str, message: String| SocketResponse::failed(id, ErrorCode::InvalidRequest, message);
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| invalid(UNKNOWN_REQUEST, format!("the line is not valid JSON: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(invalid(UNKNOWN_REQUEST, "a request must be a JSON object".to_owned()));
        };
        let request_id = match fields.remove("request_id") {
            Some(Value::String(id)) if !id.is_empty() => id,
            _ => return Err(invalid(UNKNOWN_REQUEST, "request_id must be a non-empty string".to_owned())),
        };
        let version = match fields.remove("version") {
            Some(Value::Number(version)) if version.as_u64() == Some(SOCKET_VERSION) => SOCKET_VERSION,
            Some(Value::Number(version)) => {
                let message = format!("unsupported protocol version {version}; this server supports {SOCKET_VERSION}");
                return Err(SocketResponse::failed(request_id, ErrorCode::VersionMismatch, message));
            }
            _ => return Err(invalid(&request_id, "version must be a number".to_owned())),
        };
        let command = match fields.remove("command") {
            Some(Value::String(command)) => command,
            _ => return Err(invalid(&request_id, "command must be a string".to_owned())),
        };
        let credential = match fields.remove("token") {
            None | Some(Value::Null) => None,
            Some(Value::String(token)) => Some(Credential(token)),
            Some(_) => return Err(invalid(&request_id, "token must be a string".to_owned())),
        };
        let more_credentials = match fields.remove("tokens") {
            None | Some(Value::Null) => Vec::new(),
            Some(tokens) => match Vec::deserialize(tokens) {
                Ok(tokens) if tokens.len() <= MAX_CREDENTIALS => tokens,
                _ => {
                    let message = format!("tokens must be a list of at most {MAX_CREDENTIALS} strings");
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

    /// Returns all credentials of the request.
    pub fn credentials(&self) -> impl Iterator<Item = &Credential> {
        self.credential.iter().chain(&self.more_credentials)
    }

    /// Encodes the request as a line, including its line terminator.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }
}

/// Response to a request, encoded as one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SocketResponse {
    /// Version of the envelope.
    pub version: u64,
    /// Id of the request.
    pub request_id: String,
    /// Result of the request.
    #[serde(flatten)]
    pub body: ResponseBody,
}

/// Result of a request. The result of a rejected control message is `ok`: the payload is an acknowledgement that
/// reports the rejection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum ResponseBody {
    /// The request succeeded.
    Ok {
        /// Response of the command.
        #[serde(default)]
        payload: Value,
    },
    /// The request failed.
    Error {
        /// Code and message of the error.
        error: Failure,
    },
}

/// Error of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Error code for programs.
    pub code: ErrorCode,
    /// Error message for display.
    pub message: String,
}

impl Failure {
    /// Creates an error.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Error code of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The line is not a valid request.
    InvalidRequest,
    /// The envelope version is not supported.
    VersionMismatch,
    /// The payload is invalid for the command.
    InvalidPayload,
    /// The command does not exist.
    UnknownCommand,
    /// A required field of the payload is missing.
    MissingParameter,
    /// The session does not exist or is not visible to the caller.
    SessionNotFound,
    /// The agent does not exist.
    AgentNotFound,
    /// The team does not exist.
    TeamNotFound,
    /// The team's configuration cannot be read.
    InvalidTeamConfig,
    /// The credential is missing, invalid or not sufficient.
    Unauthorized,
    /// Too many requests are pending. A retry may succeed.
    Busy,
    /// An internal error of wh.
    InternalError,
    /// An error code unknown to this version.
    #[serde(other)]
    Unknown,
}

impl SocketResponse {
    /// Creates a successful response.
    pub fn ok(request_id: impl Into<String>, payload: &impl Serialize) -> Self {
        let request_id = request_id.into();
        match serde_json::to_value(payload) {
            Ok(payload) => Self { version: SOCKET_VERSION, request_id, body: ResponseBody::Ok { payload } },
            Err(error) => Self::failed(
                request_id,
                ErrorCode::InternalError,
                format!("the response cannot be serialized: {error}"),
            ),
        }
    }

    /// Creates an error response.
    pub fn failed(request_id: impl Into<String>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            version: SOCKET_VERSION,
            request_id: request_id.into(),
            body: ResponseBody::Error { error: Failure::new(code, message) },
        }
    }

    /// Encodes the response as a line, including its line terminator.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }

    /// Decodes a line from the server.
    pub fn decode(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// Decodes the payload of a successful response.
    pub fn into_answer<T: DeserializeOwned>(self) -> Result<T, Failure> {
        match self.body {
            ResponseBody::Error { error } => Err(error),
            ResponseBody::Ok { payload } => serde_json::from_value(payload)
                .map_err(|error| Failure::new(ErrorCode::InvalidPayload, format!("unexpected response: {error}"))),
        }
    }
}

/// Encodes a value as one line of JSON. Returns an empty line if serialization fails, which cannot happen for
/// the types of this module.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
