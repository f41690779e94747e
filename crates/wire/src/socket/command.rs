//! Commands of the daemon's socket and their responses.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::capabilities::DaemonLimits;
use super::control::{ControlKind, ControlProblem, ControlRequest};
use super::envelope::{ErrorCode, Failure, SocketRequest};
use super::stream::Cursor;
use crate::control::{NewSessionRequest, QuestionBody, ReceiptBody, SessionSummary};

/// Names of all commands.
pub const SOCKET_COMMANDS: [&str; 11] = [
    "control",
    "capabilities",
    "list",
    "session",
    "receipt",
    "subscribe",
    "create",
    "answer",
    "attach",
    "join",
    "health",
];

/// Decoded command of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum SocketCommand {
    /// Sends text to a session, interrupts the session or answers one of its questions. Response:
    /// [`ControlAck`](super::ControlAck), even for an invalid payload.
    Control(Result<Box<ControlRequest>, Box<ControlProblem>>),
    /// Queries the capabilities. Response: [`Capabilities`](super::Capabilities).
    Capabilities,
    /// Lists the sessions. Response: [`ListedSessions`].
    List(ListSessions),
    /// Queries one session with its questions. Response: [`SessionDetails`].
    Session(SessionQuery),
    /// Queries the receipt of a command that was sent to a session. Response: [`ReceiptResponse`].
    Receipt(ReceiptQuery),
    /// Subscribes to the events of a session. Response: [`SubscribeResponse`], followed by
    /// [`StreamLine`](super::StreamLine)s.
    Subscribe(SubscribeRequest),
    /// Creates a session. Response: [`CreatedSession`].
    Create(Box<NewSessionRequest>),
    /// Attaches a terminal to a session. Response: [`AttachResponse`], followed by the frames of
    /// [`attach`](crate::attach).
    Attach(AttachRequest),
    /// Shows a conversation in a UI of the caller's process. Response: [`JoinResponse`], followed by lines internal to
    /// wh.
    Join(JoinRequest),
    /// Queries the health of the daemon. Response: [`HealthResponse`].
    Health,
}

/// Parameters of `list`. The response contains only sessions visible to the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSessions {
    /// Lists only the sessions of this team. Default: the sessions of all teams of the given credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// Response to [`ListSessions`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedSessions {
    /// Sessions, oldest first.
    pub sessions: Vec<SessionSummary>,
    /// Names of sessions of an earlier daemon that are still being restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
}

/// Parameters of `session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionQuery {
    /// Id or name of the session.
    pub session_id: String,
}

/// Response to [`SessionQuery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionDetails {
    /// Summary of the session.
    pub session: SessionSummary,
    /// Open questions, oldest first.
    pub questions: Vec<QuestionBody>,
}

/// Parameters of `receipt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptQuery {
    /// Id or name of the session, which may have ended.
    pub session_id: String,
    /// Request id of the command, which may have been sent over HTTP or over the socket.
    pub request_id: String,
}

/// Response to [`ReceiptQuery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptResponse {
    /// Receipt of the command; absent if the request id is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptBody>,
}

/// Parameters of `subscribe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeRequest {
    /// Id or name of the session.
    pub session_id: String,
    /// Cursor to resume from. If the cursor is absent or no longer valid, the stream begins with a `reset` that
    /// contains the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
}

/// Response to [`SubscribeRequest`], followed by the event lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeResponse {
    /// Always true on success.
    pub streaming: bool,
    /// Id of the session.
    pub session_id: String,
    /// Id of the run of the session. Sequence numbers can be compared only within one run.
    pub epoch: String,
    /// Sequence number of the last event.
    pub seq: u64,
}

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Width in columns.
    pub width: u16,
    /// Height in rows.
    pub height: u16,
}

/// Response to `create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedSession {
    /// Summary of the session.
    pub session: SessionSummary,
    /// True if the request was received before. `session` is the session that the first request created.
    pub duplicate: bool,
}

/// Parameters of `attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachRequest {
    /// Id or name of the session.
    pub session_id: String,
    /// Size of the caller's terminal.
    pub size: WindowSize,
}

