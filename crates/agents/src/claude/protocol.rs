//! Claude Code's control protocol on the driver: orders become frames, messages become steps.

mod messages;
mod setup;

use serde_json::Value;
use wh_claude::{Connection, Frame, Options, StreamJson, protocol};
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Outcome, Usage};
use wh_core::space::item::ToolStatus;
use wh_core::space::question::{Answer, Question};
use wh_wire::claude::Refusal;

use super::calls::Checkpoint;
use super::items::Items;
use super::questions::Open;
use super::{MODES, TITLE, mode_of, skips_permissions};
use crate::driver::{Failure, FrameOf, MessageOf, Now, Protocol, Setting, Step, Steps};
use crate::port::{Start, StartError};
use crate::program::Program;

/// Claude Code.
pub(super) struct ClaudeProtocol {
    options: Options,
    pub(super) program: Program,
    pub(super) start: Start,
    /// The link to the process, for requests beside the conversation.
    connection: Option<Connection>,
    /// Claude Code's name for the conversation; known from its first turn on.
    session: Option<String>,
    /// The history from before this start was reported.
    recalled: bool,
    pub(super) capabilities: Capabilities,
    pub(super) version: Option<String>,
    pub(super) checkpoints: Vec<Checkpoint>,
    items: Items,
    denied: Vec<String>,
    usage: Usage,
    /// Cost of earlier processes.
    paid: f64,
    /// Outputs of local commands so far.
    outputs: u64,
    /// The prompt under way, by the id that its message has.
    current: Option<String>,
    /// The text of the prompt under way, if it is a command.
    slash: Option<String>,
    /// The call that a command of Claude Code's own answers once it has begun.
    command: Option<u64>,
    /// A call and its command, held back until Claude Code says that it is idle: it does so some time after the result
    /// of a turn.
    held: Option<(u64, String)>,
    /// It says whether it works; versions that do not are taken at their results.
    says: bool,
}

impl ClaudeProtocol {
    pub fn new(options: Options, program: Program, start: Start) -> Self {
        Self {
            options,
            program,
            start,
            connection: None,
            session: None,
            recalled: false,
            capabilities: Capabilities::default(),
            version: None,
            checkpoints: Vec::new(),
            items: Items::default(),
            denied: Vec::new(),
            usage: Usage::default(),
            paid: 0.0,
            outputs: 0,
            current: None,
            slash: None,
            command: None,
            held: None,
            says: false,
        }
    }

    pub(super) fn connection(&self) -> Option<Connection> {
        self.connection.clone()
    }

    /// Has Claude Code carry out a command of its own, as a person would type it.
    pub(super) fn own_command(&mut self, id: u64, command: &str, now: Now<'_>, steps: &mut Steps<Self>) {
        if now.working || now.prompted || self.held.is_some() {
            return steps.called(id, Err(format!("{TITLE} is at work; interrupt it, or wait")));
        }
        if now.busy {
            self.held = Some((id, command.to_owned()));
            return;
        }
        self.send_command(id, command, steps);
    }

    fn send_command(&mut self, id: u64, command: &str, steps: &mut Steps<Self>) {
        self.command = Some(id);
        steps.push(Step::OwnWork);
        let content = protocol::UserContent::Text(command.to_owned());
        steps.push(Step::Send(protocol::UserInput::from(content).into()));
    }

    /// A sign that it works.
    fn begun(&mut self, now: Now<'_>, steps: &mut Steps<Self>) {
        if let Some(id) = self.command.take() {
            steps.called(id, Ok(Value::Null));
        } else if now.turn.is_some() {
            steps.begun();
        } else if !now.working && self.says {
            steps.push(Step::OwnWork);
        }
    }

    /// It rests: its own work is over, and a prompt that waits may come.
    fn rest(&mut self, now: Now<'_>, steps: &mut Steps<Self>) {
        // The result of a prompt is still to come.
        if now.turn.is_none() && now.working {
            steps.ended(if now.interrupted { Outcome::Cancelled } else { Outcome::Completed });
        }
        // It comes before prompts that wait.
        match self.held.take() {
            Some((id, _)) if now.interrupted => steps.called(id, Err("interrupted".to_owned())),
            Some((id, command)) => self.send_command(id, &command, steps),
            None => {}
        }
        steps.push(Step::Occupied(false));
    }

    /// Notes the mode that it says it is in; true if that is another one.
    fn note_mode(&mut self, mode: &protocol::PermissionMode) -> bool {
        let name = wh_claude::mode_name(mode);
        let name = if name == "manual" { "default".to_owned() } else { name };
        let known = MODES.iter().any(|(id, ..)| *id == name);
        let changed = known && self.capabilities.mode.as_ref() != Some(&name);
        if changed {
            self.capabilities.mode = Some(name);
        }
        changed
    }

    /// Choices hold for the next process, too.
    fn keep_choices(&mut self) {
        let options = self.options.clone();
        self.start.model.clone_from(&self.capabilities.model);
        self.start.mode.clone_from(&self.capabilities.mode);
        let model = self.capabilities.model.as_deref().filter(|model| *model != "default");
        let options = options.model_or_default(model);
        let mode = self.capabilities.mode.as_deref();
        let mode = mode.and_then(|mode| mode_of(mode, self.start.may_skip_permissions).ok());
        self.options = match mode {
            Some(mode) => options.permission_mode(mode),
            None => options,
        };
    }

