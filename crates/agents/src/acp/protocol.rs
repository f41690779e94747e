//! The Agent Client Protocol on the driver: orders become requests, updates become steps.

mod model_errors;
mod refusals;
mod repeated;
mod replay;
mod replay_wait;
mod said;
mod setup;
mod updates;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Named, Outcome, Report, Usage};
use wh_core::space::question::{Answer, Question};
use wh_pipe::Launch;
use wh_wire::acp::{PromptReply, SessionReply, StopReason, read};

use super::items::Items;
use super::questions::Ask as AgentAsk;
use super::settings::Settings;
use super::table::Entry;
use crate::driver::{Failure, FrameOf, MessageOf, Now, Protocol, Setting, Step, Steps};
use crate::port::{Start, StartError};
use crate::rpc::{Frame, JsonRpc, RpcError};
use said::Said;

/// Calls that every agent of the protocol understands.
const CALLS: [&str; 2] = ["status", "restart"];

/// Option that restores wh's copy of the conversation.
const RESTORE: &str = "restore";

/// Option that begins a new conversation with the text of the lost one.
const BEGIN_ANEW: &str = "begin-anew";

/// A question that waits for an answer.
#[derive(Debug)]
pub(super) enum Ask {
    /// Of the agent.
    Agent(AgentAsk),
    /// Of wh: the conversation came back without some messages.
    Incomplete,
}

/// An agent of the protocol.
pub(super) struct AcpProtocol {
    entry: Arc<Entry>,
    launch: Launch,
    start: Start,
    items: Items,
    said: Said,
    /// Text that prompts begin with until one is answered: agents take prompts back that fail or are cancelled.
    context: Option<String>,
    /// Warning on the receipts of prompts: the agent does not have all of the conversation.
    incomplete: Option<String>,
    /// wh's copy of the conversation is to be restored before the next load.
    restores: bool,
    usage: Usage,
    /// The conversation, by the agent's name for it.
    session: Option<String>,
    /// Time at which it began, if that was here.
    begun: Option<SystemTime>,
    /// There was a conversation before this one.
    again: bool,
    /// Choices of a person, for the next process.
    mode: Option<String>,
    model: Option<String>,
    /// The process can resume this conversation in a later one.
    lasts: bool,
    version: Option<String>,
    settings: Settings,
    commands: Vec<Named>,
    /// The agent repeats an earlier conversation, until the first prompt.
    replays: bool,
    /// Something was said to this process.
    prompted: bool,
    /// Something was said in the conversation. Agents do not keep one in which nothing was.
    spoken: bool,
}

impl AcpProtocol {
    pub fn new(entry: Arc<Entry>, mut launch: Launch, start: Start) -> Self {
        let quirks = &entry.quirks;
        for (name, value) in &quirks.environment {
            let name = OsString::from(name);
            if std::env::var_os(&name).is_none() {
                launch.environment.entry(name).or_insert_with(|| Some(value.into()));
            }
        }
        launch.stderr_marker = quirks.retry_lines.as_ref().map(|lines| lines.marker.clone());
        Self {
            begun: start.resume.as_ref().and(start.begun),
            items: Items::new(quirks.derives_arguments),
            entry,
            launch,
            start,
            said: Said::default(),
            context: None,
            incomplete: None,
            restores: false,
            usage: Usage::default(),
            session: None,
            again: false,
            mode: None,
            model: None,
            lasts: false,
            version: None,
            settings: Settings::default(),
            commands: Vec::new(),
            replays: false,
            prompted: false,
            spoken: false,
        }
    }

    fn title(&self) -> &str {
        &self.entry.title
    }

