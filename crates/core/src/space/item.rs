//! Items of a conversation: texts, thoughts, tool calls, questions, notices and acts. Every change of an item stores
//! the complete item under its id: storing the same version twice has no effect.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::Extent;
use super::name::{ItemId, ParticipantId, TurnId};
use super::question::{Question, QuestionCloseReason};

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
    /// Time at which the item was created.
    #[serde(with = "super::stored_item::nanoseconds")]
    pub at: SystemTime,
    pub body: ItemBody,
    pub progress: ItemProgress,
    /// Shown and total size; `None` if the content is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// Times at which the [envelopes](super::envelope) of the item were listed. Set by [`Items`](super::Items).
    #[serde(default, with = "super::stored_item::timestamps", skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<SystemTime>,
    /// Turns that the message starts, one for each agent that receives it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<TurnId>,
}

impl Item {
    /// Creates a complete item for all participants, outside a turn.
    pub fn complete(id: ItemId, from: ParticipantId, at: SystemTime, body: ItemBody) -> Self {
        let (listed, starts) = (Vec::new(), Vec::new());
        Self { id, from, to: None, turn: None, at, body, progress: ItemProgress::Done, extent: None, listed, starts }
    }
}

/// Progress of an item. The progress of an item never returns to an earlier variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemProgress {
    /// The item is a message that no agent has received yet.
    Queued,
    /// The content of the item may still grow.
    Growing,
    Done,
    /// The item is incomplete because its turn has ended, or it is a message that no agent will receive.
    Cut,
    /// The item was retracted and is no longer shown.
    Retracted,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ItemBody {
    /// Message in Markdown.
    Text {
        text: String,
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// Thought of a reasoning agent.
    Thought {
        /// Text of the thought so far.
        text: String,
        /// Short description of the agent's next action.
        #[serde(default)]
        action: Option<String>,
        /// Number of tokens of the thought so far.
        #[serde(default)]
        tokens: Option<u64>,
    },
    Tool(ToolCall),
    /// Question of an agent, open or closed.
    Question {
        question: Question,
        /// Reason why the question was closed; `None` while the question is open.
        #[serde(default)]
        closing: Option<QuestionCloseReason>,
    },
    /// Message of `wh` itself, not of a participant.
    Notice {
        level: NoticeLevel,
        /// Topic for programs. The kind of the envelope is `system/` and the topic.
        topic: String,
        /// Text of the notice, line by line.
        #[serde(default)]
        lines: Vec<String>,
    },
    /// Envelope of a kind that no other variant covers.
    Act {
        /// Kind of the envelope, such as `participant/pause`.
        kind: String,
        #[serde(default)]
        payload: Value,
        /// Items that the act refers to.
        #[serde(default)]
        about: Vec<ItemId>,
    },
}

/// File that is attached to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub name: String,
    /// MIME type, such as `text/plain`.
    pub media_type: String,
    /// Size of the file in bytes.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

/// Call of a tool by an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub name: String,
    /// Short human-readable description of the call.
    pub title: String,
    pub kind: ToolKind,
    #[serde(default)]
    pub input: Value,
    pub status: ToolStatus,
    #[serde(default)]
    pub output: Vec<ToolResultPart>,
}

/// Kind of effect that a tool has.
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
    /// Has an effect of no other kind, or of a kind unknown to this version.
    #[serde(other)]
    Other,
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The call waits for permission or for other calls.
    Pending,
    Running,
    Completed,
    Failed,
    Denied,
    Cancelled,
}

impl ToolStatus {
    /// True if the call has ended.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// Part of a tool call's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolResultPart {
    /// Text that the tool has written.
    Text(String),
    /// Change that the tool has made to a file.
    Diff {
        path: String,
        /// Contents before the change; `None` if the file is new.
        #[serde(default)]
        old: Option<String>,
        new: String,
    },
}

impl Item {
    /// Returns the question of the item; `None` if the item is not a question or the question is closed.
    pub fn open_question(&self) -> Option<&Question> {
        match &self.body {
            ItemBody::Question { question, closing: None } if self.progress == ItemProgress::Growing => Some(question),
            _ => None,
        }
    }

    /// True if the item is a thought that is still growing.
    pub fn is_reasoning(&self) -> bool {
        self.progress == ItemProgress::Growing && matches!(self.body, ItemBody::Thought { .. })
    }
}
