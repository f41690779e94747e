//! What can be asked for, and what is answered.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::capabilities::Limits;
use super::control::{ControlKind, ControlProblem, ControlRequest};
use super::envelope::{ErrorCode, Failure, Request};
use super::stream::Cursor;
use crate::control::{NewSessionRequest, QuestionBody, ReceiptBody, SessionSummary};

/// The commands by name.
pub const COMMANDS: [&str; 11] = [
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

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Type to a session, interrupt it or answer its question. The answer is a [`ControlAck`](super::ControlAck), also for a problem.
    Control(Result<Box<ControlRequest>, Box<ControlProblem>>),
    /// What the daemon can do: [`Capabilities`](super::Capabilities).
    Capabilities,
    /// Which sessions there are: [`Listed`].
    List(List),
    /// One session with its questions: [`Seen`].
    Session(Session),
    /// The receipt of a command of a session: [`ReceiptFound`].
    Receipt(ReceiptWanted),
    /// What happens in a session: [`Subscribed`], and then [`StreamLine`](super::StreamLine)s.
    Subscribe(Subscribe),
    /// A new session: [`Created`].
    Create(Box<NewSessionRequest>),
    /// A terminal for a session: [`Attached`], and then the frames of [`attach`](crate::attach).
    Attach(Attach),
    /// A conversation for a UI in the caller's process: [`Joined`], and then lines that only wh itself reads.
    Join(Join),
    /// Whether the daemon is well: [`Health`].
    Health,
}

/// Asks for the sessions that the caller may know of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// Of this team; of all teams whose credentials are shown when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// Answers [`List`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionSummary>,
    /// Names of those that an earlier daemon had and that are about to be here again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returning: Vec<String>,
}

/// Asks for one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Which.
    pub session_id: String,
}

/// Answers [`Session`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The session.
    pub session: SessionSummary,
    /// What it waits for, oldest first.
    pub questions: Vec<QuestionBody>,
}

/// Asks what became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptWanted {
    /// The session, by its id or name; also one that has ended.
    pub session_id: String,
    /// The command's id, whatever interface it came through.
    pub request_id: String,
}

/// Answers [`ReceiptWanted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptFound {
    /// The receipt; absent if no such command is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptBody>,
}

/// Asks for what happens in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscribe {
    /// Which.
    pub session_id: String,
    /// From where on; when absent, or of no use any more, a `reset` with the state comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
}

/// Answers [`Subscribe`]; the lines follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscribed {
    /// Always true.
    pub streaming: bool,
    /// Which session.
    pub session_id: String,
    /// The run.
    pub epoch: String,
    /// The number of the last event.
    pub seq: u64,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// Answers `create`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The session.
    pub session: SessionSummary,
    /// The wish was heard before: this is the session that it started then.
    pub duplicate: bool,
}

/// Asks for a session's screen and keyboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// Which session, by its id or name.
    pub session_id: String,
    /// The size of the caller's terminal.
    pub size: WindowSize,
}

/// Answers [`Attach`]; what follows on the line is no JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    /// The session.
    pub session: SessionSummary,
}

/// Asks for the conversation of an agent's session, to be shown by a UI in the caller's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// The session, by its id or name.
    pub session_id: String,
    /// The version of the lines that follow; the server's must be the same.
    pub link: String,
}

/// Answers [`Join`]; the lines that follow are wh's own, and differ between versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    /// The session.
    pub session: SessionSummary,
    /// The participant that the caller takes part as.
    pub participant: String,
    /// The agent's name for people.
    pub title: String,
}

/// Answers `health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always true: a daemon that cannot answer does not answer.
    pub ok: bool,
    /// The version of wh.
    pub version: String,
    /// Whole seconds since the daemon started.
    pub uptime: u64,
    /// How many sessions there are.
    pub sessions: usize,
    /// Entries of the audit log that could not be written.
    pub audit_lost: u64,
    /// The limits in force; the same as in `capabilities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

impl Command {
    /// What a request asks for.
    pub fn read(request: &Request) -> Result<Self, Failure> {
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
                let known = COMMANDS.join(", ");
                let message = format!("there is no command {other:?}; there are {known}");
                return Err(Failure::new(ErrorCode::UnknownCommand, message));
            }
        })
    }
}

/// Reads a payload; fields that are not known are passed over.
fn fields<T: DeserializeOwned>(payload: &Value, required: &[&str]) -> Result<T, Failure> {
    let Value::Object(given) = payload else {
        return Err(Failure::new(ErrorCode::InvalidPayload, "the payload must be a JSON object"));
    };
    if let Some(field) = required.iter().find(|field| given.get(**field).is_none_or(Value::is_null)) {
        return Err(Failure::new(ErrorCode::MissingParameter, format!("the payload lacks {field}")));
    }
    decoded(payload)
}

fn decoded<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    T::deserialize(value).map_err(|error| Failure::new(ErrorCode::InvalidPayload, format!("the payload: {error}")))
}

/// Fields of [`NewSessionRequest`] that `create` takes; as everywhere on the socket, others are passed over.
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
