//! Driver logic without IO, the same for all agents: handles orders, messages and replies, and returns reports, frames
//! and background calls.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{AckedOrder, Call, Order, Report, TurnOutcome};
use wh_core::space::item::NoticeLevel;
use wh_core::space::question::{Answer, Question};
use wh_pipe::link::LinkEvent;

use super::machine_output::MachineOutput;
use super::outbox::{FramePurpose, WriteOutcome as Written};
use super::presentable::presentable;
use super::protocol::{AgentSetting, DriverState, DriverStep, DriverSteps, Protocol, ProtocolFrame, RequestFailure};
use super::questions::{AnswerOutcome, OpenQuestions};
use super::turn::{Prompt, TurnEffect, TurnMachine};
use crate::interface::ALLOW_SKIPPING;

/// Maximum number of notices remembered for deduplication. Beyond the limit, a notice may be shown again.
const MAX_SHOWN_ONCE: usize = 1024;

/// Error for an answer that the agent did not read in time.
const NOT_READ_YET: &str = "the agent does not read its input; the answer will be sent when the agent reads again";

/// Error for an answer to a question that is no longer open.
const NOT_OPEN: &str = "the question is no longer open";

/// Id of the question that wh itself asks about the conversation. Ids from agents are not empty.
const OWN_QUESTION: &str = "";

/// Next action of the driver after an order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OrderOutcome {
    Continue,
    End,
    /// Start a new conversation. Contains the id of the call that requested this.
    Restart(u64),
}

pub(crate) struct DriverMachine<P: Protocol> {
    pub protocol: P,
    pub turns: TurnMachine,
    questions: OpenQuestions<P::PendingQuestion>,
    calls: BTreeSet<u64>,
    /// Keys of answered questions whose outcome the protocol has not reported yet, oldest first.
    typed_answers: VecDeque<String>,
    /// Hashes of notices that were shown and must not be repeated.
    shown_once: HashSet<u64>,
    may_skip: bool,
    /// Mode that skips permissions and that the agent was asked to leave.
    mode_being_left: Option<String>,
    output: MachineOutput<P>,
}

impl<P: Protocol> DriverMachine<P> {
    pub fn new(protocol: P, may_skip: bool) -> Self {
        let turns = TurnMachine::new(protocol.title(), protocol.acknowledges_interrupts());
        Self {
            protocol,
            turns,
            questions: OpenQuestions::default(),
            calls: BTreeSet::new(),
            typed_answers: VecDeque::new(),
            shown_once: HashSet::new(),
            may_skip,
            mode_being_left: None,
            output: MachineOutput::default(),
        }
    }

    /// Takes the actions accumulated since the last call.
    pub fn take(&mut self) -> MachineOutput<P> {
        std::mem::take(&mut self.output)
    }

    /// Returns the time at which [`tick`](Self::tick) must be called.
    pub fn deadline(&self, at: Instant) -> Option<Instant> {
        let wakes = self.protocol.wake_at(self.now(at));
        [self.turns.deadline(), wakes].into_iter().flatten().min()
    }

