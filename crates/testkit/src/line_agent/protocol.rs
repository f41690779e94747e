//! Line protocol for the agent driver: codec, handshake, turns, items and questions.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use wh_agents::driver::{
    AgentSetting, ConnectError, Connected, DriverState, DriverStep, DriverSteps, Handshake, Protocol, ProtocolFrame,
    ProtocolMessage, RequestFailure,
};
use wh_agents::interface::{ALLOW_SKIPPING, AgentStartError, ReportSender, ResumeSelector, StartOptions};
use wh_core::slash::call_name;
use wh_core::space::TurnId;
use wh_core::space::harness::{AgentOption, Call, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::{ItemBody, ToolCall, ToolKind, ToolStatus};
use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionKind, QuestionOption};
use wh_pipe::link::{Codec, DecodedLine, EncodedFrame, FrameRole, Link};
use wh_pipe::{LaunchSpec, lines};

use super::TITLE;

/// Mode that skips permission requests.
const SKIPPING_MODE: &str = "wild";

/// Timeout of each handshake request.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// Message to the agent, encoded as one line.
pub enum LineFrame {
    /// Request with a reply. The codec adds its number.
    Request(Value),
    /// Message without a reply.
    Message(Value),
    /// Answers to the question with this id, one for each part. Empty if the question will not be answered.
    Answer(String, Vec<String>),
}

/// Message of the agent other than a reply, decoded from one line.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum LineMessage {
    /// The agent accepted a prompt.
    Taken {
        /// Number of the prompt.
        prompt: u64,
    },
    /// The agent has finished a prompt.
    End {
        /// Number of the prompt.
        prompt: u64,
        /// Outcome: `done`, `stopped`, or the reason of a failure.
        how: String,
    },
    /// The agent starts to work without a prompt.
    Work,
    /// The agent has finished work without a prompt.
    Rest {
        /// Outcome, as in `End`.
        how: String,
    },
    /// Part of a text message.
    Text {
        /// Text to append.
        text: String,
    },
    /// Part of a reasoning text.
    Thought {
        /// Text to append.
        text: String,
    },
    /// A tool call was started or updated.
    Tool {
        /// Id of the call.
        call: String,
        title: String,
        /// Progress: `waiting`, `running`, `done` or `failed`.
        status: String,
    },
    Ask {
        /// Id of the question.
        ask: String,
        /// Tool call that needs permission, if any.
        call: Option<String>,
        /// Parts of the question.
        parts: Vec<LineQuestionPart>,
    },
    /// The agent withdraws a question.
    Withdraw {
        /// Id of the question.
        ask: String,
    },
    /// The agent changed its mode.
    Mode { mode: String },
    /// Line that could not be decoded.
    #[serde(skip)]
    Unreadable(String),
}

/// One question of an `Ask` message, with the options to choose from.
#[derive(Debug, Deserialize)]
pub struct LineQuestionPart {
    title: String,
    options: Vec<LineQuestionOption>,
}

#[derive(Debug, Deserialize)]
struct LineQuestionOption {
    id: String,
    means: OptionMeaning,
}

/// Codec of the line protocol: one JSON object in each line.
pub struct LineCodec;

impl Codec for LineCodec {
    type Frame = LineFrame;
    type Id = u64;
    type Reply = Result<Value, String>;
    type Message = LineMessage;

    fn encode(&self, frame: LineFrame, number: u64) -> Result<EncodedFrame<u64>, String> {
        let (value, role) = match frame {
            LineFrame::Request(mut request) => {
                request["n"] = json!(number);
                (request, FrameRole::Request(number))
            }
            LineFrame::Message(message) => (message, FrameRole::Message),
            LineFrame::Answer(ask, answers) => {
                (json!({ "op": "answer", "ask": ask, "answers": answers }), FrameRole::Answer(ask))
            }
        };
        Ok(EncodedFrame { line: value.to_string(), role })
    }

    fn decode(&self, line: &[u8]) -> DecodedLine<Self> {
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => return DecodedLine::Message(LineMessage::Unreadable(error.to_string())),
        };
        let of = value["of"].as_u64();
        match (value["op"].as_str(), of) {
            (Some("ok"), Some(of)) => return DecodedLine::Reply(of, Ok(value)),
            (Some("no"), Some(of)) => {
                return DecodedLine::Reply(of, Err(value["why"].as_str().unwrap_or_default().to_owned()));
            }
            _ => {}
        }
        match serde_json::from_value(value) {
            Ok(message @ LineMessage::Ask { .. }) => DecodedLine::Request(key(&message), message),
            Ok(message @ LineMessage::Withdraw { .. }) => DecodedLine::Withdrawal(key(&message), message),
            Ok(message) => DecodedLine::Message(message),
            Err(error) => DecodedLine::Message(LineMessage::Unreadable(error.to_string())),
        }
    }
}

