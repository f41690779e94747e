//! Codex's app-server on the driver: orders become requests, notifications become steps.

mod notices;
mod setup;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Outcome, Report};
use wh_core::space::item::{Level, ToolStatus};
use wh_core::space::question::{Answer, Question};
use wh_pipe::Launch;
use wh_wire::codex::{self as wire, Settings, Started, Thread, ThreadStatus};

use super::items::Items;
use super::modes::{self, Mode};
use super::questions::Open;
use super::{LOG_IN, TITLE};
use crate::driver::{Failure, FrameOf, MessageOf, Now, Protocol, Setting, Step, Steps};
use crate::port::{Start, StartError};
use crate::rpc::{Frame, JsonRpc, RpcError, RpcLink};

pub(super) use setup::place;

/// A request of the protocol's own.
#[derive(Debug)]
pub(super) enum Tag {
    /// The reason of a refusal, passed on within the turn.
    Steered,
    /// The conversation is made shorter, for the call of this number.
    Compact(u64),
    /// A new conversation is begun, for the call of this number; this one is left.
    Clear(u64, String),
    /// State of the conversation, asked in the silence that began at this time.
    Look(Instant),
}

/// The turn under way, as Codex knows it.
#[derive(Debug)]
struct Turn {
    id: TurnId,
    /// The choices that it was to bring into the conversation.
    sent: Choice,
    /// Codex's name for it; known from its reply, or from its first message if that comes sooner.
    native: Option<String>,
    /// The reply has come.
    replied: bool,
}

/// Work that has to be over before the next prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    Compacting,
    Clearing,
}

/// Choices for the turns from now on; the rest is Codex's.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub model: Option<String>,
    pub mode: Option<&'static Mode>,
}

impl Choice {
    pub fn settings(&self) -> Settings<'_> {
        Settings {
            model: self.model.as_deref(),
            approval_policy: self.mode.map(|mode| mode.approval_policy),
            sandbox: self.mode.map(|mode| mode.sandbox),
            approvals_reviewer: self.mode.map(|_| modes::PERSON),
        }
    }

    /// The same for a conversation that begins: a person is asked, whatever its configuration says, unless it may skip that.
    pub fn beginning(&self, may_skip: bool) -> Settings<'_> {
        let settings = self.settings();
        Settings {
            approvals_reviewer: settings.approvals_reviewer.or((!may_skip).then_some(modes::PERSON)),
            ..settings
        }
    }
}

/// Codex.
pub(super) struct CodexProtocol {
    pub(super) launch: Launch,
    pub(super) start: Start,
    /// The link to the process, for requests beside the conversation.
    link: Option<RpcLink>,
    /// Longest time without a message in a turn while Codex works on nothing.
    silence: Duration,
    /// Codex's name for the conversation; empty before there is one.
    pub(super) thread: String,
    /// Something was said in it: only then it can be resumed.
    spoken: bool,
    /// It was resumed or spoken in before: if it cannot be resumed now, a new one begins.
    again: bool,
    status: ThreadStatus,
    /// The settings that hold in the conversation.
    holds: Started,
    pub(super) capabilities: Capabilities,
    pub(super) version: Option<String>,
    /// All choices, for a new conversation.
    pub(super) choice: Choice,
    /// Choices that the conversation does not have yet.
    pending: Choice,
    /// The choices before the ones that Codex has not answered yet.
    before: Choice,
    turn: Option<Turn>,
    /// Turns that were given up, with Codex's name once that is known.
    strays: Vec<(TurnId, String)>,
    /// Turns that ended while the reply to ours was on its way.
    early: Vec<wire::Turn>,
    pub(super) busy: Option<Busy>,
    items: Items,
    heard: Instant,
}

/// An error in words, with what to do about it where that is known.
pub(super) fn in_words(text: &str, about_login: bool) -> String {
    let about_login = about_login
        || ["401 Unauthorized", "not logged in", "Not logged in", "codex login"].iter().any(|word| text.contains(word));
    if about_login { format!("{text}; {LOG_IN}") } else { text.to_owned() }
}

/// True if Codex does not know a method. It says so with a number of its own.
pub(super) fn is_unknown(error: &RpcError) -> bool {
    let named = matches!(error, RpcError::Refused { message, .. } if message.contains("unknown variant"));
    named || error.is_unknown_method()
}

