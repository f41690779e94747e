//! Acknowledgement of a control message.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CONTROL_VERSION, ControlKey, ControlKind};

/// Outcome of a control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlResult {
    /// The message was executed: delivered, or queued for the session.
    Ok,
    /// The session has ended or does not accept input yet.
    NotLive,
    /// The session does not exist or is not visible to the sender.
    NotFound,
    /// Too many messages are queued. A retry may succeed.
    Busy,
    /// No result was received in time.
    Timeout,
    /// The message is not permitted or invalid.
    Rejected,
    /// An internal error of wh.
    InternalError,
}

impl ControlResult {
    /// All possible outcomes.
    pub const ALL: [Self; 7] =
        [Self::Ok, Self::NotLive, Self::NotFound, Self::Busy, Self::Timeout, Self::Rejected, Self::InternalError];

    /// Returns the name used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotLive => "not_live",
            Self::NotFound => "not_found",
            Self::Busy => "busy",
            Self::Timeout => "timeout",
            Self::Rejected => "rejected",
            Self::InternalError => "internal_error",
        }
    }

    /// Returns the outcome with the given name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.as_str() == name)
    }
}

impl fmt::Display for ControlResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Acknowledgement of a control message. Fields omitted by other daemons are read as empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlAck {
    /// Message type: `control.stdin.ack`, `control.interrupt.ack` or `control.answer.ack`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Version of the payload.
    #[serde(default)]
    pub v: u64,
    /// Request id of the message.
    pub request_id: String,
    /// Team of the session.
    #[serde(default)]
    pub team: String,
    /// Id of the session.
    #[serde(default)]
    pub session_id: String,
    /// Agent of the session.
    #[serde(default)]
    pub agent_id: String,
    /// Time of the acknowledgement.
    pub acked_at: String,
    /// Outcome of the message.
    pub result: ControlResult,
    /// True if the message was received before. The message was not executed again.
    pub duplicate: bool,
    /// Explanation of the outcome for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Error code for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ControlAck {
    /// Creates an acknowledgement of a message received for the first time, without details.
    pub fn new(kind: ControlKind, key: &ControlKey, acked_at: impl Into<String>, result: ControlResult) -> Self {
        Self {
            kind: format!("control.{}.ack", kind.as_str()),
            v: CONTROL_VERSION,
            request_id: key.request_id.clone(),
            team: key.team.clone(),
            session_id: key.session_id.clone(),
            agent_id: key.agent_id.clone(),
            acked_at: acked_at.into(),
            result,
            duplicate: false,
            detail: None,
            error: None,
        }
    }

    /// Sets the explanation.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Sets the error code.
    pub fn with_error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// Marks the acknowledged message as a duplicate.
    pub fn as_duplicate(mut self) -> Self {
        self.duplicate = true;
        self
    }
}
