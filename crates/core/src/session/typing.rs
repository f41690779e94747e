//! Commands and the bytes on their way to the program: what is refused, in which order bytes are written, and when their
//! callers are answered.

use std::time::Instant;

use super::settling::{CTRL_C, Looked, Next, Settling, Stage};
use super::taken::Caller;
use super::{
    AnswerAt, Command, Done, Effect, Fate, LONGEST_QUEUE, Loss, Refusal, Session, Status, Ticket, UnreadInput,
};
use crate::event::Event;
use crate::request::Request;

impl Session {
    /// Answer to a command that was made before, if this is its retry.
    fn known(&mut self, request: Option<&Request>, now: Instant) -> Option<Result<Done, Refusal>> {
        request.and_then(|request| self.receipts.known(request, now))
    }

    /// Answer to a command that cannot be carried out for `refusal`: a retry of one that was accepted is a duplicate
    /// all the same.
    pub fn refuse(&mut self, request: Option<&Request>, refusal: Refusal, now: Instant) -> Result<Done, Refusal> {
        self.known(request, now).unwrap_or_else(|| {
            self.admit(request)?;
            Err(refusal)
        })
    }

    pub(super) fn command(
        &mut self,
        ticket: Ticket,
        request: Option<Request>,
        command: Command,
        now: Instant,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(answer) = self.known(request.as_ref(), now) {
            return effects.push(Effect::Answer(ticket, answer));
        }
        if let Err(refusal) = self.admit(request.as_ref()).and_then(|()| self.admit_command(&command)) {
            return effects.push(Effect::Answer(ticket, Err(refusal)));
        }
        let id = request.as_ref().map(|request| request.id.clone());
        let enter = |fate| request.map(|request| self.receipts.enter(request, fate, now));
        match command {
            Command::Type { bytes, answer } => {
                enter(Fate::Waits);
                self.count(bytes.len(), effects);
                return self.send(Some(Caller { ticket: Some(ticket), id, answer }), bytes, now, effects);
            }
            Command::Interrupt { then } => {
                enter(Fate::Waits);
                let stage = Stage::discarding(self.queued, self.last_typed, now);
                self.lose(Loss::Interrupted, effects);
                self.interrupting = Some(stage);
                self.count(1 + then.len(), effects);
                let caller = Some(Caller { ticket: Some(ticket), id, answer: AnswerAt::Settled });
                match then.is_empty() {
                    true => self.interrupter = caller,
                    false => self.held.push_back((caller, then)),
                }
                return effects.push(Effect::DiscardInput { keep_next: true });
            }
            Command::Resize(size) => effects.extend([Effect::Resize(size), Effect::Publish(Event::Resized(size))]),
            Command::Signal(number, target) => effects.push(Effect::Signal(number, target)),
            Command::Mark(label) => {
                effects.extend([Effect::Mark(label.clone()), Effect::Publish(Event::Marked(label))])
            }
        }
        enter(Fate::Waits);
        let caller = Caller { ticket: Some(ticket), id, answer: AnswerAt::Offered };
        effects.extend(self.receipts.settle(caller, Fate::Delivered(now)));
    }

    fn admit(&self, request: Option<&Request>) -> Result<(), Refusal> {
        if self.drained || matches!(self.status, Status::Exited(_)) {
            return Err(Refusal::Ended);
        }
        if request.is_some() {
            self.receipts.room().map_err(|_| Refusal::LedgerFull)?;
        }
        Ok(())
    }

    fn admit_command(&self, command: &Command) -> Result<(), Refusal> {
        match command {
            Command::Type { bytes, .. } | Command::Interrupt { then: bytes } if bytes.len() > LONGEST_QUEUE => {
                Err(Refusal::TooLong(bytes.len()))
            }
            // An interrupt discards what is queued.
            Command::Type { bytes, .. } if self.queued() + bytes.len() > LONGEST_QUEUE => {
                Err(Refusal::QueueFull { queued: self.queued() })
            }
            Command::Resize(_) if self.attached => Err(Refusal::Attached),
            Command::Signal(..) | Command::Interrupt { .. } if self.hosted => Err(Refusal::NoProcess),
            _ => Ok(()),
        }
    }

    fn count(&mut self, bytes: usize, effects: &mut Vec<Effect>) {
        self.typed_bytes += bytes as u64;
        effects.push(Effect::Publish(Event::Typed { bytes }));
    }

    /// Writes bytes, or holds them until the program has handled an interrupt.
    fn send(&mut self, caller: Option<Caller>, bytes: Vec<u8>, now: Instant, effects: &mut Vec<Effect>) {
        if self.interrupting.is_some() || !self.held.is_empty() {
            return self.held.push_back((caller, bytes));
        }
        self.typed = caller.is_some().then_some(now).or(self.typed);
        self.write(caller, bytes, now, effects);
    }

