//! The part of the driver without IO: it takes orders, messages and replies, and puts out reports, frames and calls that
//! take their time. Everything that is the same for all agents is decided here.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Deed, Order, Outcome, Report};
use wh_core::space::item::Level;
use wh_core::space::question::{Answer, Question};
use wh_pipe::link::Inbound;

use super::outbox::{Outcome as Written, Purpose};
use super::protocol::{Failure, FrameOf, Now, Protocol, Setting, Step, Steps};
use super::questions::{Answered, Questions};
use super::turn::{Effect, Prompt, Turns};
use super::words::presentable;
use crate::port::{ALLOW_SKIPPING, BoxFuture};

/// Warnings that are remembered so that they are told once. Beyond that they are told again.
const MAX_TOLD: usize = 1024;

/// Reason of an answer that the agent has not read in time.
const NOT_READ_YET: &str = "it does not read its input; the answer is written as soon as it does";

/// Reason of a question that cannot be answered any more.
const NOT_OPEN: &str = "the question is not open any more";

/// Id of wh's own question about the conversation; agents have others.
const OWN_QUESTION: &str = "";

/// A call beside the conversation, and its number.
pub(crate) type Aside = (u64, BoxFuture<'static, Result<Value, String>>);

/// The outcome of one input, to be carried out in this order: frames are written, calls are started, reports are sent.
pub(crate) struct Output<P: Protocol> {
    pub frames: Vec<(FrameOf<P>, Purpose<P>)>,
    pub asides: Vec<Aside>,
    pub reports: Vec<Report>,
    /// Turns whose prompt is not to be written any more.
    pub discards: Vec<TurnId>,
    /// Another process is to be started.
    pub reconnects: bool,
    /// The agent cannot be used any more, for this reason.
    pub fatal: Option<String>,
}

/// The course after an order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    End,
    /// Begin a new conversation, for the call of this number.
    Restart(u64),
}

pub(crate) struct Machine<P: Protocol> {
    pub protocol: P,
    pub turns: Turns,
    questions: Questions<P::Ask>,
    calls: BTreeSet<u64>,
    /// Hashes of the warnings that are told once.
    told: HashSet<u64>,
    may_skip: bool,
    /// The mode that skips permissions and is being left.
    leaving: Option<String>,
    output: Output<P>,
}

impl<P: Protocol> Default for Output<P> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            asides: Vec::new(),
            reports: Vec::new(),
            discards: Vec::new(),
            reconnects: false,
            fatal: None,
        }
    }
}

impl<P: Protocol> Machine<P> {
    pub fn new(protocol: P, may_skip: bool) -> Self {
        let turns = Turns::new(protocol.title(), protocol.acknowledges_interrupts());
        Self {
            protocol,
            turns,
            questions: Questions::default(),
            calls: BTreeSet::new(),
            told: HashSet::new(),
            may_skip,
            leaving: None,
            output: Output::default(),
        }
    }

    /// Takes what has come of the inputs since the last time.
    pub fn take(&mut self) -> Output<P> {
        std::mem::take(&mut self.output)
    }

    /// Time at which [`tick`](Self::tick) is to be called.
    pub fn deadline(&self, at: Instant) -> Option<Instant> {
        let wakes = self.protocol.wakes_at(self.now(at));
        [self.turns.deadline(), wakes].into_iter().flatten().min()
    }

