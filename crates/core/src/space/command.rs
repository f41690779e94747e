//! What a door asks of a space, and why it may be refused.

use serde_json::Value;

use super::harness::Call;
use super::item::Attachment;
use super::name::{ItemId, ParticipantId, StreamId};
use super::question::{Answer, WrongAnswer};
use super::receipt::Receipt;
use super::roster::Ask;

/// What a door asks of a space.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Say something; to the chat targets unless it names its own.
    Say {
        /// What.
        text: String,
        /// To whom.
        to: Option<Vec<ParticipantId>>,
        /// What goes with it.
        attachments: Vec<Attachment>,
    },
    /// Say something to one agent, now: refused as busy while it works, since it would have to wait here.
    Deliver {
        /// What.
        text: String,
        /// To whom.
        to: ParticipantId,
    },
    /// Answer a question.
    Answer {
        /// Which.
        question: ItemId,
        /// How.
        answer: Answer,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// This model.
    Model(String),
    /// This mode.
    Mode(String),
}

/// What to do about the chat targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Say what they are.
    Show,
    /// Back to the defaults.
    Default,
    /// These.
    Only(Vec<ParticipantId>),
}

/// Which of those that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// All of them.
    All,
    /// The one in this place from 1, whose id begins so, or whose sender contains this.
    Named(String),
}

/// A command was carried out, or is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// How far it is.
    pub receipt: Receipt,
    /// What came of it, where something did: lines for people.
    pub lines: Vec<String>,
    /// Whether this is the answer to an earlier command of the same id.
    pub duplicate: bool,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    #[error("Unknown command: /{0}; /help lists the commands")]
    UnknownCommand(String),
    /// The id belongs to another command.
    #[error("this request_id was used for another command, or for other words")]
    AnotherCommand,
    /// The id is that of an older command.
    #[error("this request_id was used more than ten minutes ago, or is one of wh's own; choose a new one")]
    UsedBefore,
    /// No more ids can be kept.
    #[error("too many request_ids within ten minutes")]
    LedgerFull,
}