impl CodexProtocol {
    pub fn new(launch: Launch, start: Start, mode: Option<&'static Mode>, silence: Duration) -> Self {
        Self {
            choice: Choice { model: start.model.clone(), mode },
            launch,
            start,
            link: None,
            silence,
            thread: String::new(),
            spoken: false,
            again: false,
            status: ThreadStatus::Unknown,
            holds: Started::default(),
            capabilities: Capabilities::default(),
            version: None,
            pending: Choice::default(),
            before: Choice::default(),
            turn: None,
            strays: Vec::new(),
            early: Vec::new(),
            busy: None,
            items: Items::default(),
            heard: Instant::now(),
        }
    }

    pub(super) fn link(&self) -> Option<RpcLink> {
        self.link.clone()
    }

    /// The name to resume the conversation by.
    fn resume_id(&self) -> Report {
        Report::Kept(self.spoken.then(|| self.thread.clone()))
    }

    fn native_of(&self, turn: &TurnId) -> Option<&String> {
        match &self.turn {
            Some(current) if current.id == *turn => current.native.as_ref(),
            _ => self.strays.iter().find(|(stray, _)| stray == turn).map(|(_, native)| native),
        }
    }

    /// Codex is free for the next prompt.
    fn free(&mut self, steps: &mut Steps<Self>) {
        self.busy = None;
        steps.push(Step::Occupied(false));
    }

    /// Silence for long. A turn that Codex does not work on any more has lost its end.
    fn silent(&mut self, now: Now<'_>, steps: &mut Steps<Self>) {
        self.heard = now.at;
        if now.asked {
            return;
        }
        if self.status == ThreadStatus::Active {
            let look = Frame::request("thread/read", wire::look(&self.thread));
            return steps.push(Step::Request(look, Tag::Look(now.at)));
        }
        if self.turn.is_none() {
            return self.compacted(false, steps);
        }
        let long = self.silence;
        let words = format!("{TITLE} has said nothing for {long:?} and works on nothing: the end of the turn was lost");
        self.end_turn(Outcome::Failed(words), steps);
    }

    /// The state of the conversation after a long silence: it is worked on, or the news of its end was lost.
    fn looked(&mut self, since: Instant, reply: Option<Value>, now: Now<'_>, steps: &mut Steps<Self>) {
        if self.heard != since || self.status != ThreadStatus::Active {
            return;
        }
        match reply.and_then(|reply| Thread::of(&reply)) {
            Some(thread) if thread.status != ThreadStatus::Active => {
                self.status = thread.status;
                self.silent(now, steps);
            }
            _ if self.items.any_open() || self.turn.is_none() => {}
            _ => {
                let long = self.silence;
                let words =
                    format!("{TITLE} has said nothing for {long:?}, and not that it is done; Esc interrupts it");
                steps.push(Step::Once(Level::Warning, words));
            }
        }
    }

    /// Makes choices again that went with a prompt which Codex has not taken, unless there are newer ones.
    fn choose_again(&mut self, sent: Choice) {
        self.pending.model = self.pending.model.take().or(sent.model);
        self.pending.mode = self.pending.mode.or(sent.mode);
    }

    fn end_turn(&mut self, outcome: Outcome, steps: &mut Steps<Self>) {
        self.turn = None;
        steps.ended(outcome);
    }

    pub(super) fn refusal(&self, what: &str, failure: &Failure<RpcError>) -> String {
        match failure {
            Failure::Refused(error) if is_unknown(error) => format!("this version of {TITLE} cannot {what}"),
            failure => self.words(failure),
        }
    }

    /// Notes the model and the mode in use. Newer choices count more.
    fn note(&mut self, settings: &Started) {
        self.holds = settings.clone();
        let mode = self.pending.mode.or(modes::of(settings)).map(|mode| mode.id.to_owned());
        let model = self.pending.model.clone().or_else(|| settings.model.clone());
        self.capabilities.mode = mode;
        self.capabilities.model = model.or(self.capabilities.model.take());
    }
}

impl Protocol for CodexProtocol {
    type Codec = JsonRpc;
    type Refusal = RpcError;
    type Ask = Open;
    type Tag = Tag;

    fn title(&self) -> &str {
        TITLE
    }

