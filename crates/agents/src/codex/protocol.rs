//! Implements the driver's [`Protocol`] for Codex's app-server: translates orders into requests, and Codex's
//! notifications into steps for the driver.

mod notices;
mod setup;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::{NoticeLevel, ToolStatus};
use wh_core::space::question::{Answer, Question};
use wh_pipe::LaunchSpec;
use wh_wire::codex::{self as wire, CodexThread, StartedThread, ThreadSettings, ThreadStatus};

use super::items::CodexItems;
use super::modes::{self, CodexMode};
use super::questions::PendingCodexRequest;
use super::{LOG_IN, TITLE};
use crate::driver::{
    AgentSetting, DriverState, DriverStep, DriverSteps, Protocol, ProtocolFrame, ProtocolMessage, RequestFailure,
};
use crate::interface::{AgentStartError, StartOptions};
use crate::rpc::{JsonRpc, RpcError, RpcFrame, RpcLink};

pub(super) use setup::canonical_path;

/// Purpose of a Codex-specific request, stored to handle the reply.
#[derive(Debug)]
pub(super) enum CodexRequestTag {
    /// Request that sends the reason for a denial to the model during the turn.
    Steered,
    /// Request that compacts the conversation. Contains the id of the call to complete.
    Compact(u64),
    /// Request that starts a new conversation. Contains the id of the call to complete, and the id of the previous
    /// thread.
    Clear(u64, String),
    /// Request for the state of the thread after a long silence. Contains the time of the request.
    ReadThread(Instant),
}

/// Current turn, with the id that Codex assigned.
#[derive(Debug)]
struct ActiveTurn {
    id: TurnId,
    /// Model and mode sent with the prompt of the turn.
    sent: TurnSettings,
    /// Id that Codex assigned to the turn. Known from the reply to the prompt or from the first message of the turn,
    /// whichever arrives first.
    native: Option<String>,
    /// True after the reply to the prompt has arrived.
    replied: bool,
}

/// Operation that must finish before the next prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodexOperation {
    Compacting,
    Clearing,
}

/// Model and mode for the following turns. Codex chooses a value for each field that is `None`.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnSettings {
    pub model: Option<String>,
    pub mode: Option<&'static CodexMode>,
}

impl TurnSettings {
    pub fn settings(&self) -> ThreadSettings<'_> {
        ThreadSettings {
            model: self.model.as_deref(),
            approval_policy: self.mode.map(|mode| mode.approval_policy),
            sandbox: self.mode.map(|mode| mode.sandbox),
            approvals_reviewer: self.mode.map(|_| modes::USER_REVIEWER),
        }
    }

    /// Returns the settings of a new conversation. Unless permissions may be skipped, the user is the reviewer of
    /// approvals, regardless of Codex's configuration.
    pub fn beginning(&self, may_skip: bool) -> ThreadSettings<'_> {
        let settings = self.settings();
        ThreadSettings {
            approvals_reviewer: settings.approvals_reviewer.or((!may_skip).then_some(modes::USER_REVIEWER)),
            ..settings
        }
    }
}

/// State of the Codex protocol in one harness.
pub(super) struct CodexProtocol {
    pub(super) launch: LaunchSpec,
    pub(super) start: StartOptions,
    /// Link to the process, for requests outside of the conversation.
    link: Option<RpcLink>,
    /// Time without messages during a turn after which wh checks the state of Codex. If Codex is idle then, the message
    /// about the end of the turn was lost.
    silence: Duration,
    /// Id that Codex assigned to the conversation; empty before the conversation is open.
    pub(super) thread: String,
    /// True if the conversation has a prompt. Codex cannot resume a conversation without prompts.
    has_prompts: bool,
    /// True if a previous process had a conversation. If that conversation cannot be resumed, a new one starts.
    had_conversation: bool,
    status: ThreadStatus,
    /// Settings that Codex reports for the conversation.
    settings_in_effect: StartedThread,
    pub(super) capabilities: ReportedCapabilities,
    pub(super) version: Option<String>,
    /// Model and mode that the user has chosen. They also apply to new conversations.
    pub(super) choice: TurnSettings,
    /// Model and mode that the user has chosen but that are not yet applied to the conversation.
    pending: TurnSettings,
    /// Model and mode before the latest change. They are restored if Codex rejects the change.
    previous: TurnSettings,
    turn: Option<ActiveTurn>,
    /// Abandoned turns with the ids that Codex assigned.
    abandoned: Vec<(TurnId, String)>,
    /// Turns that ended before the reply to the current prompt arrived.
    early_ends: Vec<wire::CodexTurn>,
    pub(super) busy: Option<CodexOperation>,
    items: CodexItems,
    last_message_at: Instant,
}