    fn end_process(&mut self) {
        self.keep_choices();
        self.paid = self.usage.cost.unwrap_or(self.paid);
        (self.current, self.slash, self.command, self.connection) = (None, None, None, None);
        self.held = None;
        self.says = false;
    }
}

impl Protocol for ClaudeProtocol {
    type Codec = StreamJson;
    type Refusal = Refusal;
    type Ask = Open;
    type Tag = ();

    fn title(&self) -> &str {
        TITLE
    }

    fn acknowledges_interrupts(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn words(&self, failure: &Failure<Refusal>) -> String {
        failure.words(|refusal| match refusal.code.as_deref() {
            Some("unsupported_request") => {
                format!("this version of {TITLE} does not support that: {}", refusal.message)
            }
            _ => format!("{TITLE} refused: {}", refusal.message),
        })
    }

    fn discreet(&self, text: &str) -> String {
        self.start.discreet(text, self.session.as_deref())
    }

    fn said(&mut self, message: MessageOf<Self>, now: Now<'_>, steps: &mut Steps<Self>) {
        self.event(message, now, steps);
    }

    fn prompt(&mut self, _turn: &TurnId, text: &str, _steps: &mut Steps<Self>) -> FrameOf<Self> {
        let checkpoint = Checkpoint::new(text);
        let uuid = checkpoint.uuid.clone();
        let content = protocol::UserContent::Text(text.to_owned());
        let input = protocol::UserInput { uuid: Some(uuid.clone()), ..protocol::UserInput::from(content) };
        self.checkpoints.push(checkpoint);
        self.slash =
            text.trim_start().strip_prefix('/').and_then(|rest| rest.split_whitespace().next()).map(str::to_owned);
        self.current = Some(uuid);
        input.into()
    }

    fn interrupt(&mut self, _turn: Option<&TurnId>) -> Option<FrameOf<Self>> {
        // A prompt that it has read and not begun with is taken back.
        Some(Frame::Request(protocol::Request::Interrupt { cancel_queued: Some(true) }))
    }

    fn interrupted(&mut self, reply: &Value, now: Now<'_>, steps: &mut Steps<Self>) {
        let reply: protocol::InterruptReply = serde_json::from_value(reply.clone()).unwrap_or_default();
        let taken_back = self.current.as_ref().is_some_and(|uuid| reply.cancelled.contains(uuid));
        if now.turn.is_some() && taken_back {
            steps.ended(Outcome::Cancelled);
        }
    }

    fn close(&mut self, steps: &mut Steps<Self>) {
        steps.reports(self.items.end());
        self.denied.clear();
        (self.current, self.slash) = (None, None);
        if let Some(id) = self.command.take() {
            steps.called(id, Ok(Value::Null));
        }
    }

    fn objection(&self, ask: &Open, _part: usize, answer: &Answer) -> Option<String> {
        ask.objection(answer)
    }

    fn answer(&mut self, ask: Open, answers: Vec<(Question, Answer)>, steps: &mut Steps<Self>) -> FrameOf<Self> {
        let reply = ask.answer(&answers);
        let denied = matches!(&reply, protocol::Answer::Permission(protocol::PermissionResult::Deny { .. }));
        if let Some(call) = ask.tool_use_id() {
            if denied {
                self.denied.push(call.to_owned());
            } else if let Some(report) = self.items.waits(call, ToolStatus::Running) {
                steps.report(report);
            }
        }
        Frame::answer(&ask.ask.request_id, reply)
    }

    fn allows(&self, mode: &str) -> Result<(), StartError> {
        mode_of(mode, self.start.may_skip_permissions).map(drop)
    }

    fn choose(&mut self, setting: &Setting) -> Option<FrameOf<Self>> {
        Some(Frame::Request(match setting {
            Setting::Model(model) => protocol::Request::SetModel { model: (model != "default").then(|| model.clone()) },
            Setting::Mode(mode) => protocol::Request::SetPermissionMode { mode: mode_of(mode, true).ok()? },
        }))
    }

    fn chosen(&mut self, setting: &Setting, outcome: Result<Value, Failure<Refusal>>) -> Result<(), String> {
        outcome.map_err(|failure| self.words(&failure))?;
        match setting {
            Setting::Model(model) => self.capabilities.model = Some(model.clone()),
            Setting::Mode(mode) => self.capabilities.mode = Some(mode.clone()),
        }
        Ok(())
    }

    fn skipping_mode(&self) -> Option<String> {
        self.capabilities.mode.clone().filter(|mode| skips_permissions(mode))
    }

    fn careful_mode(&self) -> Option<String> {
        Some("default".to_owned())
    }

    fn call(&mut self, id: u64, call: Call, now: Now<'_>, steps: &mut Steps<Self>) {
        self.carry_out(id, call, now, steps);
    }

    fn lost(&mut self) -> bool {
        self.end_process();
        true
    }

    fn forget(&mut self) {
        self.end_process();
        self.options = self.options.clone().without_resume();
        (self.session, self.start.resume) = (None, None);
        self.checkpoints.clear();
        self.usage.context_tokens = None;
    }
}
