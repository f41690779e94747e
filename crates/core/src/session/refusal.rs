//! Reasons why a terminal session refuses a command.

use super::{InputLoss, MAX_OPEN_WAITS, MAX_QUEUED_INPUT_BYTES};
use crate::reason::Reason;
use crate::terminal::Size;

/// Reason why a terminal session refuses a command, with its error message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminalRefusal {
    /// The program has exited, or no further output can arrive.
    #[error("the program has ended")]
    Ended,
    /// The program does not read its input, and the input queue is full.
    #[error("the program is not reading its input: {queued} bytes are queued; retry later")]
    QueueFull {
        /// Number of bytes in the queue.
        queued: usize,
    },
    /// The input has more bytes than the input queue can hold.
    #[error("the input has {0} bytes; at most {MAX_QUEUED_INPUT_BYTES} can be typed at once")]
    TooLong(usize),
    /// An interrupt discarded the input before the program had read all of it.
    #[error("the input was discarded by an interrupt")]
    Interrupted,
    /// The terminal mode of the program does not accept this kind of input.
    #[error("the program has not enabled mouse events")]
    NotWanted,
    /// The cell is outside the terminal, which has this size.
    #[error("the mouse position is outside the terminal, which has {0} cells")]
    OffScreen(Size),
    /// A question of the agent is open on its screen.
    #[error(
        "a question is open on the agent's screen, and typed text could answer it; answer the question by its id, or set \"force\": true"
    )]
    QuestionOpen,
    /// A terminal is attached and determines the size.
    #[error("an attached terminal determines the size; resize or detach that terminal")]
    Attached,
    /// The request id was already used for another command or content.
    #[error("this request_id was used for a different command or content; use a new one")]
    RequestIdReused,
    /// The maximum number of stored request ids is reached.
    #[error("too many request_ids were used within ten minutes; retry later")]
    LedgerFull,
    /// The session shows wh's own UI and has no process that could receive a signal.
    #[error("a conversation accepts no signals; end a session with wh kill, and a single run with /exit")]
    NoProcess,
    /// `wh` exited before the program had read all of the input.
    #[error(
        "wh exited before the program had read all of the input; it is unknown which part of the input arrived, and wh does not type the input again"
    )]
    CutOff,
    /// The command could not be stored, and was not executed.
    #[error("the command could not be stored and was not executed: {0}")]
    NotStored(String),
    /// The command was executed, and its result could not be stored.
    #[error(
        "the command was executed, but its result could not be stored; read the receipt before you send the command again: {0}"
    )]
    ResultNotStored(String),
    /// The maximum number of open waits is reached.
    #[error("{MAX_OPEN_WAITS} waits are already open; retry when one has ended")]
    TooManyWaits,
}

impl TerminalRefusal {
    /// Returns the stable code of the refusal.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Ended => Reason::Ended,
            Self::QueueFull { .. } => Reason::Busy,
            Self::TooLong(_) => Reason::TooLong,
            Self::Interrupted => Reason::Interrupted,
            Self::NotWanted => Reason::NotWanted,
            Self::OffScreen(_) => Reason::OffScreen,
            Self::QuestionOpen => Reason::QuestionOpen,
            Self::Attached => Reason::Attached,
            Self::RequestIdReused => Reason::RequestIdReused,
            Self::LedgerFull => Reason::TooManyRequests,
            Self::NoProcess => Reason::NoProcess,
            Self::CutOff => Reason::CutOff,
            Self::NotStored(_) => Reason::Store,
            Self::ResultNotStored(_) => Reason::NotWritten,
            Self::TooManyWaits => Reason::TooManyWaits,
        }
    }
}

impl From<InputLoss> for TerminalRefusal {
    fn from(loss: InputLoss) -> Self {
        match loss {
            InputLoss::Ended => Self::Ended,
            InputLoss::Interrupted => Self::Interrupted,
            InputLoss::CutOff => Self::CutOff,
        }
    }
}
