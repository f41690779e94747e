//! What a control message is answered with.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CONTROL_VERSION, ControlKey, ControlKind};

/// How a control message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlResult {
    /// It was carried out.
    Ok,
    /// The session takes nothing any more, or not yet.
    NotLive,
    /// There is no such session, or none that the sender may know of.
    NotFound,
    /// Too much waits already; later it may succeed.
    Busy,
    /// Nothing was heard in time.
    Timeout,
    /// It may not, or it makes no sense.
    Rejected,
    /// wh failed.
    InternalError,
}

impl ControlResult {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Ok, Self::NotLive, Self::NotFound, Self::Busy, Self::Timeout, Self::Rejected, Self::InternalError];

    /// As it is written.
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

    /// The result of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.as_str() == name)
    }
}

impl fmt::Display for ControlResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The acknowledgement of a control message. Fields that other daemons leave out are read as empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlAck {
    /// `control.stdin.ack`, `control.interrupt.ack` or `control.answer.ack`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The version of the payload.
    #[serde(default)]
    pub v: u64,
    /// The message's own name.
    pub request_id: String,
    /// The team.
    #[serde(default)]
    pub team: String,
    /// The session.
    #[serde(default)]
    pub session_id: String,
    /// The agent in it.
    #[serde(default)]
    pub agent_id: String,
    /// When.
    pub acked_at: String,
    /// How it ended.
    pub result: ControlResult,
    /// The message was heard before: nothing was done now.
    pub duplicate: bool,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why not, in a word for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ControlAck {
    /// An acknowledgement of a message heard for the first time, with nothing more to say.
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

    /// With these words.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// With this word for programs.
    pub fn with_error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// Of a message that was heard before.
    pub fn as_duplicate(mut self) -> Self {
        self.duplicate = true;
        self
    }
}