    fn now(&self, at: Instant) -> DriverState<'_> {
        now(&self.turns, &self.questions, at)
    }

    /// Calls a method of the protocol and applies its steps.
    fn protocol(&mut self, at: Instant, work: impl FnOnce(&mut P, DriverState<'_>, &mut DriverSteps<P>)) {
        let mut steps = DriverSteps::default();
        work(&mut self.protocol, now(&self.turns, &self.questions, at), &mut steps);
        self.steps(steps, at);
    }

    /// Queues a report. Removes internal ids and escape sequences from notices and error texts.
    fn report(&mut self, report: Report) {
        let clean = |text: String| presentable(&self.protocol.redact_ids(&text));
        let report = match report {
            Report::Notice(level, text) => Report::Notice(level, clean(text)),
            Report::Acked(order, Err(why)) => Report::Acked(order, Err(clean(why))),
            Report::Called(id, Err(why)) => Report::Called(id, Err(clean(why))),
            Report::Ended(turn, TurnOutcome::Failed(why)) => Report::Ended(turn, TurnOutcome::Failed(clean(why))),
            Report::Warned(turn, why) => Report::Warned(turn, clean(why)),
            Report::SelfEnded(TurnOutcome::Failed(why)) => Report::SelfEnded(TurnOutcome::Failed(clean(why))),
            other => other,
        };
        self.output.reports.push(report);
    }

    fn warn(&mut self, text: String) {
        self.report(Report::Notice(NoticeLevel::Warning, text));
    }

    fn send(&mut self, frame: ProtocolFrame<P>, purpose: FramePurpose<P>) {
        self.output.frames.push((frame, purpose));
    }

    /// Handles a completed handshake: reports that the agent is ready, then sends the initial reports.
    pub fn connected(
        &mut self,
        initial_reports: Vec<Report>,
        own_question: Option<(P::PendingQuestion, Question)>,
        restart: Option<u64>,
        at: Instant,
    ) {
        self.mode_being_left = None;
        self.report(Report::Ready(self.protocol.capabilities()));
        initial_reports.into_iter().for_each(|report| self.report(report));
        if let Some(call) = restart {
            self.report(Report::Called(call, Ok(Value::Null)));
        }
        self.guard_mode(at);
        let mut steps = DriverSteps::default();
        steps.push(DriverStep::Occupied(own_question.is_some()));
        if let Some((ask, question)) = own_question {
            steps.push(DriverStep::Ask { id: OWN_QUESTION.to_owned(), ask, questions: vec![question] });
        }
        self.steps(steps, at);
    }

    /// Handles an order from the owner of the harness.
    pub fn order(&mut self, order: Order, at: Instant) -> OrderOutcome {
        match order {
            Order::Prompt { turn, text, attachments, .. } => {
                if !attachments.is_empty() {
                    let title = self.protocol.title();
                    self.warn(format!("{title} does not support attachments; name the files in the message"));
                }
                let effects = self.turns.prompt(Prompt { turn, text });
                self.effects(effects, at);
            }
            Order::Answer { question, answer } => self.answer(question, answer, at),
            Order::Interrupt => {
                let effects = self.turns.interrupt(at);
                let cancels = effects.iter().any(|effect| matches!(effect, TurnEffect::Report(Report::Ended(..))));
                self.effects(effects, at);
                if cancels {
                    self.ask_again();
                }
            }
            Order::SetModel(model) => self.choose(AgentSetting::Model(model), true),
            Order::SetMode(mode) => match self.protocol.check_mode(&mode) {
                Ok(()) => self.choose(AgentSetting::Mode(mode), true),
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    self.report_setting(&AgentSetting::Mode(mode), Err(format!("{error}{hint}")));
                }
            },
            Order::Call { id, call: Call::Restart } => return OrderOutcome::Restart(id),
            Order::Call { id, call } => {
                self.calls.insert(id);
                self.protocol(at, |protocol, now, steps| protocol.run_call(id, call, now, steps));
            }
            Order::End => return OrderOutcome::End,
        }
        OrderOutcome::Continue
    }

    /// Asks wh's own question again under a new key. An interrupt that cancels prompts closes all questions in the
    /// space, but later prompts still wait for the answer to this question.
    fn ask_again(&mut self) {
        let own = self.questions.reopen(OWN_QUESTION);
        for (old, new, question) in own {
            self.report(Report::Withdrew(old));
            self.report(Report::Asked { key: new, question });
        }
    }

    fn answer(&mut self, key: String, answer: Answer, at: Instant) {
        let protocol = &self.protocol;
        let objection = |ask: &P::PendingQuestion, part: usize, answer: &_| protocol.objection(ask, part, answer);
        match self.questions.answer(&key, answer, objection) {
            AnswerOutcome::NotOpen => self.report(Report::Acked(AckedOrder::Answer(key), Err(NOT_OPEN.to_owned()))),
            AnswerOutcome::Objection { why, question } => {
                self.warn(why.clone());
                self.report(Report::Acked(AckedOrder::Answer(key.clone()), Err(why)));
                self.report(Report::Asked { key, question });
            }
            // The agent receives the answers when all parts of the question are answered.
            AnswerOutcome::Incomplete => self.report(Report::Acked(AckedOrder::Answer(key), Ok(()))),
            AnswerOutcome::Complete { ask, answers } => {
                let mut steps = DriverSteps::default();
                if answers
                    .first()
                    .is_some_and(|(_, answer)| self.protocol.answer_own_question(&ask, answer, &mut steps))
                {
                    self.report(Report::Acked(AckedOrder::Answer(key), Ok(())));
                    return self.steps(steps, at);
                }
                let frame = self.protocol.answer(ask, answers, &mut steps);
                self.send(frame, FramePurpose::Answer(key));
                self.steps(steps, at);
            }
        }
    }

    fn choose(&mut self, setting: AgentSetting, ordered: bool) {
        match self.protocol.setting_request(&setting) {
            Some(frame) => self.send(frame, FramePurpose::Choice { setting, ordered }),
            None => self.report_setting(&setting, Ok(())),
        }
    }

    /// Reports the outcome of a model or mode change.
    fn report_setting(&mut self, setting: &AgentSetting, outcome: Result<(), String>) {
        if let Err(why) = &outcome {
            self.warn(why.clone());
        }
        self.report(Report::Ready(self.protocol.capabilities()));
        self.report(Report::Acked(setting.acked_order(), outcome));
    }

    /// Leaves a mode that skips permissions, unless such modes are allowed. If the agent has no other mode, the agent
    /// can no longer be used.
    fn guard_mode(&mut self, at: Instant) {
        if self.may_skip {
            return;
        }
        let skipping = self.protocol.skipping_mode();
        if skipping == self.mode_being_left {
            return;
        }
        self.mode_being_left.clone_from(&skipping);
        let Some(mode) = skipping else { return };
        let problem = format!("{} is in mode {mode:?}, which skips permissions", self.protocol.title());
        let fix = format!("to allow mode {mode:?}, {ALLOW_SKIPPING}");
        let Some(careful) = self.protocol.careful_mode() else {
            self.output.fatal = Some(format!("{problem}, and has no other mode; {fix}"));
            return;
        };
        self.warn(format!("{problem}; switching to mode {careful:?} ({fix})"));
        match self.protocol.enter_careful_mode(&careful) {
            Some(frame) => {
                self.send(frame, FramePurpose::Choice { setting: AgentSetting::Mode(careful), ordered: false })
            }
            None => self.steps(DriverSteps(vec![DriverStep::Ready]), at),
        }
    }

    /// Handles a message, a skipped line or a line of standard error.
    pub fn event(&mut self, event: LinkEvent<P::Codec>, at: Instant) {
        match event {
            LinkEvent::Message(message) => {
                self.protocol(at, |protocol, now, steps| protocol.on_message(message, now, steps));
            }
            LinkEvent::Skipped { bytes } => {
                let title = self.protocol.title();
                self.warn(format!("{title} wrote a line of {bytes} bytes, which is too long; the line was skipped"));
            }
            LinkEvent::Stderr(line) => {
                self.protocol(at, |protocol, _, steps| protocol.on_stderr_line(&line, steps));
            }
            LinkEvent::Reply(..) | LinkEvent::Closed(_) => {}
        }
    }

    /// Handles the outcome of writing a frame.
    pub fn frame_finished(&mut self, purpose: &FramePurpose<P>, outcome: &Written, at: Instant) {
        match purpose {
            FramePurpose::Prompt(turn) => match outcome {
                Written::Written if self.protocol.confirms_delivery() => {}
                Written::Written => {
                    let effects = self.turns.written(turn);
                    self.effects(effects, at);
                }
                Written::Unwritable(why) if self.turns.current() == Some(turn) => {
                    let effects = self.turns.unwritable(why);
                    self.effects(effects, at);
                }
                // The exit of the process is reported separately and decides the outcome of the turn.
                _ => {}
            },
            FramePurpose::Interrupt(turn) => {
                if *outcome == Written::Written {
                    self.turns.interrupt_written(turn.as_ref());
                }
            }
            FramePurpose::Answer(key) if *outcome == Written::Written && self.protocol.confirms_delivery() => {
                self.typed_answers.push_back(key.clone());
            }
            FramePurpose::Answer(key) => {
                let ack = match outcome {
                    Written::Written => Ok(()),
                    Written::NotOpen => Err(NOT_OPEN.to_owned()),
                    Written::NotReading => Err(NOT_READ_YET.to_owned()),
                    Written::Unwritable(why) | Written::Gone(why) => Err(why.clone()),
                };
                self.settle_answer(key.clone(), ack);
            }
            FramePurpose::Choice { .. } | FramePurpose::Own(_) | FramePurpose::None => {}
        }
    }

    /// Acknowledges an answer with its outcome.
    fn settle_answer(&mut self, key: String, outcome: Result<(), String>) {
        if let Err(why) = &outcome {
            self.report(Report::Notice(NoticeLevel::Error, format!("the answer was not delivered: {why}")));
        }
        self.report(Report::Acked(AckedOrder::Answer(key), outcome));
    }

    /// Handles the reply to a request, or its failure.
    pub fn replied(
        &mut self,
        purpose: FramePurpose<P>,
        reply: Result<Value, RequestFailure<P::ErrorReply>>,
        at: Instant,
    ) {
        match purpose {
            FramePurpose::Prompt(turn) => {
                self.protocol(at, |protocol, now, steps| protocol.on_prompt_reply(&turn, reply, now, steps));
            }
            FramePurpose::Interrupt(turn) => {
                if let (Ok(reply), true) = (&reply, self.turns.current() == turn.as_ref()) {
                    self.protocol(at, |protocol, now, steps| protocol.on_interrupt_reply(reply, now, steps));
                }
                let outcome = reply.map(drop).map_err(|failure| self.protocol.failure_text(&failure));
                self.turns.interrupt_answered(turn.as_ref(), outcome);
            }
            FramePurpose::Choice { setting, ordered } => {
                let outcome = self.protocol.on_setting_reply(&setting, reply);
                if ordered {
                    self.report_setting(&setting, outcome);
                } else {
                    self.report(Report::Ready(self.protocol.capabilities()));
                    if let (Err(why), Some(mode)) = (outcome, &self.mode_being_left) {
                        let title = self.protocol.title();
                        self.output.fatal =
                            Some(format!("{title} stays in mode {mode:?}, which skips permissions: {why}"));
                    }
                }
                self.guard_mode(at);
            }
            FramePurpose::Own(tag) => {
                self.protocol(at, |protocol, now, steps| protocol.on_reply(tag, reply, now, steps));
            }
            FramePurpose::Answer(_) | FramePurpose::None => {}
        }
    }

    /// Handles the result of a background call.
    pub fn called(&mut self, id: u64, outcome: Result<Value, String>) {
        if self.calls.remove(&id) {
            self.report(Report::Called(id, outcome));
        }
    }

    /// Handles deadlines that have passed.
    pub fn tick(&mut self, at: Instant) {
        let effects = self.turns.overdue(at);
        self.effects(effects, at);
        if self.protocol.wake_at(self.now(at)).is_some_and(|wakes| wakes <= at) {
            self.protocol(at, Protocol::on_wake);
        }
    }

    /// Handles the end of the process. Returns the prompts that were not delivered.
    pub fn process_lost(&mut self, reason: &str, unwritten: Vec<FramePurpose<P>>, at: Instant) -> Vec<Prompt> {
        self.settle(unwritten, reason);
        let (effects, unsent) = self.turns.agent_exited(reason);
        self.effects(effects, at);
        self.withdraw_all();
        // The process that would read the frames is gone.
        self.output.frames.clear();
        unsent
    }

    /// Fails all calls and orders that have no outcome yet.
    fn settle(&mut self, purposes: Vec<FramePurpose<P>>, reason: &str) {
        for key in std::mem::take(&mut self.typed_answers) {
            self.report(Report::Acked(AckedOrder::Answer(key), Err(reason.to_owned())));
        }
        for call in std::mem::take(&mut self.calls) {
            self.report(Report::Called(call, Err(reason.to_owned())));
        }
        for purpose in purposes {
            match purpose {
                FramePurpose::Choice { setting, ordered: true } => {
                    self.report(Report::Acked(setting.acked_order(), Err(reason.to_owned())));
                }
                FramePurpose::Answer(key) => {
                    self.report(Report::Acked(AckedOrder::Answer(key), Err(reason.to_owned())))
                }
                _ => {}
            }
        }
    }

    /// Handles the replacement of the process. Prompts that wait are sent to the next process.
    pub fn process_replaced(&mut self, purposes: Vec<FramePurpose<P>>, reason: &str) {
        self.settle(purposes, reason);
        self.withdraw_all();
        self.output.frames.clear();
    }

    /// Abandons the conversation: interrupts the agent, and fails all prompts, calls and orders. The driver then ends
    /// the process.
    pub fn abandon(&mut self, purposes: Vec<FramePurpose<P>>, reason: &str, at: Instant) {
        self.output.frames.clear();
        self.stop();
        self.settle(purposes, reason);
        let effects = self.turns.abandon(reason);
        self.effects(effects, at);
        self.withdraw_all();
    }

    /// Interrupts the agent before the driver ends its process. The outcome of the interrupt is not reported.
    pub fn stop(&mut self) {
        if self.turns.is_working() {
            let turn = self.turns.current().cloned();
            if let Some(frame) = self.protocol.interrupt(turn.as_ref()) {
                self.send(frame, FramePurpose::None);
            }
        }
    }

    fn effects(&mut self, effects: Vec<TurnEffect>, at: Instant) {
        for effect in effects {
            match effect {
                TurnEffect::Report(report) => {
                    let delivered = matches!(report, Report::Delivered(_));
                    self.report(report);
                    if delivered {
                        self.protocol(at, |protocol, _, steps| protocol.on_prompt_delivered(steps));
                    }
                }
                TurnEffect::Prompt(prompt) => {
                    let mut steps = DriverSteps::default();
                    let frame = self.protocol.prompt(&prompt.turn, &prompt.text, &mut steps);
                    self.steps(steps, at);
                    self.send(frame, FramePurpose::Prompt(prompt.turn));
                }
                TurnEffect::Interrupt(turn) => self.interrupt(turn),
                // Prompts wait for the user's answer to wh's own question. The agent does nothing that could be
                // interrupted.
                TurnEffect::InterruptOccupation if self.questions.is_open(OWN_QUESTION) => {
                    self.report(Report::Acked(AckedOrder::Interrupt, Ok(())));
                }
                TurnEffect::InterruptOccupation => match self.protocol.interrupt(None) {
                    Some(frame) => {
                        self.turns.interrupt_occupation(at);
                        self.turns.interrupt_queued();
                        self.send(frame, FramePurpose::Interrupt(None));
                    }
                    None => self.report(Report::Acked(AckedOrder::Interrupt, Ok(()))),
                },
                TurnEffect::Discard(turn) => self.output.discards.push(turn),
                TurnEffect::Close => {
                    let mut steps = DriverSteps::default();
                    self.protocol.finish_items(&mut steps);
                    self.steps(steps, at);
                    self.withdraw_all();
                }
            }
        }
    }

    fn interrupt(&mut self, turn: Option<TurnId>) {
        let Some(frame) = self.protocol.interrupt(turn.as_ref()) else { return };
        if self.turns.current() == turn.as_ref() {
            self.turns.interrupt_queued();
        }
        self.send(frame, FramePurpose::Interrupt(turn));
        // Dismisses the questions that the agent would not withdraw on its own.
        let protocol = &self.protocol;
        let closed = self.questions.take_if(|ask| protocol.dismissal_frame(ask).is_some());
        for (keys, ask) in closed {
            self.withdraw(keys, &ask);
        }
    }

    fn withdraw_all(&mut self) {
        for (keys, ask) in self.questions.take_all() {
            self.withdraw(keys, &ask);
        }
    }

    fn withdraw(&mut self, keys: Vec<String>, ask: &P::PendingQuestion) {
        if let Some(frame) = self.protocol.dismissal_frame(ask) {
            self.send(frame, FramePurpose::None);
        }
        keys.into_iter().for_each(|key| self.report(Report::Withdrew(key)));
    }

    fn steps(&mut self, steps: DriverSteps<P>, at: Instant) {
        let mut changed = false;
        for step in steps.0 {
            match step {
                DriverStep::Report(report) => self.report(report),
                DriverStep::NoticeOnce(level, text) => {
                    if self.shown_once.len() >= MAX_SHOWN_ONCE {
                        self.shown_once.clear();
                    }
                    let mut hasher = DefaultHasher::new();
                    text.hash(&mut hasher);
                    if self.shown_once.insert(hasher.finish()) {
                        self.report(Report::Notice(level, text));
                    }
                }
                DriverStep::Delivered(turn) => {
                    let effects = self.turns.written(&turn);
                    self.effects(effects, at);
                }
                DriverStep::AnswerSettled(outcome) => {
                    if let Some(key) = self.typed_answers.pop_front() {
                        self.settle_answer(key, outcome);
                    }
                }
                DriverStep::Submitted(turn) => {
                    let effects = self.turns.submitted(&turn);
                    self.effects(effects, at);
                }
                DriverStep::Begun => {
                    let effects = self.turns.begun();
                    self.effects(effects, at);
                }
                DriverStep::OwnWorkBegun => {
                    let effects = self.turns.own_work();
                    self.effects(effects, at);
                }
                DriverStep::Ended(outcome) => {
                    let effects = self.turns.ended(outcome);
                    self.effects(effects, at);
                }
                DriverStep::Occupied(occupied) => {
                    let effects = self.turns.occupy(occupied);
                    self.effects(effects, at);
                }
                DriverStep::Ask { id, ask, questions } => {
                    let asked = self.questions.open(id, ask, questions);
                    asked.into_iter().for_each(|(key, question)| self.report(Report::Asked { key, question }));
                }
                DriverStep::Withdraw(id) => {
                    if let Some(keys) = self.questions.withdraw(&id) {
                        keys.into_iter().for_each(|key| self.report(Report::Withdrew(key)));
                    }
                }
                DriverStep::Ready => {
                    changed = true;
                    self.report(Report::Ready(self.protocol.capabilities()));
                }
                DriverStep::Reconnect => self.output.reconnects = true,
                DriverStep::Send(frame) => self.send(frame, FramePurpose::None),
                DriverStep::Request(frame, tag) => self.send(frame, FramePurpose::Own(tag)),
                DriverStep::Called(id, outcome) => self.called(id, outcome),
                DriverStep::RunInBackground(id, work) => self.output.background_calls.push((id, work)),
            }
        }
        if changed {
            self.guard_mode(at);
        }
    }
}

fn now<'a, A>(turns: &'a TurnMachine, questions: &OpenQuestions<A>, at: Instant) -> DriverState<'a> {
    DriverState {
        at,
        turn: turns.current(),
        working: turns.is_working(),
        busy: turns.is_busy(),
        prompted: turns.has_prompt(),
        interrupted: turns.is_interrupted(),
        asked: !questions.is_empty(),
    }
}