    /// Writes the first of the bytes that were held; the next follow when it was [offered](Session::offered).
    fn release(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.interrupting.is_none()
            && let Some((caller, bytes)) = self.held.pop_front()
        {
            self.typed = caller.is_some().then_some(now).or(self.typed);
            self.write(caller, bytes, now, effects);
        }
    }

    pub(super) fn discarded(&mut self, unread: UnreadInput, now: Instant, effects: &mut Vec<Effect>) {
        let Some(stage) = &mut self.interrupting else { return };
        match stage.discarded(unread, now) {
            Next::Wait => {}
            Next::Signal => effects.push(Effect::Interrupt),
            Next::Byte => self.write(None, vec![CTRL_C], now, effects),
        }
    }

    pub(super) fn interrupted(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.interrupting = Some(Stage::Settling(Settling::by_signal(now)));
        self.settle(now, effects);
    }

    pub(super) fn unread(&mut self, unread: UnreadInput, now: Instant, effects: &mut Vec<Effect>) {
        let settling = match &mut self.interrupting {
            None => return,
            Some(Stage::Settling(settling)) => settling,
            Some(stage) => {
                if stage.has_paused(unread, now) {
                    self.discard_again(effects);
                }
                return;
            }
        };
        match settling.looked(unread, self.queued, now) {
            Looked::Again => self.discard_again(effects),
            Looked::Wait => self.settle(now, effects),
        }
    }

    fn discard_again(&mut self, effects: &mut Vec<Effect>) {
        self.queued = 0;
        self.interrupting = Some(Stage::DiscardingAgain);
        effects.push(Effect::DiscardInput { keep_next: false });
    }

    /// Answers the callers for whom it is time, and types what was held once the program has handled the interrupt.
    pub(super) fn settle(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if self.interrupting.as_ref().is_some_and(|stage| stage.is_quiet(now)) {
            return effects.push(Effect::LookAtInput);
        }
        let Some(Stage::Settling(settling)) = &self.interrupting else { return };
        if settling.delivered()
            && let Some(caller) = self.interrupter.take()
        {
            effects.extend(self.receipts.settle(caller, Fate::Delivered(now)));
        }
        if settling.is_over() {
            self.interrupting = None;
            return self.release(now, effects);
        }
        if settling.must_look(now) {
            effects.push(Effect::LookAtInput);
        }
        if settling.is_late(now) {
            let waiting = self.held.iter_mut().filter_map(|(caller, _)| caller.as_mut());
            let done = Done { fate: Fate::Waits, duplicate: false };
            let tickets =
                waiting.filter(|caller| caller.answer == AnswerAt::Offered).filter_map(|caller| caller.ticket.take());
            effects.extend(tickets.map(|ticket| Effect::Answer(ticket, Ok(done))));
        }
    }

    fn write(&mut self, caller: Option<Caller>, bytes: Vec<u8>, now: Instant, effects: &mut Vec<Effect>) {
        self.last_typed = Some(now);
        self.queued += bytes.len();
        self.receipts.queue(bytes.len());
        self.offered = caller;
        effects.push(Effect::Write(bytes));
    }

    /// Nobody is answered: a person sees the effect.
    pub(super) fn keys(&mut self, bytes: Vec<u8>, now: Instant, effects: &mut Vec<Effect>) {
        self.send(None, bytes, now, effects);
    }

    /// A person's own terminal replies for itself. Replies that nobody reads are dropped like any flood.
    pub(super) fn replied(&mut self, bytes: Vec<u8>, effects: &mut Vec<Effect>) {
        if !bytes.is_empty() && !self.attached && self.queued + bytes.len() <= LONGEST_QUEUE {
            self.queued += bytes.len();
            self.receipts.queue(bytes.len());
            effects.push(Effect::Reply(bytes));
        }
    }

    pub(super) fn offered(&mut self, left: usize, now: Instant, effects: &mut Vec<Effect>) {
        if let Some(mut caller) = self.offered.take() {
            if left > 0 && caller.answer == AnswerAt::Offered {
                let done = Done { fate: Fate::Waits, duplicate: false };
                effects.extend(caller.ticket.take().map(|ticket| Effect::Answer(ticket, Ok(done))));
            }
            self.receipts.wait(caller);
        }
        self.left(left, now, effects);
        self.release(now, effects);
    }

    pub(super) fn left(&mut self, left: usize, now: Instant, effects: &mut Vec<Effect>) {
        self.queued = left;
        effects.extend(self.receipts.left(left, now));
    }

    /// Loses all queued input: it will never reach the program.
    pub(super) fn lose(&mut self, loss: Loss, effects: &mut Vec<Effect>) {
        self.queued = 0;
        self.interrupting = None;
        let held = self.held.drain(..).filter_map(|(caller, _)| caller);
        for caller in self.offered.take().into_iter().chain(self.interrupter.take()).chain(held) {
            self.receipts.wait(caller);
        }
        effects.extend(self.receipts.lost(loss));
    }
}
