//! Task of the demo agent, which owns all state. The task handles pending orders before each report and during each
//! pause, so that a user can interrupt a trick at any point. An action that must stop the trick returns a [`TrickStop`]
//! error.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use wh_agents::interface::HarnessTaskChannels;
use wh_core::space::harness::{AckedOrder, AgentOption, HarnessKey, Order, Report, ReportedCapabilities, TurnOutcome};
use wh_core::space::item::{Attachment, NoticeLevel};
use wh_core::space::question::{Answer, Question};
use wh_core::space::{ItemId, TurnId};

use super::DemoOptions;
use super::chance::DemoRng;
use super::character::{DemoMode, DemoModel, DemoSettings, known, models, modes};
use super::folder::DemoDirectory;
use super::memory::{DemoContext, tokens};
use super::storage::DemoConversationFiles;
use super::tools;

/// Reason why a trick stops.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TrickStop {
    /// The turn was interrupted.
    Interrupted,
    /// The turn fails with this message.
    Failed(String),
    /// The agent ends, which also ends the trick.
    Ended,
}

/// Result of an action within a trick. An error stops the trick.
pub(super) type TrickResult<T = ()> = Result<T, TrickStop>;

/// Kind of permission that the agent asks for. A user can grant each kind permanently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DemoPermission {
    Edit,
    Run,
    Bell,
}

/// Question of a trick. `answer` is set when the answer arrives.
struct AskedQuestion {
    key: HarnessKey,
    question: Question,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ActivePause {
    /// Time at which the pause ends; `None` if only an order ends it.
    pub until: Option<Instant>,
    /// True if a trick started the pause. The pause then ends with the turn.
    pub of_turn: bool,
}

/// Stream that the agent has opened.
pub(super) struct DemoStream {
    pub key: HarnessKey,
    /// True if a trick opened the stream. The stream is then closed at the end of the turn.
    pub of_turn: bool,
}

/// Initial state of the agent: a new or a saved conversation.
pub(super) struct InitialState {
    pub character: DemoSettings,
    /// Location of the saved conversation; `None` if the conversation is not saved.
    pub files: Option<DemoConversationFiles>,
    /// Prompts of the resumed conversation that must be reported; empty if the client does not request them.
    pub recalled: Vec<String>,
    pub memory: DemoContext,
    pub turns: u64,
}

pub(super) struct DemoTask {
    inside: HarnessTaskChannels,
    files: Option<DemoConversationFiles>,
    recalled: Vec<String>,
    pub options: DemoOptions,
    pub initial_character: DemoSettings,
    pub character: DemoSettings,
    pub chance: DemoRng,
    pub memory: DemoContext,
    pub folder: DemoDirectory,
    pub allowed: BTreeSet<DemoPermission>,
    pub streams: Vec<DemoStream>,
    pub pause: Option<ActivePause>,
    /// True if the agent has reported a status during this turn. At the end of the turn the agent reports the status
    /// again.
    pub status_reported: bool,
    turn: Option<TurnId>,
    turns: u64,
    keys: u64,
    asked: Vec<AskedQuestion>,
}

impl DemoTask {
    pub fn new(options: DemoOptions, beginning: InitialState, inside: HarnessTaskChannels) -> Self {
        let InitialState { character, files, recalled, memory, turns } = beginning;
        Self {
            inside,
            files,
            recalled,
            initial_character: character,
            character,
            chance: DemoRng::new(options.seed, 0),
            memory,
            folder: DemoDirectory::new(options.parent.clone()),
            allowed: BTreeSet::new(),
            streams: Vec::new(),
            pause: None,
            status_reported: false,
            turn: None,
            turns,
            keys: 0,
            asked: Vec::new(),
            options,
        }
    }

    /// Runs until an order ends the agent or the client disconnects. Deletes the working directory at the end.
    pub async fn run(mut self) {
        // `serve` returns only with an error, and every error ends the agent.
        let _ = self.serve().await;
        self.folder.remove();
        let _ = self.inside.reports.send(Report::Gone(None)).await;
    }

