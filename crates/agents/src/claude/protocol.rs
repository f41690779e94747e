//! Implements the driver's [`Protocol`] for Claude Code: translates orders into frames, and Claude Code's messages into
//! steps for the driver.

mod messages;
mod setup;

use serde_json::Value;
use wh_claude::{ClaudeFrame, Connection, Options, StreamJson, protocol};
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, ReportedCapabilities, TurnOutcome, Usage};
use wh_core::space::item::ToolStatus;
use wh_core::space::question::{Answer, Question};
use wh_wire::claude::ReplyError;

use super::calls::Checkpoint;
use super::items::ClaudeItems;
use super::questions::PendingClaudeRequest;
use super::{MODES, TITLE, mode_of, skips_permissions};
use crate::driver::{
    AgentSetting, DriverState, DriverStep, DriverSteps, Protocol, ProtocolFrame, ProtocolMessage, RequestFailure,
};
use crate::interface::{AgentStartError, StartOptions};
use crate::program::Program;

/// State of Claude Code's protocol in one harness.
pub(super) struct ClaudeProtocol {
    options: Options,
    pub(super) program: Program,
    pub(super) start: StartOptions,
    /// Link to the process, for requests outside of the conversation.
    connection: Option<Connection>,
    /// Id that Claude Code assigned to the conversation; known from the first turn on.
    session: Option<String>,
    /// True after the history of the resumed conversation was reported.
    history_reported: bool,
    pub(super) capabilities: ReportedCapabilities,
    pub(super) version: Option<String>,
    pub(super) checkpoints: Vec<Checkpoint>,
    items: ClaudeItems,
    denied: Vec<String>,
    usage: Usage,
    /// Cost of the earlier processes of this harness, in US dollars.
    earlier_cost: f64,
    /// Number of outputs of local commands so far, used in their item keys.
    outputs: u64,
    /// Message id of the prompt in progress.
    current: Option<String>,
    /// Name of the slash command if the current prompt is a slash command.
    slash_command: Option<String>,
    /// Id of the call whose slash command was sent. The call completes when Claude Code starts to run the command.
    pending_command_call: Option<u64>,
    /// Call id and slash command that wait until Claude Code reports that it is idle. Claude Code may report this later
    /// than the result of a turn.
    held_command: Option<(u64, String)>,
    /// True if Claude Code reports that it is running or idle. Older versions do not report this state. With them, the
    /// result of a turn means that Claude Code is idle.
    reports_state: bool,
}

impl ClaudeProtocol {
    pub fn new(options: Options, program: Program, start: StartOptions) -> Self {
        Self {
            options,
            program,
            start,
            connection: None,
            session: None,
            history_reported: false,
            capabilities: ReportedCapabilities::default(),
            version: None,
            checkpoints: Vec::new(),
            items: ClaudeItems::default(),
            denied: Vec::new(),
            usage: Usage::default(),
            earlier_cost: 0.0,
            outputs: 0,
            current: None,
            slash_command: None,
            pending_command_call: None,
            held_command: None,
            reports_state: false,
        }
    }

    pub(super) fn connection(&self) -> Option<Connection> {
        self.connection.clone()
    }

    /// Runs a slash command of Claude Code for the call with this id. The call fails during a turn, or if another
    /// command waits. If the turn has ended but Claude Code is not idle yet, the command waits.
    pub(super) fn run_slash_command(
        &mut self,
        id: u64,
        command: &str,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        if now.working || now.prompted || self.held_command.is_some() {
            return steps.called(id, Err(format!("{TITLE} is busy; interrupt it or wait")));
        }
        if now.busy {
            self.held_command = Some((id, command.to_owned()));
            return;
        }
        self.send_command(id, command, steps);
    }

    fn send_command(&mut self, id: u64, command: &str, steps: &mut DriverSteps<Self>) {
        self.pending_command_call = Some(id);
        steps.push(DriverStep::OwnWorkBegun);
        let content = protocol::UserContent::Text(command.to_owned());
        steps.push(DriverStep::Send(protocol::UserInput::from(content).into()));
    }

    /// Handles a message that shows that Claude Code is working.
    fn begun(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        if let Some(id) = self.pending_command_call.take() {
            steps.called(id, Ok(Value::Null));
        } else if now.turn.is_some() {
            steps.begun();
        } else if !now.working && self.reports_state {
            steps.push(DriverStep::OwnWorkBegun);
        }
    }

    /// Handles the report that Claude Code is idle: ends work that Claude Code began on its own, runs a slash command
    /// that waits, and allows the next prompt.
    fn on_idle(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        // The turn of a prompt ends with its result, which may arrive later.
        if now.turn.is_none() && now.working {
            steps.ended(if now.interrupted { TurnOutcome::Cancelled } else { TurnOutcome::Completed });
        }
        // A waiting slash command runs before waiting prompts.
        match self.held_command.take() {
            Some((id, _)) if now.interrupted => steps.called(id, Err("interrupted".to_owned())),
            Some((id, command)) => self.send_command(id, &command, steps),
            None => {}
        }
        steps.push(DriverStep::Occupied(false));
    }

    /// Records the mode that Claude Code reports. Returns true if the mode changed.
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

    /// Applies the current model and mode to the start options of the next process.
    fn apply_choices_to_next_start(&mut self) {
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
        self.apply_choices_to_next_start();
        self.earlier_cost = self.usage.cost.unwrap_or(self.earlier_cost);
        (self.current, self.slash_command, self.pending_command_call, self.connection) = (None, None, None, None);
        self.held_command = None;
        self.reports_state = false;
    }
}