    fn conversation(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    fn cancel(&self) -> Frame {
        Frame::Notification { method: "session/cancel", params: json!({ "sessionId": self.conversation() }) }
    }

    /// The name to resume the conversation by, where the agent can do that.
    fn resume_id(&self, spoken: bool) -> Report {
        Report::Kept(self.session.clone().filter(|_| self.lasts && spoken))
    }

    fn status(&self) -> String {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        let Settings { modes, models } = &self.settings;
        let (version, model, mode) = (known(&self.version), known(&models.current), known(&modes.current));
        format!("{} {version}\nmodel {model}, mode {mode}", self.title())
    }

    fn ended(&mut self, reply: &PromptReply, interrupted: bool, steps: &mut Steps<Self>) {
        if let Some(tokens) = reply.tokens() {
            self.usage.input_tokens = self.usage.input_tokens.saturating_add(tokens.input);
            self.usage.output_tokens = self.usage.output_tokens.saturating_add(tokens.output);
            steps.report(Report::Usage(self.usage));
        }
        let title = self.title();
        let outcome = match &reply.stop_reason {
            StopReason::Cancelled => Outcome::Cancelled,
            _ if interrupted => Outcome::Cancelled,
            StopReason::EndTurn => Outcome::Completed,
            StopReason::Refusal => Outcome::Failed(format!("{title} refused")),
            StopReason::MaxTokens => Outcome::Failed("the model may not write more in one turn".to_owned()),
            StopReason::MaxTurnRequests => Outcome::Failed("the model may not be asked more in one turn".to_owned()),
            StopReason::Other(word) if word.is_empty() => Outcome::Completed,
            StopReason::Other(word) => Outcome::Failed(format!("{title} stopped: {}", word.replace('_', " "))),
        };
        let completed = outcome == Outcome::Completed;
        self.said.ended(completed);
        self.context.take_if(|_| completed);
        steps.ended(outcome);
    }
}

impl Protocol for AcpProtocol {
    type Codec = JsonRpc;
    type Refusal = RpcError;
    type Ask = Ask;
    type Tag = ();

    fn title(&self) -> &str {
        &self.entry.title
    }

    fn acknowledges_interrupts(&self) -> bool {
        false
    }

