//! Turns of one agent: a prompt is queued, written, submitted, begun and ended; an interrupt has a deadline; ends come late
//! or belong to nothing. Pure: no process and no clock, so every race is a unit test.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Deed, Outcome, Report};
use wh_core::space::item::Level;

/// Time after an interrupt in which the turn has to end.
pub(crate) const INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Reason of an order that was not written in time.
pub(crate) const NOT_READING: &str = "it does not read its input";

/// Stable code in front of the reason of a turn that was handed over and whose agent ended before the turn did. Such a
/// prompt is never sent again.
pub(crate) const CUT_OFF: &str = "cut_off";

/// Turns that were given up and that the agent may still take. Beyond that the oldest are forgotten.
const MAX_STRAYS: usize = 16;

/// A message for the agent, and its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub turn: TurnId,
    pub text: String,
}

/// Progress of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Its frame is not written, or not all of it.
    Queued,
    /// The system has taken its frame.
    Written,
    /// The agent has taken it as a prompt.
    Submitted,
    /// The agent works on it.
    Begun,
}

/// Work of the agent.
#[derive(Debug)]
struct Work {
    /// The prompt; `None` for work that the agent began by itself.
    prompt: Option<Prompt>,
    phase: Phase,
    interrupt: Option<Interrupt>,
}

/// An interrupt of the work, by one order or more.
#[derive(Debug)]
struct Interrupt {
    /// Orders that wait for their outcome.
    orders: usize,
    deadline: Instant,
    /// Phase in which it was last sent.
    sent: Option<Phase>,
    /// Frames that are not written yet.
    unwritten: usize,
    acknowledged: bool,
    /// Words of the agent's last refusal.
    refused: Option<String>,
}

impl Interrupt {
    fn new(now: Instant) -> Self {
        let deadline = now + INTERRUPT_GRACE;
        Self { orders: 0, deadline, sent: None, unwritten: 0, acknowledged: false, refused: None }
    }
}

/// A consequence for the driver.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Report this.
    Report(Report),
    /// Write the frame of this prompt.
    Prompt(Prompt),
    /// Write an interrupt of this turn; `None` is the agent's own work. [`Turns::interrupt_sent`] says that it is queued.
    Interrupt(Option<TurnId>),
    /// Write an interrupt of what the agent is busy with, if there is such a frame; otherwise there is nothing to stop.
    InterruptOccupation,
    /// Drop the prompt's frame if no byte of it is written.
    Discard(TurnId),
    /// End the items and withdraw the questions of the work.
    Close,
}

/// Turns of one agent.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    title: String,
    /// The agent acknowledges interrupts; otherwise a written one counts.
    acknowledges: bool,
    now: Option<Work>,
    waiting: VecDeque<Prompt>,
    /// The agent is busy with something that is not a turn; prompts wait.
    occupied: bool,
    /// Turns that were given up before the agent had taken them: they are interrupted when it does.
    strays: VecDeque<TurnId>,
    /// The agent may still work on a turn that was given up: signs of work prove nothing until the next prompt is written.
    astray: bool,
}

impl Turns {
    pub fn new(title: &str, acknowledges: bool) -> Self {
        Self { title: title.to_owned(), acknowledges, ..Self::default() }
    }

    /// The prompt under way.
    pub fn current(&self) -> Option<&TurnId> {
        self.now.as_ref()?.prompt.as_ref().map(|prompt| &prompt.turn)
    }

    /// True while anything is under way, a prompt or the agent's own work.
    pub fn is_working(&self) -> bool {
        self.now.is_some()
    }

    /// True if a prompt would have to wait.
    pub fn is_busy(&self) -> bool {
        self.now.is_some() || self.occupied
    }

    /// True if a prompt is under way or waits.
    pub fn has_prompt(&self) -> bool {
        self.current().is_some() || !self.waiting.is_empty()
    }

    /// True if the work is to stop.
    pub fn is_interrupted(&self) -> bool {
        self.now.as_ref().is_some_and(|work| work.interrupt.is_some())
    }

    /// Time at which [`Self::overdue`] is to be called.
    pub fn deadline(&self) -> Option<Instant> {
        Some(self.now.as_ref()?.interrupt.as_ref()?.deadline)
    }

    /// Takes a prompt. It is written at once, or when the agent is free.
    pub fn prompt(&mut self, prompt: Prompt) -> Vec<Effect> {
        self.waiting.push_back(prompt);
        self.next()
    }

    /// Begins with the next prompt, if the agent is free.
    fn next(&mut self) -> Vec<Effect> {
        if self.is_busy() {
            return Vec::new();
        }
        let Some(prompt) = self.waiting.pop_front() else { return Vec::new() };
        self.now = Some(Work { prompt: Some(prompt.clone()), phase: Phase::Queued, interrupt: None });
        vec![Effect::Prompt(prompt)]
    }

    /// The agent is busy with something that is not a turn, or no longer.
    pub fn occupy(&mut self, occupied: bool) -> Vec<Effect> {
        self.occupied = occupied;
        self.next()
    }

