//! The line protocol on the driver: its codec, handshake, turns, items and questions.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use wh_agents::driver::{
    Connect, ConnectError, Connected, Failure, FrameOf, MessageOf, Now, Protocol, Setting, Step, Steps,
};
use wh_agents::port::{ALLOW_SKIPPING, Reports, Resume, Start, StartError};
use wh_core::slash::call_name;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Named, Outcome, Report};
use wh_core::space::item::{Body, ToolCall, ToolKind, ToolStatus};
use wh_core::space::question::{Answer, Choice, Meaning, Question, QuestionKind};
use wh_pipe::link::{Codec, Decoded, Encoded, Link, Role};
use wh_pipe::{Launch, lines};

use super::TITLE;

/// The mode that skips permissions.
const SKIPPING_MODE: &str = "wild";

/// Timeout of each request of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// A message to the agent.
pub enum LineFrame {
    /// A request; the codec numbers it.
    Request(Value),
    /// A message without a reply.
    Message(Value),
    /// The answers to the question of this id, one for each part; none if nobody will answer.
    Answer(String, Vec<String>),
}

/// A message of the agent that is not a reply.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum LineMessage {
    /// It has taken a prompt.
    Taken {
        /// The prompt's number.
        prompt: u64,
    },
    /// A prompt has ended.
    End {
        /// The prompt's number.
        prompt: u64,
        /// `done`, `stopped`, or the reason of a failure.
        how: String,
    },
    /// It begins to work without a prompt.
    Work,
    /// That work has ended.
    Rest {
        /// As in `End`.
        how: String,
    },
    /// A piece of text.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of a thought.
    Thought {
        /// The piece.
        text: String,
    },
    /// A tool call has begun or changed.
    Tool {
        /// Its id.
        call: String,
        /// Its title.
        title: String,
        /// `waiting`, `running`, `done` or `failed`.
        status: String,
    },
    /// It asks a question.
    Ask {
        /// The question's id.
        ask: String,
        /// The tool call that it asks permission for.
        call: Option<String>,
        /// Its parts.
        parts: Vec<Part>,
    },
    /// It withdraws a question.
    Withdraw {
        /// The question's id.
        ask: String,
    },
    /// It has changed its mode.
    Mode {
        /// The mode.
        mode: String,
    },
    /// A line that is not a message.
    #[serde(skip)]
    Unreadable(String),
}

/// A part of a question.
#[derive(Debug, Deserialize)]
pub struct Part {
    title: String,
    options: Vec<PartOption>,
}

#[derive(Debug, Deserialize)]
struct PartOption {
    id: String,
    means: Meaning,
}

/// Reads and writes the lines.
pub struct LineCodec;

impl Codec for LineCodec {
    type Frame = LineFrame;
    type Id = u64;
    type Reply = Result<Value, String>;
    type Message = LineMessage;

    fn encode(&self, frame: LineFrame, number: u64) -> Result<Encoded<u64>, String> {
        let (value, role) = match frame {
            LineFrame::Request(mut request) => {
                request["n"] = json!(number);
                (request, Role::Request(number))
            }
            LineFrame::Message(message) => (message, Role::Message),
            LineFrame::Answer(ask, answers) => {
                (json!({ "op": "answer", "ask": ask, "answers": answers }), Role::Answer(ask))
            }
        };
        Ok(Encoded { line: value.to_string(), role })
    }

    fn decode(&self, line: &[u8]) -> Decoded<Self> {
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => return Decoded::Message(LineMessage::Unreadable(error.to_string())),
        };
        let of = value["of"].as_u64();
        match (value["op"].as_str(), of) {
            (Some("ok"), Some(of)) => return Decoded::Reply(of, Ok(value)),
            (Some("no"), Some(of)) => {
                return Decoded::Reply(of, Err(value["why"].as_str().unwrap_or_default().to_owned()));
            }
            _ => {}
        }
        match serde_json::from_value(value) {
            Ok(message @ LineMessage::Ask { .. }) => Decoded::Request(key(&message), message),
            Ok(message @ LineMessage::Withdraw { .. }) => Decoded::Withdrawal(key(&message), message),
            Ok(message) => Decoded::Message(message),
            Err(error) => Decoded::Message(LineMessage::Unreadable(error.to_string())),
        }
    }
}

fn key(message: &LineMessage) -> String {
    match message {
        LineMessage::Ask { ask, .. } | LineMessage::Withdraw { ask } => ask.clone(),
        _ => String::new(),
    }
}

