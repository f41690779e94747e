//! Implements the driver's [`Protocol`] for the Agent Client Protocol: translates orders into requests, and the agent's
//! updates into steps for the driver.

mod exchange_log;
mod model_errors;
mod refusals;
mod replay;
mod replay_wait;
mod replayed_messages;
mod setup;
mod updates;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use wh_core::space::TurnId;
use wh_core::space::harness::{AgentOption, Call, Report, ReportedCapabilities, TurnOutcome, Usage};
use wh_core::space::question::{Answer, Question};
use wh_pipe::LaunchSpec;
use wh_wire::acp::{PromptReply, SessionReply, StopReason, read};

use super::items::AcpItems;
use super::questions::PendingAcpRequest;
use super::settings::SessionSettings;
use super::table::AgentEntry;
use crate::driver::{
    AgentSetting, DriverState, DriverStep, DriverSteps, Protocol, ProtocolFrame, ProtocolMessage, RequestFailure,
};
use crate::interface::{AgentStartError, StartOptions};
use crate::rpc::{JsonRpc, RpcError, RpcFrame};
use exchange_log::ExchangeLog;

/// Names of the calls ([`Call`]) that wh supports for every ACP agent.
const CALLS: [&str; 2] = ["status", "restart"];

/// Option id: restore wh's copy of the conversation.
const RESTORE: &str = "restore";

/// Option id: start a new conversation with the text of the lost conversation as context.
const BEGIN_NEW: &str = "begin-anew";

/// Open question that the agent or wh has asked the user.
#[derive(Debug)]
pub(super) enum AcpQuestion {
    /// Question of the agent.
    Agent(PendingAcpRequest),
    /// Question that wh asks, because messages are missing from the resumed conversation.
    Incomplete,
}

/// State of the Agent Client Protocol in one harness.
pub(super) struct AcpProtocol {
    entry: Arc<AgentEntry>,
    launch: LaunchSpec,
    start: StartOptions,
    items: AcpItems,
    exchanges: ExchangeLog,
    /// Text of a lost conversation, prepended to each prompt until a turn completes. One prompt is not enough, because
    /// agents discard failed and cancelled prompts.
    context: Option<String>,
    /// Warning to report with each prompt, because a part of the conversation is missing.
    incomplete: Option<String>,
    /// True to restore wh's copy of the conversation before the next load.
    restores: bool,
    usage: Usage,
    /// Id of the conversation that the agent assigned.
    session: Option<String>,
    /// Creation time of the conversation; `None` if unknown.
    created_at: Option<SystemTime>,
    /// True if the harness had an earlier conversation.
    had_conversation: bool,
    /// Mode that the user selected, also applied to the next process.
    mode: Option<String>,
    model: Option<String>,
    /// True if the agent can resume the conversation in a later process.
    can_resume: bool,
    version: Option<String>,
    settings: SessionSettings,
    commands: Vec<AgentOption>,
    /// True from the resume of an earlier conversation until the first prompt. Conversation updates in this time are
    /// part of the replay.
    replays: bool,
    /// True if a prompt was delivered to this process.
    prompted: bool,
    /// True if the conversation has a prompt. Agents do not store conversations without prompts.
    has_prompts: bool,
}

impl AcpProtocol {
    pub fn new(entry: Arc<AgentEntry>, mut launch: LaunchSpec, start: StartOptions) -> Self {
        let quirks = &entry.quirks;
        for (name, value) in &quirks.environment {
            let name = OsString::from(name);
            if std::env::var_os(&name).is_none() {
                launch.environment.entry(name).or_insert_with(|| Some(value.into()));
            }
        }
        launch.stderr_marker = quirks.retry_lines.as_ref().map(|lines| lines.marker.clone());
        Self {
            created_at: start.resume.as_ref().and(start.conversation_created_at),
            items: AcpItems::new(quirks.derives_arguments),
            entry,
            launch,
            start,
            exchanges: ExchangeLog::default(),
            context: None,
            incomplete: None,
            restores: false,
            usage: Usage::default(),
            session: None,
            had_conversation: false,
            mode: None,
            model: None,
            can_resume: false,
            version: None,
            settings: SessionSettings::default(),
            commands: Vec::new(),
            replays: false,
            prompted: false,
            has_prompts: false,
        }
    }

    fn title(&self) -> &str {
        &self.entry.title
    }