/// Adds the login hint to an error about authentication.
pub(super) fn with_login_hint(text: &str, about_login: bool) -> String {
    let about_login = about_login
        || ["401 Unauthorized", "not logged in", "Not logged in", "codex login"].iter().any(|word| text.contains(word));
    if about_login { format!("{text}; {LOG_IN}") } else { text.to_owned() }
}

/// Returns true if the error means that Codex does not know the method. Codex then reports an unknown enum variant.
pub(super) fn is_unknown(error: &RpcError) -> bool {
    let named = matches!(error, RpcError::Refused { message, .. } if message.contains("unknown variant"));
    named || error.is_unknown_method()
}

impl CodexProtocol {
    pub fn new(launch: LaunchSpec, start: StartOptions, mode: Option<&'static CodexMode>, silence: Duration) -> Self {
        Self {
            choice: TurnSettings { model: start.model.clone(), mode },
            launch,
            start,
            link: None,
            silence,
            thread: String::new(),
            has_prompts: false,
            had_conversation: false,
            status: ThreadStatus::Unknown,
            settings_in_effect: StartedThread::default(),
            capabilities: ReportedCapabilities::default(),
            version: None,
            pending: TurnSettings::default(),
            previous: TurnSettings::default(),
            turn: None,
            abandoned: Vec::new(),
            early_ends: Vec::new(),
            busy: None,
            items: CodexItems::default(),
            last_message_at: Instant::now(),
        }
    }

    pub(super) fn link(&self) -> Option<RpcLink> {
        self.link.clone()
    }

    /// Builds the report of the conversation's resume id.
    fn resume_id(&self) -> Report {
        Report::ResumeId(self.has_prompts.then(|| self.thread.clone()))
    }

    fn native_of(&self, turn: &TurnId) -> Option<&String> {
        match &self.turn {
            Some(current) if current.id == *turn => current.native.as_ref(),
            _ => self.abandoned.iter().find(|(id, _)| id == turn).map(|(_, native)| native),
        }
    }

    /// Ends the operation in progress and allows the next prompt.
    fn finish_operation(&mut self, steps: &mut DriverSteps<Self>) {
        self.busy = None;
        steps.push(DriverStep::Occupied(false));
    }

    /// Handles a long silence, unless a question is open. If Codex has reported that it is working, requests the state
    /// of the thread. Otherwise, the message about the end of the turn was lost: the turn or the compaction fails.
    fn on_silence(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.last_message_at = now.at;
        if now.asked {
            return;
        }
        if self.status == ThreadStatus::Active {
            let look = RpcFrame::request("thread/read", wire::read_thread(&self.thread));
            return steps.push(DriverStep::Request(look, CodexRequestTag::ReadThread(now.at)));
        }
        if self.turn.is_none() {
            return self.compacted(false, steps);
        }
        let long = self.silence;
        let text = format!(
            "{TITLE} has sent nothing for {long:?} and is idle; the message about the end of the turn was lost"
        );
        self.end_turn(TurnOutcome::Failed(text), steps);
    }

