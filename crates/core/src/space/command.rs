//! Commands to a space, and the reasons why a command is refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::harness::Call;
use super::item::Attachment;
use super::name::{ItemId, ParticipantId, StreamId};
use super::question::{Answer, InvalidAnswer};
use super::roster::AgentRequest;
use crate::reason::Reason;
use crate::receipt::Receipt;
use crate::request::Decision;

/// Command of a client to a space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ConversationCommand {
    /// Sends a message to `to`; without `to`, to the chat targets.
    Say {
        text: String,
        to: Option<Vec<ParticipantId>>,
        attachments: Vec<Attachment>,
        /// True to interrupt the recipients and deliver the message before queued ones.
        interrupt: bool,
        /// True to refuse the message if an agent would interpret the first character of the text instead of passing it
        /// to the model.
        literal: bool,
    },
    Answer {
        question: ItemId,
        answer: Answer,
        /// Approval or rejection instead of an option. The option with this meaning is chosen.
        decision: Option<Decision>,
    },
    /// Interrupts this agent; with `None`, every working agent.
    Interrupt(Option<ParticipantId>),
    /// Changes or shows the chat targets.
    Target(TargetCommand),
    /// Acknowledges messages that wait for an acknowledgement from the sender of this command.
    Acknowledge {
        selector: MessageSelector,
        /// Status text of the acknowledgement.
        status: Option<String>,
    },
    /// Cancels the acknowledgements that the sender's messages wait for. With [`MessageSelector::All`], a reasoning
    /// agent is interrupted instead, if there is one.
    Cancel {
        selector: MessageSelector,
        reason: Option<String>,
    },
    /// Calls a function that only some agents support. Without a participant, the only chat target or agent is called.
    /// Fails if there are several.
    Call(Option<ParticipantId>, Call),
    CloseStream(StreamId),
    Shutdown(ParticipantId, Option<String>),
    /// Changes the model of an agent; without a model, lists the models. Without a participant, the command applies to
    /// the only chat target or agent.
    Model(Option<ParticipantId>, Option<String>),
    /// Changes the mode of an agent; without a mode, lists the modes. Without a participant, the command applies to the
    /// only chat target or agent.
    Mode(Option<ParticipantId>, Option<String>),
    /// Changes the model or the mode of an agent without showing a message in the conversation.
    Set(ParticipantId, Setting),
    /// Executes a request about an agent outside its conversation. Without a participant, the command applies to the
    /// only chat target or agent.
    Manage(Option<ParticipantId>, AgentRequest),
    /// Posts an envelope whose kind has no command of its own.
    Post {
        kind: String,
        payload: Value,
        to: Option<Vec<ParticipantId>>,
    },
    /// Slash command that has no row in the table and that an agent may support.
    #[serde(rename = "OfAgent")]
    AgentCommand {
        /// Name of the slash command, without the slash.
        name: String,
        /// Complete line as typed.
        line: String,
    },
    /// Slash command that the terminal UI has executed. It changes only the display.
    #[serde(rename = "OfUi")]
    UiCommand,
    /// Adds the notice `system/refused` about a slash command that the terminal UI refused.
    Refused {
        /// The line as typed.
        line: String,
        reason: String,
    },
    /// Shows the slash commands in the conversation.
    Help,
    /// Shows the participants in the conversation.
    Participants,
}

/// Model or mode that an agent must use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Setting {
    Model(String),
    Mode(String),
}

/// Operation on the targets of chat messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetCommand {
    Show,
    /// Removes the user's choice, so that the default targets apply.
    Default,
    /// Sends chat only to these participants.
    Only(Vec<ParticipantId>),
}

/// Selection of messages or acknowledgements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageSelector {
    All,
    /// Position in the list, starting at 1; beginning of an id; or part of a sender's name.
    Named(String),
}

/// Answer to a command that the space has accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandAccepted {
    pub receipt: Receipt,
    /// Result of the command as human-readable text lines.
    pub lines: Vec<String>,
    /// True if the command is a retry of an accepted command.
    pub duplicate: bool,
    /// True if the command is a message that no agent has received yet.
    pub queued: bool,
}

