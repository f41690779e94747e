//! Execution of commands: refuses a command or writes its bytes in order, and answers the caller.

use std::time::Instant;

use super::delivery::PendingCaller;
use super::interrupt::{CTRL_C, InterruptStage, InterruptStep, SentInterrupt, UnreadCheck};
use super::{
    AnswerTiming, DeliveryState, InputAccepted, InputLoss, MAX_QUEUED_INPUT_BYTES, ProgramStatus, SessionEffect,
    SessionMachine, TerminalCommand, TerminalRefusal, Ticket, UnreadInput,
};
use crate::event::Event;
use crate::request::FingerprintedId;

impl SessionMachine {
    /// Returns the answer if the request id was used before: the stored answer to a retry, or a refusal.
    fn known(
        &mut self,
        request: Option<&FingerprintedId>,
        now: Instant,
    ) -> Option<Result<InputAccepted, TerminalRefusal>> {
        request.and_then(|request| self.receipts.known(request, now))
    }

    /// Returns `refusal` as the answer to a command that the engine refuses. A retry of an accepted command receives
    /// the stored answer instead. If the session has ended or cannot store the request id, returns that refusal.
    pub fn refuse(
        &mut self,
        request: Option<&FingerprintedId>,
        refusal: TerminalRefusal,
        now: Instant,
    ) -> Result<InputAccepted, TerminalRefusal> {
        self.known(request, now).unwrap_or_else(|| {
            self.admit(request)?;
            Err(refusal)
        })
    }

    pub(super) fn command(
        &mut self,
        ticket: Ticket,
        request: Option<FingerprintedId>,
        command: TerminalCommand,
        now: Instant,
        effects: &mut Vec<SessionEffect>,
    ) {
        if let Some(answer) = self.known(request.as_ref(), now) {
            return effects.push(SessionEffect::Answer(ticket, answer));
        }
        if let Err(refusal) = self.admit(request.as_ref()).and_then(|()| self.admit_command(&command)) {
            return effects.push(SessionEffect::Answer(ticket, Err(refusal)));
        }
        let id = request.as_ref().map(|request| request.id.clone());
        let enter = |delivery| request.map(|request| self.receipts.enter(request, delivery, now));
        match command {
            TerminalCommand::Type { bytes, answer } => {
                enter(DeliveryState::Queued);
                self.count(bytes.len(), effects);
                return self.send(Some(PendingCaller { ticket: Some(ticket), id, answer }), bytes, now, effects);
            }
            TerminalCommand::Interrupt { then } => {
                enter(DeliveryState::Queued);
                let stage = InterruptStage::discarding(self.queued, self.last_typed, now);
                self.lose(InputLoss::Interrupted, effects);
                self.interrupting = Some(stage);
                self.count(1 + then.len(), effects);
                let caller = Some(PendingCaller { ticket: Some(ticket), id, answer: AnswerTiming::Settled });
                match then.is_empty() {
                    true => self.interrupt_caller = caller,
                    false => self.held_input.push_back((caller, then)),
                }
                return effects.push(SessionEffect::DiscardInput { keep_next: true });
            }
            TerminalCommand::Resize(size) => {
                effects.extend([SessionEffect::Resize(size), SessionEffect::Publish(Event::Resized(size))])
            }
            TerminalCommand::Signal(number, target) => effects.push(SessionEffect::Signal(number, target)),
            TerminalCommand::Mark(label) => {
                effects.extend([SessionEffect::Mark(label.clone()), SessionEffect::Publish(Event::Marked(label))])
            }
        }
        enter(DeliveryState::Queued);
        let caller = PendingCaller { ticket: Some(ticket), id, answer: AnswerTiming::Offered };
        effects.extend(self.receipts.settle(caller, DeliveryState::Delivered(now)));
    }

    fn admit(&self, request: Option<&FingerprintedId>) -> Result<(), TerminalRefusal> {
        if self.drained || matches!(self.status, ProgramStatus::Exited(_)) {
            return Err(TerminalRefusal::Ended);
        }
        if request.is_some() {
            self.receipts.check_capacity().map_err(|_| TerminalRefusal::LedgerFull)?;
        }
        Ok(())
    }

