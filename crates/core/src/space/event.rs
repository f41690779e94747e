//! Events of a space. Their fold is its [state](super::state).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::harness::{Capabilities, Outcome, Tool, Usage};
use super::item::Item;
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use crate::receipt::Receipt;

/// Event of a space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SpaceEvent {
    /// A participant has joined.
    Joined(ParticipantId, ParticipantRole),
    /// A participant has left.
    Left(ParticipantId),
    /// An item was created, changed or completed. Growth of a text is a signal, not an event.
    Item(Arc<Item>),
    /// A turn has started.
    TurnStarted {
        turn: TurnId,
        by: ParticipantId,
        /// Message that the turn answers.
        prompt: ItemId,
    },
    /// A turn has ended, with its outcome and statistics.
    TurnEnded(TurnId, Outcome, TurnStats),
    /// The status of an agent's session has changed.
    Session(ParticipantId, AgentStatus),
    /// An agent reported its capabilities.
    Capabilities(ParticipantId, Arc<Capabilities>),
    /// An agent reported its tools.
    Tools(ParticipantId, Arc<[Tool]>),
    /// Total usage of an agent so far.
    Usage(ParticipantId, Usage),
    /// A participant reported its status.
    #[serde(rename = "Said")]
    StatusReported {
        by: ParticipantId,
        status: String,
        /// Longer description of the status.
        summary: Option<String>,
    },
    /// A message requests an acknowledgement.
    AcknowledgementWanted(Acknowledgement),
    /// A message was acknowledged.
    Acknowledged {
        item: ItemId,
        by: ParticipantId,
        /// True if the participant will act on the message.
        granted: bool,
    },
    /// An acknowledgement is no longer requested.
    AcknowledgementDropped(ItemId),
    /// A stream was opened.
    StreamOpened(StreamId, ParticipantId),
    /// A stream was closed.
    StreamClosed(StreamId),
    /// A participant was paused; with `None`, resumed.
    Paused(ParticipantId, Option<Pause>),
    /// Chat targets have changed.
    Targets(Scope, Option<Vec<ParticipantId>>),
    /// A command has progressed.
    Receipt(Receipt),
}

impl SpaceEvent {
    /// Returns the approximate size in bytes of memory.
    pub fn weight(&self) -> usize {
        match self {
            Self::Item(item) => item.weight(),
            _ => 0,
        }
    }
}

/// Statistics of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnStats {
    pub duration: Duration,
    /// Number of tool calls in the turn.
    pub tool_calls: u64,
    /// Model in use at the end of the turn, if known.
    pub model: Option<String>,
}

/// Kind of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParticipantRole {
    Human,
    Agent,
    /// The `wh` program itself.
    System,
}

/// Status of a session, with its source and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    pub activity: Activity,
    /// Source of the information.
    pub evidence: Evidence,
    pub since: SystemTime,
}

/// Activity of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// The agent is being started.
    Starting,
    /// The agent waits for the next prompt.
    Idle,
    /// The agent works on this turn.
    Working(TurnId),
    /// The agent waits for an answer to this question.
    Waiting(ItemId),
    Paused,
    /// The agent has ended. Contains the reason, unless it was shut down.
    Gone(Option<String>),
    /// No source reports the activity.
    Unknown,
}

impl Activity {
    /// Returns the name in the API.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Working(_) => "working",
            Self::Waiting(_) => "waiting",
            Self::Paused => "paused",
            Self::Gone(_) => "gone",
            Self::Unknown => "unknown",
        }
    }

    /// True if the text is the [name](Self::name) of an activity.
    pub fn is_name(word: &str) -> bool {
        matches!(word, "starting" | "idle" | "working" | "waiting" | "paused" | "gone" | "unknown")
    }
}

/// Sources of a session's status, the most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// The agent's own protocol.
    Protocol,
    Transcript,
    Hook,
    Screen,
    Process,
}

impl Evidence {
    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Transcript => "transcript",
            Self::Hook => "hook",
            Self::Screen => "screen",
            Self::Process => "process",
        }
    }
}

/// Request to acknowledge a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    pub item: ItemId,
    /// Sender of the message.
    pub from: ParticipantId,
    /// Participant that should acknowledge it.
    pub to: ParticipantId,
    /// Time of the request.
    pub at: SystemTime,
}

/// Pause of a participant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Participant that requested it.
    pub by: ParticipantId,
    /// End of the pause; `None` if it has none.
    pub until: Option<SystemTime>,
    pub reason: Option<String>,
}

/// Scopes of chat targets. The first scope that is set applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Current choice of the user.
    Override,
    /// Default of the participant.
    Participant,
    /// Default of the space.
    Global,
}

/// Data received through a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamFrame {
    pub stream: StreamId,
    pub payload: serde_json::Value,
    pub at: SystemTime,
}
