//! Items of a conversation: texts, thoughts, tool calls, questions and notices. An item is always stored completely
//! under its id, so that a repeated report has no effect.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::Extent;
use super::name::{ItemId, ParticipantId, TurnId};
use super::question::{Closing, Question};

/// An item of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    /// Author of the item.
    pub from: ParticipantId,
    /// Recipients; `None` for all participants.
    #[serde(default)]
    pub to: Option<Vec<ParticipantId>>,
    /// Turn that the item belongs to.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// Time at which it was created.
    #[serde(with = "super::stored_item::nanoseconds")]
    pub at: SystemTime,
    pub body: Body,
    pub progress: Progress,
    /// Size of the shortened content; `None` if the item is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// Times at which its [envelopes](super::envelope) were added to the list of messages. Set by
    /// [`Items`](super::Items).
    #[serde(default, with = "super::stored_item::timestamps", skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<SystemTime>,
    /// Turns that a message starts, one for each recipient agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<TurnId>,
}

impl Item {
    /// Returns an item that is complete, for all participants and outside a turn.
    pub fn complete(id: ItemId, from: ParticipantId, at: SystemTime, body: Body) -> Self {
        let (listed, starts) = (Vec::new(), Vec::new());
        Self { id, from, to: None, turn: None, at, body, progress: Progress::Done, extent: None, listed, starts }
    }
}

/// Progress of an item. It only moves forward, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// A message that was not delivered to an agent yet.
    Queued,
    /// More content may follow.
    Growing,
    Done,
    /// The turn ended before the item was complete, or a message will not be delivered to any agent.
    Cut,
    /// The item was retracted and is no longer shown.
    Retracted,
}

/// Content of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// A message in Markdown.
    Text {
        text: String,
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// A thought of a reasoning agent.
    Thought {
        /// The thought so far.
        text: String,
        /// Short description of the next action.
        #[serde(default)]
        action: Option<String>,
        /// Number of tokens so far.
        #[serde(default)]
        tokens: Option<u64>,
    },
    Tool(ToolCall),
    /// A question, open or closed.
    Question {
        question: Question,
        /// Reason for which it was closed; `None` while it is open.
        #[serde(default)]
        closing: Option<Closing>,
    },
    /// A message of `wh` itself.
    Notice {
        level: Level,
        /// Machine-readable topic: the part after `system/`.
        topic: String,
        /// Text, line by line.
        #[serde(default)]
        lines: Vec<String>,
    },
    /// An act that only the MEW protocol defines.
    Act {
        /// Kind of the envelope, such as `participant/pause`.
        kind: String,
        #[serde(default)]
        payload: Value,
        /// Items that it refers to.
        #[serde(default)]
        about: Vec<ItemId>,
    },
}

/// File attached to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub name: String,
    /// MIME type, such as `text/plain`.
    pub media_type: String,
    /// Size in bytes.
    pub size: u64,
}

/// Severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub name: String,
    /// Short description for people.
    pub title: String,
    pub kind: ToolKind,
    /// Arguments of the call.
    #[serde(default)]
    pub input: Value,
    pub status: ToolStatus,
    /// Result of the call.
    #[serde(default)]
    pub output: Vec<ToolResultPart>,
}

/// Category of a tool's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads a file or other data.
    Read,
    /// Changes a file.
    Edit,
    /// Runs a command.
    Execute,
    /// Searches files or other data.
    Search,
    /// Fetches data from the network.
    Fetch,
    /// Any other effect.
    #[serde(other)]
    Other,
}

/// Status of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Waiting for its turn or for permission.
    Pending,
    Running,
    Completed,
    Failed,
    Denied,
    Cancelled,
}

impl ToolStatus {
    /// True if the status is final.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// Part of the result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResultPart {
    /// Text as written by the tool.
    Text(String),
    /// A changed file.
    Diff {
        path: String,
        /// Former contents; `None` if the file is new.
        #[serde(default)]
        old: Option<String>,
        new: String,
    },
}

impl Item {
    /// Returns the question if the item is an open question.
    pub fn open_question(&self) -> Option<&Question> {
        match &self.body {
            Body::Question { question, closing: None } if self.progress == Progress::Growing => Some(question),
            _ => None,
        }
    }

    /// True if the item is a thought in progress.
    pub fn is_reasoning(&self) -> bool {
        self.progress == Progress::Growing && matches!(self.body, Body::Thought { .. })
    }
}
