//! State machine for the turns of one agent: prompts are queued, written, submitted, begun and ended; interrupts have
//! deadlines; ends may arrive late. Pure: no process and no clock, so every race is a unit test.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Outcome, Report};
use wh_core::space::item::Level;

/// Time in which a turn must end after an interrupt.
pub(crate) const INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Failure reason of an order that was not written in time.
pub(crate) const NOT_READING: &str = "it does not read its input";

/// Prefix of the failure reason if the agent exited after a prompt was delivered and before its turn ended. Such a
/// prompt is never sent again. The value is stable and may be matched by programs.
pub(crate) const CUT_OFF: &str = "cut_off";

/// Abandoned turns that the agent may still accept. Beyond that the oldest are forgotten.
const MAX_ABANDONED_TURNS: usize = 16;

/// Prompt with its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub turn: TurnId,
    pub text: String,
}

/// Progress of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The frame is not completely written.
    Queued,
    /// The frame was handed to the operating system.
    Written,
    /// The agent has accepted it as a prompt.
    Submitted,
    /// The agent is working on it.
    Begun,
}

/// Work of the agent.
#[derive(Debug)]
struct Work {
    /// Prompt; `None` for work that the agent began on its own.
    prompt: Option<Prompt>,
    phase: Phase,
    interrupt: Option<PendingInterrupt>,
}

/// Interrupt of the work, requested by one or more orders.
#[derive(Debug)]
struct PendingInterrupt {
    /// Number of orders that wait for the outcome.
    orders: usize,
    deadline: Instant,
    /// Phase in which the frame was last sent.
    sent: Option<Phase>,
    /// Number of frames that are not written yet.
    unwritten: usize,
    acknowledged: bool,
    /// Message of the agent's last refusal.
    refused: Option<String>,
}

impl PendingInterrupt {
    fn new(now: Instant) -> Self {
        let deadline = now + INTERRUPT_GRACE;
        Self { orders: 0, deadline, sent: None, unwritten: 0, acknowledged: false, refused: None }
    }
}

/// Action for the driver.
#[derive(Debug, PartialEq)]
pub(crate) enum TurnEffect {
    /// Send a report.
    Report(Report),
    /// Write the frame of this prompt.
    Prompt(Prompt),
    /// Write an interrupt of this turn; `None` for the agent's own work. Confirmed with [`Turns::interrupt_sent`].
    Interrupt(Option<TurnId>),
    /// Write an interrupt of an operation that is not a turn. Acknowledged at once if the protocol has no such frame.
    InterruptOccupation,
    /// Drop the prompt's frame if no byte of it is written.
    Discard(TurnId),
    /// Complete the items and withdraw the questions of the work.
    Close,
}

/// Turns of one agent.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    title: String,
    /// The agent acknowledges interrupts; otherwise a written one counts as acknowledged.
    acknowledges: bool,
    work: Option<Work>,
    waiting: VecDeque<Prompt>,
    /// The agent is busy with an operation other than a turn, and prompts wait.
    occupied: bool,
    /// Turns that were abandoned before the agent accepted them. They are interrupted if the agent accepts them later.
    abandoned: VecDeque<TurnId>,
    /// The agent may still work on an abandoned turn. Signs of work are ambiguous until the next prompt is written.
    abandoned_may_run: bool,
}

impl Turns {
    pub fn new(title: &str, acknowledges: bool) -> Self {
        Self { title: title.to_owned(), acknowledges, ..Self::default() }
    }

    /// Turn of the prompt in progress.
    pub fn current(&self) -> Option<&TurnId> {
        self.work.as_ref()?.prompt.as_ref().map(|prompt| &prompt.turn)
    }

    /// True while a prompt or the agent's own work is in progress.
    pub fn is_working(&self) -> bool {
        self.work.is_some()
    }

    /// True if a new prompt would have to wait.
    pub fn is_busy(&self) -> bool {
        self.work.is_some() || self.occupied
    }

    /// True if a prompt is in progress or waits.
    pub fn has_prompt(&self) -> bool {
        self.current().is_some() || !self.waiting.is_empty()
    }