    /// Handles the state of the thread, which was requested after a long silence. If the thread is not active, the
    /// message about the end of the turn was lost, and the turn fails. If the thread is active but no item of the turn
    /// is in progress, warns the user.
    fn on_thread_state(
        &mut self,
        since: Instant,
        reply: Option<Value>,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        if self.last_message_at != since || self.status != ThreadStatus::Active {
            return;
        }
        match reply.and_then(|reply| CodexThread::of(&reply)) {
            Some(thread) if thread.status != ThreadStatus::Active => {
                self.status = thread.status;
                self.on_silence(now, steps);
            }
            _ if self.items.any_open() || self.turn.is_none() => {}
            _ => {
                let long = self.silence;
                let text = format!(
                    "{TITLE} has sent nothing for {long:?} but has not reported the end of the turn; \
                     press Esc to interrupt the turn"
                );
                steps.push(DriverStep::NoticeOnce(NoticeLevel::Warning, text));
            }
        }
    }

    /// Restores the model and mode that were sent with a rejected prompt, unless the user has chosen others since then.
    fn restore_choices(&mut self, sent: TurnSettings) {
        self.pending.model = self.pending.model.take().or(sent.model);
        self.pending.mode = self.pending.mode.or(sent.mode);
    }

    fn end_turn(&mut self, outcome: TurnOutcome, steps: &mut DriverSteps<Self>) {
        self.turn = None;
        steps.ended(outcome);
    }

    pub(super) fn refusal(&self, what: &str, failure: &RequestFailure<RpcError>) -> String {
        match failure {
            RequestFailure::Refused(error) if is_unknown(error) => format!("this version of {TITLE} cannot {what}"),
            failure => self.failure_text(failure),
        }
    }

    /// Records the model and mode in use. The reported capabilities contain pending choices instead, if there are any.
    fn record_settings(&mut self, settings: &StartedThread) {
        self.settings_in_effect = settings.clone();
        let mode = self.pending.mode.or(modes::matching(settings)).map(|mode| mode.id.to_owned());
        let model = self.pending.model.clone().or_else(|| settings.model.clone());
        self.capabilities.mode = mode;
        self.capabilities.model = model.or(self.capabilities.model.take());
    }
}

impl Protocol for CodexProtocol {
    type Codec = JsonRpc;
    type ErrorReply = RpcError;
    type PendingQuestion = PendingCodexRequest;
    type Tag = CodexRequestTag;

    fn title(&self) -> &str {
        TITLE
    }

    fn acknowledges_interrupts(&self) -> bool {
        true
    }

    fn capabilities(&self) -> ReportedCapabilities {
        self.capabilities.clone()
    }

    fn failure_text(&self, failure: &RequestFailure<RpcError>) -> String {
        failure.describe(|refusal| with_login_hint(&refusal.to_string(), false))
    }

    fn redact_ids(&self, text: &str) -> String {
        self.start.redact_ids(text, Some(&self.thread))
    }

    fn on_message(&mut self, message: ProtocolMessage<Self>, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.last_message_at = now.at;
        self.incoming(message, now, steps);
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, _steps: &mut DriverSteps<Self>) -> ProtocolFrame<Self> {
        let sent = std::mem::take(&mut self.pending);
        let params = wire::turn(&self.thread, text, &sent.settings());
        self.last_message_at = Instant::now();
        self.early_ends.clear();
        self.turn = Some(ActiveTurn { id: turn.clone(), sent, native: None, replied: false });
        RpcFrame::request("turn/start", params)
    }

    fn on_prompt_delivered(&mut self, steps: &mut DriverSteps<Self>) {
        if !std::mem::replace(&mut self.has_prompts, true) {
            steps.report(self.resume_id());
        }
    }

