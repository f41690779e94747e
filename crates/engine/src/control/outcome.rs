//! Outcomes of control messages: result, code and detail of the acknowledgement for each reason and each receipt.

use wh_core::gate::GateRefusal;
use wh_core::reason::Reason;
use wh_core::receipt::{CommandFailure, Receipt, ReceiptStage};
use wh_core::session::{DeliveryState, TerminalRefusal};
use wh_core::space::command::{CommandAccepted, SpaceRefusal};
use wh_wire::socket::{ControlAck, ControlKey, ControlKind, ControlResult};

use super::content_ref::ReferenceProblem;

/// Outcome of one control message. [`ControlOutcome::ack`] converts the outcome to an acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ControlOutcome {
    pub result: ControlResult,
    /// True if the message was received before.
    pub duplicate: bool,
    pub detail: Option<String>,
    /// Reason why the message was not executed, or why its execution is uncertain; `None` if the message was executed.
    pub reason: Option<Reason>,
}

impl ControlOutcome {
    /// Creates the outcome of a message that was refused, or that may or may not have been executed.
    pub fn refused(reason: Reason, words: impl Into<String>) -> Self {
        Self { result: result_of(reason), duplicate: false, detail: Some(words.into()), reason: Some(reason) }
    }

    fn ok(duplicate: bool, words: impl Into<String>) -> Self {
        Self { result: ControlResult::Ok, duplicate, detail: Some(words.into()), reason: None }
    }

    /// Creates the outcome of a message that is still being executed when the timeout passes.
    pub fn timeout(reason: Reason, words: &str) -> Self {
        Self { result: ControlResult::Timeout, ..Self::refused(reason, words) }
    }

    /// Creates the outcome of a message that an agent's session has accepted, now or when it was first sent. `words` is
    /// the detail to report if the message was delivered.
    pub fn accepted(done: &CommandAccepted, words: &str) -> Self {
        if done.queued {
            let detail = "queued: the message is stored and will be delivered when the agent is idle; \
                          its receipt shows the progress";
            return Self::ok(done.duplicate, detail);
        }
        match done.duplicate {
            true => Self::repeated(&done.receipt, words),
            false => Self::receipt(&done.receipt, false, words),
        }
    }

    /// Creates the outcome of a message that was received before, from the receipt of the first attempt.
    pub fn repeated(receipt: &Receipt, words: &str) -> Self {
        match &receipt.stage {
            ReceiptStage::Failed(failure) if receipt.was_delivered() => {
                let failure = &failure.message;
                Self::ok(true, format!("already executed: {words}; the turn failed: {failure}; see the receipt"))
            }
            _ if receipt.was_delivered() => Self::ok(true, format!("already executed: {words}")),
            ReceiptStage::Failed(CommandFailure { reason, message: words }) if *reason != Reason::CutOff => {
                let reason = if *reason == Reason::Interrupted { *reason } else { Reason::AlreadyTried };
                Self { duplicate: true, ..Self::refused(reason, format!("the first attempt failed: {words}")) }
            }
            _ => Self::receipt(receipt, true, words),
        }
    }

    fn receipt(receipt: &Receipt, duplicate: bool, words: &str) -> Self {
        let refused = |reason, words: String| Self { duplicate, ..Self::refused(reason, words) };
        match &receipt.stage {
            _ if receipt.was_delivered() => Self::ok(duplicate, words),
            ReceiptStage::Failed(CommandFailure { reason: Reason::CutOff, .. }) => {
                refused(Reason::CutOff, CUT_OFF_DETAIL.to_owned())
            }
            ReceiptStage::Failed(CommandFailure { message: words, .. }) => {
                refused(Reason::NotKnown, format!("{words}; it is unknown whether the agent received the message"))
            }
            _ => refused(
                Reason::UnderWay,
                "the first attempt is still in progress; retry with the same request_id".to_owned(),
            ),
        }
    }

    /// Creates the outcome of input that a terminal session has accepted, now or when it was first sent.
    pub fn typed(fate: DeliveryState, duplicate: bool, words: &str) -> Self {
        match fate {
            DeliveryState::Delivered(_) if duplicate => Self::ok(true, format!("already executed: {words}")),
            DeliveryState::Delivered(_) => Self::ok(false, words),
            DeliveryState::Queued => {
                let words = "the first attempt is still in progress; retry with the same request_id";
                Self { duplicate, ..Self::refused(Reason::UnderWay, words) }
            }
            DeliveryState::Lost(loss) => {
                let words = match loss.reason() {
                    Reason::CutOff => CUT_OFF_DETAIL.to_owned(),
                    Reason::Interrupted => {
                        "an interrupt discarded the input before the program had read all of it".to_owned()
                    }
                    _ => format!("{loss}; it is unknown how many bytes the program read"),
                };
                let reason = if loss.reason() == Reason::Ended { Reason::NotKnown } else { loss.reason() };
                Self { duplicate, ..Self::refused(reason, words) }
            }
        }
    }

    /// Converts the outcome to an acknowledgement.
    pub fn ack(self, kind: ControlKind, key: &ControlKey, acked_at: impl Into<String>) -> ControlAck {
        let mut ack = ControlAck::new(kind, key, acked_at, self.result);
        ack.duplicate = self.duplicate;
        ack.detail = self.detail;
        ack.error = self.reason.map(|reason| reason.code().to_owned());
        ack
    }
}

const CUT_OFF_DETAIL: &str = "wh ended during the first attempt. It is unknown whether the message arrived. wh does \
    not send the message again. Check the session, and use a new request_id if the message did not arrive";

impl From<&GateRefusal> for ControlOutcome {
    fn from(refused: &GateRefusal) -> Self {
        Self::refused(refused.reason(), refused.to_string())
    }
}

impl From<&ReferenceProblem> for ControlOutcome {
    fn from(problem: &ReferenceProblem) -> Self {
        Self::refused(problem.reason(), problem.to_string())
    }
}

impl From<&SpaceRefusal> for ControlOutcome {
    fn from(refusal: &SpaceRefusal) -> Self {
        Self::refused(refusal.reason(), refusal.to_string())
    }
}

impl From<&TerminalRefusal> for ControlOutcome {
    fn from(refusal: &TerminalRefusal) -> Self {
        Self::refused(refusal.reason(), refusal.to_string())
    }
}

/// Returns the result to report in an acknowledgement with this reason.
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
