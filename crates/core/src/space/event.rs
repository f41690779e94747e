//! What happened in a space. The fold of these is its [state](super::state).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::harness::{Capabilities, Outcome, Tool, Usage};
use super::item::Item;
use super::name::{ItemId, ParticipantId, StreamId, TurnId};
use crate::receipt::Receipt;

/// Something that happened in a space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Somebody takes part.
    Joined(ParticipantId, Role),
    /// Somebody no longer does.
    Left(ParticipantId),
    /// An item began, changed or is complete. That a text grew is a signal, not an event.
    Item(Arc<Item>),
    /// A turn began.
    TurnStarted {
        /// Which.
        turn: TurnId,
        /// Whose.
        by: ParticipantId,
        /// What it is about.
        prompt: ItemId,
    },
    /// A turn is over: how, and what it came to.
    TurnEnded(TurnId, Outcome, Tally),
    /// A session is in another state.
    Session(ParticipantId, Status),
    /// An agent can do this.
    Capabilities(ParticipantId, Arc<Capabilities>),
    /// An agent has these tools.
    Tools(ParticipantId, Arc<[Tool]>),
    /// What an agent has cost so far.
    Usage(ParticipantId, Usage),
    /// A participant said how it is.
    Said {
        /// Who.
        by: ParticipantId,
        /// In a word.
        status: String,
        /// In a sentence.
        summary: Option<String>,
    },
    /// Somebody should acknowledge a message.
    AcknowledgementWanted(Acknowledgement),
    /// Somebody did. `false`: and will not act on it.
    Acknowledged {
        /// Which message.
        item: ItemId,
        /// Who.
        by: ParticipantId,
        /// Whether they will act on it.
        granted: bool,
    },
    /// Nobody needs to acknowledge this message any more.
    AcknowledgementDropped(ItemId),
    /// A stream is open.
    StreamOpened(StreamId, ParticipantId),
    /// It is closed.
    StreamClosed(StreamId),
    /// Somebody is paused, or, with `None`, no longer.
    Paused(ParticipantId, Option<Pause>),
    /// Chat goes elsewhere.
    Targets(Scope, Option<Vec<ParticipantId>>),
    /// A command came further.
    Receipt(Receipt),
}

impl Event {
    /// About how many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        match self {
            Self::Item(item) => item.weight(),
            _ => 0,
        }
    }
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How long it took.
    pub duration: Duration,
    /// Tools that were called in it.
    pub tool_calls: u64,
    /// The model that was in use at its end, where that is known.
    pub model: Option<String>,
}

/// What a participant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// A person.
    Human,
    /// An agent.
    Agent,
    /// wh itself.
    System,
}

/// How a session fares, what says so, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// How.
    pub activity: Activity,
    /// What says so.
    pub evidence: Evidence,
    /// Since when.
    pub since: SystemTime,
}

/// How a session fares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// The agent is being started.
    Starting,
    /// It waits for the next prompt.
    Idle,
    /// It works on this turn.
    Working(TurnId),
    /// It waits for an answer to this question.
    Waiting(ItemId),
    /// It is paused.
    Paused,
    /// It is gone; why, if that was not asked for.
    Gone(Option<String>),
    /// Nothing says how it is.
    Unknown,
}

impl Activity {
    /// In a word.
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

    /// Whether this word is the [name](Self::name) of an activity.
    pub fn is_name(word: &str) -> bool {
        matches!(word, "starting" | "idle" | "working" | "waiting" | "paused" | "gone" | "unknown")
    }
}

/// What says how a session fares, the most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// The agent's own protocol.
    Protocol,
    /// Its transcript.
    Transcript,
    /// A hook of it.
    Hook,
    /// Its screen.
    Screen,
    /// Its process.
    Process,
}

impl Evidence {
    /// In a word.
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

/// A message that somebody should acknowledge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// The message.
    pub item: ItemId,
    /// Whose it is.
    pub from: ParticipantId,
    /// Who should.
    pub to: ParticipantId,
    /// Since when.
    pub at: SystemTime,
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Who asked for it.
    pub by: ParticipantId,
    /// Until when.
    pub until: Option<SystemTime>,
    /// Why.
    pub reason: Option<String>,
}

/// Which chat targets: the first of these that is set holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Chosen for now.
    Override,
    /// The participant's own default.
    Participant,
    /// The space's default.
    Global,
}

/// Something that came through a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamFrame {
    /// Which stream.
    pub stream: StreamId,
    /// What.
    pub payload: serde_json::Value,
    /// When.
    pub at: SystemTime,
}