/// Items of the work under way. Keys are never used again.
#[derive(Default)]
struct LineItems {
    keys: u64,
    /// The text or, if true, thought that grows.
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
            Body::Thought { text, action: None, tokens: None }
        } else {
            Body::Text { text, attachments: Vec::new() }
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

    /// Sets the status of a call. A denied call stays denied.
    fn decided(&mut self, id: &str, status: ToolStatus) -> Option<Report> {
        let (key, call) = self.calls.get_mut(id).filter(|(_, call)| call.status != ToolStatus::Denied)?;
        call.status = status;
        Some(Report::Item { key: key.clone(), body: Body::Tool(call.clone()), done: status.is_over() })
    }

    fn end(&mut self) -> Vec<Report> {
        let mut reports = self.settle();
        for (key, mut call) in std::mem::take(&mut self.calls).into_values() {
            if !call.status.is_over() {
                call.status = ToolStatus::Cancelled;
                reports.push(Report::Item { key, body: Body::Tool(call), done: true });
            }
        }
        reports
    }
}

/// An open question.
pub struct LineAsk {
    id: String,
    /// The tool call that it asks permission for.
    call: Option<String>,
}

/// The scripted agent.
pub struct LineProtocol {
    launch: Launch,
    start: Start,
    conversation: Option<String>,
    modes: Vec<String>,
    mode: Option<String>,
    model: Option<String>,
    items: LineItems,
    /// Number of the last prompt.
    prompts: u64,
    /// Prompts that have not ended, by their numbers.
    open: Vec<(TurnId, u64)>,
}