    fn conversation(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    fn cancel(&self) -> RpcFrame {
        RpcFrame::Notification { method: "session/cancel", params: json!({ "sessionId": self.conversation() }) }
    }

    /// Builds the report of the resume id. The report contains no id if the agent cannot resume the conversation.
    fn resume_id(&self, has_prompts: bool) -> Report {
        Report::ResumeId(self.session.clone().filter(|_| self.can_resume && has_prompts))
    }

    fn status(&self) -> String {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        let SessionSettings { modes, models } = &self.settings;
        let (version, model, mode) = (known(&self.version), known(&models.current), known(&modes.current));
        format!("{} {version}\nmodel {model}, mode {mode}", self.title())
    }

    fn ended(&mut self, reply: &PromptReply, interrupted: bool, steps: &mut DriverSteps<Self>) {
        if let Some(tokens) = reply.tokens() {
            self.usage.input_tokens = self.usage.input_tokens.saturating_add(tokens.input);
            self.usage.output_tokens = self.usage.output_tokens.saturating_add(tokens.output);
            steps.report(Report::Usage(self.usage));
        }
        let title = self.title();
        let outcome = match &reply.stop_reason {
            StopReason::Cancelled => TurnOutcome::Cancelled,
            _ if interrupted => TurnOutcome::Cancelled,
            StopReason::EndTurn => TurnOutcome::Completed,
            StopReason::Refusal => TurnOutcome::Failed(format!("{title} refused to continue")),
            StopReason::MaxTokens => TurnOutcome::Failed("the model reached its output limit for one turn".to_owned()),
            StopReason::MaxTurnRequests => {
                TurnOutcome::Failed("the agent reached its limit of model requests for one turn".to_owned())
            }
            StopReason::Other(word) if word.is_empty() => TurnOutcome::Completed,
            StopReason::Other(word) => TurnOutcome::Failed(format!("{title} stopped: {}", word.replace('_', " "))),
        };
        let completed = outcome == TurnOutcome::Completed;
        self.exchanges.ended(completed);
        self.context.take_if(|_| completed);
        steps.ended(outcome);
    }
}

impl Protocol for AcpProtocol {
    type Codec = JsonRpc;
    type ErrorReply = RpcError;
    type PendingQuestion = AcpQuestion;
    type Tag = ();

    fn title(&self) -> &str {
        &self.entry.title
    }

    fn acknowledges_interrupts(&self) -> bool {
        false
    }

    fn capabilities(&self) -> ReportedCapabilities {
        let may = |mode: &&AgentOption| self.start.may_skip_permissions || !self.entry.skips(&mode.id);
        let SessionSettings { modes, models } = &self.settings;
        // The call is listed although it always fails, because `run_call` then returns the reason.
        let compact = self.entry.quirks.compacts_by_itself.then_some("compact");
        ReportedCapabilities {
            interrupts: true,
            acknowledges: false,
            models: models.all.clone(),
            model: models.current.clone(),
            modes: modes.all.iter().filter(may).cloned().collect(),
            mode: modes.current.clone(),
            commands: self.commands.clone(),
            calls: CALLS.into_iter().chain(compact).map(str::to_owned).collect(),
        }
    }

    fn failure_text(&self, failure: &RequestFailure<RpcError>) -> String {
        failure.describe(|refusal| setup::error_text(&self.entry, refusal))
    }

    fn redact_ids(&self, text: &str) -> String {
        self.start.redact_ids(text, self.session.as_deref())
    }

    fn on_message(&mut self, message: ProtocolMessage<Self>, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.incoming(message, now, steps);
    }

    fn on_stderr_line(&mut self, line: &str, steps: &mut DriverSteps<Self>) {
        let retry = self.entry.quirks.retry_lines.as_ref().and_then(|lines| model_errors::retry(line, lines));
        retry.into_iter().for_each(|text| steps.warn(text));
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut DriverSteps<Self>) -> ProtocolFrame<Self> {
        // Completes messages that the agent sent between the turns.
        steps.reports(self.items.end());
        self.items.begin();
        self.replays = false;
        self.exchanges.prompt(text);
        if let Some(warning) = &self.incomplete {
            steps.report(Report::Warned(turn.clone(), warning.clone()));
        }
        let blocks = self.context.clone().into_iter().chain([text.to_owned()]);
        let prompt: Vec<Value> = blocks.map(|text| json!({ "type": "text", "text": text })).collect();
        RpcFrame::request("session/prompt", json!({ "sessionId": self.conversation(), "prompt": prompt }))
    }

    fn on_prompt_delivered(&mut self, steps: &mut DriverSteps<Self>) {
        self.has_prompts = true;
        // Some agents do not store a conversation without a prompt.
        if !std::mem::replace(&mut self.prompted, true) {
            steps.report(self.resume_id(true));
        }
    }

    fn on_prompt_reply(
        &mut self,
        turn: &TurnId,
        reply: Result<Value, RequestFailure<RpcError>>,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        if now.turn != Some(turn) {
            return;
        }
        match reply {
            Ok(reply) => {
                steps.begun();
                self.ended(&read(reply), now.interrupted, steps);
            }
            // Some agents report an interrupt as an error.
            Err(_) if now.interrupted => steps.ended(TurnOutcome::Cancelled),
            Err(failure) => steps.ended(TurnOutcome::Failed(self.failure_text(&failure))),
        }
    }

    fn interrupt(&mut self, _turn: Option<&TurnId>) -> Option<ProtocolFrame<Self>> {
        Some(self.cancel())
    }

    fn finish_items(&mut self, steps: &mut DriverSteps<Self>) {
        steps.reports(self.items.end());
    }

