//! Commands to a space and the reasons for refusing them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::harness::Call;
use super::item::Attachment;
use super::name::{ItemId, ParticipantId, StreamId};
use super::question::{Answer, WrongAnswer};
use super::roster::AgentRequest;
use crate::reason::Reason;
use crate::receipt::Receipt;
use crate::request::Decision;

/// Command to a space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ConversationCommand {
    /// Sends a message; to the chat targets unless `to` is set.
    Say {
        text: String,
        to: Option<Vec<ParticipantId>>,
        attachments: Vec<Attachment>,
        /// Interrupt the recipients, and deliver the message before queued ones.
        interrupt: bool,
        /// Refuse the message if an agent would interpret its first character instead of passing it to the model.
        literal: bool,
    },
    /// Answers a question.
    Answer {
        question: ItemId,
        answer: Answer,
        /// An approval or rejection instead of an option: the option with that meaning is chosen.
        decision: Option<Decision>,
    },
    /// Interrupts all working agents, or this one.
    Interrupt(Option<ParticipantId>),
    /// Changes or shows the chat targets.
    Target(TargetCommand),
    /// Acknowledges pending messages.
    Acknowledge {
        selector: Selector,
        /// Status text of the acknowledgement.
        status: Option<String>,
    },
    /// Interrupts reasoning agents, or cancels pending acknowledgements of the sender's own messages.
    Cancel {
        selector: Selector,
        reason: Option<String>,
    },
    /// Calls a function that only some agents support; `None` addresses the default chat target.
    Call(Option<ParticipantId>, Call),
    CloseStream(StreamId),
    /// Shuts down an agent.
    Shutdown(ParticipantId, Option<String>),
    /// Changes the model; without one, lists the models.
    Model(Option<ParticipantId>, Option<String>),
    /// Changes the mode; without one, lists the modes.
    Mode(Option<ParticipantId>, Option<String>),
    /// Changes the model or mode of an agent without a message in the conversation.
    Set(ParticipantId, Setting),
    /// Manages an agent outside its conversation; `None` addresses the default chat target.
    Manage(Option<ParticipantId>, AgentRequest),
    /// Posts an envelope into the space.
    Post {
        kind: String,
        payload: Value,
        to: Option<Vec<ParticipantId>>,
    },
    /// A slash command that an agent may support.
    #[serde(rename = "OfAgent")]
    AgentCommand {
        /// Its name, without the slash.
        name: String,
        /// The complete line.
        line: String,
    },
    /// A command of the terminal UI, which runs there and changes only the display.
    #[serde(rename = "OfUi")]
    UiCommand,
    /// Records the refusal of a slash command typed in the UI, as the notice `system/refused`.
    Refused {
        /// The line as typed.
        line: String,
        reason: String,
    },
    /// Lists the commands.
    Help,
    /// Lists the participants.
    Participants,
}

/// New setting of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Setting {
    Model(String),
    Mode(String),
}

/// Operation on the chat targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetCommand {
    /// Shows the targets.
    Show,
    /// Resets the targets to the defaults.
    Default,
    /// Sets the targets.
    Only(Vec<ParticipantId>),
}

/// Selects messages or acknowledgements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selector {
    All,
    /// Position from 1, beginning of an id, or part of a sender's name.
    Named(String),
}

/// Answer to an accepted command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandAccepted {
    pub receipt: Receipt,
    /// Result lines for people.
    pub lines: Vec<String>,
    /// True if this answers a retry.
    pub duplicate: bool,
    /// True if the command is a message that is queued for an agent.
    pub queued: bool,
}

impl ConversationCommand {
    /// Returns a message to the agents without attachments.
    pub fn say(text: impl Into<String>, to: Option<Vec<ParticipantId>>) -> Self {
        Self::Say { text: text.into(), to, attachments: Vec::new(), interrupt: false, literal: false }
    }

    /// True if the command is a message for agents, which may be queued for them.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Say { .. } | Self::AgentCommand { .. })
    }
}