    fn on_prompt_reply(
        &mut self,
        id: &TurnId,
        reply: Result<Value, RequestFailure<RpcError>>,
        _now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        let native = |reply: &Value| wire::CodexTurn::read(&reply["turn"]).map(|turn| turn.id);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == *id) else {
            // The turn was abandoned before Codex accepted its prompt. The driver interrupts the turn.
            if let Some(native) = reply.ok().as_ref().and_then(native) {
                self.abandoned.push((id.clone(), native));
                steps.push(DriverStep::Submitted(id.clone()));
            }
            return;
        };
        turn.replied = true;
        match reply {
            Ok(reply) => {
                turn.native = native(&reply).or(turn.native.take());
                let ended = self.early_ends.iter().position(|early| Some(&early.id) == turn.native.as_ref());
                steps.push(DriverStep::Submitted(id.clone()));
                if let Some(ended) = ended {
                    let ended = self.early_ends.swap_remove(ended);
                    steps.begun();
                    self.turn_ended(ended, steps);
                }
            }
            Err(failure) => {
                let sent = std::mem::take(&mut turn.sent);
                self.restore_choices(sent);
                let text = self.failure_text(&failure);
                self.end_turn(TurnOutcome::Failed(text), steps);
            }
        }
    }

    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<ProtocolFrame<Self>> {
        let native = self.native_of(turn?)?;
        let frame = RpcFrame::request("turn/interrupt", wire::interrupt(&self.thread, native));
        self.abandoned.retain(|(id, _)| Some(id) != turn);
        Some(frame)
    }

    fn finish_items(&mut self, steps: &mut DriverSteps<Self>) {
        if let Some(turn) = self.turn.take().filter(|turn| !turn.replied) {
            self.restore_choices(turn.sent);
        }
        steps.reports(self.items.end());
    }

    fn objection(&self, ask: &PendingCodexRequest, part: usize, answer: &Answer) -> Option<String> {
        ask.objection(part, answer)
    }

    fn answer(
        &mut self,
        ask: PendingCodexRequest,
        answers: Vec<(Question, Answer)>,
        steps: &mut DriverSteps<Self>,
    ) -> ProtocolFrame<Self> {
        let answers: Vec<Answer> = answers.into_iter().map(|(_, answer)| answer).collect();
        let reply = ask.answer(&answers);
        if reply.allows
            && let Some(report) = ask.item().and_then(|item| self.items.set_call_status(item, ToolStatus::Running))
        {
            steps.report(report);
        }
        let native = self.turn.as_ref().and_then(|turn| turn.native.as_ref());
        // The reply to an approval request cannot contain a reason, so the reason is sent as input to the same turn.
        if let Some((reason, native)) = reply.reason.as_ref().zip(native) {
            let steer = RpcFrame::request("turn/steer", wire::steer(&self.thread, native, reason));
            steps.push(DriverStep::Request(steer, CodexRequestTag::Steered));
        }
        RpcFrame::Answer { id: ask.id, result: reply.result }
    }

    fn check_mode(&self, mode: &str) -> Result<(), AgentStartError> {
        modes::find(mode, self.start.may_skip_permissions).map(drop)
    }

    /// Requests a change of the thread's settings that takes effect at once. If Codex does not support this request,
    /// the change takes effect with the next turn.
    fn setting_request(&mut self, setting: &AgentSetting) -> Option<ProtocolFrame<Self>> {
        match setting {
            AgentSetting::Model(model) => {
                self.previous.model.clone_from(&self.choice.model);
                self.capabilities.model = Some(model.clone());
                (self.choice.model, self.pending.model) = (Some(model.clone()), Some(model.clone()));
            }
            AgentSetting::Mode(mode) => {
                let mode = modes::find(mode, true).ok()?;
                self.previous.mode = self.choice.mode;
                self.capabilities.mode = Some(mode.id.to_owned());
                (self.choice.mode, self.pending.mode) = (Some(mode), Some(mode));
            }
        }
        let params = wire::settings(&self.thread, &self.pending.settings());
        Some(RpcFrame::request("thread/settings/update", params))
    }

    fn on_setting_reply(
        &mut self,
        setting: &AgentSetting,
        outcome: Result<Value, RequestFailure<RpcError>>,
    ) -> Result<(), String> {
        let refused = match outcome {
            Err(RequestFailure::Refused(error)) if !is_unknown(&error) => error.to_string(),
            // A change that Codex cannot apply now is sent with the next prompt.
            _ => return Ok(()),
        };
        let before = self.previous.clone();
        match setting {
            AgentSetting::Model(model) if self.choice.model.as_ref() == Some(model) => {
                self.capabilities.model.clone_from(&before.model);
                self.pending.model.clone_from(&before.model);
                self.choice.model = before.model;
            }
            AgentSetting::Mode(mode) if self.choice.mode.is_some_and(|chosen| chosen.id == mode) => {
                self.capabilities.mode = before.mode.map(|mode| mode.id.to_owned());
                (self.pending.mode, self.choice.mode) = (before.mode, before.mode);
            }
            _ => {}
        }
        Err(refused)
    }

    fn skipping_mode(&self) -> Option<String> {
        let is_sent = self.turn.as_ref().is_some_and(|turn| turn.sent.mode.is_some());
        if self.pending.mode.is_some() || is_sent || !modes::skips(&self.settings_in_effect) {
            return None;
        }
        Some(modes::matching(&self.settings_in_effect).map_or("custom", |mode| mode.id).to_owned())
    }

    fn careful_mode(&self) -> Option<String> {
        Some(modes::replacement(&self.settings_in_effect).id.to_owned())
    }

    fn enter_careful_mode(&mut self, _mode: &str) -> Option<ProtocolFrame<Self>> {
        let mode = modes::replacement(&self.settings_in_effect);
        (self.pending.mode, self.choice.mode) = (Some(mode), Some(mode));
        self.capabilities.mode = Some(mode.id.to_owned());
        None
    }

    fn run_call(&mut self, id: u64, call: Call, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.run_command(id, call, now, steps);
    }

    fn on_reply(
        &mut self,
        tag: CodexRequestTag,
        reply: Result<Value, RequestFailure<RpcError>>,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        match tag {
            CodexRequestTag::Steered => {
                if let Err(failure) = reply {
                    steps.warn(format!(
                        "the reason for the denial was not sent to the model: {}",
                        self.failure_text(&failure)
                    ));
                }
            }
            CodexRequestTag::Compact(id) => match reply {
                Ok(_) => steps.called(id, Ok(Value::Null)),
                Err(failure) => {
                    steps.called(id, Err(self.refusal("compact a conversation", &failure)));
                    self.finish_operation(steps);
                }
            },
            CodexRequestTag::Clear(id, old) => {
                let outcome = match reply.as_ref().map(StartedThread::read) {
                    Ok(Some(started)) => {
                        self.thread.clone_from(&started.thread.id);
                        (self.status, self.has_prompts) = (started.thread.status, false);
                        steps.report(self.resume_id());
                        self.update_settings(&started, steps);
                        // The reply does not matter, because messages of the old thread are ignored anyway.
                        let leave = RpcFrame::request("thread/unsubscribe", json!({ "threadId": old }));
                        steps.push(DriverStep::Send(leave));
                        Ok(Value::Null)
                    }
                    Ok(None) => Err(format!("{TITLE} returned no conversation id")),
                    Err(failure) => Err(self.failure_text(failure)),
                };
                steps.called(id, outcome);
                self.finish_operation(steps);
            }
            CodexRequestTag::ReadThread(since) => self.on_thread_state(since, reply.ok(), now, steps),
        }
    }

    fn wake_at(&self, now: DriverState<'_>) -> Option<Instant> {
        (now.turn.is_some() || self.busy.is_some()).then(|| self.last_message_at + self.silence)
    }

    fn on_wake(&mut self, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.on_silence(now, steps);
    }

    fn on_process_end(&mut self) -> bool {
        (self.turn, self.busy, self.link) = (None, None, None);
        self.abandoned.clear();
        self.had_conversation = true;
        self.has_prompts
    }

    fn forget_conversation(&mut self) {
        (self.turn, self.busy, self.link) = (None, None, None);
        (self.had_conversation, self.has_prompts) = (true, false);
        self.thread.clear();
        self.start.resume = None;
    }
}
