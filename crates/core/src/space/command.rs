//! What a door asks of a space, and why it may be refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::harness::Call;
use super::item::Attachment;
use super::name::{ItemId, ParticipantId, StreamId};
use super::question::{Answer, WrongAnswer};
use super::roster::Ask;
use crate::reason::Reason;
use crate::receipt::Receipt;
use crate::request::Decision;

/// What a door asks of a space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Say something; to the chat targets unless it names its own.
    Say {
        /// What.
        text: String,
        /// To whom.
        to: Option<Vec<ParticipantId>>,
        /// What goes with it.
        attachments: Vec<Attachment>,
        /// Interrupt the agents that it is for, and hand it to them before what waits.
        interrupt: bool,
        /// Refuse it where an agent would interpret its first character instead of passing it to the model.
        literal: bool,
    },
    /// Answer a question.
    Answer {
        /// Which.
        question: ItemId,
        /// How.
        answer: Answer,
        /// A plain yes or no instead of an option: the option that means it is chosen.
        decision: Option<Decision>,
    },
    /// Stop whoever works, or this one.
    Interrupt(Option<ParticipantId>),
    /// Change or show whom chat goes to.
    Target(Target),
    /// Acknowledge messages that wait for it.
    Acknowledge {
        /// Which.
        selector: Selector,
        /// In a word.
        status: Option<String>,
    },
    /// Stop whoever reasons; or no longer wait for acknowledgements of one's own messages.
    Cancel {
        /// Which.
        selector: Selector,
        /// Why.
        reason: Option<String>,
    },
    /// Something that only some agents can do; without a name the one that chat goes to is meant.
    Call(Option<ParticipantId>, Call),
    /// Close a stream.
    CloseStream(StreamId),
    /// End an agent.
    Shutdown(ParticipantId, Option<String>),
    /// Use another model; without one, list them.
    Model(Option<ParticipantId>, Option<String>),
    /// Work in another mode; without one, list them.
    Mode(Option<ParticipantId>, Option<String>),
    /// Have an agent use another model or mode, of which nothing is said in the conversation.
    Set(ParticipantId, Setting),
    /// Something about an agent beside its conversation; without a name the one that chat goes to is meant.
    Manage(Option<ParticipantId>, Ask),
    /// Put an envelope into the space.
    Post {
        /// Its kind.
        kind: String,
        /// What it says.
        payload: Value,
        /// Whom it is for.
        to: Option<Vec<ParticipantId>>,
    },
    /// A command that an agent may have.
    OfAgent {
        /// Its name, without the slash.
        name: String,
        /// All of the line.
        line: String,
    },
    /// A command of the terminal UI, which changes only what is shown and is run there.
    OfUi,
    /// Record that a slash command typed at the UI was refused, as the notice `system/refused`.
    Refused {
        /// The line as it was typed.
        line: String,
        /// Why it was refused.
        reason: String,
    },
    /// List the commands.
    Help,
    /// List who takes part.
    Participants,
}

/// What an agent is to use from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Setting {
    /// This model.
    Model(String),
    /// This mode.
    Mode(String),
}

/// What to do about the chat targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// Say what they are.
    Show,
    /// Back to the defaults.
    Default,
    /// These.
    Only(Vec<ParticipantId>),
}

/// Which of those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selector {
    /// All of them.
    All,
    /// The one in this place from 1, whose id begins so, or whose sender contains this.
    Named(String),
}

/// A command was carried out, or is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// How far it is.
    pub receipt: Receipt,
    /// What came of it, where something did: lines for people.
    pub lines: Vec<String>,
    /// Whether this is the answer to an earlier command of the same id.
    pub duplicate: bool,
    /// True if it is a message that waits for an agent.
    pub queued: bool,
}

impl Command {
    /// Something said to the agents, without attachments.
    pub fn say(text: impl Into<String>, to: Option<Vec<ParticipantId>>) -> Self {
        Self::Say { text: text.into(), to, attachments: Vec::new(), interrupt: false, literal: false }
    }