/// Response to [`AttachRequest`]. The data that follows is not JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachResponse {
    /// Summary of the session.
    pub session: SessionSummary,
}

/// Parameters of `join`, which shows the conversation of an agent's session in a UI of the caller's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// Id or name of the session.
    pub session_id: String,
    /// Version of the lines that follow the response. Must equal the server's version.
    pub link: String,
}

/// Response to [`JoinRequest`]. The lines that follow are internal to wh and differ between versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JoinResponse {
    /// Summary of the session.
    pub session: SessionSummary,
    /// Participant name of the caller.
    pub participant: String,
    /// Display name of the agent.
    pub title: String,
}

/// Response to `health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthResponse {
    /// Always true: a daemon that cannot respond sends nothing.
    pub ok: bool,
    /// Version of wh.
    pub version: String,
    /// Seconds since the daemon started.
    pub uptime: u64,
    /// Number of sessions, including ended sessions.
    pub sessions: usize,
    /// Number of audit log records that could not be written.
    pub audit_lost: u64,
    /// Limits in force, as in `capabilities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<DaemonLimits>,
}

impl SocketCommand {
    /// Decodes the command of a request.
    pub fn read(request: &SocketRequest) -> Result<Self, Failure> {
        let payload = &request.payload;
        Ok(match request.command.as_str() {
            "control" => Self::Control(ControlRequest::decode(payload).map(Box::new)),
            "answer" => {
                let decoded = ControlRequest::decode_as(payload, Some(ControlKind::Answer));
                Self::Control(decoded.map(Box::new))
            }
            "capabilities" => Self::Capabilities,
            "health" => Self::Health,
            "list" => Self::List(fields(payload, &[])?),
            "session" => Self::Session(fields(payload, &["session_id"])?),
            "receipt" => Self::Receipt(fields(payload, &["session_id", "request_id"])?),
            "subscribe" => Self::Subscribe(fields(payload, &["session_id"])?),
            "attach" => Self::Attach(fields(payload, &["session_id", "size"])?),
            "join" => Self::Join(fields(payload, &["session_id", "link"])?),
            "create" => Self::Create(Box::new(create(payload)?)),
            other => {
                let known = SOCKET_COMMANDS.join(", ");
                let message = format!("unknown command {other:?}; expected one of: {known}");
                return Err(Failure::new(ErrorCode::UnknownCommand, message));
            }
        })
    }
}

/// Decodes a payload. Fails if a required field is missing; ignores unknown fields.
fn fields<T: DeserializeOwned>(payload: &Value, required: &[&str]) -> Result<T, Failure> {
    let Value::Object(given) = payload else {
        return Err(Failure::new(ErrorCode::InvalidPayload, "the payload must be a JSON object"));
    };
    if let Some(field) = required.iter().find(|field| given.get(**field).is_none_or(Value::is_null)) {
        return Err(Failure::new(ErrorCode::MissingParameter, format!("the payload lacks the field {field}")));
    }
    decoded(payload)
}

fn decoded<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    T::deserialize(value).map_err(|error| Failure::new(ErrorCode::InvalidPayload, format!("invalid payload: {error}")))
}

/// Fields of [`NewSessionRequest`] that `create` accepts. All other fields are ignored, as in every command of the
/// socket.
const CREATE_FIELDS: [&str; 10] =
    ["agent", "command", "name", "team", "cwd", "size", "model", "mode", "person", "request_id"];

fn create(payload: &Value) -> Result<NewSessionRequest, Failure> {
    let mut given: Map<String, Value> = fields(payload, &[])?;
    given.retain(|name, _| CREATE_FIELDS.contains(&name.as_str()));
    if let Some(size) = given.get_mut("size").filter(|size| !size.is_null()) {
        let WindowSize { width, height } = decoded(size)?;
        *size = Value::String(format!("{width}x{height}"));
    }
    let create: NewSessionRequest = decoded(&Value::Object(given))?;
    match create.problem() {
        None => Ok(create),
        Some(problem) => {
            let missing = create.agent.is_none() && create.command.is_none();
            let code = if missing { ErrorCode::MissingParameter } else { ErrorCode::InvalidPayload };
            Err(Failure::new(code, problem))
        }
    }
}