    fn admit_command(&self, command: &TerminalCommand) -> Result<(), TerminalRefusal> {
        match command {
            TerminalCommand::Type { bytes, .. } | TerminalCommand::Interrupt { then: bytes }
                if bytes.len() > MAX_QUEUED_INPUT_BYTES =>
            {
                Err(TerminalRefusal::TooLong(bytes.len()))
            }
            // An interrupt discards the queue, so the size of the queue does not limit an interrupt.
            TerminalCommand::Type { bytes, .. } if self.queued() + bytes.len() > MAX_QUEUED_INPUT_BYTES => {
                Err(TerminalRefusal::QueueFull { queued: self.queued() })
            }
            TerminalCommand::Resize(_) if self.attached => Err(TerminalRefusal::Attached),
            TerminalCommand::Signal(..) | TerminalCommand::Interrupt { .. } if self.hosted => {
                Err(TerminalRefusal::NoProcess)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, bytes: usize, effects: &mut Vec<SessionEffect>) {
        self.typed_bytes += bytes as u64;
        effects.push(SessionEffect::Publish(Event::Typed { bytes }));
    }

    /// Writes the bytes to the terminal. If an interrupt is in progress or earlier input is held back, holds these
    /// bytes back too.
    fn send(&mut self, caller: Option<PendingCaller>, bytes: Vec<u8>, now: Instant, effects: &mut Vec<SessionEffect>) {
        if self.interrupting.is_some() || !self.held_input.is_empty() {
            return self.held_input.push_back((caller, bytes));
        }
        self.last_client_input = caller.is_some().then_some(now).or(self.last_client_input);
        self.write(caller, bytes, now, effects);
    }

    /// Writes the first input that was held back. [`offered`](SessionMachine::offered) then continues with the next
    /// input.
    fn release(&mut self, now: Instant, effects: &mut Vec<SessionEffect>) {
        if self.interrupting.is_none()
            && let Some((caller, bytes)) = self.held_input.pop_front()
        {
            self.last_client_input = caller.is_some().then_some(now).or(self.last_client_input);
            self.write(caller, bytes, now, effects);
        }
    }

    pub(super) fn discarded(&mut self, unread: UnreadInput, now: Instant, effects: &mut Vec<SessionEffect>) {
        let Some(stage) = &mut self.interrupting else { return };
        match stage.discarded(unread, now) {
            InterruptStep::Wait => {}
            InterruptStep::Signal => effects.push(SessionEffect::Interrupt),
            InterruptStep::Byte => self.write(None, vec![CTRL_C], now, effects),
        }
    }

    pub(super) fn interrupted(&mut self, now: Instant, effects: &mut Vec<SessionEffect>) {
        self.interrupting = Some(InterruptStage::Settling(SentInterrupt::by_signal(now)));
        self.settle(now, effects);
    }

    pub(super) fn unread(&mut self, unread: UnreadInput, now: Instant, effects: &mut Vec<SessionEffect>) {
        let settling = match &mut self.interrupting {
            None => return,
            Some(InterruptStage::Settling(settling)) => settling,
            Some(stage) => {
                if stage.has_paused(unread, now) {
                    self.discard_again(effects);
                }
                return;
            }
        };
        match settling.checked(unread, self.queued, now) {
            UnreadCheck::Again => self.discard_again(effects),
            UnreadCheck::Wait => self.settle(now, effects),
        }
    }

    fn discard_again(&mut self, effects: &mut Vec<SessionEffect>) {
        self.queued = 0;
        self.interrupting = Some(InterruptStage::DiscardingAgain);
        effects.push(SessionEffect::DiscardInput { keep_next: false });
    }

    /// Continues an interrupt: answers the callers that need not wait longer, and starts to write the held input when
    /// the program has handled the interrupt.
    pub(super) fn settle(&mut self, now: Instant, effects: &mut Vec<SessionEffect>) {
        if self.interrupting.as_ref().is_some_and(|stage| stage.is_quiet(now)) {
            return effects.push(SessionEffect::CheckUnreadInput);
        }
        let Some(InterruptStage::Settling(settling)) = &self.interrupting else { return };
        if settling.delivered()
            && let Some(caller) = self.interrupt_caller.take()
        {
            effects.extend(self.receipts.settle(caller, DeliveryState::Delivered(now)));
        }
        if settling.is_over() {
            self.interrupting = None;
            return self.release(now, effects);
        }
        if settling.must_check(now) {
            effects.push(SessionEffect::CheckUnreadInput);
        }
        if settling.is_late(now) {
            let waiting = self.held_input.iter_mut().filter_map(|(caller, _)| caller.as_mut());
            let done = InputAccepted { delivery: DeliveryState::Queued, duplicate: false };
            let tickets = waiting
                .filter(|caller| caller.answer == AnswerTiming::Offered)
                .filter_map(|caller| caller.ticket.take());
            effects.extend(tickets.map(|ticket| SessionEffect::Answer(ticket, Ok(done))));
        }
    }

    fn write(&mut self, caller: Option<PendingCaller>, bytes: Vec<u8>, now: Instant, effects: &mut Vec<SessionEffect>) {
        self.last_typed = Some(now);
        self.queued += bytes.len();
        self.receipts.queue(bytes.len());
        self.offered = caller;
        effects.push(SessionEffect::Write(bytes));
    }

    /// Writes bytes that were typed at the attached terminal. They have no caller to answer.
    pub(super) fn keys(&mut self, bytes: Vec<u8>, now: Instant, effects: &mut Vec<SessionEffect>) {
        self.send(None, bytes, now, effects);
    }

    /// Forwards a reply of wh's terminal emulator to the program. The reply is dropped if a terminal is attached,
    /// because that terminal sends its own replies, or if the queue is full.
    pub(super) fn replied(&mut self, bytes: Vec<u8>, effects: &mut Vec<SessionEffect>) {
        if !bytes.is_empty() && !self.attached && self.queued + bytes.len() <= MAX_QUEUED_INPUT_BYTES {
            self.queued += bytes.len();
            self.receipts.queue(bytes.len());
            effects.push(SessionEffect::Reply(bytes));
        }
    }

    pub(super) fn offered(&mut self, left: usize, now: Instant, effects: &mut Vec<SessionEffect>) {
        if let Some(mut caller) = self.offered.take() {
            if left > 0 && caller.answer == AnswerTiming::Offered {
                let done = InputAccepted { delivery: DeliveryState::Queued, duplicate: false };
                effects.extend(caller.ticket.take().map(|ticket| SessionEffect::Answer(ticket, Ok(done))));
            }
            self.receipts.wait(caller);
        }
        self.remaining(left, now, effects);
        self.release(now, effects);
    }

    pub(super) fn remaining(&mut self, left: usize, now: Instant, effects: &mut Vec<SessionEffect>) {
        self.queued = left;
        effects.extend(self.receipts.remaining(left, now));
    }

    /// Marks all queued and held input as lost.
    pub(super) fn lose(&mut self, loss: InputLoss, effects: &mut Vec<SessionEffect>) {
        self.queued = 0;
        self.interrupting = None;
        let held = self.held_input.drain(..).filter_map(|(caller, _)| caller);
        for caller in self.offered.take().into_iter().chain(self.interrupt_caller.take()).chain(held) {
            self.receipts.wait(caller);
        }
        effects.extend(self.receipts.lost(loss));
    }
}
