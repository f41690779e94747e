//! Events of a space. The [state](super::state) of the space is computed from them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::harness::{ReportedCapabilities, Tool, TurnOutcome, Usage};
use super::item::Item;
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use crate::receipt::Receipt;

/// Event of a space, published to all subscribers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SpaceEvent {
    Joined(ParticipantId, ParticipantRole),
    Left(ParticipantId),
    /// An item was created, changed or completed. The growth of a text is published as a signal instead.
    Item(Arc<Item>),
    TurnStarted {
        turn: TurnId,
        by: ParticipantId,
        /// Message that the turn answers.
        prompt: ItemId,
    },
    /// A turn has ended, with its outcome and statistics.
    TurnEnded(TurnId, TurnOutcome, TurnStats),
    /// The status of an agent's session has changed.
    Session(ParticipantId, AgentStatus),
    /// An agent reported its capabilities.
    Capabilities(ParticipantId, Arc<ReportedCapabilities>),
    /// An agent reported its tools.
    Tools(ParticipantId, Arc<[Tool]>),
    /// An agent reported its total usage so far.
    Usage(ParticipantId, Usage),
    /// A participant reported its status.
    #[serde(rename = "Said")]
    StatusReported {
        by: ParticipantId,
        status: String,
        /// Longer description of the status, if given.
        summary: Option<String>,
    },
    /// A message requests an acknowledgement.
    AcknowledgementWanted(Acknowledgement),
    /// A message was acknowledged.
    Acknowledged {
        item: ItemId,
        by: ParticipantId,
        /// True if the participant will act on the message; false if it declines.
        granted: bool,
    },
    /// The sender no longer waits for the acknowledgement of this message.
    AcknowledgementDropped(ItemId),
    StreamOpened(StreamId, ParticipantId),
    StreamClosed(StreamId),
    /// A participant was paused; with `None`, the participant was resumed.
    Paused(ParticipantId, Option<Pause>),
    /// The chat targets of a scope have changed; `None` removes them.
    Targets(TargetScope, Option<Vec<ParticipantId>>),
    /// The receipt of a command has changed.
    Receipt(Receipt),
}

impl SpaceEvent {
    /// Returns the approximate size of the item in the event in bytes; 0 for all other events, which are small.
    pub fn weight(&self) -> usize {
        match self {
            Self::Item(item) => item.weight(),
            _ => 0,
        }
    }
}

/// Duration, tool calls and model of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnStats {
    pub duration: Duration,
    pub tool_calls: u64,
    /// Model that the agent used at the end of the turn, if known.
    pub model: Option<String>,
}

/// Role of a participant: user, agent or system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ParticipantRole {
    Human,
    Agent,
    /// The `wh` program itself.
    System,
}

/// Activity of an agent's session, with the source and the time of the information.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStatus {
    pub activity: Activity,
    /// Source that reported the activity.
    pub evidence: Evidence,
    /// Time at which the activity began.
    pub since: SystemTime,
    /// Text that lists the observations that prove the activity; `None` if the agent's protocol reports it.
    #[serde(default)]
    pub observation: Option<String>,
    /// Reason why the next prompt is not typed yet, such as a draft in the composer; `None` if no prompt waits for the
    /// agent's terminal.
    #[serde(default)]
    pub waits_for: Option<String>,
}

/// Activity of an agent's session.
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
    /// The agent has exited, with this error message; `None` if the agent was shut down.
    Gone(Option<String>),
    /// No source reports the activity.
    Unknown,
}

impl Activity {
    /// Returns the name of the activity in the API.
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

/// Sources of an activity, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// Protocol of the agent.
    Protocol,
    Transcript,
    Hook,
    /// Title of the agent's terminal.
    Title,
    Screen,
    Process,
}

impl Evidence {
    /// Returns the name of the source in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Protocol => "protocol",
            Self::Transcript => "transcript",
            Self::Hook => "hook",
            Self::Title => "title",
            Self::Screen => "screen",
            Self::Process => "process",
        }
    }
}

/// Acknowledgement that a message requests from a participant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    pub item: ItemId,
    /// Sender of the message.
    pub from: ParticipantId,
    /// Participant that should acknowledge the message.
    pub to: ParticipantId,
    /// Time at which the acknowledgement was requested.
    pub at: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Participant that requested the pause.
    pub by: ParticipantId,
    /// Time at which the pause ends; `None` if it lasts until the participant is resumed.
    pub until: Option<SystemTime>,
    pub reason: Option<String>,
}

/// Scopes of chat targets, in order of precedence. The first scope that is set determines the targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetScope {
    /// Choice of the user with `/target`.
    Override,
    /// Default targets of the user.
    Participant,
    /// Default targets of the space.
    Global,
}

/// Data that was received through a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamFrame {
    pub stream: StreamId,
    pub payload: serde_json::Value,
    pub at: SystemTime,
}
