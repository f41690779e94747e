//! One thing in a conversation: a text, a thought, a tool call, a question, a notice. Items are put whole by id, so that
//! the same report twice is the same item once.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::Extent;
use super::name::{ItemId, ParticipantId, TurnId};
use super::question::{Closing, Question};

/// One thing in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its id.
    pub id: ItemId,
    /// Whose it is.
    pub from: ParticipantId,
    /// Whom it is for; `None` is everybody.
    #[serde(default)]
    pub to: Option<Vec<ParticipantId>>,
    /// The turn that it belongs to.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// When it began.
    #[serde(with = "super::kept::nanoseconds")]
    pub at: SystemTime,
    /// What it is.
    pub body: Body,
    /// How far it is.
    pub progress: Progress,
    /// How much of it is here, where that is not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// When each of its [envelopes](super::envelope) was added to the list of messages. [`Items`](super::Items) fills it.
    #[serde(default, with = "super::kept::moments", skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<SystemTime>,
    /// Turns that a message starts, one for each agent that it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<TurnId>,
}

impl Item {
    /// An item that is complete at once, for everybody and outside a turn.
    pub fn complete(id: ItemId, from: ParticipantId, at: SystemTime, body: Body) -> Self {
        let (listed, starts) = (Vec::new(), Vec::new());
        Self { id, from, to: None, turn: None, at, body, progress: Progress::Done, extent: None, listed, starts }
    }
}

/// How far an item is. It only ever moves downwards in this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// A message that no agent was given yet.
    Queued,
    /// More of it may come.
    Growing,
    /// It is complete.
    Done,
    /// Its turn ended before it was complete; or a message that no agent was given, and that none will be.
    Cut,
    /// It was taken back, and is no longer shown.
    Retracted,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// Said to others, in Markdown.
    Text {
        /// What is said.
        text: String,
        /// What goes with it.
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// Thought aloud.
    Thought {
        /// What is thought so far.
        text: String,
        /// What it is about to do, in a few words.
        #[serde(default)]
        action: Option<String>,
        /// What it has cost so far.
        #[serde(default)]
        tokens: Option<u64>,
    },
    /// Something done with a tool.
    Tool(ToolCall),
    /// Something that waits for an answer, or no longer does.
    Question {
        /// What is asked.
        question: Question,
        /// How it was closed; open while there is none.
        #[serde(default)]
        closing: Option<Closing>,
    },
    /// Said by wh itself.
    Notice {
        /// How serious it is.
        level: Level,
        /// What about, for programs: the part after `system/`.
        topic: String,
        /// Line by line.
        #[serde(default)]
        lines: Vec<String>,
    },
    /// Something that only the protocol of spaces has a word for.
    Act {
        /// The envelope's kind, as `participant/pause`.
        kind: String,
        /// What it says.
        #[serde(default)]
        payload: Value,
        /// What it is about.
        #[serde(default)]
        about: Vec<ItemId>,
    },
}

/// What goes with a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its kind, as `text/plain`.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something has failed.
    Error,
}

/// Something done with a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// What it does, in a few words for people.
    pub title: String,
    /// What kind of thing that is.
    pub kind: ToolKind,
    /// What it was given.
    #[serde(default)]
    pub input: Value,
    /// How it fares.
    pub status: ToolStatus,
    /// What came of it.
    #[serde(default)]
    pub output: Vec<Output>,
}

/// What kind of thing a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads something.
    Read,
    /// Changes a file.
    Edit,
    /// Runs a command.
    Execute,
    /// Looks for something.
    Search,
    /// Gets something from elsewhere.
    Fetch,
    /// Anything else.
    #[serde(other)]
    Other,
}

/// How a tool call fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It waits, for its turn or for permission.
    Pending,
    /// It runs.
    Running,
    /// It has worked.
    Completed,
    /// It has failed.
    Failed,
    /// It was not allowed.
    Denied,
    /// It was interrupted.
    Cancelled,
}

impl ToolStatus {
    /// Whether nothing more will come of it.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

/// A piece of what came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Text, as it was written.
    Text(String),
    /// A file that was changed.
    Diff {
        /// Its path.
        path: String,
        /// What it held; `None` if it is new.
        #[serde(default)]
        old: Option<String>,
        /// What it holds.
        new: String,
    },
}

impl Item {
    /// The question, if it is one and it is open.
    pub fn open_question(&self) -> Option<&Question> {
        match &self.body {
            Body::Question { question, closing: None } if self.progress == Progress::Growing => Some(question),
            _ => None,
        }
    }

    /// Whether it is a thought that is being thought.
    pub fn is_reasoning(&self) -> bool {
        self.progress == Progress::Growing && matches!(self.body, Body::Thought { .. })
    }
}