fn key(message: &LineMessage) -> String {
    match message {
        LineMessage::Ask { ask, .. } | LineMessage::Withdraw { ask } => ask.clone(),
        _ => String::new(),
    }
}

/// Items of the current turn. Keys are never reused.
#[derive(Default)]
struct LineItems {
    keys: u64,
    /// Key of the text being streamed, and true if that text is reasoning.
    growing: Option<(String, bool)>,
    calls: BTreeMap<String, (String, ToolCall)>,
}

impl LineItems {
    fn key(&mut self, kind: &str) -> String {
        self.keys += 1;
        format!("{kind}-{}", self.keys)
    }

    fn settle(&mut self) -> Vec<Report> {
        self.growing.take().map(|(key, _)| Report::Finished(key)).into_iter().collect()
    }

    fn piece(&mut self, text: String, thought: bool) -> Vec<Report> {
        if let Some((key, _)) = self.growing.as_ref().filter(|(_, kind)| *kind == thought) {
            return vec![Report::Grew { key: key.clone(), text, tokens: None }];
        }
        let mut reports = self.settle();
        let key = self.key(if thought { "thought" } else { "text" });
        let body = if thought {
            ItemBody::Thought { text, action: None, tokens: None }
        } else {
            ItemBody::Text { text, attachments: Vec::new() }
        };
        self.growing = Some((key.clone(), thought));
        reports.push(Report::Item { key, body, done: false });
        reports
    }

    fn call(&mut self, id: String, title: &str, status: ToolStatus) -> Vec<Report> {
        let mut reports = self.settle();
        if !self.calls.contains_key(&id) {
            let (name, title) = ("tool".to_owned(), title.to_owned());
            let call = ToolCall { name, title, kind: ToolKind::Other, input: Value::Null, status, output: Vec::new() };
            let key = self.key("call");
            self.calls.insert(id.clone(), (key, call));
        }
        reports.extend(self.decided(&id, status));
        reports
    }

    /// Sets the status of a call and returns the report of this change; `None` if the call is unknown or denied. A
    /// denied call stays denied.
    fn decided(&mut self, id: &str, status: ToolStatus) -> Option<Report> {
        let (key, call) = self.calls.get_mut(id).filter(|(_, call)| call.status != ToolStatus::Denied)?;
        call.status = status;
        Some(Report::Item { key: key.clone(), body: ItemBody::Tool(call.clone()), done: status.is_over() })
    }

    fn end(&mut self) -> Vec<Report> {
        let mut reports = self.settle();
        for (key, mut call) in std::mem::take(&mut self.calls).into_values() {
            if !call.status.is_over() {
                call.status = ToolStatus::Cancelled;
                reports.push(Report::Item { key, body: ItemBody::Tool(call), done: true });
            }
        }
        reports
    }
}

/// Question of the agent that is not answered yet.
pub struct PendingLineQuestion {
    id: String,
    /// Tool call that needs permission, if any.
    call: Option<String>,
}

/// Client side of the line protocol, with the state of one conversation.
pub struct LineProtocol {
    launch: LaunchSpec,
    start: StartOptions,
    conversation: Option<String>,
    modes: Vec<String>,
    mode: Option<String>,
    model: Option<String>,
    items: LineItems,
    /// Number of the last prompt.
    prompts: u64,
    /// Unfinished prompts: the turn and the number of each.
    open: Vec<(TurnId, u64)>,
}

impl LineProtocol {
    pub(super) fn new(launch: LaunchSpec, start: StartOptions) -> Self {
        let conversation = match &start.resume {
            Some(ResumeSelector::Named(name)) => Some(name.clone()),
            Some(ResumeSelector::Latest) | None => None,
        };
        let (mode, model) = (start.mode.clone(), start.model.clone());
        let items = LineItems::default();
        Self { launch, start, conversation, modes: Vec::new(), mode, model, items, prompts: 0, open: Vec::new() }
    }

