//! Protocol between a space and the harness of an agent, the component that runs the agent's program. The space sends
//! orders, and the harness sends reports. The protocol is the same for every agent, independent of the agent's own
//! protocol.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::Evidence;
use super::extent::Extent;
use super::item::{Attachment, ItemBody, NoticeLevel};
use super::name::{ItemId, TurnId};
use super::question::{Answer, Question};

/// Id that a harness assigns to an item, a question or a stream. The id is unique within the session and unknown
/// outside it: the space assigns its own ids.
pub type HarnessKey = String;

/// Order of a space to the harness of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// Starts a turn with a prompt.
    Prompt {
        turn: TurnId,
        /// Item that shows the message. The agent acknowledges the message with the id of the item.
        item: ItemId,
        text: String,
        attachments: Vec<Attachment>,
    },
    /// Delivers an answer to the question that the agent asked under this key.
    Answer {
        question: HarnessKey,
        answer: Answer,
    },
    Interrupt,
    SetModel(String),
    SetMode(String),
    /// Calls a function that only some agents support. The harness answers with a [`Report::Called`] that has the same
    /// `id`.
    Call {
        id: u64,
        call: Call,
    },
    /// Shuts down the agent.
    End,
}

/// Order that the harness acknowledges with [`Report::Acked`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AckedOrder {
    /// Order to interrupt. Acknowledged when the agent was interrupted, or when no turn was running.
    Interrupt,
    /// Answer to this question. Acknowledged when the agent has received the answer, or when the harness retains the
    /// answer until related questions are answered.
    Answer(HarnessKey),
    /// Order to use this model. The agent uses it from its next turn at the latest.
    Model(String),
    /// Order to use this mode. The agent uses it from its next turn at the latest.
    Mode(String),
}

/// Function that only some agents support.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Call {
    Pause {
        /// Duration of the pause; `None` until the agent is resumed.
        timeout: Option<Duration>,
        reason: Option<String>,
    },
    Resume,
    /// Requests a report on the agent's status.
    ReportStatus,
    /// Removes entries from the agent's context.
    Forget {
        /// True to remove the newest entries, false to remove the oldest.
        newest: bool,
        /// Number of entries to remove; `None` leaves the number to the agent.
        count: Option<u64>,
    },
    /// Clears the agent's context.
    Clear,
    /// Compacts the agent's context.
    Compact {
        /// Maximum number of tokens after compacting; `None` leaves the number to the agent.
        tokens: Option<u64>,
    },
    /// Restarts the agent's conversation.
    Restart,
    OpenStream {
        /// Purpose of the stream.
        description: Option<String>,
    },
    /// Closes a stream of the agent.
    CloseStream(HarnessKey),
    /// Calls a tool of the agent.
    UseTool {
        name: String,
        /// Arguments for the tool.
        arguments: Value,
    },
    /// Calls another function by its name.
    Other {
        name: String,
        parameters: Value,
    },
}

/// Capabilities and settings that a running agent reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportedCapabilities {
    /// True if turns of the agent can be interrupted.
    pub interrupts: bool,
    /// True if the agent acknowledges messages.
    pub acknowledges: bool,
    pub models: Vec<AgentOption>,
    /// Model that the agent uses.
    pub model: Option<String>,
    pub modes: Vec<AgentOption>,
    /// Mode in which the agent works.
    pub mode: Option<String>,
    /// Slash commands of the agent, without the slash.
    pub commands: Vec<AgentOption>,
    /// Names of the [`Call`]s that the agent supports: `pause`, `clear`, ….
    pub calls: Vec<String>,
}

/// Model, mode or command that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOption {
    pub id: String,
    /// Display name or description of the choice.
    pub title: String,
}

/// Token usage and cost of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Number of tokens in the agent's context.
    pub context_tokens: Option<u64>,
    /// Maximum number of tokens in the agent's context.
    pub context_limit: Option<u64>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Cost in dollars, if the agent reports it.
    pub cost: Option<f64>,
}

