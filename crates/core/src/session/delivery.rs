//! Delivery state of each command: all bytes are delivered, some are queued, or some are lost. Request ids are stored
//! for ten minutes: a retry within that time receives the stored answer and is not executed again.

use std::collections::VecDeque;
use std::time::Instant;

use super::{AnswerTiming, InputAccepted, SessionEffect, TerminalRefusal, Ticket};
use crate::reason::Reason;
use crate::request::{Fingerprint, FingerprintedId, Ledger, LedgerFull, RequestId};

/// Time of acceptance and delivery state of a command. The effect of the command on the program is visible only on the
/// screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputReceipt {
    pub accepted: Instant,
    pub delivery: DeliveryState,
}

/// Delivery state of the bytes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Some bytes are queued, because the program does not read or an interrupt is in progress.
    Queued,
    /// The terminal has accepted every byte, the last one at this time.
    Delivered(Instant),
    /// Some bytes will never reach the program. The value is the reason.
    Lost(InputLoss),
}

/// Reason why some bytes never reached the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputLoss {
    /// The program exited before the bytes were delivered.
    #[error("the program exited before it had read all of the input")]
    Ended,
    /// An interrupt discarded the bytes.
    #[error("interrupted")]
    Interrupted,
    /// `wh` exited before the program had read the bytes.
    #[error("cut_off")]
    CutOff,
}

impl InputLoss {
    /// Returns the stable code of the loss.
    pub fn reason(self) -> Reason {
        match self {
            Self::Ended => Reason::Ended,
            Self::Interrupted => Reason::Interrupted,
            Self::CutOff => Reason::CutOff,
        }
    }
}

/// Caller of a command that has not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingCaller {
    /// Ticket of the caller; `None` after the caller was answered.
    pub ticket: Option<Ticket>,
    pub id: Option<RequestId>,
    pub answer: AnswerTiming,
}

#[derive(Debug)]
struct LedgerEntry {
    fingerprint: Fingerprint,
    receipt: InputReceipt,
}

/// Delivery states of the commands with a request id, and the callers whose bytes are queued.
#[derive(Debug, Default)]
pub(super) struct DeliveryLedger {
    known: Ledger<LedgerEntry>,
    /// Number of bytes that were added to the queue since the start of the session.
    written: u64,
    /// Callers whose bytes are queued, each with the value of `written` after the last byte of the caller.
    waiting: VecDeque<(u64, PendingCaller)>,
}

impl DeliveryLedger {
    /// Returns the stored answer if this is a retry, a refusal if the id was used for another command, and `None` if
    /// the id is new.
    pub fn known(&mut self, request: &FingerprintedId, now: Instant) -> Option<Result<InputAccepted, TerminalRefusal>> {
        let known = self.known.find(&request.id, now)?;
        Some(if known.fingerprint == request.fingerprint {
            Ok(InputAccepted { delivery: known.receipt.delivery, duplicate: true })
        } else {
            Err(TerminalRefusal::RequestIdReused)
        })
    }

    /// Returns the delivery state of the command with this request id.
    pub fn find(&mut self, id: &RequestId, now: Instant) -> Option<InputReceipt> {
        self.known.find(id, now).map(|known| known.receipt)
    }

    /// Fails if the maximum number of request ids is stored.
    pub fn check_capacity(&self) -> Result<(), LedgerFull> {
        self.known.check_capacity()
    }

    /// Stores an accepted request with its delivery state.
    pub fn enter(&mut self, request: FingerprintedId, delivery: DeliveryState, now: Instant) {
        let FingerprintedId { id, fingerprint } = request;
        self.known.enter(id, LedgerEntry { fingerprint, receipt: InputReceipt { accepted: now, delivery } }, now);
    }

    /// Records that bytes were added to the queue.
    pub fn queue(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Adds a caller whose last byte is the last byte in the queue.
    pub fn wait(&mut self, caller: PendingCaller) {
        self.waiting.push_back((self.written, caller));
    }

    /// Records that `left` bytes remain queued. Answers the callers whose bytes were delivered.
    pub fn remaining(&mut self, left: usize, now: Instant) -> Vec<SessionEffect> {
        let gone = self.written.saturating_sub(left as u64);
        let ready = self.waiting.iter().take_while(|(end, _)| *end <= gone).count();
        let ready: Vec<PendingCaller> = self.waiting.drain(..ready).map(|(_, caller)| caller).collect();
        ready.into_iter().flat_map(|caller| self.settle(caller, DeliveryState::Delivered(now))).collect()
    }

    /// Records that all queued bytes are lost. Answers their callers.
    pub fn lost(&mut self, loss: InputLoss) -> Vec<SessionEffect> {
        let lost: Vec<PendingCaller> = self.waiting.drain(..).map(|(_, caller)| caller).collect();
        lost.into_iter().flat_map(|caller| self.settle(caller, DeliveryState::Lost(loss))).collect()
    }

    /// Stores the final delivery state of a command, and answers the caller if it has not been answered.
    pub fn settle(&mut self, caller: PendingCaller, delivery: DeliveryState) -> Vec<SessionEffect> {
        let mut effects = Vec::new();
        if let Some(id) = caller.id
            && let Some(known) = self.known.get_mut(&id)
        {
            known.receipt.delivery = delivery;
            effects.push(SessionEffect::Settled(id, known.receipt));
        }
        effects.extend(
            caller.ticket.map(|ticket| SessionEffect::Answer(ticket, Ok(InputAccepted { delivery, duplicate: false }))),
        );
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::CommandContent;

    #[test]
    fn queued_bytes_are_delivered_in_order_and_lost_for_the_reason_that_is_given() {
        let (mut receipts, now) = (DeliveryLedger::default(), Instant::now());
        let request =
            |name: &str| FingerprintedId::new(RequestId::new(name).unwrap(), "owner", &CommandContent::text("x"));
        let ids = ["first", "second", "third", "fourth"].map(|name| request(name).id);
        for (ticket, id) in ids.iter().enumerate() {
            receipts.enter(request(id.as_str()), DeliveryState::Queued, now);
            receipts.queue(10);
            let caller = PendingCaller {
                ticket: Some(Ticket(ticket as u64)),
                id: Some(id.clone()),
                answer: AnswerTiming::Settled,
            };
            receipts.wait(caller);
        }
        let settled = |ticket: u64, delivery| {
            let done = SessionEffect::Settled(ids[ticket as usize].clone(), InputReceipt { accepted: now, delivery });
            [done, SessionEffect::Answer(Ticket(ticket), Ok(InputAccepted { delivery, duplicate: false }))]
        };
        let there = DeliveryState::Delivered(now);
        assert_eq!(receipts.remaining(31, now), []);
        assert_eq!(receipts.remaining(19, now), [settled(0, there), settled(1, there)].concat());
        let lost = DeliveryState::Lost(InputLoss::Interrupted);
        assert_eq!(receipts.lost(InputLoss::Interrupted), [settled(2, lost), settled(3, lost)].concat());
        let fates = ids.clone().map(|id| receipts.find(&id, now).unwrap().delivery);
        assert_eq!(fates, [there, there, lost, lost]);
    }
}
