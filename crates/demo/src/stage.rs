//! The stage that tricks are performed on: one task that owns everything, hears an order at every pause and every word, and
//! so can be interrupted anywhere. An act that must not go on returns a [`Stop`], and `?` carries it out of any trick.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use wh_agents::port::Inside;
use wh_core::space::harness::{Capabilities, Deed, Key, Named, Order, Outcome, Report};
use wh_core::space::item::{Attachment, Level};
use wh_core::space::question::{Answer, Question};
use wh_core::space::{ItemId, TurnId};

use super::DemoOptions;
use super::chance::Chance;
use super::character::{Character, Mode, Model, known, models, modes};
use super::folder::Folder;
use super::kept::Shelf;
use super::memory::{Memory, tokens};
use super::tools;

/// Why an act does not go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Somebody interrupted it.
    Interrupted,
    /// It fails, and why.
    Failed(String),
    /// The agent is to end.
    Ended,
}

/// What an act comes to.
pub(super) type Act<T = ()> = Result<T, Stop>;

/// Something that was allowed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Permit {
    Edit,
    Run,
    Bell,
}

/// A question that was asked, and the answer once it is there.
struct Asked {
    key: Key,
    question: Question,
    answer: Option<Answer>,
}

/// A pause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause {
    /// Until when, if that is known.
    pub until: Option<Instant>,
    /// It was its own wish, and is over when its turn ends.
    pub of_turn: bool,
}

/// An open stream.
pub(super) struct Stream {
    pub key: Key,
    /// It is closed when its turn ends.
    pub of_turn: bool,
}

/// How it begins.
pub(super) struct Beginning {
    pub character: Character,
    /// Where the conversation is kept, if it is.
    pub shelf: Option<Shelf>,
    /// What was said to it before, if that is to be told.
    pub recalled: Vec<String>,
    pub memory: Memory,
    pub turns: u64,
}

pub(super) struct Stage {
    inside: Inside,
    shelf: Option<Shelf>,
    recalled: Vec<String>,
    pub options: DemoOptions,
    pub beginning: Character,
    pub character: Character,
    pub chance: Chance,
    pub memory: Memory,
    pub folder: Folder,
    pub allowed: BTreeSet<Permit>,
    pub streams: Vec<Stream>,
    pub pause: Option<Pause>,
    /// It said in this turn how it is, and that is not how it is after it.
    pub said_status: bool,
    turn: Option<TurnId>,
    turns: u64,
    keys: u64,
    asked: Vec<Asked>,
}

impl Stage {
    pub fn new(options: DemoOptions, beginning: Beginning, inside: Inside) -> Self {
        let Beginning { character, shelf, recalled, memory, turns } = beginning;
        Self {
            inside,
            shelf,
            recalled,
            beginning: character,
            character,
            chance: Chance::new(options.seed, 0),
            memory,
            folder: Folder::new(options.place.clone()),
            allowed: BTreeSet::new(),
            streams: Vec::new(),
            pause: None,
            said_status: false,
            turn: None,
            turns,
            keys: 0,
            asked: Vec::new(),
            options,
        }
    }

    /// Lives until told to end, or until nobody is there any more.
    pub async fn run(mut self) {
        // The only way out is a stop, and all of them mean the same here.
        let _ = self.live().await;
        self.folder.remove();
        let _ = self.inside.reports.send(Report::Gone(None)).await;
    }

    async fn live(&mut self) -> Act {
        for text in std::mem::take(&mut self.recalled) {
            self.put(Report::Recalled(text)).await?;
        }
        self.put(Report::Ready(self.capabilities())).await?;
        self.put(Report::Tools(tools::catalogue())).await?;
        self.keep();
        self.tell_kept().await?;
        loop {
            match self.listen(None).await? {
                Some(Order::Prompt { turn, item, text, attachments }) => {
                    self.perform(turn, item, &text, &attachments).await?;
                }
                Some(order) => self.hear(order).await?,
                None => {}
            }
        }
    }

    /// Writes down what it remembers, where it is to be kept.
    pub fn keep(&self) {
        if let Some(shelf) = &self.shelf {
            shelf.keep(&self.memory, self.character, self.turns);
        }
    }

    async fn tell_kept(&mut self) -> Act {
        match self.shelf.as_ref().map(|shelf| shelf.name.clone()) {
            Some(name) => self.put(Report::Kept(Some(name))).await,
            None => Ok(()),
        }
    }

    /// What comes from now on is another conversation; the one before stays as it was.
    pub async fn turn_the_page(&mut self) -> Act {
        self.shelf = self.shelf.as_ref().map(Shelf::another);
        self.keep();
        self.tell_kept().await
    }

