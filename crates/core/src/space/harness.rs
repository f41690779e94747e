//! What passes between a space and the harness of one agent: orders there, reports back. Shaped so that any protocol
//! fits: one with replies, one with notifications only, or a bare terminal.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::Extent;
use super::item::{Attachment, Body, Level};
use super::name::{ItemId, TurnId};
use super::question::{Answer, Question};

/// What a harness calls one of its own things: unique within the session, and known to nobody else. The space gives it a
/// name of ours.
pub type Key = String;

/// What a harness is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Here is a prompt. Its turn is the one named.
    Prompt {
        /// The turn.
        turn: TurnId,
        /// The message that it is, so that it can be acknowledged.
        item: ItemId,
        /// What to do.
        text: String,
        /// What goes with it.
        attachments: Vec<Attachment>,
    },
    /// A question of yours was answered.
    Answer {
        /// Which.
        question: Key,
        /// How.
        answer: Answer,
    },
    /// Stop what you are doing.
    Interrupt,
    /// Use another model.
    SetModel(String),
    /// Work in another mode.
    SetMode(String),
    /// Something that only some agents can do. `id` is in the report that answers it.
    Call {
        /// Which call this is.
        id: u64,
        /// What to do.
        call: Call,
    },
    /// End.
    End,
}

/// An order whose outcome is reported by what it was, see [`Report::Did`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// The agent was told to stop; or there was nothing left to stop.
    Interrupt,
    /// The agent has the answer to this question; or it is kept until those that belong to it are answered, too.
    Answer(Key),
    /// The agent uses this model, from its next turn on at the latest.
    Model(String),
    /// The agent works in this mode, from its next turn on at the latest.
    Mode(String),
}

/// Something that only some agents can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Call {
    /// Do nothing until told otherwise.
    Pause {
        /// For how long.
        timeout: Option<Duration>,
        /// Why.
        reason: Option<String>,
    },
    /// Go on.
    Resume,
    /// Say how you are.
    ReportStatus,
    /// Forget some of the conversation: the `newest` or the oldest so many entries.
    Forget {
        /// From the end instead of the beginning.
        newest: bool,
        /// How many.
        count: Option<u64>,
    },
    /// Forget all of the conversation.
    Clear,
    /// Make the conversation shorter.
    Compact {
        /// To this many tokens.
        tokens: Option<u64>,
    },
    /// Begin anew.
    Restart,
    /// Open a stream.
    OpenStream {
        /// What for.
        description: Option<String>,
    },
    /// Close a stream of yours.
    CloseStream(Key),
    /// Use this tool of yours.
    UseTool {
        /// Its name.
        name: String,
        /// Its input.
        arguments: Value,
    },
    /// What has no word here.
    Other {
        /// Its name.
        name: String,
        /// Its parameters.
        parameters: Value,
    },
}

/// What an agent can do, as the running one says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capabilities {
    /// Turns can be interrupted.
    pub interrupts: bool,
    /// Messages are acknowledged.
    pub acknowledges: bool,
    /// The models that can be chosen.
    pub models: Vec<Named>,
    /// The one in use.
    pub model: Option<String>,
    /// The modes that can be chosen.
    pub modes: Vec<Named>,
    /// The one in use.
    pub mode: Option<String>,
    /// Commands of its own, without the slash.
    pub commands: Vec<Named>,
    /// The [`Call`]s that it understands, by their kind: `pause`, `clear`, ….
    pub calls: Vec<String>,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its id.
    pub id: String,
    /// Its name for people, or what it is.
    pub title: String,
}

/// What something has cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in context.
    pub context_tokens: Option<u64>,
    /// How many fit.
    pub context_limit: Option<u64>,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// In dollars, where the agent says.
    pub cost: Option<f64>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// As it should.
    Completed,
    /// Somebody interrupted it.
    Cancelled,
    /// It did not.
    Failed(String),
}

/// A tool that an agent has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it takes, as JSON Schema.
    pub input_schema: Option<Value>,
}

/// What a harness says.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The agent can be used, and can do this. May come again when that changes.
    Ready(Capabilities),
    /// The tools that it has.
    Tools(Vec<Tool>),
    /// It was given the prompt of this turn.
    Delivered(TurnId),
    /// It took it as a prompt.
    Submitted(TurnId),
    /// It works on it.
    Started(TurnId),
    /// It works on it under a restriction, which the receipt states.
    Warned(TurnId, String),
    /// It is done with it.
    Ended(TurnId, Outcome),
    /// It has begun to work by itself, without a prompt. Nothing while a turn is under way.
    Began,
    /// It is done with what it began by itself.
    Rested(Outcome),
    /// The person said this before, in a conversation that goes on.
    Recalled(String),
    /// An item began, changed, or is done.
    Item {
        /// Its key.
        key: Key,
        /// All of it.
        body: Body,
        /// Whether it is complete.
        done: bool,
    },
    /// An item has more text at its end.
    Grew {
        /// Its key.
        key: Key,
        /// What was added.
        text: String,
        /// What it has cost so far, for a thought.
        tokens: Option<u64>,
    },
    /// An item is complete, as it has grown.
    Finished(Key),
    /// An item, or its growth, of which not all is here.
    Shortened(Box<Report>, Extent),
    /// An item was taken back.
    Retracted(Key),
    /// It asks something and waits.
    Asked {
        /// The question's key.
        key: Key,
        /// What it asks.
        question: Question,
    },
    /// It no longer wants to know.
    Withdrew(Key),
    /// It has seen a message. `false`: and will not act on it.
    Acknowledged(ItemId, bool),
    /// It would like to know that this item of its own was seen.
    WantsAcknowledgement(Key),
    /// It says how it is.
    Status {
        /// In a word.
        status: String,
        /// In a sentence.
        summary: Option<String>,
    },
    /// It is paused, or no longer.
    Paused(Option<PauseReport>),
    /// A stream of its own is open.
    StreamOpened(Key),
    /// Something came through it.
    StreamFrame(Key, Value),
    /// It is closed.
    StreamClosed(Key),
    /// What it has cost so far.
    Usage(Usage),
    /// An order was carried out, or not and why not. Every order that is a [`Deed`] is reported once; of two that are the
    /// same, the earlier is meant.
    Did(Deed, Result<(), String>),
    /// A call was carried out, or not and why not.
    Called(u64, Result<Value, String>),
    /// What the agent itself calls the conversation that it is in, so that a later one can go on with it. `None`: the one
    /// that it is in now cannot be gone on with, or not yet. Told as soon as it is known, and again when it changes. It is
    /// for whoever keeps sessions, and for nobody else: nothing of it becomes part of the space.
    Kept(Option<String>),
    /// wh has something to say about it.
    Notice(Level, String),
    /// The agent is gone, and why if that was not asked for.
    Gone(Option<String>),
}

/// A pause that an agent takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseReport {
    /// For how long.
    pub timeout: Option<Duration>,
    /// Why.
    pub reason: Option<String>,
}