    async fn serve(&mut self) -> TrickResult {
        for text in std::mem::take(&mut self.recalled) {
            self.put(Report::EarlierPrompt(text)).await?;
        }
        self.put(Report::Ready(self.capabilities())).await?;
        self.put(Report::Tools(tools::catalogue())).await?;
        self.save();
        self.report_conversation().await?;
        loop {
            match self.next_order(None).await? {
                Some(Order::Prompt { turn, item, text, attachments }) => {
                    self.run_turn(turn, item, &text, &attachments).await?;
                }
                Some(order) => self.handle_order(order).await?,
                None => {}
            }
        }
    }

    /// Saves the conversation, if saving is enabled.
    pub fn save(&self) {
        if let Some(files) = &self.files {
            files.save(&self.memory, self.character, self.turns);
        }
    }

    async fn report_conversation(&mut self) -> TrickResult {
        match self.files.as_ref().map(|files| files.name.clone()) {
            Some(name) => self.put(Report::ResumeId(Some(name))).await,
            None => Ok(()),
        }
    }

    /// Starts a new conversation. The previous conversation stays saved.
    pub async fn start_conversation(&mut self) -> TrickResult {
        self.files = self.files.as_ref().map(DemoConversationFiles::sibling);
        self.save();
        self.report_conversation().await
    }

    pub fn capabilities(&self) -> ReportedCapabilities {
        let calls = ["pause", "resume", "status", "forget", "clear", "compact", "restart", "stream", "close", "tool"];
        ReportedCapabilities {
            interrupts: true,
            acknowledges: true,
            models: models(),
            model: Some(self.character.model.id().to_owned()),
            modes: modes(),
            mode: Some(self.character.mode.id().to_owned()),
            commands: vec![AgentOption {
                id: "demo".to_owned(),
                title: "List the demo agent's tricks, or run one by name".to_owned(),
            }],
            calls: calls.map(str::to_owned).to_vec(),
        }
    }

    async fn run_turn(&mut self, turn: TurnId, item: ItemId, text: &str, attachments: &[Attachment]) -> TrickResult {
        self.turns += 1;
        if let Some(files) = &self.files {
            files.log_prompt(text);
        }
        self.save();
        self.chance = DemoRng::new(self.options.seed, self.turns);
        self.turn = Some(turn.clone());
        self.put(Report::Delivered(turn.clone())).await?;
        self.put(Report::Submitted(turn.clone())).await?;
        self.put(Report::Acknowledged(item, true)).await?;
        let written = self.memory.written();
        let result = self.run_trick(turn.clone(), text, attachments).await;
        if result == Err(TrickStop::Ended) {
            return result;
        }
        self.turn = None;
        self.close_turn_resources().await?;
        if !self.memory.is_empty() {
            self.memory.wrote(self.memory.written().saturating_sub(written));
        }
        let outcome = match result {
            Ok(()) => TurnOutcome::Completed,
            Err(TrickStop::Failed(reason)) => TurnOutcome::Failed(reason),
            Err(TrickStop::Interrupted | TrickStop::Ended) => TurnOutcome::Cancelled,
        };
        let word = match &outcome {
            TurnOutcome::Completed => "completed",
            TurnOutcome::Cancelled => "cancelled",
            TurnOutcome::Failed(_) => "failed",
        };
        self.send_to_streams(&json!({ "turn": self.turns, "event": word })).await?;
        self.save();
        self.put(Report::Usage(self.memory.usage())).await?;
        self.put(Report::Ended(turn, outcome)).await
    }

    async fn run_trick(&mut self, turn: TurnId, text: &str, attachments: &[Attachment]) -> TrickResult {
        self.say(Report::Started(turn)).await?;
        self.send_to_streams(&json!({ "turn": self.turns, "event": "started" })).await?;
        self.memory.read(tokens(text));
        self.answer(text, attachments).await
    }