    pub fn capabilities(&self) -> Capabilities {
        let calls = ["pause", "resume", "status", "forget", "clear", "compact", "restart", "stream", "close", "tool"];
        Capabilities {
            interrupts: true,
            acknowledges: true,
            models: models(),
            model: Some(self.character.model.id().to_owned()),
            modes: modes(),
            mode: Some(self.character.mode.id().to_owned()),
            commands: vec![Named {
                id: "demo".to_owned(),
                title: "List what the demo agent can do; with a name, do it".to_owned(),
            }],
            calls: calls.map(str::to_owned).to_vec(),
        }
    }

    async fn perform(&mut self, turn: TurnId, item: ItemId, text: &str, attachments: &[Attachment]) -> Act {
        self.turns += 1;
        if let Some(shelf) = &self.shelf {
            shelf.arrived(text);
        }
        self.keep();
        self.chance = Chance::new(self.options.seed, self.turns);
        self.turn = Some(turn.clone());
        self.put(Report::Delivered(turn.clone())).await?;
        self.put(Report::Submitted(turn.clone())).await?;
        self.put(Report::Acknowledged(item, true)).await?;
        let written = self.memory.written();
        let result = self.act(turn.clone(), text, attachments).await;
        if result == Err(Stop::Ended) {
            return result;
        }
        self.turn = None;
        self.clear_up().await?;
        if !self.memory.is_empty() {
            self.memory.wrote(self.memory.written().saturating_sub(written));
        }
        let outcome = match result {
            Ok(()) => Outcome::Completed,
            Err(Stop::Failed(reason)) => Outcome::Failed(reason),
            Err(Stop::Interrupted | Stop::Ended) => Outcome::Cancelled,
        };
        let word = match &outcome {
            Outcome::Completed => "completed",
            Outcome::Cancelled => "cancelled",
            Outcome::Failed(_) => "failed",
        };
        self.tell_streams(&json!({ "turn": self.turns, "event": word })).await?;
        self.keep();
        self.put(Report::Usage(self.memory.usage())).await?;
        self.put(Report::Ended(turn, outcome)).await
    }

    async fn act(&mut self, turn: TurnId, text: &str, attachments: &[Attachment]) -> Act {
        self.say(Report::Started(turn)).await?;
        self.tell_streams(&json!({ "turn": self.turns, "event": "started" })).await?;
        self.memory.read(tokens(text));
        self.answer(text, attachments).await
    }