    fn capabilities(&self) -> Capabilities {
        let may = |mode: &&Named| self.start.may_skip_permissions || !self.entry.skips(&mode.id);
        let Settings { modes, models } = &self.settings;
        // Where it is not offered, the call says why.
        let compact = self.entry.quirks.compacts_by_itself.then_some("compact");
        Capabilities {
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

    fn words(&self, failure: &Failure<RpcError>) -> String {
        failure.words(|refusal| setup::said(&self.entry, refusal))
    }

    fn discreet(&self, text: &str) -> String {
        self.start.discreet(text, self.session.as_deref())
    }

    fn said(&mut self, message: MessageOf<Self>, now: Now<'_>, steps: &mut Steps<Self>) {
        self.incoming(message, now, steps);
    }

    fn logged(&mut self, line: &str, steps: &mut Steps<Self>) {
        let retry = self.entry.quirks.retry_lines.as_ref().and_then(|lines| model_errors::retry(line, lines));
        retry.into_iter().for_each(|text| steps.warn(text));
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut Steps<Self>) -> FrameOf<Self> {
        // What was said between turns is complete by now.
        steps.reports(self.items.end());
        self.items.begin();
        self.replays = false;
        self.said.prompt(text);
        if let Some(warning) = &self.incomplete {
            steps.report(Report::Warned(turn.clone(), warning.clone()));
        }
        let blocks = self.context.clone().into_iter().chain([text.to_owned()]);
        let prompt: Vec<Value> = blocks.map(|text| json!({ "type": "text", "text": text })).collect();
        Frame::request("session/prompt", json!({ "sessionId": self.conversation(), "prompt": prompt }))
    }

    fn delivered(&mut self, steps: &mut Steps<Self>) {
        self.spoken = true;
        // Not all agents keep a conversation in which nothing was said.
        if !std::mem::replace(&mut self.prompted, true) {
            steps.report(self.resume_id(true));
        }
    }

    fn prompt_replied(
        &mut self,
        turn: &TurnId,
        reply: Result<Value, Failure<RpcError>>,
        now: Now<'_>,
        steps: &mut Steps<Self>,
    ) {
        if now.turn != Some(turn) {
            return;
        }
        match reply {
            Ok(reply) => {
                steps.begun();
                self.ended(&read(reply), now.interrupted, steps);
            }
            // Some agents tell of an interrupt as of an error.
            Err(_) if now.interrupted => steps.ended(Outcome::Cancelled),
            Err(failure) => steps.ended(Outcome::Failed(self.words(&failure))),
        }
    }

    fn interrupt(&mut self, _turn: Option<&TurnId>) -> Option<FrameOf<Self>> {
        Some(self.cancel())
    }

    fn close(&mut self, steps: &mut Steps<Self>) {
        steps.reports(self.items.end());
    }

    fn answer(&mut self, ask: Ask, answers: Vec<(Question, Answer)>, steps: &mut Steps<Self>) -> FrameOf<Self> {
        let Ask::Agent(ask) = ask else { return self.cancel() };
        let (result, decided) = match answers.first() {
            Some((question, answer)) => ask.answer(question, answer),
            None => (ask.abandoned(), None),
        };
        if let Some(report) = decided.and_then(|(call, status)| self.items.decided(call, status)) {
            steps.report(report);
        }
        Frame::Answer { id: ask.id, result }
    }

    fn decide(&mut self, ask: &Ask, answer: &Answer, steps: &mut Steps<Self>) -> bool {
        let Ask::Incomplete = ask else { return false };
        match answer.option.as_deref() {
            Some(RESTORE) => {
                self.restores = true;
                steps.push(Step::Reconnect);
            }
            Some(BEGIN_ANEW) => {
                self.replace_conversation();
                steps.push(Step::Reconnect);
            }
            _ => {
                self.said.clear();
                steps.push(Step::Occupied(false));
            }
        }
        true
    }

    fn abandon(&self, ask: &Ask) -> Option<FrameOf<Self>> {
        let Ask::Agent(ask) = ask else { return None };
        Some(Frame::Answer { id: ask.id.clone(), result: ask.abandoned() })
    }

    fn allows(&self, mode: &str) -> Result<(), StartError> {
        self.entry.allows(mode, self.start.may_skip_permissions)
    }

    fn choose(&mut self, setting: &Setting) -> Option<FrameOf<Self>> {
        let (method, params) = match setting {
            Setting::Model(model) => self.settings.model(self.conversation(), model),
            Setting::Mode(mode) => self.settings.mode(self.conversation(), mode),
        };
        Some(Frame::request(method, params))
    }

    fn chosen(&mut self, setting: &Setting, outcome: Result<Value, Failure<RpcError>>) -> Result<(), String> {
        let (Setting::Model(wanted) | Setting::Mode(wanted)) = setting;
        let reply =
            outcome.map_err(|failure| format!("{} did not take {wanted:?}: {}", self.title(), self.words(&failure)))?;
        let (current, chosen) = match setting {
            Setting::Model(_) => (&mut self.settings.models.current, &mut self.model),
            Setting::Mode(_) => (&mut self.settings.modes.current, &mut self.mode),
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

    fn call(&mut self, id: u64, call: Call, _now: Now<'_>, steps: &mut Steps<Self>) {
        let outcome = match call {
            Call::ReportStatus => Ok(Value::String(self.status())),
            Call::Compact { .. } if self.entry.quirks.compacts_by_itself => {
                let title = self.title();
                Err(format!(
                    "{title} makes its conversations shorter by itself and offers no command for it; /restart begins a new one"
                ))
            }
            Call::Other { name, .. } => Err(format!("{} has no {name}", self.title())),
            other => Err(format!("{} has no {}", self.title(), wh_core::slash::call_name(&other))),
        };
        steps.called(id, outcome);
    }

    fn lost(&mut self) -> bool {
        self.start.resume = None;
        self.again = true;
        if !self.spoken {
            (self.session, self.begun) = (None, None);
        }
        self.lasts && self.spoken
    }

    fn forget(&mut self) {
        (self.session, self.start.resume, self.begun, self.context) = (None, None, None, None);
        self.said.clear();
        (self.again, self.incomplete) = (true, None);
    }

    fn replace_conversation(&mut self) -> bool {
        let said = (!self.said.is_empty()).then(|| self.said.context());
        let context = said.or_else(|| self.context.take());
        self.forget();
        self.context = context;
        let has_context = self.context.is_some();
        let text = if has_context { "; its text was sent as context" } else { "" };
        self.incomplete = Some(format!("the earlier conversation is lost{text}"));
        has_context
    }
}