    /// Withdraws the questions, closes the streams and ends the pause of the current turn. Reports the status again if
    /// it was reported during the turn.
    async fn close_turn_resources(&mut self) -> TrickResult {
        for asked in std::mem::take(&mut self.asked) {
            if asked.answer.is_none() {
                self.put(Report::Withdrew(asked.key)).await?;
            }
        }
        let (gone, stay) = std::mem::take(&mut self.streams).into_iter().partition::<Vec<_>, _>(|one| one.of_turn);
        self.streams = stay;
        for stream in gone {
            self.put(Report::StreamClosed(stream.key)).await?;
        }
        if self.pause.is_some_and(|pause| pause.of_turn) {
            self.end_pause().await?;
        }
        if std::mem::take(&mut self.status_reported) {
            self.report_status().await?;
        }
        Ok(())
    }

    async fn send_to_streams(&mut self, frame: &Value) -> TrickResult {
        let keys: Vec<HarnessKey> = self.streams.iter().map(|stream| stream.key.clone()).collect();
        for key in keys {
            self.put(Report::StreamFrame(key, frame.clone())).await?;
        }
        Ok(())
    }

    /// Returns true while a turn is running.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns a key that has not been used before.
    pub fn key(&mut self, kind: &str) -> HarnessKey {
        self.keys += 1;
        format!("{kind}-{}", self.keys)
    }

    /// Sends a report immediately. Used to answer orders; tricks use [`DemoTask::say`].
    pub async fn put(&mut self, report: Report) -> TrickResult {
        self.inside.reports.send(report).await.map_err(|_| TrickStop::Ended)
    }

    /// Sends a report of a trick. Handles pending orders first, and waits while the agent is paused.
    pub async fn say(&mut self, report: Report) -> TrickResult {
        loop {
            self.wait_while_paused().await?;
            let order = tokio::select! {
                biased;
                order = self.inside.orders.recv() => order.ok_or(TrickStop::Ended)?,
                room = self.inside.reports.room() => {
                    room.map_err(|_| TrickStop::Ended)?;
                    return self.inside.reports.send(report).await.map_err(|_| TrickStop::Ended);
                }
            };
            self.handle_order(order).await?;
        }
    }

    /// Returns the current time plus `words` times the time per word; `None` on overflow.
    fn time_after(&self, words: u32) -> Option<Instant> {
        Instant::now().checked_add(self.options.pace.saturating_mul(words))
    }

    /// Waits for `words` times the time per word, `DemoOptions::pace`.
    pub async fn wait_words(&mut self, words: u32) -> TrickResult {
        self.wait_while_paused().await?;
        let until = self.time_after(words);
        while until.is_none_or(|until| Instant::now() < until) {
            if let Some(order) = self.next_order(until).await? {
                self.handle_order(order).await?;
                self.wait_while_paused().await?;
            }
        }
        Ok(())
    }

    async fn wait_while_paused(&mut self) -> TrickResult {
        while self.pause.is_some() {
            if let Some(order) = self.next_order(None).await? {
                self.handle_order(order).await?;
            }
        }
        Ok(())
    }

    /// Waits for the next order. Returns `None` when the time `until` is reached or a pause ends.
    async fn next_order(&mut self, until: Option<Instant>) -> TrickResult<Option<Order>> {
        let expiry = self.pause.and_then(|pause| pause.until);
        tokio::select! {
            biased;
            order = self.inside.orders.recv() => order.map(Some).ok_or(TrickStop::Ended),
            () = self.inside.reports.closed() => Err(TrickStop::Ended),
            () = sleep_until_some(expiry) => {
                self.end_pause().await?;
                Ok(None)
            }
            () = sleep_until_some(until) => Ok(None),
        }
    }

    /// Ends the current pause. Returns false if the agent is not paused.
    pub async fn end_pause(&mut self) -> TrickResult<bool> {
        let paused = self.pause.take().is_some();
        if paused {
            self.put(Report::Paused(None)).await?;
        }
        Ok(paused)
    }

    /// Asks several questions at the same time and waits for the answers to all of them. An answer that does not fit
    /// its question counts as empty.
    pub async fn ask_all(&mut self, questions: Vec<Question>) -> TrickResult<Vec<Answer>> {
        self.put_questions(questions).await?;
        while self.asked.iter().any(|asked| asked.answer.is_none()) {
            if let Some(order) = self.next_order(None).await? {
                self.handle_order(order).await?;
            }
        }
        Ok(std::mem::take(&mut self.asked).into_iter().filter_map(|asked| asked.answer).collect())
    }