    fn now(&self, at: Instant) -> Now<'_> {
        now(&self.turns, &self.questions, at)
    }

    /// Runs a method of the protocol and carries out its steps.
    fn protocol(&mut self, at: Instant, work: impl FnOnce(&mut P, Now<'_>, &mut Steps<P>)) {
        let mut steps = Steps::default();
        work(&mut self.protocol, now(&self.turns, &self.questions, at), &mut steps);
        self.steps(steps, at);
    }

    /// Reports. Texts of wh about the agent carry no ids of the provider.
    fn report(&mut self, report: Report) {
        let clean = |text: String| presentable(&self.protocol.discreet(&text));
        let report = match report {
            Report::Notice(level, text) => Report::Notice(level, clean(text)),
            Report::Did(deed, Err(why)) => Report::Did(deed, Err(clean(why))),
            Report::Called(id, Err(why)) => Report::Called(id, Err(clean(why))),
            Report::Ended(turn, Outcome::Failed(why)) => Report::Ended(turn, Outcome::Failed(clean(why))),
            Report::Warned(turn, why) => Report::Warned(turn, clean(why)),
            Report::Rested(Outcome::Failed(why)) => Report::Rested(Outcome::Failed(clean(why))),
            other => other,
        };
        self.output.reports.push(report);
    }

    fn warn(&mut self, text: String) {
        self.report(Report::Notice(Level::Warning, text));
    }

    fn send(&mut self, frame: FrameOf<P>, purpose: Purpose<P>) {
        self.output.frames.push((frame, purpose));
    }

    /// Reports that the agent can be used, and what is to be known then.
    pub fn connected(
        &mut self,
        greeting: Vec<Report>,
        doubt: Option<(P::Ask, Question)>,
        restart: Option<u64>,
        at: Instant,
    ) {
        self.leaving = None;
        self.report(Report::Ready(self.protocol.capabilities()));
        greeting.into_iter().for_each(|report| self.report(report));
        if let Some(call) = restart {
            self.report(Report::Called(call, Ok(Value::Null)));
        }
        self.guard_mode(at);
        let mut steps = Steps::default();
        steps.push(Step::Occupied(doubt.is_some()));
        if let Some((ask, question)) = doubt {
            steps.push(Step::Ask { id: OWN_QUESTION.to_owned(), ask, questions: vec![question] });
        }
        self.steps(steps, at);
    }

    /// Takes an order.
    pub fn order(&mut self, order: Order, at: Instant) -> Flow {
        match order {
            Order::Prompt { turn, text, attachments, .. } => {
                if !attachments.is_empty() {
                    let title = self.protocol.title();
                    self.warn(format!("attachments do not go to {title} yet; name the files in the message"));
                }
                let effects = self.turns.prompt(Prompt { turn, text });
                self.effects(effects, at);
            }
            Order::Answer { question, answer } => self.answer(question, answer, at),
            Order::Interrupt => {
                let effects = self.turns.interrupt(at);
                let cancels = effects.iter().any(|effect| matches!(effect, Effect::Report(Report::Ended(..))));
                self.effects(effects, at);
                if cancels {
                    self.ask_again();
                }
            }
            Order::SetModel(model) => self.choose(Setting::Model(model), true),
            Order::SetMode(mode) => match self.protocol.allows(&mode) {
                Ok(()) => self.choose(Setting::Mode(mode), true),
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    self.decided(&Setting::Mode(mode), Err(format!("{error}{hint}")));
                }
            },
            Order::Call { id, call: Call::Restart } => return Flow::Restart(id),
            Order::Call { id, call } => {
                self.calls.insert(id);
                self.protocol(at, |protocol, now, steps| protocol.call(id, call, now, steps));
            }
            Order::End => return Flow::End,
        }
        Flow::Continue
    }

    /// Asks wh's own question once more: whoever keeps the conversation closes all questions with a cancelled prompt, and
    /// prompts wait for the answer to this one.
    fn ask_again(&mut self) {
        let own = self.questions.reopen(OWN_QUESTION);
        for (old, new, question) in own {
            self.report(Report::Withdrew(old));
            self.report(Report::Asked { key: new, question });
        }
    }

    fn answer(&mut self, key: String, answer: Answer, at: Instant) {
        let protocol = &self.protocol;
        let objection = |ask: &P::Ask, part: usize, answer: &_| protocol.objection(ask, part, answer);
        match self.questions.answer(&key, answer, objection) {
            Answered::NotOpen => self.report(Report::Did(Deed::Answer(key), Err(NOT_OPEN.to_owned()))),
            Answered::Objection { why, question } => {
                self.warn(why.clone());
                self.report(Report::Did(Deed::Answer(key.clone()), Err(why)));
                self.report(Report::Asked { key, question });
            }
            // The agent gets the answers to all parts at once.
            Answered::Part => self.report(Report::Did(Deed::Answer(key), Ok(()))),
            Answered::Whole { ask, answers } => {
                let mut steps = Steps::default();
                if answers.first().is_some_and(|(_, answer)| self.protocol.decide(&ask, answer, &mut steps)) {
                    self.report(Report::Did(Deed::Answer(key), Ok(())));
                    return self.steps(steps, at);
                }
                let frame = self.protocol.answer(ask, answers, &mut steps);
                self.send(frame, Purpose::Answer(key));
                self.steps(steps, at);
            }
        }
    }

    fn choose(&mut self, setting: Setting, ordered: bool) {
        match self.protocol.choose(&setting) {
            Some(frame) => self.send(frame, Purpose::Choice { setting, ordered }),
            None => self.decided(&setting, Ok(())),
        }
    }

    /// A model or mode holds, or does not and the earlier choice stands.
    fn decided(&mut self, setting: &Setting, outcome: Result<(), String>) {
        if let Err(why) = &outcome {
            self.warn(why.clone());
        }
        self.report(Report::Ready(self.protocol.capabilities()));
        self.report(Report::Did(setting.deed(), outcome));
    }

    /// Leaves a mode that skips permissions where nobody has allowed one.
    fn guard_mode(&mut self, at: Instant) {
        if self.may_skip {
            return;
        }
        let skipping = self.protocol.skipping_mode();
        if skipping == self.leaving {
            return;
        }
        self.leaving.clone_from(&skipping);
        let Some(mode) = skipping else { return };
        let text = format!("{} would work without asking a person (mode {mode:?})", self.protocol.title());
        let allow = format!("to let it, {ALLOW_SKIPPING}");
        let Some(careful) = self.protocol.careful_mode() else {
            self.output.fatal = Some(format!("{text}, and has no other mode ({allow})"));
            return;
        };
        self.warn(format!("{text}, which wh was not started for; it works in the mode {careful:?} ({allow})"));
        match self.protocol.enter_careful_mode(&careful) {
            Some(frame) => self.send(frame, Purpose::Choice { setting: Setting::Mode(careful), ordered: false }),
            None => self.steps(Steps(vec![Step::Ready]), at),
        }
    }

    /// Takes an event of the link other than its end and replies.
    pub fn event(&mut self, event: Inbound<P::Codec>, at: Instant) {
        match event {
            Inbound::Message(message) => {
                self.protocol(at, |protocol, now, steps| protocol.said(message, now, steps));
            }
            Inbound::Skipped { bytes } => {
                let title = self.protocol.title();
                self.warn(format!(
                    "{title} wrote a line of {bytes} bytes, which is too long to be read; it was passed over"
                ));
            }
            Inbound::Stderr(line) => {
                self.protocol(at, |protocol, _, steps| protocol.logged(&line, steps));
            }
            Inbound::Reply(..) | Inbound::Closed(_) => {}
        }
    }

    /// A frame was written, or was not.
    pub fn left(&mut self, purpose: &Purpose<P>, outcome: &Written, at: Instant) {
        match purpose {
            Purpose::Prompt(turn) => match outcome {
                Written::Written => {
                    let effects = self.turns.written(turn);
                    self.effects(effects, at);
                }
                Written::Unwritable(why) if self.turns.current() == Some(turn) => {
                    let effects = self.turns.unwritable(why);
                    self.effects(effects, at);
                }
                // Its end is reported by itself, and decides.
                _ => {}
            },
            Purpose::Interrupt(turn) => {
                if *outcome == Written::Written {
                    self.turns.interrupt_written(turn.as_ref());
                }
            }
            Purpose::Answer(key) => {
                let told = match outcome {
                    Written::Written => Ok(()),
                    Written::NotOpen => Err(NOT_OPEN.to_owned()),
                    Written::NotReading => Err(NOT_READ_YET.to_owned()),
                    Written::Unwritable(why) | Written::Gone(why) => Err(why.clone()),
                };
                if let Err(why) = &told {
                    self.report(Report::Notice(Level::Error, format!("the answer has not arrived: {why}")));
                }
                self.report(Report::Did(Deed::Answer(key.clone()), told));
            }
            Purpose::Choice { .. } | Purpose::Own(_) | Purpose::None => {}
        }
    }

    /// A request was answered, or will not be.
    pub fn replied(&mut self, purpose: Purpose<P>, reply: Result<Value, Failure<P::Refusal>>, at: Instant) {
        match purpose {
            Purpose::Prompt(turn) => {
                self.protocol(at, |protocol, now, steps| protocol.prompt_replied(&turn, reply, now, steps));
            }
            Purpose::Interrupt(turn) => {
                if let (Ok(reply), true) = (&reply, self.turns.current() == turn.as_ref()) {
                    self.protocol(at, |protocol, now, steps| protocol.interrupted(reply, now, steps));
                }
                let outcome = reply.map(drop).map_err(|failure| self.protocol.words(&failure));
                self.turns.interrupt_answered(turn.as_ref(), outcome);
            }
            Purpose::Choice { setting, ordered } => {
                let outcome = self.protocol.chosen(&setting, reply);
                if ordered {
                    self.decided(&setting, outcome);
                } else {
                    self.report(Report::Ready(self.protocol.capabilities()));
                    if let (Err(why), Some(mode)) = (outcome, &self.leaving) {
                        let title = self.protocol.title();
                        self.output.fatal =
                            Some(format!("{title} stays in its mode {mode:?}, which skips permissions: {why}"));
                    }
                }
                self.guard_mode(at);
            }
            Purpose::Own(tag) => {
                self.protocol(at, |protocol, now, steps| protocol.replied(tag, reply, now, steps));
            }
            Purpose::Answer(_) | Purpose::None => {}
        }
    }

    /// A call beside the conversation is done.
    pub fn called(&mut self, id: u64, outcome: Result<Value, String>) {
        if self.calls.remove(&id) {
            self.report(Report::Called(id, outcome));
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, at: Instant) {
        let effects = self.turns.overdue(at);
        self.effects(effects, at);
        if self.protocol.wakes_at(self.now(at)).is_some_and(|wakes| wakes <= at) {
            self.protocol(at, Protocol::woke);
        }
    }

    /// The process has ended. Prompts that were not handed over come back.
    pub fn lost(&mut self, words: &str, unwritten: Vec<Purpose<P>>, at: Instant) -> Vec<Prompt> {
        self.settle(unwritten, words);
        let (effects, unsent) = self.turns.lost(words);
        self.effects(effects, at);
        self.withdraw_all();
        // Nobody reads them any more.
        self.output.frames.clear();
        unsent
    }

    /// Fails the calls, and the orders behind frames, that have no outcome yet.
    fn settle(&mut self, purposes: Vec<Purpose<P>>, words: &str) {
        for call in std::mem::take(&mut self.calls) {
            self.report(Report::Called(call, Err(words.to_owned())));
        }
        for purpose in purposes {
            match purpose {
                Purpose::Choice { setting, ordered: true } => {
                    self.report(Report::Did(setting.deed(), Err(words.to_owned())));
                }
                Purpose::Answer(key) => self.report(Report::Did(Deed::Answer(key), Err(words.to_owned()))),
                _ => {}
            }
        }
    }

    /// The process is replaced by another one. Prompts that wait are for that one.
    pub fn replaced(&mut self, purposes: Vec<Purpose<P>>, words: &str) {
        self.settle(purposes, words);
        self.withdraw_all();
        self.output.frames.clear();
    }

    /// The conversation is left. The agent is asked to stop before it ends.
    pub fn abandon(&mut self, purposes: Vec<Purpose<P>>, reason: &str, at: Instant) {
        self.output.frames.clear();
        self.stop();
        self.settle(purposes, reason);
        let effects = self.turns.abandon(reason);
        self.effects(effects, at);
        self.withdraw_all();
    }

    /// Asks the agent to stop before it ends. The outcome is nobody's.
    pub fn stop(&mut self) {
        if self.turns.is_working() {
            let turn = self.turns.current().cloned();
            if let Some(frame) = self.protocol.interrupt(turn.as_ref()) {
                self.send(frame, Purpose::None);
            }
        }
    }

    fn effects(&mut self, effects: Vec<Effect>, at: Instant) {
        for effect in effects {
            match effect {
                Effect::Report(report) => {
                    let delivered = matches!(report, Report::Delivered(_));
                    self.report(report);
                    if delivered {
                        self.protocol(at, |protocol, _, steps| protocol.delivered(steps));
                    }
                }
                Effect::Prompt(prompt) => {
                    let mut steps = Steps::default();
                    let frame = self.protocol.prompt(&prompt.turn, &prompt.text, &mut steps);
                    self.steps(steps, at);
                    self.send(frame, Purpose::Prompt(prompt.turn));
                }
                Effect::Interrupt(turn) => self.interrupt(turn),
                // Prompts wait for a person, not for the agent.
                Effect::InterruptOccupation if self.questions.is_open(OWN_QUESTION) => {
                    self.report(Report::Did(Deed::Interrupt, Ok(())));
                }
                Effect::InterruptOccupation => match self.protocol.interrupt(None) {
                    Some(frame) => {
                        self.turns.interrupt_occupation(at);
                        self.turns.interrupt_sent();
                        self.send(frame, Purpose::Interrupt(None));
                    }
                    None => self.report(Report::Did(Deed::Interrupt, Ok(()))),
                },
                Effect::Discard(turn) => self.output.discards.push(turn),
                Effect::Close => {
                    let mut steps = Steps::default();
                    self.protocol.close(&mut steps);
                    self.steps(steps, at);
                    self.withdraw_all();
                }
            }
        }
    }

    fn interrupt(&mut self, turn: Option<TurnId>) {
        let Some(frame) = self.protocol.interrupt(turn.as_ref()) else { return };
        if self.turns.current() == turn.as_ref() {
            self.turns.interrupt_sent();
        }
        self.send(frame, Purpose::Interrupt(turn));
        // Questions that the agent does not withdraw by itself are closed on its side, then on ours.
        let protocol = &self.protocol;
        let closed = self.questions.take_if(|ask| protocol.abandon(ask).is_some());
        for (keys, ask) in closed {
            self.withdraw(keys, &ask);
        }
    }

    fn withdraw_all(&mut self) {
        for (keys, ask) in self.questions.take_all() {
            self.withdraw(keys, &ask);
        }
    }

    fn withdraw(&mut self, keys: Vec<String>, ask: &P::Ask) {
        if let Some(frame) = self.protocol.abandon(ask) {
            self.send(frame, Purpose::None);
        }
        keys.into_iter().for_each(|key| self.report(Report::Withdrew(key)));
    }

    fn steps(&mut self, steps: Steps<P>, at: Instant) {
        let mut changed = false;
        for step in steps.0 {
            match step {
                Step::Report(report) => self.report(report),
                Step::Once(level, text) => {
                    if self.told.len() >= MAX_TOLD {
                        self.told.clear();
                    }
                    let mut hasher = DefaultHasher::new();
                    text.hash(&mut hasher);
                    if self.told.insert(hasher.finish()) {
                        self.report(Report::Notice(level, text));
                    }
                }
                Step::Submitted(turn) => {
                    let effects = self.turns.submitted(&turn);
                    self.effects(effects, at);
                }
                Step::Begun => {
                    let effects = self.turns.begun();
                    self.effects(effects, at);
                }
                Step::OwnWork => {
                    let effects = self.turns.own_work();
                    self.effects(effects, at);
                }
                Step::Ended(outcome) => {
                    let effects = self.turns.ended(outcome);
                    self.effects(effects, at);
                }
                Step::Occupied(occupied) => {
                    let effects = self.turns.occupy(occupied);
                    self.effects(effects, at);
                }
                Step::Ask { id, ask, questions } => {
                    let asked = self.questions.open(id, ask, questions);
                    asked.into_iter().for_each(|(key, question)| self.report(Report::Asked { key, question }));
                }
                Step::Withdraw(id) => {
                    if let Some(keys) = self.questions.withdraw(&id) {
                        keys.into_iter().for_each(|key| self.report(Report::Withdrew(key)));
                    }
                }
                Step::Ready => {
                    changed = true;
                    self.report(Report::Ready(self.protocol.capabilities()));
                }
                Step::Reconnect => self.output.reconnects = true,
                Step::Send(frame) => self.send(frame, Purpose::None),
                Step::Request(frame, tag) => self.send(frame, Purpose::Own(tag)),
                Step::Called(id, outcome) => self.called(id, outcome),
                Step::Aside(id, work) => self.output.asides.push((id, work)),
            }
        }
        if changed {
            self.guard_mode(at);
        }
    }
}

fn now<'a, A>(turns: &'a Turns, questions: &Questions<A>, at: Instant) -> Now<'a> {
    Now {
        at,
        turn: turns.current(),
        working: turns.is_working(),
        busy: turns.is_busy(),
        prompted: turns.has_prompt(),
        interrupted: turns.is_interrupted(),
        asked: !questions.is_empty(),
    }
}