    /// The frame of a prompt was written.
    pub fn written(&mut self, turn: &TurnId) -> Vec<Effect> {
        if self.current() == Some(turn) {
            self.astray = false;
            return self.advance(Phase::Written);
        }
        self.stray(turn, false)
    }

    /// The agent has taken a prompt.
    pub fn submitted(&mut self, turn: &TurnId) -> Vec<Effect> {
        if self.current() == Some(turn) { self.advance(Phase::Submitted) } else { self.stray(turn, true) }
    }

    /// A turn that was given up has reached the agent after all: it is not to run.
    fn stray(&mut self, turn: &TurnId, last: bool) -> Vec<Effect> {
        let Some(place) = self.strays.iter().position(|stray| stray == turn) else { return Vec::new() };
        if last {
            self.strays.remove(place);
        }
        vec![Effect::Interrupt(Some(turn.clone()))]
    }

    /// A sign that the agent works. It belongs to the prompt under way, unless the agent may still work on an earlier one.
    pub fn begun(&mut self) -> Vec<Effect> {
        if self.astray && self.is_unwritten() { Vec::new() } else { self.advance(Phase::Begun) }
    }

    /// True if the prompt under way has not reached the agent.
    fn is_unwritten(&self) -> bool {
        self.now.as_ref().is_some_and(|work| work.phase == Phase::Queued)
    }

    fn advance(&mut self, to: Phase) -> Vec<Effect> {
        let Some(Work { prompt: Some(prompt), phase, interrupt }) = &mut self.now else { return Vec::new() };
        let turn = &prompt.turn;
        let mut effects = Vec::new();
        for (reached, report) in [
            (Phase::Written, Report::Delivered(turn.clone())),
            (Phase::Submitted, Report::Submitted(turn.clone())),
            (Phase::Begun, Report::Started(turn.clone())),
        ] {
            if *phase < reached && reached <= to {
                *phase = reached;
                effects.push(Effect::Report(report));
            }
        }
        // One that was sent before the turn had begun may have found nothing to stop.
        let again = |interrupt: &Interrupt| interrupt.sent.is_none_or(|sent| sent < Phase::Begun && to == Phase::Begun);
        if !effects.is_empty() && interrupt.as_ref().is_some_and(again) {
            effects.push(Effect::Interrupt(Some(turn.clone())));
        }
        effects
    }

    /// The agent has begun to work by itself.
    pub fn own_work(&mut self) -> Vec<Effect> {
        if self.now.is_some() {
            return Vec::new();
        }
        self.now = Some(Work { prompt: None, phase: Phase::Begun, interrupt: None });
        vec![Effect::Report(Report::Began)]
    }

    /// The work under way has ended.
    pub fn ended(&mut self, outcome: Outcome) -> Vec<Effect> {
        if self.astray && self.is_unwritten() {
            // The late end of the turn that was given up.
            self.astray = false;
            return Vec::new();
        }
        // There is nothing left to stop.
        let mut effects = self.end(outcome, Ok(()));
        effects.extend(self.next());
        effects
    }

    /// The frame of the prompt under way cannot be written.
    pub fn unwritable(&mut self, why: &str) -> Vec<Effect> {
        let mut effects = self.end(Outcome::Failed(why.to_owned()), Ok(()));
        effects.extend(self.next());
        effects
    }

    fn end(&mut self, outcome: Outcome, told: Result<(), String>) -> Vec<Effect> {
        let Some(work) = self.now.take() else { return Vec::new() };
        let mut effects = vec![Effect::Close];
        let orders = work.interrupt.map_or(0, |interrupt| interrupt.orders);
        effects.extend((0..orders).map(|_| Effect::Report(Report::Did(Deed::Interrupt, told.clone()))));
        effects.push(Effect::Report(match work.prompt {
            Some(prompt) => Report::Ended(prompt.turn, outcome),
            None => Report::Rested(outcome),
        }));
        effects
    }

    /// Takes an order to interrupt. A prompt that waits is not sent any more.
    pub fn interrupt(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.cancel_waiting().into_iter().map(Effect::Report).collect();
        if self.now.is_none() && self.occupied && effects.is_empty() {
            // It works on something that is no turn any more.
            return vec![Effect::InterruptOccupation];
        }
        let Some(work) = &mut self.now else {
            effects.push(Effect::Report(Report::Did(Deed::Interrupt, Ok(()))));
            return effects;
        };
        work.interrupt.get_or_insert_with(|| Interrupt::new(now)).orders += 1;
        effects.push(Effect::Interrupt(work.prompt.as_ref().map(|prompt| prompt.turn.clone())));
        effects
    }

    /// Has the interrupt of something that is no turn settled by its end, or by the deadline.
    pub fn interrupt_occupation(&mut self, now: Instant) {
        let interrupt = Interrupt { orders: 1, ..Interrupt::new(now) };
        self.now = Some(Work { prompt: None, phase: Phase::Begun, interrupt: Some(interrupt) });
    }

