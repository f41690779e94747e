//! Acknowledgements of control messages: the result, the code and the words for each reason and each receipt.

use wh_core::gate::Refused;
use wh_core::reason::Reason;
use wh_core::receipt::{Failure, Receipt, Stage};
use wh_core::session::{Fate, Refusal as TerminalRefusal};
use wh_core::space::command::{Done, Refusal};
use wh_wire::socket::{ControlAck, ControlKey, ControlKind, ControlResult};

use super::content_ref::ReferenceProblem;

/// Outcome of a control message, as it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub result: ControlResult,
    /// The message was received before.
    pub duplicate: bool,
    pub detail: Option<String>,
    /// `None` for a message that was carried out.
    pub reason: Option<Reason>,
}

impl Verdict {
    /// A message that was not carried out, or is not known to have been.
    pub fn refused(reason: Reason, words: impl Into<String>) -> Self {
        Self { result: result_of(reason), duplicate: false, detail: Some(words.into()), reason: Some(reason) }
    }

    fn ok(duplicate: bool, words: impl Into<String>) -> Self {
        Self { result: ControlResult::Ok, duplicate, detail: Some(words.into()), reason: None }
    }

    /// A message that its session still works on when the sender must be answered.
    pub fn timeout(reason: Reason, words: &str) -> Self {
        Self { result: ControlResult::Timeout, ..Self::refused(reason, words) }
    }

    /// A message that an agent's session has accepted, now or before. `words` are for one that the agent has.
    pub fn accepted(done: &Done, words: &str) -> Self {
        if done.queued {
            let words = "queued: the message is stored, and the agent gets it in its turn; the receipt tells the rest";
            return Self::ok(done.duplicate, words);
        }
        match done.duplicate {
            true => Self::repeated(&done.receipt, words),
            false => Self::receipt(&done.receipt, false, words),
        }
    }

    /// A message that was received before, by its receipt.
    pub fn repeated(receipt: &Receipt, words: &str) -> Self {
        match &receipt.stage {
            Stage::Failed(failure) if receipt.was_delivered() => {
                let failure = &failure.words;
                Self::ok(true, format!("already carried out: {words}; the turn failed: {failure}, see the receipt"))
            }
            _ if receipt.was_delivered() => Self::ok(true, format!("already carried out: {words}")),
            Stage::Failed(Failure { reason, words }) if *reason != Reason::CutOff => {
                let reason = if *reason == Reason::Interrupted { *reason } else { Reason::AlreadyTried };
                Self { duplicate: true, ..Self::refused(reason, format!("already tried: {words}")) }
            }
            _ => Self::receipt(receipt, true, words),
        }
    }

    fn receipt(receipt: &Receipt, duplicate: bool, words: &str) -> Self {
        let refused = |reason, words: String| Self { duplicate, ..Self::refused(reason, words) };
        match &receipt.stage {
            _ if receipt.was_delivered() => Self::ok(duplicate, words),
            Stage::Failed(Failure { reason: Reason::CutOff, .. }) => refused(Reason::CutOff, CUT_OFF.to_owned()),
            Stage::Failed(Failure { words, .. }) => {
                refused(Reason::NotKnown, format!("{words}; it is not known whether the agent has it"))
            }
            _ => refused(
                Reason::UnderWay,
                "the first is still under way; ask again under the same request_id".to_owned(),
            ),
        }
    }

    /// Input that a terminal session has accepted, now or before.
    pub fn typed(fate: Fate, duplicate: bool, words: &str) -> Self {
        match fate {
            Fate::Delivered(_) if duplicate => Self::ok(true, format!("already carried out: {words}")),
            Fate::Delivered(_) => Self::ok(false, words),
            Fate::Waits => {
                let words = "the first is still under way; ask again under the same request_id";
                Self { duplicate, ..Self::refused(Reason::UnderWay, words) }
            }
            Fate::Lost(loss) => {
                let words = match loss.reason() {
                    Reason::CutOff => CUT_OFF.to_owned(),
                    Reason::Interrupted => "an interrupt discarded it before the program had read all of it".to_owned(),
                    _ => format!("{loss}; it is not known what it has read"),
                };
                let reason = if loss.reason() == Reason::Ended { Reason::NotKnown } else { loss.reason() };
                Self { duplicate, ..Self::refused(reason, words) }
            }
        }
    }

    /// As an acknowledgement.
    pub fn ack(self, kind: ControlKind, key: &ControlKey, acked_at: impl Into<String>) -> ControlAck {
        let mut ack = ControlAck::new(kind, key, acked_at, self.result);
        ack.duplicate = self.duplicate;
        ack.detail = self.detail;
        ack.error = self.reason.map(|reason| reason.code().to_owned());
        ack
    }
}

const CUT_OFF: &str = "wh ended while the first was under way: it is not known whether it arrived, and it is not tried again. \
                       Look at the session, and use a new request_id if it did not";

impl From<&Refused> for Verdict {
    fn from(refused: &Refused) -> Self {
        Self::refused(refused.reason(), refused.to_string())
    }
}

impl From<&ReferenceProblem> for Verdict {
    fn from(problem: &ReferenceProblem) -> Self {
        Self::refused(problem.reason(), problem.to_string())
    }
}

impl From<&Refusal> for Verdict {
    fn from(refusal: &Refusal) -> Self {
        Self::refused(refusal.reason(), refusal.to_string())
    }
}

impl From<&TerminalRefusal> for Verdict {
    fn from(refusal: &TerminalRefusal) -> Self {
        Self::refused(refusal.reason(), refusal.to_string())
    }
}

/// The result of an acknowledgement for each reason.
fn result_of(reason: Reason) -> ControlResult {
    match reason {
        Reason::Busy | Reason::TooManyRequests | Reason::UnderWay => ControlResult::Busy,
        Reason::Ended | Reason::NoParticipant | Reason::NoAgent => ControlResult::NotLive,
        Reason::NoSession => ControlResult::NotFound,
        Reason::Unread => ControlResult::Timeout,
        Reason::Store | Reason::NotWritten | Reason::NotKnown | Reason::CutOff | Reason::AlreadyTried => {
            ControlResult::InternalError
        }
        _ => ControlResult::Rejected,
    }
}
