//! Tracks how far each command has come: the terminal has all of its bytes, or some wait, or they are lost. Knows the ids of
//! the last ten minutes, so that a retry is answered and not carried out again.

use std::collections::VecDeque;
use std::time::Instant;

use super::{AnswerAt, Done, Effect, Refusal, Ticket};
use crate::reason::Reason;
use crate::request::{Fingerprint, Ledger, LedgerFull, Request, RequestId};

/// State of one command. What the program makes of it is on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// When it was accepted.
    pub accepted: Instant,
    /// How far it has come.
    pub fate: Fate,
}

/// How far a command has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Some of its bytes wait for a program that does not read.
    Waits,
    /// Every byte is with the terminal, since then.
    Delivered(Instant),
    /// Some of its bytes will never reach the program.
    Lost(Loss),
}

/// Why bytes never reached the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The program ended first.
    #[error("the program ended before it had read all of it")]
    Ended,
    /// An interrupt discarded the queue.
    #[error("interrupted")]
    Interrupted,
    /// wh ended before it was known whether they did.
    #[error("cut_off")]
    CutOff,
}

impl Loss {
    /// The reason, for programs.
    pub fn reason(self) -> Reason {
        match self {
            Self::Ended => Reason::Ended,
            Self::Interrupted => Reason::Interrupted,
            Self::CutOff => Reason::CutOff,
        }
    }
}

/// The caller of a command that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Caller {
    /// `None` once it was answered.
    pub ticket: Option<Ticket>,
    pub id: Option<RequestId>,
    pub answer: AnswerAt,
}

#[derive(Debug)]
struct Known {
    fingerprint: Fingerprint,
    taken: Taken,
}

/// State of all commands that carried an id, and the callers whose bytes wait.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    known: Ledger<Known>,
    /// Bytes that were ever queued.
    written: u64,
    /// Callers whose bytes wait, with the number of bytes that must have gone before theirs are delivered.
    waiting: VecDeque<(u64, Caller)>,
}

impl Receipts {
    /// The answer to a request that was made before.
    pub fn known(&mut self, request: &Request, now: Instant) -> Option<Result<Done, Refusal>> {
        let known = self.known.find(&request.id, now)?;
        Some(if known.fingerprint == request.fingerprint {
            Ok(Done { fate: known.taken.fate, duplicate: true })
        } else {
            Err(Refusal::RequestIdReused)
        })
    }

    /// State of the command with this id.
    pub fn find(&mut self, id: &RequestId, now: Instant) -> Option<Taken> {
        self.known.find(id, now).map(|known| known.taken)
    }

    /// True if one more id can be kept.
    pub fn room(&self) -> Result<(), LedgerFull> {
        self.known.room()
    }

    /// A request is accepted.
    pub fn enter(&mut self, request: Request, fate: Fate, now: Instant) {
        let Request { id, fingerprint } = request;
        self.known.enter(id, Known { fingerprint, taken: Taken { accepted: now, fate } }, now);
    }

    /// Bytes are queued.
    pub fn queue(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// The last of the bytes that are queued now is this caller's, and waits.
    pub fn wait(&mut self, caller: Caller) {
        self.waiting.push_back((self.written, caller));
    }

    /// Only `left` of the queued bytes still wait.
    pub fn left(&mut self, left: usize, now: Instant) -> Vec<Effect> {
        let gone = self.written.saturating_sub(left as u64);
        let ready = self.waiting.iter().take_while(|(end, _)| *end <= gone).count();
        let ready: Vec<Caller> = self.waiting.drain(..ready).map(|(_, caller)| caller).collect();
        ready.into_iter().flat_map(|caller| self.settle(caller, Fate::Delivered(now))).collect()
    }

    /// None of the bytes that wait will reach the program.
    pub fn lost(&mut self, loss: Loss) -> Vec<Effect> {
        let lost: Vec<Caller> = self.waiting.drain(..).map(|(_, caller)| caller).collect();
        lost.into_iter().flat_map(|caller| self.settle(caller, Fate::Lost(loss))).collect()
    }

    /// Notes what became of a command, and answers its caller, if that waits for it.
    pub fn settle(&mut self, caller: Caller, fate: Fate) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(id) = caller.id
            && let Some(known) = self.known.get_mut(&id)
        {
            known.taken.fate = fate;
            effects.push(Effect::Settled(id, known.taken));
        }
        effects.extend(caller.ticket.map(|ticket| Effect::Answer(ticket, Ok(Done { fate, duplicate: false }))));
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Content;

    #[test]
    fn queued_bytes_are_delivered_in_order_and_lost_for_the_reason_that_is_given() {
        let (mut receipts, now) = (Receipts::default(), Instant::now());
        let request = |name: &str| Request::new(RequestId::new(name).unwrap(), "owner", &Content::text("x"));
        let ids = ["first", "second", "third", "fourth"].map(|name| request(name).id);
        for (ticket, id) in ids.iter().enumerate() {
            receipts.enter(request(id.as_str()), Fate::Waits, now);
            receipts.queue(10);
            let caller =
                Caller { ticket: Some(Ticket(ticket as u64)), id: Some(id.clone()), answer: AnswerAt::Settled };
            receipts.wait(caller);
        }
        let settled = |ticket: u64, fate| {
            let done = Effect::Settled(ids[ticket as usize].clone(), Taken { accepted: now, fate });
            [done, Effect::Answer(Ticket(ticket), Ok(Done { fate, duplicate: false }))]
        };
        let there = Fate::Delivered(now);
        assert_eq!(receipts.left(31, now), []);
        assert_eq!(receipts.left(19, now), [settled(0, there), settled(1, there)].concat());
        let lost = Fate::Lost(Loss::Interrupted);
        assert_eq!(receipts.lost(Loss::Interrupted), [settled(2, lost), settled(3, lost)].concat());
        let fates = ids.clone().map(|id| receipts.find(&id, now).unwrap().fate);
        assert_eq!(fates, [there, there, lost, lost]);
    }
}