/// Reason for which a command is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SpaceRefusal {
    #[error("the message is empty")]
    Empty,
    #[error("the message has {0} bytes; at most {1} are accepted")]
    TooLong(usize, usize),
    /// No participant has this name.
    #[error("there is no participant {0:?}; list them with /participants")]
    NoSuchParticipant(String),
    /// No agent has this id.
    #[error("there is no agent {0:?}; list them with /agent")]
    NoSuchAgent(String),
    /// The agent has no saved conversation with this id.
    #[error("{0} has no saved conversation {1:?}; list them again with /sessions")]
    NoSuchConversation(String, String),
    /// The agent never supports this. The message names an alternative.
    #[error("{0}")]
    NotAvailable(String),
    /// The participant is not an agent.
    #[error("{0} is not an agent that supports this")]
    NotAnAgent(ParticipantId),
    /// The participant has left.
    #[error("{0} has left")]
    Gone(ParticipantId),
    /// The participant's queue is full.
    #[error("{0} is busy and its queue is full; retry when it is idle")]
    Busy(ParticipantId),
    /// The agent would interpret the text instead of passing it to the model.
    #[error(
        "{0} interprets a leading {1:?}, so the text would not reach the model unchanged; put a word before it, or run it with POST /control/command"
    )]
    NotLiteral(ParticipantId, char),
    /// No agent is present to receive the message.
    #[error("there is no agent to answer; list the available agents with /agent")]
    #[serde(rename = "NobodyThere")]
    NoAgentPresent,
    /// The participant does not support this.
    #[error("{0} cannot {1}")]
    NotSupported(ParticipantId, String),
    /// The participant failed to do this.
    #[error("{0}")]
    Failed(String),
    #[error("there is no question {0:?}; list the open questions with GET /control/questions")]
    NoSuchQuestion(String),
    /// The question was closed before.
    #[error("question {0} is already closed: {1}")]
    Closed(ItemId, String),
    /// The question does not have this answer.
    #[error(transparent)]
    WrongAnswer(#[from] WrongAnswer),
    /// The question has no option for an approval or rejection.
    #[error("the question has no option for a plain approve or reject; choose one of its options")]
    NoPlainAnswer,
    #[error("no stream {0:?} is open")]
    NoSuchStream(String),
    #[error("nothing is running that could be interrupted")]
    NothingToInterrupt,
    /// The selector matches nothing.
    #[error("nothing is waiting for {0}")]
    #[serde(rename = "NothingChosen")]
    NothingSelected(String),
    #[error("Unknown command: /{0};{hint} /help lists the commands", hint = suggestion(.0))]
    UnknownCommand(String),
    /// The request id was used for another command or by another sender.
    #[error("this request_id was used for a different command, content or sender; use a new one")]
    RequestIdReused,
    /// The request id belongs to an older command.
    #[error("this request_id was used more than ten minutes ago, or is reserved by wh; use a new one")]
    UsedBefore,
    /// The bound on stored request ids is reached.
    #[error("too many request_ids are stored; retry later")]
    LedgerFull,
    /// The command could not be stored, and was not executed.
    #[error("the command could not be stored and was not executed: {0}")]
    NotStored(String),
    /// The command was executed, and the result could not be stored.
    #[error(
        "the command was executed, but its result could not be stored; read its receipt before sending it again: {0}"
    )]
    ResultNotStored(String),
}

impl SpaceRefusal {
    /// Returns the stable code for programs.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Empty => Reason::Empty,
            Self::TooLong(..) => Reason::TooLong,
            Self::NoSuchParticipant(_) => Reason::NoParticipant,
            Self::NoSuchAgent(_) => Reason::NoAgent,
            Self::NoSuchConversation(..) => Reason::NoConversation,
            Self::NotAvailable(_) | Self::NotAnAgent(_) | Self::NotSupported(..) => Reason::NotSupported,
            Self::Gone(_) | Self::NoAgentPresent => Reason::Ended,
            Self::Busy(_) => Reason::Busy,
            Self::NotLiteral(..) => Reason::NotLiteral,
            Self::Failed(_) => Reason::Failed,
            Self::NoSuchQuestion(_) => Reason::NoQuestion,
            Self::Closed(..) => Reason::QuestionClosed,
            Self::WrongAnswer(_) | Self::NoPlainAnswer => Reason::WrongAnswer,
            Self::NoSuchStream(_) => Reason::NoStream,
            Self::NothingToInterrupt => Reason::NothingToInterrupt,
            Self::NothingSelected(_) => Reason::NothingChosen,
            Self::UnknownCommand(_) => Reason::UnknownCommand,
            Self::RequestIdReused | Self::UsedBefore => Reason::RequestIdReused,
            Self::LedgerFull => Reason::TooManyRequests,
            Self::NotStored(_) => Reason::Store,
            Self::ResultNotStored(_) => Reason::NotWritten,
        }
    }
}

/// Suggests the known command most similar to an unknown one.
fn suggestion(name: &str) -> String {
    crate::slash::suggest_command(name).map(|meant| format!(" did you mean {meant}?")).unwrap_or_default()
}