impl LineProtocol {
    pub(super) fn new(launch: Launch, start: Start) -> Self {
        let conversation = match &start.resume {
            Some(Resume::Named(name)) => Some(name.clone()),
            Some(Resume::Latest) | None => None,
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

    fn ask(&mut self, id: String, call: Option<String>, parts: Vec<Part>, steps: &mut Steps<Self>) {
        let kind = if call.is_some() { QuestionKind::Permission } else { QuestionKind::Text };
        let question = |part: Part| Question {
            kind,
            title: part.title,
            details: Vec::new(),
            accepts_text: part.options.is_empty(),
            options: part
                .options
                .into_iter()
                .map(|option| Choice { label: option.id.clone(), id: option.id, meaning: option.means })
                .collect(),
            preselects: false,
        };
        let questions = parts.into_iter().map(question).collect();
        steps.push(Step::Ask { id: id.clone(), ask: LineAsk { id, call }, questions });
    }
}

fn set(what: &str, value: &str) -> Value {
    json!({ "op": "set", "what": what, "value": value })
}

fn outcome(how: String) -> Outcome {
    match how.as_str() {
        "done" => Outcome::Completed,
        "stopped" => Outcome::Cancelled,
        _ => Outcome::Failed(how),
    }
}

impl Connect for LineProtocol {
    async fn connect(&mut self, _reports: &Reports) -> Result<Connected<Self>, ConnectError> {
        let started = Link::start(&self.launch, LineCodec, lines::MAX).await;
        let (link, mut events) = started.map_err(|error| ConnectError::Fatal(error.to_string()))?;
        if let Err(why) = events.buffer_during(self.handshake(&link)).await {
            link.close();
            while events.next().await.is_some() {}
            return Err(ConnectError::Fatal(why));
        }
        let greeting = vec![Report::Kept(self.conversation.clone())];
        Ok(Connected { link, events, greeting, doubt: None })
    }
}

impl Protocol for LineProtocol {
    type Codec = LineCodec;
    type Refusal = String;
    type Ask = LineAsk;
    type Tag = u64;

    fn title(&self) -> &str {
        TITLE
    }

    fn acknowledges_interrupts(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        let named = |id: &String| Named { id: id.clone(), title: id.clone() };
        Capabilities {
            interrupts: true,
            modes: self.modes.iter().map(named).collect(),
            mode: self.mode.clone(),
            model: self.model.clone(),
            calls: ["status", "restart"].map(str::to_owned).to_vec(),
            ..Capabilities::default()
        }
    }

    fn words(&self, failure: &Failure<String>) -> String {
        failure.words(String::clone)
    }

    fn discreet(&self, text: &str) -> String {
        self.start.discreet(text, self.conversation.as_deref())
    }

    fn said(&mut self, message: MessageOf<Self>, now: Now<'_>, steps: &mut Steps<Self>) {
        match message {
            LineMessage::Taken { prompt } => {
                let turn = self.open.iter().find(|(_, number)| *number == prompt);
                turn.into_iter().for_each(|(turn, _)| steps.push(Step::Submitted(turn.clone())));
            }
            LineMessage::End { prompt, how } => {
                let Some(place) = self.open.iter().position(|(_, number)| *number == prompt) else { return };
                let (turn, _) = self.open.remove(place);
                if now.turn == Some(&turn) {
                    steps.begun();
                    steps.ended(outcome(how));
                }
            }
            LineMessage::Work => steps.push(Step::OwnWork),
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
            LineMessage::Withdraw { ask } => steps.push(Step::Withdraw(ask)),
            LineMessage::Mode { mode } => {
                self.mode = Some(mode);
                steps.push(Step::Ready);
            }
            LineMessage::Unreadable(error) => steps.warn(format!("{TITLE} wrote an unreadable line: {error}")),
        }
    }

    fn prompt(&mut self, turn: &TurnId, text: &str, steps: &mut Steps<Self>) -> FrameOf<Self> {
        steps.reports(self.items.end());
        self.prompts += 1;
        self.open.push((turn.clone(), self.prompts));
        LineFrame::Message(json!({ "op": "prompt", "prompt": self.prompts, "text": text }))
    }

    fn interrupt(&mut self, turn: Option<&TurnId>) -> Option<FrameOf<Self>> {
        let number = self.open.iter().find(|(open, _)| Some(open) == turn).map(|(_, number)| *number);
        Some(LineFrame::Request(json!({ "op": "interrupt", "prompt": number })))
    }

    fn close(&mut self, steps: &mut Steps<Self>) {
        steps.reports(self.items.end());
    }

    fn answer(&mut self, ask: LineAsk, answers: Vec<(Question, Answer)>, steps: &mut Steps<Self>) -> FrameOf<Self> {
        if let (Some(call), Some((question, answer))) = (&ask.call, answers.first()) {
            let status = if question.grants(answer) { ToolStatus::Running } else { ToolStatus::Denied };
            steps.reports(self.items.decided(call, status).into_iter().collect());
        }
        let given = answers.into_iter().map(|(_, answer)| answer.option.or(answer.text).unwrap_or_default());
        LineFrame::Answer(ask.id, given.collect())
    }

    fn abandon(&self, ask: &LineAsk) -> Option<FrameOf<Self>> {
        Some(LineFrame::Answer(ask.id.clone(), Vec::new()))
    }

    fn allows(&self, mode: &str) -> Result<(), StartError> {
        if self.start.may_skip_permissions || mode != SKIPPING_MODE {
            return Ok(());
        }
        let (agent, mode, hint) = (TITLE.to_owned(), mode.to_owned(), ALLOW_SKIPPING.to_owned());
        Err(StartError::SkipsPermissions { agent, mode, hint })
    }

    fn choose(&mut self, setting: &Setting) -> Option<FrameOf<Self>> {
        Some(LineFrame::Request(match setting {
            Setting::Model(model) => set("model", model),
            Setting::Mode(mode) => set("mode", mode),
        }))
    }

    fn chosen(&mut self, setting: &Setting, outcome: Result<Value, Failure<String>>) -> Result<(), String> {
        outcome.map_err(|failure| self.words(&failure))?;
        match setting {
            Setting::Model(model) => self.model = Some(model.clone()),
            Setting::Mode(mode) => self.mode = Some(mode.clone()),
        }
        Ok(())
    }

    fn skipping_mode(&self) -> Option<String> {
        self.mode.clone().filter(|mode| mode == SKIPPING_MODE)
    }

    fn careful_mode(&self) -> Option<String> {
        self.modes.iter().find(|mode| *mode != SKIPPING_MODE).cloned()
    }

    fn call(&mut self, id: u64, call: Call, _now: Now<'_>, steps: &mut Steps<Self>) {
        match call {
            Call::ReportStatus => steps.called(id, Ok(json!(self.mode))),
            Call::Other { name, .. } => {
                steps.push(Step::Request(LineFrame::Request(json!({ "op": "call", "name": name })), id));
            }
            other => steps.called(id, Err(format!("{TITLE} has no {}", call_name(&other)))),
        }
    }

    fn replied(&mut self, id: u64, reply: Result<Value, Failure<String>>, _now: Now<'_>, steps: &mut Steps<Self>) {
        steps.called(id, reply.map(|reply| reply["value"].clone()).map_err(|failure| self.words(&failure)));
    }

    fn lost(&mut self) -> bool {
        self.open.clear();
        self.conversation.is_some()
    }

    fn forget(&mut self) {
        self.open.clear();
        self.conversation = None;
    }
}
