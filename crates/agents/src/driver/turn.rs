//! State machine for the turns of one agent, from a queued prompt to the end of its turn. Handles interrupts, their
//! deadlines, and turns that end late. Pure: the driver performs all IO and passes the current time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Report, TurnOutcome};
use wh_core::space::item::NoticeLevel;

/// Maximum time for a turn to end after an interrupt.
pub(crate) const INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Failure reason if the agent did not read a frame in time.
pub(crate) const NOT_READING: &str = "the agent does not read its input";

/// Prefix of the failure reason if the agent exited after the delivery of a prompt and before the end of its turn. Such
/// a prompt is never sent again. The value is stable, so that programs can match it.
pub(crate) const CUT_OFF: &str = "cut_off";

/// Maximum number of tracked abandoned turns. Beyond the limit, the oldest are no longer tracked.
const MAX_ABANDONED_TURNS: usize = 16;

/// Prompt with the id of its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub turn: TurnId,
    pub text: String,
}

/// Delivery phase of a prompt, in chronological order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PromptPhase {
    /// The frame waits in the queue or is partly written.
    Queued,
    /// The frame is completely written to the pipe.
    Written,
    /// The agent has accepted the frame as a prompt.
    Submitted,
    /// The agent works on the prompt.
    Begun,
}

/// Current work of the agent: a prompt, or work that the agent began on its own.
#[derive(Debug)]
struct AgentWork {
    /// Prompt of the turn; `None` for work that the agent began on its own.
    prompt: Option<Prompt>,
    phase: PromptPhase,
    interrupt: Option<PendingInterrupt>,
}

/// Interrupt of the current work, requested by one or more orders.
#[derive(Debug)]
struct PendingInterrupt {
    /// Number of orders that wait for an acknowledgement of the interrupt.
    orders: usize,
    deadline: Instant,
    /// Phase of the work when an interrupt frame was last queued.
    sent: Option<PromptPhase>,
    /// Number of interrupt frames that are not written yet.
    unwritten: usize,
    acknowledged: bool,
    /// Message of the agent's latest refusal of the interrupt.
    refused: Option<String>,
}

impl PendingInterrupt {
    fn new(now: Instant) -> Self {
        let deadline = now + INTERRUPT_GRACE;
        Self { orders: 0, deadline, sent: None, unwritten: 0, acknowledged: false, refused: None }
    }
}

/// Action that the driver must perform.
#[derive(Debug, PartialEq)]
pub(crate) enum TurnEffect {
    /// Send a report.
    Report(Report),
    /// Queue the frame of a prompt.
    Prompt(Prompt),
    /// Queue an interrupt of a turn, or of work without a prompt (`None`). Once the frame is queued, the
    /// driver calls [`TurnMachine::interrupt_queued`].
    Interrupt(Option<TurnId>),
    /// Queue an interrupt of an operation that is not a turn. Acknowledge the order at once if the protocol has no such
    /// frame.
    InterruptOccupation,
    /// Drop the queued frame of a prompt, unless the frame is partly written.
    Discard(TurnId),
    /// Complete the items and withdraw the questions of the work that has ended.
    Close,
}

/// State of the current turn, waiting prompts and abandoned turns of one agent.
#[derive(Debug, Default)]
pub(crate) struct TurnMachine {
    title: String,
    /// True if the agent acknowledges interrupts. Otherwise a written interrupt counts as acknowledged.
    acknowledges: bool,
    work: Option<AgentWork>,
    waiting: VecDeque<Prompt>,
    /// True if the agent is busy with an operation other than a turn. Prompts wait for the end of the operation.
    occupied: bool,
    /// Turns that were abandoned before the agent accepted their prompts. A turn is interrupted if the agent accepts
    /// its prompt later.
    abandoned: VecDeque<TurnId>,
    /// True if the agent may still work on an abandoned turn. Until the next prompt is written, messages about work in
    /// progress may belong to the abandoned turn.
    abandoned_may_run: bool,
}

impl TurnMachine {
    pub fn new(title: &str, acknowledges: bool) -> Self {
        Self { title: title.to_owned(), acknowledges, ..Self::default() }
    }

    /// Returns the turn of the prompt in progress.
    pub fn current(&self) -> Option<&TurnId> {
        self.work.as_ref()?.prompt.as_ref().map(|prompt| &prompt.turn)
    }

    /// Returns true while a prompt, or work that the agent began on its own, is in progress.
    pub fn is_working(&self) -> bool {
        self.work.is_some()
    }

    /// Returns true if a new prompt would have to wait.
    pub fn is_busy(&self) -> bool {
        self.work.is_some() || self.occupied
    }

    /// Returns true if a prompt is in progress or queued.
    pub fn has_prompt(&self) -> bool {
        self.current().is_some() || !self.waiting.is_empty()
    }

