//! Protocol between a space and the harness of an agent: orders and reports. The agent's own protocol may
//! have replies, only notifications, or be a plain terminal.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extent::Extent;
use super::item::{Attachment, Body, Level};
use super::name::{ItemId, TurnId};
use super::question::{Answer, Question};

/// Identifier that a harness assigns, unique within the session and unknown outside it. The space assigns its own ids.
pub type HarnessKey = String;

/// Order to a harness.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Starts a turn with a prompt.
    Prompt {
        turn: TurnId,
        /// Item of the message, so that the agent can acknowledge it.
        item: ItemId,
        text: String,
        attachments: Vec<Attachment>,
    },
    /// Delivers the answer to a question of the agent.
    Answer { question: HarnessKey, answer: Answer },
    /// Interrupts the running turn.
    Interrupt,
    /// Changes the model.
    SetModel(String),
    /// Changes the mode.
    SetMode(String),
    /// Calls a function that only some agents support. The report with the same `id` answers it.
    Call { id: u64, call: Call },
    /// Ends the agent.
    End,
}

/// Order whose outcome the harness acknowledges with [`Report::Acked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckedOrder {
    /// The agent was interrupted, or no turn was running.
    Interrupt,
    /// The agent has received the answer to this question, or the harness holds it until related questions are
    /// answered.
    Answer(HarnessKey),
    /// The agent uses this model, starting with its next turn at the latest.
    Model(String),
    /// The agent works in this mode, starting with its next turn at the latest.
    Mode(String),
}

/// Function that only some agents support.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Call {
    /// Pauses the agent.
    Pause {
        /// Maximum duration; `None` until resumed.
        timeout: Option<Duration>,
        reason: Option<String>,
    },
    /// Resumes the agent.
    Resume,
    /// Requests a status report.
    ReportStatus,
    /// Removes entries from the conversation.
    Forget {
        /// Removes the newest entries instead of the oldest.
        newest: bool,
        /// Number of entries; the agent decides if `None`.
        count: Option<u64>,
    },
    /// Clears the conversation.
    Clear,
    /// Compacts the conversation.
    Compact {
        /// Target number of tokens.
        tokens: Option<u64>,
    },
    /// Restarts the agent's conversation.
    Restart,
    /// Opens a stream.
    OpenStream {
        /// Purpose of the stream.
        description: Option<String>,
    },
    /// Closes a stream of the agent.
    CloseStream(HarnessKey),
    /// Calls a tool of the agent.
    UseTool {
        name: String,
        /// Arguments of the tool.
        arguments: Value,
    },
    /// Any other function.
    Other { name: String, parameters: Value },
}

/// Capabilities that a running agent reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capabilities {
    /// Turns can be interrupted.
    pub interrupts: bool,
    /// The agent acknowledges messages.
    pub acknowledges: bool,
    pub models: Vec<Named>,
    /// Model in use.
    pub model: Option<String>,
    pub modes: Vec<Named>,
    /// Mode in use.
    pub mode: Option<String>,
    /// Commands of the agent, without the slash.
    pub commands: Vec<Named>,
    /// Supported [`Call`]s by name: `pause`, `clear`, ….
    pub calls: Vec<String>,
}

/// An available choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub id: String,
    /// Name or description for people.
    pub title: String,
}

/// Token usage and cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in the context.
    pub context_tokens: Option<u64>,
    /// Size of the context window in tokens.
    pub context_limit: Option<u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Cost in dollars, if the agent reports it.
    pub cost: Option<f64>,
}

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The turn has completed.
    Completed,
    /// The turn was interrupted.
    Cancelled,
    /// The turn has failed, with a message.
    Failed(String),
}

/// Tool of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Option<Value>,
}

/// Report of a harness to its space.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The agent is ready and has these capabilities. Sent again when they change.
    Ready(Capabilities),
    /// Tools of the agent.
    Tools(Vec<Tool>),
    /// The prompt of this turn was written to the agent.
    Delivered(TurnId),
    /// The agent has accepted the prompt of this turn.
    Submitted(TurnId),
    /// The agent works on this turn.
    Started(TurnId),
    /// The agent works on this turn under a restriction, which the receipt states.
    Warned(TurnId, String),
    /// This turn has ended.
    Ended(TurnId, Outcome),
    /// The agent has started a turn without a prompt. Ignored while a turn is running.
    SelfStarted,
    /// A turn that was started without a prompt has ended.
    SelfEnded(Outcome),
    /// Earlier message of the user in a resumed conversation.
    EarlierPrompt(String),
    /// An item was created, changed or completed.
    Item {
        key: HarnessKey,
        /// The complete content.
        body: Body,
        /// True if the item is complete.
        done: bool,
    },
    /// Text was appended to an item.
    Grew {
        key: HarnessKey,
        /// The appended text.
        text: String,
        /// Tokens so far, for a thought.
        tokens: Option<u64>,
    },
    /// An item is complete with its present content.
    Finished(HarnessKey),
    /// A report about an item whose content was shortened to this extent.
    Shortened(Box<Report>, Extent),
    /// An item was retracted.
    Retracted(HarnessKey),
    /// The agent asks a question and waits.
    Asked { key: HarnessKey, question: Question },
    /// The agent has withdrawn a question.
    Withdrew(HarnessKey),
    /// The agent has seen a message. The flag is true if it will act on it.
    Acknowledged(ItemId, bool),
    /// The agent requests an acknowledgement of this item.
    WantsAcknowledgement(HarnessKey),
    /// Status of the agent.
    Status {
        status: String,
        /// Longer description of the status.
        summary: Option<String>,
    },
    /// The agent was paused; with `None`, resumed.
    Paused(Option<PauseReport>),
    /// The agent has opened a stream.
    StreamOpened(HarnessKey),
    /// Data of a stream.
    StreamFrame(HarnessKey, Value),
    /// A stream was closed.
    StreamClosed(HarnessKey),
    /// Total usage so far.
    Usage(Usage),
    /// Outcome of an order. Each [`AckedOrder`] is acknowledged once; for two equal orders, the first acknowledgement
    /// belongs to the earlier one.
    Acked(AckedOrder, Result<(), String>),
    /// Result of a call.
    Called(u64, Result<Value, String>),
    /// Identifier by which the agent can resume its present conversation later; `None` if it cannot be resumed, or not
    /// yet. Sent when it is known and when it changes. Only the store of sessions uses it: it does not become part of
    /// the space.
    ResumeId(Option<String>),
    /// A notice of `wh` about the agent.
    Notice(Level, String),
    /// The agent has ended. Contains the reason, unless it was shut down.
    Gone(Option<String>),
}

/// Pause reported by an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseReport {
    pub timeout: Option<Duration>,
    pub reason: Option<String>,
}