impl Protocol for ClaudeProtocol {
    type Codec = StreamJson;
    type ErrorReply = ReplyError;
    type PendingQuestion = PendingClaudeRequest;
    type Tag = ();

    fn title(&self) -> &str {
        TITLE
    }

    fn acknowledges_interrupts(&self) -> bool {
        true
    }

    fn capabilities(&self) -> ReportedCapabilities {
        self.capabilities.clone()
    }

    fn failure_text(&self, failure: &RequestFailure<ReplyError>) -> String {
        failure.describe(|refusal| match refusal.code.as_deref() {
            Some("unsupported_request") => {
                format!("this version of {TITLE} does not support the request: {}", refusal.message)
            }
            _ => format!("{TITLE} refused: {}", refusal.message),
        })
    }

    fn redact_ids(&self, text: &str) -> String {
        self.start.redact_ids(text, self.session.as_deref())
    }

    fn on_message(&mut self, message: ProtocolMessage<Self>, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.event(message, now, steps);
    }

    fn prompt(&mut self, _turn: &TurnId, text: &str, _steps: &mut DriverSteps<Self>) -> ProtocolFrame<Self> {
        let checkpoint = Checkpoint::new(text);
        let uuid = checkpoint.uuid.clone();
        let content = protocol::UserContent::Text(text.to_owned());
        let input = protocol::UserInput { uuid: Some(uuid.clone()), ..protocol::UserInput::from(content) };
        self.checkpoints.push(checkpoint);
        self.slash_command =
            text.trim_start().strip_prefix('/').and_then(|rest| rest.split_whitespace().next()).map(str::to_owned);
        self.current = Some(uuid);
        input.into()
    }

    fn interrupt(&mut self, _turn: Option<&TurnId>) -> Option<ProtocolFrame<Self>> {
        // `cancel_queued` also cancels a prompt that Claude Code has read but not started.
        Some(ClaudeFrame::Request(protocol::ClientRequest::Interrupt { cancel_queued: Some(true) }))
    }

    fn on_interrupt_reply(&mut self, reply: &Value, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let reply: protocol::InterruptReply = serde_json::from_value(reply.clone()).unwrap_or_default();
        let taken_back = self.current.as_ref().is_some_and(|uuid| reply.cancelled.contains(uuid));
        if now.turn.is_some() && taken_back {
            steps.ended(TurnOutcome::Cancelled);
        }
    }

    fn finish_items(&mut self, steps: &mut DriverSteps<Self>) {
        steps.reports(self.items.end());
        self.denied.clear();
        (self.current, self.slash_command) = (None, None);
        if let Some(id) = self.pending_command_call.take() {
            steps.called(id, Ok(Value::Null));
        }
    }

    fn objection(&self, ask: &PendingClaudeRequest, _part: usize, answer: &Answer) -> Option<String> {
        ask.objection(answer)
    }

    fn answer(
        &mut self,
        ask: PendingClaudeRequest,
        answers: Vec<(Question, Answer)>,
        steps: &mut DriverSteps<Self>,
    ) -> ProtocolFrame<Self> {
        let reply = ask.answer(&answers);
        let denied = matches!(&reply, protocol::Answer::Permission(protocol::PermissionResult::Deny { .. }));
        if let Some(call) = ask.tool_use_id() {
            if denied {
                self.denied.push(call.to_owned());
            } else if let Some(report) = self.items.set_call_status(call, ToolStatus::Running) {
                steps.report(report);
            }
        }
        ClaudeFrame::answer(&ask.ask.request_id, reply)
    }

    fn check_mode(&self, mode: &str) -> Result<(), AgentStartError> {
        mode_of(mode, self.start.may_skip_permissions).map(drop)
    }

    fn setting_request(&mut self, setting: &AgentSetting) -> Option<ProtocolFrame<Self>> {
        Some(ClaudeFrame::Request(match setting {
            AgentSetting::Model(model) => {
                protocol::ClientRequest::SetModel { model: (model != "default").then(|| model.clone()) }
            }
            AgentSetting::Mode(mode) => protocol::ClientRequest::SetPermissionMode { mode: mode_of(mode, true).ok()? },
        }))
    }

    fn on_setting_reply(
        &mut self,
        setting: &AgentSetting,
        outcome: Result<Value, RequestFailure<ReplyError>>,
    ) -> Result<(), String> {
        outcome.map_err(|failure| self.failure_text(&failure))?;
        match setting {
            AgentSetting::Model(model) => self.capabilities.model = Some(model.clone()),
            AgentSetting::Mode(mode) => self.capabilities.mode = Some(mode.clone()),
        }
        Ok(())
    }

    fn skipping_mode(&self) -> Option<String> {
        self.capabilities.mode.clone().filter(|mode| skips_permissions(mode))
    }

    fn careful_mode(&self) -> Option<String> {
        Some("default".to_owned())
    }

    fn run_call(&mut self, id: u64, call: Call, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.run_command(id, call, now, steps);
    }

    fn on_process_end(&mut self) -> bool {
        self.end_process();
        true
    }

    fn forget_conversation(&mut self) {
        self.end_process();
        self.options = self.options.clone().without_resume();
        (self.session, self.start.resume) = (None, None);
        self.checkpoints.clear();
        self.usage.context_tokens = None;
    }
}
