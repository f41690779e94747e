//! Payload of the `control` command and its acknowledgement. A control message sends text to a session, interrupts the
//! session or answers one of its questions.
//!
//! A message has one of two forms, or both at once: `type: "control.stdin.request"` with `content`, or `action:
//! "stdin"` with `payload`. Both are decoded into the same [`ControlRequest`].

mod ack;
mod decode;
mod encode;
mod problem;

pub use ack::{ControlAck, ControlResult};
pub use problem::{ControlProblem, ControlReason};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Supported version of the payload.
pub const CONTROL_VERSION: u64 = 1;

/// Identifies a control message and its session. Messages with equal keys are duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlKey {
    /// Team of the session.
    pub team: String,
    /// Id of the session.
    pub session_id: String,
    /// Agent of the session.
    pub agent_id: String,
    /// Idempotency key chosen by the sender; equal in every retry.
    pub request_id: String,
}

/// Kind of a control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControlKind {
    /// Sends text to the terminal program or agent of the session.
    Stdin,
    /// Interrupts the session.
    Interrupt,
    /// Answers a question.
    Answer,
}

impl ControlKind {
    /// All kinds of control messages.
    pub const ALL: [Self; 3] = [Self::Stdin, Self::Interrupt, Self::Answer];

    /// Returns the name used in `action`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Interrupt => "interrupt",
            Self::Answer => "answer",
        }
    }

    /// Returns the kind for a value of `action`; `None` if the value is unknown.
    fn of_action(action: &str) -> Option<Self> {
        match action {
            "stdin" => Some(Self::Stdin),
            "interrupt" => Some(Self::Interrupt),
            "answer" | "elicitation_response" => Some(Self::Answer),
            _ => None,
        }
    }

    /// Returns the kind for a value of `type`; `None` if the value is unknown.
    fn of_type(name: &str) -> Option<Self> {
        match name {
            "control.stdin.request" => Some(Self::Stdin),
            "control.interrupt.request" => Some(Self::Interrupt),
            "control.answer.request" | "control.elicitation.response" => Some(Self::Answer),
            _ => None,
        }
    }
}

/// Control message for a session.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlRequest {
    /// Identity of the message and its session.
    pub key: ControlKey,
    /// Sender as stated in the message, not authenticated.
    pub sender: String,
    /// Time of the first attempt, as given by the sender.
    pub sent_at: String,
    /// Action to execute.
    pub action: ControlAction,
    /// Metadata about the transmission.
    pub meta: ControlMeta,
}

/// Action of a control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlAction {
    /// Sends text to the terminal program or agent of the session.
    Stdin(ControlStdin),
    /// Interrupts the session.
    Interrupt,
    /// Answers a question of the session.
    Answer(ControlAnswer),
}

impl ControlAction {
    /// Returns the kind of the action.
    pub fn kind(&self) -> ControlKind {
        match self {
            Self::Stdin(_) => ControlKind::Stdin,
            Self::Interrupt => ControlKind::Interrupt,
            Self::Answer(_) => ControlKind::Answer,
        }
    }
}

/// Text for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlStdin {
    /// Text, inline or in a file.
    pub content: ControlContent,
    /// True to interrupt the session first.
    pub interrupt: bool,
    /// Beginning of the text, for diagnostics only.
    pub preview: Option<String>,
}

/// Text of a message, or a reference to a file with the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlContent {
    /// Text in the message itself.
    Inline(String),
    /// Text in a file.
    Reference(ContentRef),
}

/// Reference to a text file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentRef {
    /// Absolute path of the file.
    pub path: String,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the content in hexadecimal.
    pub sha256: String,
    /// Media type of the content.
    pub mime: String,
    /// Time until which the reference is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// Answer to a question: an option or a decision, each with optional text, or text alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlAnswer {
    /// Id of the question.
    pub question_id: String,
    /// Id of the chosen option.
    pub option: Option<String>,
    /// Approval or rejection, for senders that do not know the options.
    pub decision: Option<AnswerDecision>,
    /// Free text: the answer itself, or a reason.
    pub text: Option<String>,
}

/// Approval or rejection of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerDecision {
    /// Approves this request only.
    Approve,
    /// Rejects the request.
    Reject,
}

/// Metadata about the transmission, without effect on processing. Fields of an unexpected type remain in `rest`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlMeta {
    /// Number of earlier attempts.
    pub retry_count: Option<u64>,
    /// Name of the UI that sent the message.
    pub ui_source: Option<String>,
    /// Method by which the sender handled text over the size limit.
    pub oversize_strategy: Option<String>,
    /// Request id of the earlier message that this message replaces.
    pub retry_of: Option<String>,
    /// All other fields.
    pub rest: Map<String, Value>,
}