    async fn handshake(&mut self, link: &Link<LineCodec>) -> Result<(), String> {
        let request = async |value: Value| {
            let reply = link.request(LineFrame::Request(value), Some(HANDSHAKE_TIMEOUT)).await;
            let reply = reply.map_err(|error| error.to_string())?.await;
            reply.map_err(|error| error.to_string())?
        };
        let reply = request(json!({ "op": "hello", "conversation": self.conversation })).await?;
        self.conversation = reply["conversation"].as_str().map(str::to_owned);
        self.modes = serde_json::from_value(reply["modes"].clone()).map_err(|error| error.to_string())?;
        match self.mode.as_ref().filter(|mode| reply["mode"] != mode.as_str()) {
            Some(mode) => drop(request(set("mode", mode)).await?),
            None => self.mode = reply["mode"].as_str().map(str::to_owned),
        }
        if let Some(model) = &self.model {
            request(set("model", model)).await?;
        }
        Ok(())
    }

    fn ask(&mut self, id: String, call: Option<String>, parts: Vec<LineQuestionPart>, steps: &mut DriverSteps<Self>) {
        let kind = if call.is_some() { QuestionKind::Permission } else { QuestionKind::Text };
        let question = |part: LineQuestionPart| Question {
            kind,
            title: part.title,
            details: Vec::new(),
            accepts_text: part.options.is_empty(),
            options: part
                .options
                .into_iter()
                .map(|option| QuestionOption { label: option.id.clone(), id: option.id, meaning: option.means })
                .collect(),
            preselects: false,
        };
        let questions = parts.into_iter().map(question).collect();
        steps.push(DriverStep::Ask { id: id.clone(), ask: PendingLineQuestion { id, call }, questions });
    }
}

fn set(what: &str, value: &str) -> Value {
    json!({ "op": "set", "what": what, "value": value })
}

fn outcome(how: String) -> TurnOutcome {
    match how.as_str() {
        "done" => TurnOutcome::Completed,
        "stopped" => TurnOutcome::Cancelled,
        _ => TurnOutcome::Failed(how),
    }
}

impl Handshake for LineProtocol {
    async fn connect(&mut self, _reports: &ReportSender) -> Result<Connected<Self>, ConnectError> {
        let started = Link::start(&self.launch, LineCodec, lines::MAX_LINE_BYTES).await;
        let (link, mut events) = started.map_err(|error| ConnectError::Fatal(error.to_string()))?;
        if let Err(why) = events.buffer_during(self.handshake(&link)).await {
            link.close();
            while events.next().await.is_some() {}
            return Err(ConnectError::Fatal(why));
        }
        let greeting = vec![Report::ResumeId(self.conversation.clone())];
        Ok(Connected { link, events, initial_reports: greeting, own_question: None })
    }
}

impl Protocol for LineProtocol {
    type Codec = LineCodec;
    type ErrorReply = String;
    type PendingQuestion = PendingLineQuestion;
    type Tag = u64;

    fn title(&self) -> &str {
        TITLE
    }

    fn acknowledges_interrupts(&self) -> bool {
        true
    }

    fn capabilities(&self) -> ReportedCapabilities {
        let named = |id: &String| AgentOption { id: id.clone(), title: id.clone() };
        ReportedCapabilities {
            interrupts: true,
            modes: self.modes.iter().map(named).collect(),
            mode: self.mode.clone(),
            model: self.model.clone(),
            calls: ["status", "restart"].map(str::to_owned).to_vec(),
            ..ReportedCapabilities::default()
        }
    }

    fn failure_text(&self, failure: &RequestFailure<String>) -> String {
        failure.describe(String::clone)
    }

    fn redact_ids(&self, text: &str) -> String {
        self.start.redact_ids(text, self.conversation.as_deref())
    }