/// Outcome of a turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnOutcome {
    Completed,
    Cancelled,
    /// The turn failed, with this error message.
    Failed(String),
}

/// Tool that an agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    /// Display name of the tool.
    pub title: Option<String>,
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: Option<Value>,
}

/// Report of a harness to the space.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The agent is ready, with these capabilities. Sent again when the capabilities change.
    Ready(ReportedCapabilities),
    /// The agent offers these tools.
    Tools(Vec<Tool>),
    /// The prompt of this turn was written to the agent's process.
    Delivered(TurnId),
    /// The agent has accepted the prompt of this turn.
    Submitted(TurnId),
    /// The agent works on this turn.
    Started(TurnId),
    /// The agent works on this turn under a restriction, which becomes the warning of the receipt.
    Warned(TurnId, String),
    /// The turn has ended with this outcome.
    Ended(TurnId, TurnOutcome),
    /// The agent has started a turn without a prompt. Ignored while a turn is running.
    SelfStarted,
    /// A turn that the agent started without a prompt has ended.
    SelfEnded(TurnOutcome),
    /// A resumed conversation contains this earlier message of the user.
    EarlierPrompt(String),
    /// An item was created, changed or completed.
    Item {
        key: HarnessKey,
        /// Complete content of the item so far.
        body: ItemBody,
        /// True if the content will not change.
        done: bool,
    },
    /// Text was appended to an item.
    Grew {
        key: HarnessKey,
        /// Text to append to the item.
        text: String,
        /// Number of tokens of a thought so far.
        tokens: Option<u64>,
    },
    /// An item is complete, with the content reported so far.
    Finished(HarnessKey),
    /// A report about an item whose content was shortened, with the shown and total size.
    Shortened(Box<Report>, Extent),
    Retracted(HarnessKey),
    /// The agent asks a question and waits for the answer.
    Asked {
        key: HarnessKey,
        question: Question,
    },
    /// The agent has withdrawn a question.
    Withdrew(HarnessKey),
    /// The agent acknowledged a message: true if it will act on the message, false if it declines.
    Acknowledged(ItemId, bool),
    /// The agent wants this item to be acknowledged.
    WantsAcknowledgement(HarnessKey),
    /// The agent reported its status.
    Status {
        status: String,
        /// Longer description of the status, if given.
        summary: Option<String>,
    },
    /// The agent was paused; with `None`, the agent was resumed.
    Paused(Option<PauseReport>),
    StreamOpened(HarnessKey),
    /// A stream has delivered data.
    StreamFrame(HarnessKey, Value),
    StreamClosed(HarnessKey),
    /// The agent reported its total usage so far.
    Usage(Usage),
    /// Outcome of an order. The harness acknowledges each [`AckedOrder`] exactly once. If two orders are equal, the
    /// first acknowledgement belongs to the earlier order.
    Acked(AckedOrder, Result<(), String>),
    /// Result of the call with this number.
    Called(u64, Result<Value, String>),
    /// Resume id: the id by which the agent can resume its conversation later; `None` while the conversation cannot be
    /// resumed. Sent when the id becomes known or changes. The engine stores the id with the session; the space does
    /// not use it.
    ResumeId(Option<String>),
    /// Evidence for the activity of an agent whose protocol does not report it. Replaces the previous one.
    Activity(ActivityReport),
    /// A message of `wh` about the agent, shown in the conversation.
    Notice(NoticeLevel, String),
    /// The agent has exited, with this error message; `None` if the agent was shut down.
    Gone(Option<String>),
}

/// Evidence for the activity of an agent that runs in its own terminal UI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityReport {
    /// False if no source shows whether the agent works. Its activity is then unknown.
    pub known: bool,
    /// Most reliable source of the activity.
    pub source: Evidence,
    /// Text that lists the observations that prove the activity.
    pub observation: String,
    /// Reason why the next prompt is not typed yet; `None` if no prompt waits for the agent's terminal.
    pub waits_for: Option<String>,
}

/// Pause that an agent reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseReport {
    pub timeout: Option<Duration>,
    pub reason: Option<String>,
}