    /// True if it is a message for agents, which may have to wait for them.
    pub fn is_message(&self) -> bool {
        matches!(self, Self::Say { .. } | Self::OfAgent { .. })
    }
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// There is nothing in it.
    #[error("the message is empty")]
    Empty,
    /// It is too long.
    #[error("the message has {0} bytes; at most {1} are taken")]
    TooLong(usize, usize),
    /// Nobody of this name takes part.
    #[error("nobody here is called {0:?}; /participants lists who is")]
    NoSuchParticipant(String),
    /// There is no agent of this id.
    #[error("there is no agent {0:?}; /agent lists those that there are")]
    NoSuchAgent(String),
    /// The agent keeps no conversation of this id.
    #[error("{0} keeps no conversation {1:?}; list them again")]
    NoSuchConversation(String, String),
    /// The agent cannot do that at all; what can be done instead.
    #[error("{0}")]
    NotAvailable(String),
    /// It is not an agent.
    #[error("{0} is not an agent that can be told to do that")]
    NotAnAgent(ParticipantId),
    /// It is gone.
    #[error("{0} is no longer there")]
    Gone(ParticipantId),
    /// Enough waits for it already.
    #[error("{0} is busy, and enough waits for it already; try again when it is idle")]
    Busy(ParticipantId),
    /// It would interpret the text instead of passing it to the model.
    #[error(
        "{0} interprets a leading {1:?} itself, so that the text would not reach the model as it is; put a word before it, or run it with POST /control/command"
    )]
    NotLiteral(ParticipantId, char),
    /// No agent is there to take a message.
    #[error("no agent is here any more to answer; /agent lists those that could be")]
    NobodyThere,
    /// It cannot do that.
    #[error("{0} cannot {1}")]
    NotSupported(ParticipantId, String),
    /// It would not, or could not.
    #[error("{0}")]
    Failed(String),
    /// There is no such question.
    #[error("there is no question {0:?}; GET /control/questions lists those that are open")]
    NoSuchQuestion(String),
    /// It was closed before.
    #[error("question {0} is closed already: {1}")]
    Closed(ItemId, String),
    /// The question does not have this answer.
    #[error(transparent)]
    WrongAnswer(#[from] WrongAnswer),
    /// The question cannot be answered by a plain yes or no.
    #[error("the question has no option that means a plain yes or no; choose one of its options")]
    NoPlainAnswer,
    /// There is no such stream.
    #[error("no stream {0:?} is open")]
    NoSuchStream(String),
    /// Nothing is under way.
    #[error("nothing is under way that could be interrupted")]
    NothingToInterrupt,
    /// Nothing waits that this would choose.
    #[error("nothing waits for {0}")]
    NothingChosen(String),
    /// There is no such command.
    #[error("Unknown command: /{0};{hint} /help lists the commands", hint = suggestion(.0))]
    UnknownCommand(String),
    /// The id belongs to another command, or to another sender.
    #[error("this request_id was used for another command, for other words or by another sender; use a new one")]
    RequestIdReused,
    /// The id is that of an older command.
    #[error("this request_id was used more than ten minutes ago, or is one of wh's own; choose a new one")]
    UsedBefore,
    /// No more ids can be kept.
    #[error("too many request_ids are remembered already; try again later")]
    LedgerFull,
    /// It could not be stored, and was not carried out.
    #[error("it could not be stored, and nothing was done: {0}")]
    NotStored(String),
    /// It was accepted, and that could not be stored.
    #[error("it was accepted, but that could not be stored; read its receipt before it is sent again: {0}")]
    ResultNotStored(String),
}

impl Refusal {
    /// The reason, for programs.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Empty => Reason::Empty,
            Self::TooLong(..) => Reason::TooLong,
            Self::NoSuchParticipant(_) => Reason::NoParticipant,
            Self::NoSuchAgent(_) => Reason::NoAgent,
            Self::NoSuchConversation(..) => Reason::NoConversation,
            Self::NotAvailable(_) | Self::NotAnAgent(_) | Self::NotSupported(..) => Reason::NotSupported,
            Self::Gone(_) | Self::NobodyThere => Reason::Ended,
            Self::Busy(_) => Reason::Busy,
            Self::NotLiteral(..) => Reason::NotLiteral,
            Self::Failed(_) => Reason::Failed,
            Self::NoSuchQuestion(_) => Reason::NoQuestion,
            Self::Closed(..) => Reason::QuestionClosed,
            Self::WrongAnswer(_) | Self::NoPlainAnswer => Reason::WrongAnswer,
            Self::NoSuchStream(_) => Reason::NoStream,
            Self::NothingToInterrupt => Reason::NothingToInterrupt,
            Self::NothingChosen(_) => Reason::NothingChosen,
            Self::UnknownCommand(_) => Reason::UnknownCommand,
            Self::RequestIdReused | Self::UsedBefore => Reason::RequestIdReused,
            Self::LedgerFull => Reason::TooManyRequests,
            Self::NotStored(_) => Reason::Store,
            Self::ResultNotStored(_) => Reason::NotWritten,
        }
    }
}

/// The command that is most like an unknown one, as a question.
fn suggestion(name: &str) -> String {
    crate::slash::meant(name).map(|meant| format!(" did you mean {meant}?")).unwrap_or_default()
}
