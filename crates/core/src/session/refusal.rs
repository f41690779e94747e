//! Reasons for which a terminal session refuses a command.

use super::{LONGEST_QUEUE, Loss, MOST_WAITS};
use crate::reason::Reason;
use crate::terminal::Size;

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody is left to take it.
    #[error("the program has ended")]
    Ended,
    /// The program does not read, and enough waits for it already.
    #[error("the program does not read its input, and {queued} bytes already wait for it; try again when it does")]
    QueueFull {
        /// Bytes that wait.
        queued: usize,
    },
    /// More than can ever wait.
    #[error("the input has {0} bytes; at most {LONGEST_QUEUE} can be typed at once")]
    TooLong(usize),
    /// An interrupt discarded the input before the program had read all of it.
    #[error("the input was discarded by an interrupt")]
    Interrupted,
    /// The terminal's mode has no such input.
    #[error("the program does not ask for mouse events now")]
    NotWanted,
    /// There is no such cell.
    #[error("the mouse is outside of the terminal, which has {0} cells")]
    OffScreen(Size),
    /// The person's window decides.
    #[error("a person's terminal is attached, and its window decides the size")]
    Attached,
    /// The id belongs to another command, or to the same with other content.
    #[error("this request_id was used for another command or for other content; use another one")]
    RequestIdReused,
    /// No more ids can be kept.
    #[error("too many request_ids within ten minutes")]
    LedgerFull,
    /// There is no process.
    #[error("this is wh itself, which takes no signals through its own door; /exit ends it")]
    NoProcess,
    /// wh ended before it was known whether the program had read all of the input.
    #[error("wh ended before the program had read all of it; it is not known what arrived, and it is not typed again")]
    CutOff,
    /// It could not be stored; nothing was done.
    #[error("it could not be stored, and nothing was done: {0}")]
    NotStored(String),
    /// It was accepted, and that could not be stored.
    #[error("it was accepted, but that could not be stored; read its receipt before it is sent again: {0}")]
    ResultNotStored(String),
    /// No more waits can be open.
    #[error("{MOST_WAITS} waits are open already; try again when one is over")]
    TooManyWaits,
}

impl Refusal {
    /// The reason, for programs.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Ended => Reason::Ended,
            Self::QueueFull { .. } => Reason::Busy,
            Self::TooLong(_) => Reason::TooLong,
            Self::Interrupted => Reason::Interrupted,
            Self::NotWanted => Reason::NotWanted,
            Self::OffScreen(_) => Reason::OffScreen,
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

impl From<Loss> for Refusal {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Ended => Self::Ended,
            Loss::Interrupted => Self::Interrupted,
            Loss::CutOff => Self::CutOff,
        }
    }
}