    /// Returns true if an interrupt of the current work is pending.
    pub fn is_interrupted(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.interrupt.is_some())
    }

    /// Returns the time at which [`Self::overdue`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        Some(self.work.as_ref()?.interrupt.as_ref()?.deadline)
    }

    /// Queues a prompt. The prompt is written as soon as the agent is free.
    pub fn prompt(&mut self, prompt: Prompt) -> Vec<TurnEffect> {
        self.waiting.push_back(prompt);
        self.next()
    }

    /// Starts the next waiting prompt if the agent is free.
    fn next(&mut self) -> Vec<TurnEffect> {
        if self.is_busy() {
            return Vec::new();
        }
        let Some(prompt) = self.waiting.pop_front() else { return Vec::new() };
        self.work = Some(AgentWork { prompt: Some(prompt.clone()), phase: PromptPhase::Queued, interrupt: None });
        vec![TurnEffect::Prompt(prompt)]
    }

    /// Sets whether the agent is busy with an operation other than a turn, and starts the next prompt if the agent is
    /// free.
    pub fn occupy(&mut self, occupied: bool) -> Vec<TurnEffect> {
        self.occupied = occupied;
        self.next()
    }

    /// Handles the completed write of a prompt.
    pub fn written(&mut self, turn: &TurnId) -> Vec<TurnEffect> {
        if self.current() == Some(turn) {
            self.abandoned_may_run = false;
            return self.advance(PromptPhase::Written);
        }
        self.interrupt_abandoned(turn, false)
    }

    /// Handles a message by which the agent accepts a prompt.
    pub fn submitted(&mut self, turn: &TurnId) -> Vec<TurnEffect> {
        if self.current() == Some(turn) {
            self.advance(PromptPhase::Submitted)
        } else {
            self.interrupt_abandoned(turn, true)
        }
    }

    /// Interrupts an abandoned turn, because the agent has received its prompt. If `last` is true, the turn is no
    /// longer tracked.
    fn interrupt_abandoned(&mut self, turn: &TurnId, last: bool) -> Vec<TurnEffect> {
        let Some(place) = self.abandoned.iter().position(|interrupt_abandoned| interrupt_abandoned == turn) else {
            return Vec::new();
        };
        if last {
            self.abandoned.remove(place);
        }
        vec![TurnEffect::Interrupt(Some(turn.clone()))]
    }

    /// Handles a message that shows that the agent is working. The current prompt has begun, unless the agent may still
    /// work on an abandoned turn.
    pub fn begun(&mut self) -> Vec<TurnEffect> {
        if self.abandoned_may_run && self.is_unwritten() { Vec::new() } else { self.advance(PromptPhase::Begun) }
    }

    /// Returns true if the frame of the current prompt is not completely written.
    fn is_unwritten(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.phase == PromptPhase::Queued)
    }

    fn advance(&mut self, to: PromptPhase) -> Vec<TurnEffect> {
        let Some(AgentWork { prompt: Some(prompt), phase, interrupt }) = &mut self.work else { return Vec::new() };
        let turn = &prompt.turn;
        let mut effects = Vec::new();
        for (reached, report) in [
            (PromptPhase::Written, Report::Delivered(turn.clone())),
            (PromptPhase::Submitted, Report::Submitted(turn.clone())),
            (PromptPhase::Begun, Report::Started(turn.clone())),
        ] {
            if *phase < reached && reached <= to {
                *phase = reached;
                effects.push(TurnEffect::Report(report));
            }
        }
        // An agent may have ignored an interrupt that was sent before the turn began.
        let again = |interrupt: &PendingInterrupt| {
            interrupt.sent.is_none_or(|sent| sent < PromptPhase::Begun && to == PromptPhase::Begun)
        };
        if !effects.is_empty() && interrupt.as_ref().is_some_and(again) {
            effects.push(TurnEffect::Interrupt(Some(turn.clone())));
        }
        effects
    }

    /// Records that the agent began work on its own.
    pub fn own_work(&mut self) -> Vec<TurnEffect> {
        if self.work.is_some() {
            return Vec::new();
        }
        self.work = Some(AgentWork { prompt: None, phase: PromptPhase::Begun, interrupt: None });
        vec![TurnEffect::Report(Report::SelfStarted)]
    }

    /// Ends the current work with this outcome.
    pub fn ended(&mut self, outcome: TurnOutcome) -> Vec<TurnEffect> {
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
        let mut effects = self.end(TurnOutcome::Failed(why.to_owned()), Ok(()));
        effects.extend(self.next());
        effects
    }

    fn end(&mut self, outcome: TurnOutcome, ack: Result<(), String>) -> Vec<TurnEffect> {
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

    /// Handles an interrupt order: interrupts the current work and cancels the waiting prompts.
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

    /// Records an interrupt of an operation that is not a turn. The interrupt is pending until the operation ends or
    /// the deadline passes.
    pub fn interrupt_occupation(&mut self, now: Instant) {
        let interrupt = PendingInterrupt { orders: 1, ..PendingInterrupt::new(now) };
        self.work = Some(AgentWork { prompt: None, phase: PromptPhase::Begun, interrupt: Some(interrupt) });
    }

    /// Cancels the waiting prompts. Returns a report about the end of each prompt.
    pub fn cancel_waiting(&mut self) -> Vec<Report> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.map(|prompt| Report::Ended(prompt.turn, TurnOutcome::Cancelled)).collect()
    }

    /// Records that an interrupt frame was queued.
    pub fn interrupt_queued(&mut self) {
        if let Some(AgentWork { phase, interrupt: Some(interrupt), .. }) = &mut self.work {
            interrupt.sent = Some(*phase);
            interrupt.unwritten += 1;
            interrupt.refused = None;
        }
    }

    /// Records that an interrupt frame was written.
    pub fn interrupt_written(&mut self, turn: Option<&TurnId>) {
        let acknowledges = self.acknowledges;
        if let Some(interrupt) = self.interrupt_of(turn) {
            interrupt.unwritten = interrupt.unwritten.saturating_sub(1);
            interrupt.acknowledged |= !acknowledges;
        }
    }

    /// Handles the reply to an interrupt. A refusal is reported only if the work continues until the deadline: the
    /// agent also refuses if the work ended just before the interrupt.
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

    /// Handles the deadline of an interrupt: abandons work that has not ended. If the agent refused the interrupt,
    /// reports the refusal instead, and the work continues.
    pub fn overdue(&mut self, now: Instant) -> Vec<TurnEffect> {
        let Some(work) = &mut self.work else { return Vec::new() };
        let Some(interrupt) = work.interrupt.take_if(|interrupt| interrupt.deadline <= now) else { return Vec::new() };
        let title = &self.title;
        let warn = |text: String| TurnEffect::Report(Report::Notice(NoticeLevel::Warning, text));
        let did = |outcome: Result<(), String>| {
            (0..interrupt.orders)
                .map(move |_| TurnEffect::Report(Report::Acked(AckedOrder::Interrupt, outcome.clone())))
        };
        if let Some(reason) = interrupt.refused.as_ref().filter(|_| !interrupt.acknowledged) {
            let mut effects = vec![warn(format!("the agent was not interrupted: {reason}"))];
            effects.extend(did(Err(reason.clone())));
            return effects;
        }
        let ack = if interrupt.acknowledged {
            Ok(())
        } else if work.phase == PromptPhase::Queued || interrupt.unwritten > 0 {
            Err(NOT_READING.to_owned())
        } else {
            Err("the agent has not acknowledged the interrupt".to_owned())
        };
        let mut effects = vec![warn(format!("{title} has not stopped within {INTERRUPT_GRACE:?} of the interrupt"))];
        if let Some(prompt) = work.prompt.as_ref().filter(|_| work.phase < PromptPhase::Submitted) {
            effects.extend((work.phase == PromptPhase::Queued).then(|| TurnEffect::Discard(prompt.turn.clone())));
            // An interrupt that is already queued follows its prompt. A second interrupt could stop the next prompt
            // instead.
            if interrupt.sent.is_none() {
                self.abandoned.push_back(prompt.turn.clone());
            }
            if self.abandoned.len() > MAX_ABANDONED_TURNS {
                self.abandoned.pop_front();
            }
        }
        self.abandoned_may_run = true;
        let ack: Vec<TurnEffect> = did(ack).collect();
        let mut end = self.end(TurnOutcome::Cancelled, Ok(()));
        // The report about the end of the turn must come last.
        let last = end.pop();
        effects.extend(end.into_iter().chain(ack).chain(last));
        effects.extend(self.next());
        effects
    }

    /// Handles the agent's exit. A delivered prompt fails with [`CUT_OFF`], and an interrupted prompt that was not
    /// delivered is cancelled. Returns the other prompts that were not delivered, for the next process.
    pub fn agent_exited(&mut self, reason: &str) -> (Vec<TurnEffect>, Vec<Prompt>) {
        (self.occupied, self.abandoned_may_run) = (false, false);
        self.abandoned.clear();
        let mut effects = Vec::new();
        let mut unsent = Vec::new();
        match self.work.take() {
            Some(AgentWork { prompt: Some(prompt), phase: PromptPhase::Queued, interrupt: None }) => {
                unsent.push(prompt)
            }
            now @ Some(AgentWork { phase: PromptPhase::Queued, .. }) => {
                self.work = now;
                effects = self.end(TurnOutcome::Cancelled, Ok(()));
            }
            now => {
                self.work = now;
                let own = self.current().is_none();
                let why = if own { reason.to_owned() } else { format!("{CUT_OFF}: {reason}") };
                effects = self.end(TurnOutcome::Failed(why), Err(reason.to_owned()));
            }
        }
        unsent.extend(std::mem::take(&mut self.waiting));
        (effects, unsent)
    }

    /// Fails all prompts because the conversation is abandoned.
    pub fn abandon(&mut self, reason: &str) -> Vec<TurnEffect> {
        let waiting = std::mem::take(&mut self.waiting);
        (self.occupied, self.abandoned_may_run) = (false, false);
        self.abandoned.clear();
        let mut effects = self.end(TurnOutcome::Failed(reason.to_owned()), Ok(()));
        let failed = |prompt: Prompt| Report::Ended(prompt.turn, TurnOutcome::Failed(reason.to_owned()));
        effects.extend(waiting.into_iter().map(|prompt| TurnEffect::Report(failed(prompt))));
        effects
    }
}

#[cfg(test)]
mod tests;