    /// Takes back what only this turn wanted.
    async fn clear_up(&mut self) -> Act {
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
            self.go_on().await?;
        }
        if std::mem::take(&mut self.said_status) {
            self.report_status().await?;
        }
        Ok(())
    }

    async fn tell_streams(&mut self, frame: &Value) -> Act {
        let keys: Vec<Key> = self.streams.iter().map(|stream| stream.key.clone()).collect();
        for key in keys {
            self.put(Report::StreamFrame(key, frame.clone())).await?;
        }
        Ok(())
    }

    /// Whether it works on a prompt.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// A name for something of its own, never used before.
    pub fn key(&mut self, kind: &str) -> Key {
        self.keys += 1;
        format!("{kind}-{}", self.keys)
    }

    /// Reports at once, whatever was ordered. For answers to orders; within a trick, see [`Stage::say`].
    pub async fn put(&mut self, report: Report) -> Act {
        self.inside.reports.send(report).await.map_err(|_| Stop::Ended)
    }

    /// Reports within a trick: orders come first, and while paused nothing is said.
    pub async fn say(&mut self, report: Report) -> Act {
        loop {
            self.hold().await?;
            let order = tokio::select! {
                biased;
                order = self.inside.orders.recv() => order.ok_or(Stop::Ended)?,
                room = self.inside.reports.room() => {
                    room.map_err(|_| Stop::Ended)?;
                    return self.inside.reports.send(report).await.map_err(|_| Stop::Ended);
                }
            };
            self.hear(order).await?;
        }
    }

    /// When as many words will have been said. A moment too far away to be told is never.
    fn after(&self, words: u32) -> Option<Instant> {
        Instant::now().checked_add(self.options.pace.saturating_mul(words))
    }

    /// Waits as long as this many words take.
    pub async fn rest(&mut self, words: u32) -> Act {
        self.hold().await?;
        let until = self.after(words);
        while until.is_none_or(|until| Instant::now() < until) {
            if let Some(order) = self.listen(until).await? {
                self.hear(order).await?;
                self.hold().await?;
            }
        }
        Ok(())
    }

    async fn hold(&mut self) -> Act {
        while self.pause.is_some() {
            if let Some(order) = self.listen(None).await? {
                self.hear(order).await?;
            }
        }
        Ok(())
    }

    /// The next order; or nothing, when the time has come or a pause is over.
    async fn listen(&mut self, until: Option<Instant>) -> Act<Option<Order>> {
        let expiry = self.pause.and_then(|pause| pause.until);
        tokio::select! {
            biased;
            order = self.inside.orders.recv() => order.map(Some).ok_or(Stop::Ended),
            () = self.inside.reports.closed() => Err(Stop::Ended),
            () = moment(expiry) => {
                self.go_on().await?;
                Ok(None)
            }
            () = moment(until) => Ok(None),
        }
    }

    /// Ends a pause, if there is one.
    pub async fn go_on(&mut self) -> Act<bool> {
        let paused = self.pause.take().is_some();
        if paused {
            self.put(Report::Paused(None)).await?;
        }
        Ok(paused)
    }

    /// Asks all of these at once and waits for all answers. One that its question does not have counts as none.
    pub async fn ask_all(&mut self, questions: Vec<Question>) -> Act<Vec<Answer>> {
        self.put_questions(questions).await?;
        while self.asked.iter().any(|asked| asked.answer.is_none()) {
            if let Some(order) = self.listen(None).await? {
                self.hear(order).await?;
            }
        }
        Ok(std::mem::take(&mut self.asked).into_iter().filter_map(|asked| asked.answer).collect())
    }

    /// Asks, and waits for the answer.
    pub async fn ask(&mut self, question: Question) -> Act<Answer> {
        Ok(self.ask_all(vec![question]).await?.pop().unwrap_or_default())
    }

    /// Asks, waits as long as this many words take, and then no longer wants to know. Where nothing takes any time it
    /// waits for the answer.
    pub async fn ask_within(&mut self, words: u32, question: Question) -> Act<Option<Answer>> {
        if self.options.pace.is_zero() {
            return Ok(Some(self.ask(question).await?));
        }
        self.put_questions(vec![question]).await?;
        let until = self.after(words);
        while self.asked.iter().any(|asked| asked.answer.is_none()) {
            if let Some(order) = self.listen(until).await? {
                self.hear(order).await?;
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

    async fn put_questions(&mut self, questions: Vec<Question>) -> Act {
        for question in questions {
            let key = self.key("question");
            self.say(Report::Asked { key: key.clone(), question: question.clone() }).await?;
            self.asked.push(Asked { key, question, answer: None });
        }
        Ok(())
    }

    /// Does what an order says, but for a prompt when there is nothing else to do.
    async fn hear(&mut self, order: Order) -> Act {
        match order {
            Order::Prompt { turn, item, .. } => {
                self.put(Report::Delivered(turn.clone())).await?;
                self.put(Report::Acknowledged(item, false)).await?;
                let reason = "the demo agent is busy and keeps nothing for later; send it again when this turn is over";
                self.put(Report::Ended(turn, Outcome::Failed(reason.to_owned()))).await
            }
            Order::Answer { question, answer } => {
                let open = self.asked.iter_mut().find(|asked| asked.key == question && asked.answer.is_none());
                let outcome = match open {
                    Some(asked) => {
                        let fits = asked.question.check(&answer).is_ok();
                        asked.answer = Some(if fits { answer } else { Answer::default() });
                        Ok(())
                    }
                    None => Err("the question is not open any more".to_owned()),
                };
                self.put(Report::Did(Deed::Answer(question), outcome)).await
            }
            Order::Interrupt => {
                self.put(Report::Did(Deed::Interrupt, Ok(()))).await?;
                if self.is_working() { Err(Stop::Interrupted) } else { Ok(()) }
            }
            Order::SetModel(id) => match Model::named(&id) {
                Some(model) => {
                    self.character.model = model;
                    self.keep();
                    self.put(Report::Ready(self.capabilities())).await?;
                    self.put(Report::Did(Deed::Model(id), Ok(()))).await
                }
                None => {
                    let why = format!("Demo has no model {id:?}; {}", known(&models()));
                    self.decline(Deed::Model(id), why).await
                }
            },
            Order::SetMode(id) => match Mode::named(&id) {
                Some(mode) => {
                    self.character.mode = mode;
                    self.keep();
                    self.put(Report::Ready(self.capabilities())).await?;
                    self.put(Report::Did(Deed::Mode(id), Ok(()))).await
                }
                None => {
                    let why = format!("Demo has no mode {id:?}; {}", known(&modes()));
                    self.decline(Deed::Mode(id), why).await
                }
            },
            Order::Call { id, call } => self.call(id, call).await,
            Order::End => Err(Stop::Ended),
        }
    }

    async fn decline(&mut self, deed: Deed, why: String) -> Act {
        self.put(Report::Notice(Level::Warning, why.clone())).await?;
        self.put(Report::Did(deed, Err(why))).await
    }
}

/// Waits for a moment; for ever without one.
async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