    /// True if an interrupt of the work is pending.
    pub fn is_interrupted(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.interrupt.is_some())
    }

    /// Time at which [`Self::overdue`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        Some(self.work.as_ref()?.interrupt.as_ref()?.deadline)
    }

    /// Queues a prompt. It is written as soon as the agent is free.
    pub fn prompt(&mut self, prompt: Prompt) -> Vec<TurnEffect> {
        self.waiting.push_back(prompt);
        self.next()
    }

    /// Starts the next prompt if the agent is free.
    fn next(&mut self) -> Vec<TurnEffect> {
        if self.is_busy() {
            return Vec::new();
        }
        let Some(prompt) = self.waiting.pop_front() else { return Vec::new() };
        self.work = Some(Work { prompt: Some(prompt.clone()), phase: Phase::Queued, interrupt: None });
        vec![TurnEffect::Prompt(prompt)]
    }

    /// Sets whether the agent is busy with an operation other than a turn.
    pub fn occupy(&mut self, occupied: bool) -> Vec<TurnEffect> {
        self.occupied = occupied;
        self.next()
    }

    /// Handles the completed write of a prompt's frame.
    pub fn written(&mut self, turn: &TurnId) -> Vec<TurnEffect> {
        if self.current() == Some(turn) {
            self.abandoned_may_run = false;
            return self.advance(Phase::Written);
        }
        self.interrupt_abandoned(turn, false)
    }

    /// Handles the acceptance of a prompt.
    pub fn submitted(&mut self, turn: &TurnId) -> Vec<TurnEffect> {
        if self.current() == Some(turn) { self.advance(Phase::Submitted) } else { self.interrupt_abandoned(turn, true) }
    }

    /// Interrupts an abandoned turn that the agent receives late. `last` stops tracking the turn.
    fn interrupt_abandoned(&mut self, turn: &TurnId, last: bool) -> Vec<TurnEffect> {
        let Some(place) = self.abandoned.iter().position(|interrupt_abandoned| interrupt_abandoned == turn) else {
            return Vec::new();
        };
        if last {
            self.abandoned.remove(place);
        }
        vec![TurnEffect::Interrupt(Some(turn.clone()))]
    }

    /// Handles a sign of work. It belongs to the current prompt, unless the agent may still work on an abandoned turn.
    pub fn begun(&mut self) -> Vec<TurnEffect> {
        if self.abandoned_may_run && self.is_unwritten() { Vec::new() } else { self.advance(Phase::Begun) }
    }

    /// True if the current prompt has not reached the agent.
    fn is_unwritten(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.phase == Phase::Queued)
    }

    fn advance(&mut self, to: Phase) -> Vec<TurnEffect> {
        let Some(Work { prompt: Some(prompt), phase, interrupt }) = &mut self.work else { return Vec::new() };
        let turn = &prompt.turn;
        let mut effects = Vec::new();
        for (reached, report) in [
            (Phase::Written, Report::Delivered(turn.clone())),
            (Phase::Submitted, Report::Submitted(turn.clone())),
            (Phase::Begun, Report::Started(turn.clone())),
        ] {
            if *phase < reached && reached <= to {
                *phase = reached;
                effects.push(TurnEffect::Report(report));
            }
        }
        // An interrupt that was sent before the turn began may have been ignored.
        let again =
            |interrupt: &PendingInterrupt| interrupt.sent.is_none_or(|sent| sent < Phase::Begun && to == Phase::Begun);
        if !effects.is_empty() && interrupt.as_ref().is_some_and(again) {
            effects.push(TurnEffect::Interrupt(Some(turn.clone())));
        }
        effects
    }

    /// Starts work that the agent began on its own.
    pub fn own_work(&mut self) -> Vec<TurnEffect> {
        if self.work.is_some() {
            return Vec::new();
        }
        self.work = Some(Work { prompt: None, phase: Phase::Begun, interrupt: None });
        vec![TurnEffect::Report(Report::SelfStarted)]
    }

    /// Ends the current work.
    pub fn ended(&mut self, outcome: Outcome) -> Vec<TurnEffect> {
        if self.abandoned_may_run && self.is_unwritten() {
            // Late end of an abandoned turn.
            self.abandoned_may_run = false;
            return Vec::new();
        }
        // The interrupt succeeded: the work has ended.
        let mut effects = self.end(outcome, Ok(()));
        effects.extend(self.next());
        effects
    }

    /// Fails the current prompt because its frame cannot be written.
    pub fn unwritable(&mut self, why: &str) -> Vec<TurnEffect> {
        let mut effects = self.end(Outcome::Failed(why.to_owned()), Ok(()));
        effects.extend(self.next());
        effects
    }

    fn end(&mut self, outcome: Outcome, ack: Result<(), String>) -> Vec<TurnEffect> {
        let Some(work) = self.work.take() else { return Vec::new() };
        let mut effects = vec![TurnEffect::Close];
        let orders = work.interrupt.map_or(0, |interrupt| interrupt.orders);
        effects.extend((0..orders).map(|_| TurnEffect::Report(Report::Acked(AckedOrder::Interrupt, ack.clone()))));
        effects.push(TurnEffect::Report(match work.prompt {
            Some(prompt) => Report::Ended(prompt.turn, outcome),
            None => Report::SelfEnded(outcome),
        }));
        effects
    }

    /// Handles an order to interrupt. Waiting prompts are cancelled.
    pub fn interrupt(&mut self, now: Instant) -> Vec<TurnEffect> {
        let mut effects: Vec<TurnEffect> = self.cancel_waiting().into_iter().map(TurnEffect::Report).collect();
        if self.work.is_none() && self.occupied && effects.is_empty() {
            // The agent is busy with an operation that is not a turn.
            return vec![TurnEffect::InterruptOccupation];
        }
        let Some(work) = &mut self.work else {
            effects.push(TurnEffect::Report(Report::Acked(AckedOrder::Interrupt, Ok(()))));
            return effects;
        };
        work.interrupt.get_or_insert_with(|| PendingInterrupt::new(now)).orders += 1;
        effects.push(TurnEffect::Interrupt(work.prompt.as_ref().map(|prompt| prompt.turn.clone())));
        effects
    }

    /// Tracks an interrupt of an operation that is not a turn, until its end or the deadline.
    pub fn interrupt_occupation(&mut self, now: Instant) {
        let interrupt = PendingInterrupt { orders: 1, ..PendingInterrupt::new(now) };
        self.work = Some(Work { prompt: None, phase: Phase::Begun, interrupt: Some(interrupt) });
    }

    /// Cancels the waiting prompts.
    pub fn cancel_waiting(&mut self) -> Vec<Report> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.map(|prompt| Report::Ended(prompt.turn, Outcome::Cancelled)).collect()
    }

    /// Notes that the frame of an interrupt was queued.
    pub fn interrupt_sent(&mut self) {
        if let Some(Work { phase, interrupt: Some(interrupt), .. }) = &mut self.work {
            interrupt.sent = Some(*phase);
            interrupt.unwritten += 1;
            interrupt.refused = None;
        }
    }

    /// Notes that the frame of an interrupt was written.
    pub fn interrupt_written(&mut self, turn: Option<&TurnId>) {
        let acknowledges = self.acknowledges;
        if let Some(interrupt) = self.interrupt_of(turn) {
            interrupt.unwritten = interrupt.unwritten.saturating_sub(1);
            interrupt.acknowledged |= !acknowledges;
        }
    }

    /// Handles the reply to an interrupt. A refusal counts only if the work continues, since it may have ended just
    /// before.
    pub fn interrupt_answered(&mut self, turn: Option<&TurnId>, outcome: Result<(), String>) {
        if let Some(interrupt) = self.interrupt_of(turn) {
            match outcome {
                Ok(()) => interrupt.acknowledged = true,
                Err(reason) => interrupt.refused = Some(reason),
            }
        }
    }

    fn interrupt_of(&mut self, turn: Option<&TurnId>) -> Option<&mut PendingInterrupt> {
        let work = self.work.as_mut()?;
        if work.prompt.as_ref().map(|prompt| &prompt.turn) == turn { work.interrupt.as_mut() } else { None }
    }

    /// Handles an expired interrupt deadline.
    pub fn overdue(&mut self, now: Instant) -> Vec<TurnEffect> {
        let Some(work) = &mut self.work else { return Vec::new() };
        let Some(interrupt) = work.interrupt.take_if(|interrupt| interrupt.deadline <= now) else { return Vec::new() };
        let title = &self.title;
        let warn = |text: String| TurnEffect::Report(Report::Notice(Level::Warning, text));
        let did = |outcome: Result<(), String>| {
            (0..interrupt.orders)
                .map(move |_| TurnEffect::Report(Report::Acked(AckedOrder::Interrupt, outcome.clone())))
        };
        if let Some(reason) = interrupt.refused.as_ref().filter(|_| !interrupt.acknowledged) {
            let mut effects = vec![warn(format!("not interrupted: {reason}"))];
            effects.extend(did(Err(reason.clone())));
            return effects;
        }
        let ack = if interrupt.acknowledged {
            Ok(())
        } else if work.phase == Phase::Queued || interrupt.unwritten > 0 {
            Err(NOT_READING.to_owned())
        } else {
            Err("it has not acknowledged the interrupt".to_owned())
        };
        let mut effects = vec![warn(format!("{title} has not stopped within {INTERRUPT_GRACE:?} of the interrupt"))];
        if let Some(prompt) = work.prompt.as_ref().filter(|_| work.phase < Phase::Submitted) {
            effects.extend((work.phase == Phase::Queued).then(|| TurnEffect::Discard(prompt.turn.clone())));
            // A queued interrupt follows its prompt. A second one could stop the next prompt instead.
            if interrupt.sent.is_none() {
                self.abandoned.push_back(prompt.turn.clone());
            }
            if self.abandoned.len() > MAX_ABANDONED_TURNS {
                self.abandoned.pop_front();
            }
        }
        self.abandoned_may_run = true;
        let ack: Vec<TurnEffect> = did(ack).collect();
        let mut end = self.end(Outcome::Cancelled, Ok(()));
        // The report of the end must be the last.
        let last = end.pop();
        effects.extend(end.into_iter().chain(ack).chain(last));
        effects.extend(self.next());
        effects
    }

    /// Handles the agent's exit. A delivered prompt fails with [`CUT_OFF`]. Returns the undelivered ones for the next
    /// process.
    pub fn agent_exited(&mut self, reason: &str) -> (Vec<TurnEffect>, Vec<Prompt>) {
        (self.occupied, self.abandoned_may_run) = (false, false);
        self.abandoned.clear();
        let mut effects = Vec::new();
        let mut unsent = Vec::new();
        match self.work.take() {
            Some(Work { prompt: Some(prompt), phase: Phase::Queued, interrupt: None }) => unsent.push(prompt),
            now @ Some(Work { phase: Phase::Queued, .. }) => {
                self.work = now;
                effects = self.end(Outcome::Cancelled, Ok(()));
            }
            now => {
                self.work = now;
                let own = self.current().is_none();
                let why = if own { reason.to_owned() } else { format!("{CUT_OFF}: {reason}") };
                effects = self.end(Outcome::Failed(why), Err(reason.to_owned()));
            }
        }
        unsent.extend(std::mem::take(&mut self.waiting));
        (effects, unsent)
    }

    /// Fails all prompts with this reason, because the conversation is abandoned.
    pub fn abandon(&mut self, reason: &str) -> Vec<TurnEffect> {
        let waiting = std::mem::take(&mut self.waiting);
        (self.occupied, self.abandoned_may_run) = (false, false);
        self.abandoned.clear();
        let mut effects = self.end(Outcome::Failed(reason.to_owned()), Ok(()));
        let failed = |prompt: Prompt| Report::Ended(prompt.turn, Outcome::Failed(reason.to_owned()));
        effects.extend(waiting.into_iter().map(|prompt| TurnEffect::Report(failed(prompt))));
        effects
    }
}

#[cfg(test)]
mod tests;