    /// Asks a question and waits for the answer.
    pub async fn ask(&mut self, question: Question) -> TrickResult<Answer> {
        Ok(self.ask_all(vec![question]).await?.pop().unwrap_or_default())
    }

    /// Asks a question and waits for the answer. The timeout is `words` times the time per word. After the timeout,
    /// withdraws the question and returns `None`. If the time per word is zero, there is no timeout.
    pub async fn ask_within(&mut self, words: u32, question: Question) -> TrickResult<Option<Answer>> {
        if self.options.pace.is_zero() {
            return Ok(Some(self.ask(question).await?));
        }
        self.put_questions(vec![question]).await?;
        let until = self.time_after(words);
        while self.asked.iter().any(|asked| asked.answer.is_none()) {
            if let Some(order) = self.next_order(until).await? {
                self.handle_order(order).await?;
            } else if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        let Some(asked) = self.asked.pop() else { return Ok(None) };
        if asked.answer.is_none() {
            self.put(Report::Withdrew(asked.key)).await?;
        }
        Ok(asked.answer)
    }

    async fn put_questions(&mut self, questions: Vec<Question>) -> TrickResult {
        for question in questions {
            let key = self.key("question");
            self.say(Report::Asked { key: key.clone(), question: question.clone() }).await?;
            self.asked.push(AskedQuestion { key, question, answer: None });
        }
        Ok(())
    }

    /// Handles an order other than the prompt that starts a turn. A prompt that arrives during a turn is refused.
    async fn handle_order(&mut self, order: Order) -> TrickResult {
        match order {
            Order::Prompt { turn, item, .. } => {
                self.put(Report::Delivered(turn.clone())).await?;
                self.put(Report::Acknowledged(item, false)).await?;
                let reason = "the demo agent is busy and has no queue; send the message again when this turn is over";
                self.put(Report::Ended(turn, TurnOutcome::Failed(reason.to_owned()))).await
            }
            Order::Answer { question, answer } => {
                let open = self.asked.iter_mut().find(|asked| asked.key == question && asked.answer.is_none());
                let outcome = match open {
                    Some(asked) => {
                        let fits = asked.question.check(&answer).is_ok();
                        asked.answer = Some(if fits { answer } else { Answer::default() });
                        Ok(())
                    }
                    None => Err("the question is no longer open".to_owned()),
                };
                self.put(Report::Acked(AckedOrder::Answer(question), outcome)).await
            }
            Order::Interrupt => {
                self.put(Report::Acked(AckedOrder::Interrupt, Ok(()))).await?;
                if self.is_working() { Err(TrickStop::Interrupted) } else { Ok(()) }
            }
            Order::SetModel(id) => match DemoModel::named(&id) {
                Some(model) => {
                    self.character.model = model;
                    self.save();
                    self.put(Report::Ready(self.capabilities())).await?;
                    self.put(Report::Acked(AckedOrder::Model(id), Ok(()))).await
                }
                None => {
                    let why = format!("Demo has no model {id:?}; {}", known(&models()));
                    self.decline(AckedOrder::Model(id), why).await
                }
            },
            Order::SetMode(id) => match DemoMode::named(&id) {
                Some(mode) => {
                    self.character.mode = mode;
                    self.save();
                    self.put(Report::Ready(self.capabilities())).await?;
                    self.put(Report::Acked(AckedOrder::Mode(id), Ok(()))).await
                }
                None => {
                    let why = format!("Demo has no mode {id:?}; {}", known(&modes()));
                    self.decline(AckedOrder::Mode(id), why).await
                }
            },
            Order::Call { id, call } => self.call(id, call).await,
            Order::End => Err(TrickStop::Ended),
        }
    }

    async fn decline(&mut self, order: AckedOrder, why: String) -> TrickResult {
        self.put(Report::Notice(NoticeLevel::Warning, why.clone())).await?;
        self.put(Report::Acked(order, Err(why))).await
    }
}

/// Sleeps until the time `at`; forever if `at` is `None`.
async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