    fn answer(
        &mut self,
        ask: AcpQuestion,
        answers: Vec<(Question, Answer)>,
        steps: &mut DriverSteps<Self>,
    ) -> ProtocolFrame<Self> {
        let AcpQuestion::Agent(ask) = ask else { return self.cancel() };
        let (result, decided) = match answers.first() {
            Some((question, answer)) => ask.answer(question, answer),
            None => (ask.abandoned(), None),
        };
        if let Some(report) = decided.and_then(|(call, status)| self.items.decided(call, status)) {
            steps.report(report);
        }
        RpcFrame::Answer { id: ask.id, result }
    }

    fn answer_own_question(&mut self, ask: &AcpQuestion, answer: &Answer, steps: &mut DriverSteps<Self>) -> bool {
        let AcpQuestion::Incomplete = ask else { return false };
        match answer.option.as_deref() {
            Some(RESTORE) => {
                self.restores = true;
                steps.push(DriverStep::Reconnect);
            }
            Some(BEGIN_NEW) => {
                self.replace_conversation();
                steps.push(DriverStep::Reconnect);
            }
            _ => {
                self.exchanges.clear();
                steps.push(DriverStep::Occupied(false));
            }
        }
        true
    }

    fn dismissal_frame(&self, ask: &AcpQuestion) -> Option<ProtocolFrame<Self>> {
        let AcpQuestion::Agent(ask) = ask else { return None };
        Some(RpcFrame::Answer { id: ask.id.clone(), result: ask.abandoned() })
    }

    fn check_mode(&self, mode: &str) -> Result<(), AgentStartError> {
        self.entry.allows(mode, self.start.may_skip_permissions)
    }

    fn setting_request(&mut self, setting: &AgentSetting) -> Option<ProtocolFrame<Self>> {
        let (method, params) = match setting {
            AgentSetting::Model(model) => self.settings.model(self.conversation(), model),
            AgentSetting::Mode(mode) => self.settings.mode(self.conversation(), mode),
        };
        Some(RpcFrame::request(method, params))
    }

    fn on_setting_reply(
        &mut self,
        setting: &AgentSetting,
        outcome: Result<Value, RequestFailure<RpcError>>,
    ) -> Result<(), String> {
        let (AgentSetting::Model(wanted) | AgentSetting::Mode(wanted)) = setting;
        let reply = outcome
            .map_err(|failure| format!("{} rejected {wanted:?}: {}", self.title(), self.failure_text(&failure)))?;
        let (current, chosen) = match setting {
            AgentSetting::Model(_) => (&mut self.settings.models.current, &mut self.model),
            AgentSetting::Mode(_) => (&mut self.settings.modes.current, &mut self.mode),
        };
        (*current, *chosen) = (Some(wanted.clone()), Some(wanted.clone()));
        self.settings.learn(&read::<SessionReply>(reply));
        Ok(())
    }

    fn skipping_mode(&self) -> Option<String> {
        self.settings.modes.current.clone().filter(|mode| self.entry.skips(mode))
    }

    fn careful_mode(&self) -> Option<String> {
        let modes = &self.settings.modes;
        let chosen = self.mode.as_ref().filter(|mode| modes.has(mode) && !self.entry.skips(mode));
        let first = || modes.all.iter().map(|mode| &mode.id).find(|mode| !self.entry.skips(mode));
        chosen.or_else(first).cloned()
    }

    fn run_call(&mut self, id: u64, call: Call, _now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let outcome = match call {
            Call::ReportStatus => Ok(Value::String(self.status())),
            Call::Compact { .. } if self.entry.quirks.compacts_by_itself => {
                let title = self.title();
                Err(format!(
                    "{title} compacts conversations automatically and has no command for it; \
                     /restart starts a new conversation"
                ))
            }
            Call::Other { name, .. } => Err(format!("{} does not support the command {name:?}", self.title())),
            other => {
                Err(format!("{} does not support the command {:?}", self.title(), wh_core::slash::call_name(&other)))
            }
        };
        steps.called(id, outcome);
    }

    fn on_process_end(&mut self) -> bool {
        self.start.resume = None;
        self.had_conversation = true;
        if !self.has_prompts {
            (self.session, self.created_at) = (None, None);
        }
        self.can_resume && self.has_prompts
    }

    fn forget_conversation(&mut self) {
        (self.session, self.start.resume, self.created_at, self.context) = (None, None, None, None);
        self.exchanges.clear();
        (self.had_conversation, self.incomplete) = (true, None);
    }

    fn replace_conversation(&mut self) -> bool {
        let recorded = (!self.exchanges.is_empty()).then(|| self.exchanges.context());
        let context = recorded.or_else(|| self.context.take());
        self.forget_conversation();
        self.context = context;
        let has_context = self.context.is_some();
        let text = if has_context { "; its text was sent as context" } else { "" };
        self.incomplete = Some(format!("the earlier conversation is lost{text}"));
        has_context
    }
}