    /// Cancels the prompts that wait.
    pub fn cancel_waiting(&mut self) -> Vec<Report> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.map(|prompt| Report::Ended(prompt.turn, Outcome::Cancelled)).collect()
    }

    /// The frame of an interrupt was queued.
    pub fn interrupt_sent(&mut self) {
        if let Some(Work { phase, interrupt: Some(interrupt), .. }) = &mut self.now {
            interrupt.sent = Some(*phase);
            interrupt.unwritten += 1;
            interrupt.refused = None;
        }
    }

    /// The frame of an interrupt was written.
    pub fn interrupt_written(&mut self, turn: Option<&TurnId>) {
        let acknowledges = self.acknowledges;
        if let Some(interrupt) = self.interrupt_of(turn) {
            interrupt.unwritten = interrupt.unwritten.saturating_sub(1);
            interrupt.acknowledged |= !acknowledges;
        }
    }

    /// The agent has answered an interrupt. A refusal counts only if the work goes on: it may have ended just before.
    pub fn interrupt_answered(&mut self, turn: Option<&TurnId>, outcome: Result<(), String>) {
        if let Some(interrupt) = self.interrupt_of(turn) {
            match outcome {
                Ok(()) => interrupt.acknowledged = true,
                Err(words) => interrupt.refused = Some(words),
            }
        }
    }

    fn interrupt_of(&mut self, turn: Option<&TurnId>) -> Option<&mut Interrupt> {
        let work = self.now.as_mut()?;
        if work.prompt.as_ref().map(|prompt| &prompt.turn) == turn { work.interrupt.as_mut() } else { None }
    }

    /// The deadline of the interrupt has passed.
    pub fn overdue(&mut self, now: Instant) -> Vec<Effect> {
        let Some(work) = &mut self.now else { return Vec::new() };
        let Some(interrupt) = work.interrupt.take_if(|interrupt| interrupt.deadline <= now) else { return Vec::new() };
        let title = &self.title;
        let warn = |text: String| Effect::Report(Report::Notice(Level::Warning, text));
        let did = |outcome: Result<(), String>| {
            (0..interrupt.orders).map(move |_| Effect::Report(Report::Did(Deed::Interrupt, outcome.clone())))
        };
        if let Some(words) = interrupt.refused.as_ref().filter(|_| !interrupt.acknowledged) {
            let mut effects = vec![warn(format!("not interrupted: {words}"))];
            effects.extend(did(Err(words.clone())));
            return effects;
        }
        let told = if interrupt.acknowledged {
            Ok(())
        } else if work.phase == Phase::Queued || interrupt.unwritten > 0 {
            Err(NOT_READING.to_owned())
        } else {
            Err("it does not say that it stops".to_owned())
        };
        let mut effects =
            vec![warn(format!("{title} was told to stop and has not said within {INTERRUPT_GRACE:?} that it has"))];
        if let Some(prompt) = work.prompt.as_ref().filter(|_| work.phase < Phase::Submitted) {
            effects.extend((work.phase == Phase::Queued).then(|| Effect::Discard(prompt.turn.clone())));
            // An interrupt that is queued follows the prompt. A second one could hit the next prompt.
            if interrupt.sent.is_none() {
                self.strays.push_back(prompt.turn.clone());
            }
            if self.strays.len() > MAX_STRAYS {
                self.strays.pop_front();
            }
        }
        self.astray = true;
        let told: Vec<Effect> = did(told).collect();
        let mut end = self.end(Outcome::Cancelled, Ok(()));
        // Before the report of the end, which is the last.
        let last = end.pop();
        effects.extend(end.into_iter().chain(told).chain(last));
        effects.extend(self.next());
        effects
    }

    /// The agent has ended, in these words. A prompt that was handed over is cut off; those that were not come back, to be
    /// handed over to the next process.
    pub fn lost(&mut self, words: &str) -> (Vec<Effect>, Vec<Prompt>) {
        (self.occupied, self.astray) = (false, false);
        self.strays.clear();
        let mut effects = Vec::new();
        let mut unsent = Vec::new();
        match self.now.take() {
            Some(Work { prompt: Some(prompt), phase: Phase::Queued, interrupt: None }) => unsent.push(prompt),
            now @ Some(Work { phase: Phase::Queued, .. }) => {
                self.now = now;
                effects = self.end(Outcome::Cancelled, Ok(()));
            }
            now => {
                self.now = now;
                let own = self.current().is_none();
                let why = if own { words.to_owned() } else { format!("{CUT_OFF}: {words}") };
                effects = self.end(Outcome::Failed(why), Err(words.to_owned()));
            }
        }
        unsent.extend(std::mem::take(&mut self.waiting));
        (effects, unsent)
    }

    /// The conversation is left: all of it fails with this reason.
    pub fn abandon(&mut self, reason: &str) -> Vec<Effect> {
        let waiting = std::mem::take(&mut self.waiting);
        (self.occupied, self.astray) = (false, false);
        self.strays.clear();
        let mut effects = self.end(Outcome::Failed(reason.to_owned()), Ok(()));
        let failed = |prompt: Prompt| Report::Ended(prompt.turn, Outcome::Failed(reason.to_owned()));
        effects.extend(waiting.into_iter().map(|prompt| Effect::Report(failed(prompt))));
        effects
    }
}

#[cfg(test)]
mod tests;