    fn on_message(&mut self, message: ProtocolMessage<Self>, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match message {
            LineMessage::Taken { prompt } => {
                let turn = self.open.iter().find(|(_, number)| *number == prompt);
                turn.into_iter().for_each(|(turn, _)| steps.push(DriverStep::Submitted(turn.clone())));
            }
            LineMessage::End { prompt, how } => {
                let Some(place) = self.open.iter().position(|(_, number)| *number == prompt) else { return };
                let (turn, _) = self.open.remove(place);
                if now.turn == Some(&turn) {
                    steps.begun();
                    steps.ended(outcome(how));
                }
            }
            LineMessage::Work => steps.push(DriverStep::OwnWorkBegun),
            LineMessage::Rest { how } => {
                if now.working && now.turn.is_none() {
                    steps.ended(outcome(how));
                }
            }
            LineMessage::Text { text } => {
                steps.begun();
                steps.reports(self.items.piece(text, false));
            }
            LineMessage::Thought { text } => {
                steps.begun();
                steps.reports(self.items.piece(text, true));
            }
            LineMessage::Tool { call, title, status } => {
                steps.begun();
                let status = match status.as_str() {
                    "waiting" => ToolStatus::Pending,
                    "running" => ToolStatus::Running,
                    "done" => ToolStatus::Completed,
                    _ => ToolStatus::Failed,
                };
                steps.reports(self.items.call(call, &title, status));
            }
            LineMessage::Ask { ask, call, parts } => {
                steps.begun();
                self.ask(ask, call, parts, steps);
            }
            LineMessage::Withdraw { ask } => steps.push(DriverStep::Withdraw(ask)),
            LineMessage::Mode { mode } => {
                self.mode = Some(mode);
                steps.push(DriverStep::Ready);
            }
            LineMessage::Unreadable(error) => steps.warn(format!("{TITLE} wrote an unreadable line: {error}")),
        }
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut DriverSteps<Self>) -> ProtocolFrame<Self> {
        steps.reports(self.items.end());
        self.prompts += 1;
        self.open.push((turn.clone(), self.prompts));
        LineFrame::Message(json!({ "op": "prompt", "prompt": self.prompts, "text": text }))
    }

    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<ProtocolFrame<Self>> {
        let number = self.open.iter().find(|(open, _)| Some(open) == turn).map(|(_, number)| *number);
        Some(LineFrame::Request(json!({ "op": "interrupt", "prompt": number })))
    }

    fn finish_items(&mut self, steps: &mut DriverSteps<Self>) {
        steps.reports(self.items.end());
    }

    fn answer(
        &mut self,
        ask: PendingLineQuestion,
        answers: Vec<(Question, Answer)>,
        steps: &mut DriverSteps<Self>,
    ) -> ProtocolFrame<Self> {
        if let (Some(call), Some((question, answer))) = (&ask.call, answers.first()) {
            let status = if question.grants(answer) { ToolStatus::Running } else { ToolStatus::Denied };
            steps.reports(self.items.decided(call, status).into_iter().collect());
        }
        let given = answers.into_iter().map(|(_, answer)| answer.option.or(answer.text).unwrap_or_default());
        LineFrame::Answer(ask.id, given.collect())
    }

    fn dismissal_frame(&self, ask: &PendingLineQuestion) -> Option<ProtocolFrame<Self>> {
        Some(LineFrame::Answer(ask.id.clone(), Vec::new()))
    }

    fn check_mode(&self, mode: &str) -> Result<(), AgentStartError> {
        if self.start.may_skip_permissions || mode != SKIPPING_MODE {
            return Ok(());
        }
        let (agent, mode, hint) = (TITLE.to_owned(), mode.to_owned(), ALLOW_SKIPPING.to_owned());
        Err(AgentStartError::SkipsPermissions { agent, mode, hint })
    }

    fn setting_request(&mut self, setting: &AgentSetting) -> Option<ProtocolFrame<Self>> {
        Some(LineFrame::Request(match setting {
            AgentSetting::Model(model) => set("model", model),
            AgentSetting::Mode(mode) => set("mode", mode),
        }))
    }

    fn on_setting_reply(
        &mut self,
        setting: &AgentSetting,
        outcome: Result<Value, RequestFailure<String>>,
    ) -> Result<(), String> {
        outcome.map_err(|failure| self.failure_text(&failure))?;
        match setting {
            AgentSetting::Model(model) => self.model = Some(model.clone()),
            AgentSetting::Mode(mode) => self.mode = Some(mode.clone()),
        }
        Ok(())
    }

    fn skipping_mode(&self) -> Option<String> {
        self.mode.clone().filter(|mode| mode == SKIPPING_MODE)
    }

    fn careful_mode(&self) -> Option<String> {
        self.modes.iter().find(|mode| *mode != SKIPPING_MODE).cloned()
    }

    fn run_call(&mut self, id: u64, call: Call, _now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match call {
            Call::ReportStatus => steps.called(id, Ok(json!(self.mode))),
            Call::Other { name, .. } => {
                steps.push(DriverStep::Request(LineFrame::Request(json!({ "op": "call", "name": name })), id));
            }
            other => steps.called(id, Err(format!("{TITLE} does not support {}", call_name(&other)))),
        }
    }

    fn on_reply(
        &mut self,
        id: u64,
        reply: Result<Value, RequestFailure<String>>,
        _now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        steps.called(id, reply.map(|reply| reply["value"].clone()).map_err(|failure| self.failure_text(&failure)));
    }

    fn on_process_end(&mut self) -> bool {
        self.open.clear();
        self.conversation.is_some()
    }

    fn forget_conversation(&mut self) {
        self.open.clear();
        self.conversation = None;
    }
}
