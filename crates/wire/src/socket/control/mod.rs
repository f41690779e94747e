//! The payload of `control`: type to a session, interrupt it, answer its question; and the acknowledgement.
//!
//! A message has one of two shapes, or both at once: `type: "control.stdin.request"` with `content`, or `action: "stdin"` with
//! `payload`. Both are read into the same [`ControlRequest`].

mod ack;
mod decode;
mod encode;
mod problem;

pub use ack::{ControlAck, ControlResult};
pub use problem::{ControlProblem, ControlReason};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the payload that is spoken here.
pub const CONTROL_VERSION: u64 = 1;

/// Which message, to which session. Also what a repetition is known by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlKey {
    /// The team.
    pub team: String,
    /// The session.
    pub session_id: String,
    /// The agent in it.
    pub agent_id: String,
    /// The sender's name for this message: the same in every retry.
    pub request_id: String,
}

/// What a control message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControlKind {
    /// Typing.
    Stdin,
    /// An interrupt.
    Interrupt,
    /// An answer to a question.
    Answer,
}

impl ControlKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stdin, Self::Interrupt, Self::Answer];

    /// As an `action`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::Interrupt => "interrupt",
            Self::Answer => "answer",
        }
    }

    /// The kind that an `action` names.
    fn of_action(action: &str) -> Option<Self> {
        match action {
            "stdin" => Some(Self::Stdin),
            "interrupt" => Some(Self::Interrupt),
            "answer" | "elicitation_response" => Some(Self::Answer),
            _ => None,
        }
    }

    /// The kind that a `type` names.
    fn of_type(name: &str) -> Option<Self> {
        match name {
            "control.stdin.request" => Some(Self::Stdin),
            "control.interrupt.request" => Some(Self::Interrupt),
            "control.answer.request" | "control.elicitation.response" => Some(Self::Answer),
            _ => None,
        }
    }
}

/// One control message.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlRequest {
    /// Which message, to which session.
    pub key: ControlKey,
    /// Who says that it is theirs. Not proven by the message.
    pub sender: String,
    /// When it was sent first, as written.
    pub sent_at: String,
    /// What is wanted.
    pub action: ControlAction,
    /// What the sender says about the sending.
    pub meta: Meta,
}

/// What a control message wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlAction {
    /// Give the session this text.
    Stdin(ControlStdin),
    /// Interrupt what it does.
    Interrupt,
    /// Answer its question.
    Answer(ControlAnswer),
}

impl ControlAction {
    /// Which kind it is.
    pub fn kind(&self) -> ControlKind {
        match self {
            Self::Stdin(_) => ControlKind::Stdin,
            Self::Interrupt => ControlKind::Interrupt,
            Self::Answer(_) => ControlKind::Answer,
        }
    }
}

/// A text for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlStdin {
    /// The text.
    pub content: ControlContent,
    /// Interrupt first.
    pub interrupt: bool,
    /// The beginning of the text, for diagnostics only.
    pub preview: Option<String>,
}

/// Where a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlContent {
    /// Here.
    Inline(String),
    /// In a file.
    Reference(ContentRef),
}

/// A text in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentRef {
    /// The file, absolute.
    pub path: String,
    /// Its bytes.
    pub size_bytes: u64,
    /// Their SHA-256, in hexadecimal.
    pub sha256: String,
    /// What it is.
    pub mime: String,
    /// Until when it may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// An answer to a question. It has an option or a decision, or words, or words beside one of those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlAnswer {
    /// The question's id.
    pub question_id: String,
    /// The option chosen.
    pub option: Option<String>,
    /// Yes or no, where the sender does not know the options.
    pub decision: Option<Decision>,
    /// Words of one's own: the answer itself, or a reason.
    pub text: Option<String>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Yes, this once.
    Approve,
    /// No.
    Reject,
}

/// What the sender says about the sending. Nothing is decided by it; what is of another type than expected stays in `rest`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meta {
    /// How often it was sent before.
    pub retry_count: Option<u64>,
    /// From which UI.
    pub ui_source: Option<String>,
    /// What was done about a text over the limit.
    pub oversize_strategy: Option<String>,
    /// The request id of the message that this one replaces.
    pub retry_of: Option<String>,
    /// Everything else.
    pub rest: Map<String, Value>,
}