    fn acknowledges_interrupts(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn words(&self, failure: &Failure<RpcError>) -> String {
        failure.words(|refusal| in_words(&refusal.to_string(), false))
    }

    fn discreet(&self, text: &str) -> String {
        self.start.discreet(text, Some(&self.thread))
    }

    fn said(&mut self, message: MessageOf<Self>, now: Now<'_>, steps: &mut Steps<Self>) {
        self.heard = now.at;
        self.incoming(message, now, steps);
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, _steps: &mut Steps<Self>) -> FrameOf<Self> {
        let sent = std::mem::take(&mut self.pending);
        let params = wire::turn(&self.thread, text, &sent.settings());
        self.heard = Instant::now();
        self.early.clear();
        self.turn = Some(Turn { id: turn.clone(), sent, native: None, replied: false });
        Frame::request("turn/start", params)
    }

    fn delivered(&mut self, steps: &mut Steps<Self>) {
        if !std::mem::replace(&mut self.spoken, true) {
            steps.report(self.resume_id());
        }
    }

    fn prompt_replied(
        &mut self,
        id: &TurnId,
        reply: Result<Value, Failure<RpcError>>,
        _now: Now<'_>,
        steps: &mut Steps<Self>,
    ) {
        let native = |reply: &Value| wire::Turn::read(&reply["turn"]).map(|turn| turn.id);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == *id) else {
            // One that was given up is not to run.
            if let Some(native) = reply.ok().as_ref().and_then(native) {
                self.strays.push((id.clone(), native));
                steps.push(Step::Submitted(id.clone()));
            }
            return;
        };
        turn.replied = true;
        match reply {
            Ok(reply) => {
                turn.native = native(&reply).or(turn.native.take());
                let ended = self.early.iter().position(|early| Some(&early.id) == turn.native.as_ref());
                steps.push(Step::Submitted(id.clone()));
                if let Some(ended) = ended {
                    let ended = self.early.swap_remove(ended);
                    steps.begun();
                    self.turn_ended(ended, steps);
                }
            }
            Err(failure) => {
                let sent = std::mem::take(&mut turn.sent);
                self.choose_again(sent);
                let words = self.words(&failure);
                self.end_turn(Outcome::Failed(words), steps);
            }
        }
    }

    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<FrameOf<Self>> {
        let native = self.native_of(turn?)?;
        let frame = Frame::request("turn/interrupt", wire::interrupt(&self.thread, native));
        self.strays.retain(|(stray, _)| Some(stray) != turn);
        Some(frame)
    }

    fn close(&mut self, steps: &mut Steps<Self>) {
        if let Some(turn) = self.turn.take().filter(|turn| !turn.replied) {
            self.choose_again(turn.sent);
        }
        steps.reports(self.items.end());
    }

    fn objection(&self, ask: &Open, part: usize, answer: &Answer) -> Option<String> {
        ask.objection(part, answer)
    }

    fn answer(&mut self, ask: Open, answers: Vec<(Question, Answer)>, steps: &mut Steps<Self>) -> FrameOf<Self> {
        let answers: Vec<Answer> = answers.into_iter().map(|(_, answer)| answer).collect();
        let reply = ask.answer(&answers);
        if reply.allows
            && let Some(report) = ask.item().and_then(|item| self.items.waits(item, ToolStatus::Running))
        {
            steps.report(report);
        }
        let native = self.turn.as_ref().and_then(|turn| turn.native.as_ref());
        // A refusal takes no words: they are said in the same turn.
        if let Some((reason, native)) = reply.reason.as_ref().zip(native) {
            let steer = Frame::request("turn/steer", wire::steer(&self.thread, native, reason));
            steps.push(Step::Request(steer, Tag::Steered));
        }
        Frame::Answer { id: ask.id, result: reply.result }
    }

    fn allows(&self, mode: &str) -> Result<(), StartError> {
        modes::find(mode, self.start.may_skip_permissions).map(drop)
    }

    /// A choice holds from the next turn on; where Codex takes it for the conversation too, it has it at once.
    fn choose(&mut self, setting: &Setting) -> Option<FrameOf<Self>> {
        match setting {
            Setting::Model(model) => {
                self.before.model.clone_from(&self.choice.model);
                self.capabilities.model = Some(model.clone());
                (self.choice.model, self.pending.model) = (Some(model.clone()), Some(model.clone()));
            }
            Setting::Mode(mode) => {
                let mode = modes::find(mode, true).ok()?;
                self.before.mode = self.choice.mode;
                self.capabilities.mode = Some(mode.id.to_owned());
                (self.choice.mode, self.pending.mode) = (Some(mode), Some(mode));
            }
        }
        let params = wire::settings(&self.thread, &self.pending.settings());
        Some(Frame::request("thread/settings/update", params))
    }