impl ConversationCommand {
    /// Creates a message to agents, without attachments.
    pub fn say(text: impl Into<String>, to: Option<Vec<ParticipantId>>) -> Self {
        Self::Say { text: text.into(), to, attachments: Vec::new(), interrupt: false, literal: false }
    }

    /// True if the command sends a message to agents.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Say { .. } | Self::AgentCommand { .. })
    }
}

/// Reason why a space refuses a command, with its error message.
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
    /// The agent (first field) has no saved conversation with this id (second field).
    #[error("{0} has no saved conversation {1:?}; list them again with /sessions")]
    NoSuchConversation(String, String),
    /// The agent does not support the request; the text is the complete error message.
    #[error("{0}")]
    NotAvailable(String),
    /// The participant is a user or the system, not an agent.
    #[error("{0} is not an agent")]
    NotAnAgent(ParticipantId),
    /// The participant has left the space.
    #[error("{0} has left the space")]
    Gone(ParticipantId),
    /// The agent is busy and its queue is full.
    #[error("{0} is busy and its queue is full; retry when it is idle")]
    Busy(ParticipantId),
    /// The message is literal, and the agent would interpret its first character.
    #[error(
        "{0} interprets a leading {1:?}, so the text would not reach the model unchanged; put a word before this character, or run the text with POST /control/command"
    )]
    NotLiteral(ParticipantId, char),
    /// No agent is in the space, so no agent can receive the message.
    #[error("no agent is in the space; list the available agents with /agent")]
    #[serde(rename = "NobodyThere")]
    NoAgentPresent,
    /// The participant cannot do this. The text is a verb phrase, such as `be interrupted`.
    #[error("{0} cannot {1}")]
    NotSupported(ParticipantId, String),
    /// The participant failed to execute the command; the text is the complete error message.
    #[error("{0}")]
    Failed(String),
    #[error("there is no question {0:?}; list the open questions with GET /control/questions")]
    NoSuchQuestion(String),
    /// The question (first field) is already closed. The second field states how it was closed.
    #[error("question {0} is already closed: {1}")]
    Closed(ItemId, String),
    /// The answer does not fit the question.
    #[error(transparent)]
    WrongAnswer(#[from] InvalidAnswer),
    /// The command approves or rejects the question, but the question has no such option.
    #[error("the question has no option for this decision (approve or reject); choose an option by its id")]
    NoPlainAnswer,
    #[error("no stream {0:?} is open")]
    NoSuchStream(String),
    #[error("no turn is running, so there is nothing to interrupt")]
    NothingToInterrupt,
    /// No message or acknowledgement matches the selector.
    #[error("no message is waiting for {0}")]
    #[serde(rename = "NothingChosen")]
    NothingSelected(String),
    #[error("Unknown command: /{0};{hint} /help lists the commands", hint = suggestion(.0))]
    UnknownCommand(String),
    /// The request id was already used for another command, content or sender.
    #[error("this request_id was used for a different command, content or sender; use a new one")]
    RequestIdReused,
    /// The request id was used more than ten minutes ago, or the space has assigned it to another command.
    #[error("this request_id was used more than ten minutes ago, or is reserved by wh; use a new one")]
    UsedBefore,
    /// The maximum number of stored request ids is reached.
    #[error("too many request_ids are stored; retry later")]
    LedgerFull,
    /// The command could not be stored, and was not executed.
    #[error("the command could not be stored and was not executed: {0}")]
    NotStored(String),
    /// The command was executed, and its result could not be stored.
    #[error(
        "the command was executed, but its result could not be stored; read the receipt before you send the command again: {0}"
    )]
    ResultNotStored(String),
}

impl SpaceRefusal {
    /// Returns the stable code of the refusal.
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

/// Returns the part of the error message that suggests a known command; empty if no command is similar.
fn suggestion(name: &str) -> String {
    crate::slash::suggest_command(name).map(|meant| format!(" did you mean {meant}?")).unwrap_or_default()
}