    fn chosen(&mut self, setting: &Setting, outcome: Result<Value, Failure<RpcError>>) -> Result<(), String> {
        let refused = match outcome {
            Err(Failure::Refused(error)) if !is_unknown(&error) => error.to_string(),
            // Where Codex cannot take it at once, it waits for the next turn.
            _ => return Ok(()),
        };
        let before = self.before.clone();
        match setting {
            Setting::Model(model) if self.choice.model.as_ref() == Some(model) => {
                self.capabilities.model.clone_from(&before.model);
                self.pending.model.clone_from(&before.model);
                self.choice.model = before.model;
            }
            Setting::Mode(mode) if self.choice.mode.is_some_and(|chosen| chosen.id == mode) => {
                self.capabilities.mode = before.mode.map(|mode| mode.id.to_owned());
                (self.pending.mode, self.choice.mode) = (before.mode, before.mode);
            }
            _ => {}
        }
        Err(refused)
    }

    fn skipping_mode(&self) -> Option<String> {
        let is_sent = self.turn.as_ref().is_some_and(|turn| turn.sent.mode.is_some());
        if self.pending.mode.is_some() || is_sent || !modes::skips(&self.holds) {
            return None;
        }
        Some(modes::of(&self.holds).map_or("custom", |mode| mode.id).to_owned())
    }

    fn careful_mode(&self) -> Option<String> {
        Some(modes::instead(&self.holds).id.to_owned())
    }

    fn enter_careful_mode(&mut self, _mode: &str) -> Option<FrameOf<Self>> {
        let mode = modes::instead(&self.holds);
        (self.pending.mode, self.choice.mode) = (Some(mode), Some(mode));
        self.capabilities.mode = Some(mode.id.to_owned());
        None
    }

    fn call(&mut self, id: u64, call: Call, now: Now<'_>, steps: &mut Steps<Self>) {
        self.carry_out(id, call, now, steps);
    }

    fn replied(&mut self, tag: Tag, reply: Result<Value, Failure<RpcError>>, now: Now<'_>, steps: &mut Steps<Self>) {
        match tag {
            Tag::Steered => {
                if let Err(failure) = reply {
                    steps.warn(format!("the reason was not passed on: {}", self.words(&failure)));
                }
            }
            Tag::Compact(id) => match reply {
                Ok(_) => steps.called(id, Ok(Value::Null)),
                Err(failure) => {
                    steps.called(id, Err(self.refusal("make a conversation shorter", &failure)));
                    self.free(steps);
                }
            },
            Tag::Clear(id, old) => {
                let outcome = match reply.as_ref().map(Started::read) {
                    Ok(Some(started)) => {
                        self.thread.clone_from(&started.thread.id);
                        (self.status, self.spoken) = (started.thread.status, false);
                        steps.report(self.resume_id());
                        self.holds(&started, steps);
                        // Whether it still tells of the old one does not matter: nobody listens.
                        let leave = Frame::request("thread/unsubscribe", json!({ "threadId": old }));
                        steps.push(Step::Send(leave));
                        Ok(Value::Null)
                    }
                    Ok(None) => Err(format!("{TITLE} names no conversation")),
                    Err(failure) => Err(self.words(failure)),
                };
                steps.called(id, outcome);
                self.free(steps);
            }
            Tag::Look(since) => self.looked(since, reply.ok(), now, steps),
        }
    }

    fn wakes_at(&self, now: Now<'_>) -> Option<Instant> {
        (now.turn.is_some() || self.busy.is_some()).then(|| self.heard + self.silence)
    }

    fn woke(&mut self, now: Now<'_>, steps: &mut Steps<Self>) {
        self.silent(now, steps);
    }

    fn lost(&mut self) -> bool {
        (self.turn, self.busy, self.link) = (None, None, None);
        self.strays.clear();
        self.again = true;
        self.spoken
    }

    fn forget(&mut self) {
        (self.turn, self.busy, self.link) = (None, None, None);
        (self.again, self.spoken) = (true, false);
        self.thread.clear();
        self.start.resume = None;
    }
}
