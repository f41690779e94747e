//! The task behind a running agent: orders and what it says in, requests and reports out. It waits for neither a person
//! nor a reply: whatever takes time runs in a task of its own and comes back as a [`Done`].

mod life;
mod news;
mod setup;

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Named, Order, Outcome, Report, Usage};
use wh_core::space::item::Level;
use wh_core::space::question::Answer;
use wh_wire::acp::{PromptReply, SessionReply, StopReason, read};

use super::items::Items;
use super::questions::Open;
use super::settings::Settings;
use super::table::Entry;
use crate::port::{Reports, Unheard};
use crate::rpc::{Events, Peer, RpcError};

pub(super) use life::run;

/// What only some agents can do and these can.
const CALLS: [&str; 2] = ["status", "restart"];

/// What a task of its own has come to.
#[derive(Debug)]
enum Done {
    /// The turn of this number is over.
    Prompted(u64, Result<Value, RpcError>),
    /// Another model.
    Model(String, Result<Value, RpcError>),
    /// Another mode.
    Mode(String, Result<Value, RpcError>),
}

/// What goes on after an order.
enum Next {
    On,
    End,
    /// Begin a new conversation, for the call of this number.
    Anew(u64),
}

/// A turn that runs.
#[derive(Debug)]
struct Turn {
    id: TurnId,
    number: u64,
    /// Whether the agent has begun with it.
    begun: bool,
    interrupted: bool,
}

/// What outlasts the process: a new one goes on with it.
#[derive(Debug, Default)]
struct Memory {
    items: Items,
    usage: Usage,
    /// The conversation, by the agent's name for it.
    session: Option<String>,
    /// When it began, if that was here.
    begun: Option<SystemTime>,
    /// What somebody chose.
    mode: Option<String>,
    model: Option<String>,
    questions: u64,
    turns: u64,
}

/// One that runs.
struct Live<'a> {
    entry: Arc<Entry>,
    may_skip: bool,
    peer: Peer,
    events: Events,
    reports: Reports,
    done: mpsc::UnboundedSender<Done>,
    memory: &'a mut Memory,
    session: String,
    /// It can go on with this conversation after a new start.
    lasts: bool,
    version: Option<String>,
    settings: Settings,
    commands: Vec<Named>,
    /// It tells again what was said before, until the first prompt.
    replays: bool,
    /// Something was said to this process.
    prompted: bool,
    turn: Option<Turn>,
    open: Vec<(String, Open)>,
}

impl Live<'_> {
    async fn tell(&self, report: Report) -> Result<(), Unheard> {
        self.reports.send(report).await
    }

    async fn tell_all(&self, reports: Vec<Report>) -> Result<(), Unheard> {
        for report in reports {
            self.tell(report).await?;
        }
        Ok(())
    }

    /// Says by what the conversation can be gone on with, where the agent can do that.
    async fn tell_kept(&self, spoken: bool) -> Result<(), Unheard> {
        self.tell(Report::Kept((self.lasts && spoken).then(|| self.session.clone()))).await
    }

    async fn warn(&self, text: String) -> Result<(), Unheard> {
        self.tell(Report::Notice(Level::Warning, text)).await
    }

    /// Says what it can do now.
    async fn ready(&self) -> Result<(), Unheard> {
        let may = |mode: &&Named| self.may_skip || !self.entry.skips(&mode.id);
        let Settings { modes, models } = &self.settings;
        self.tell(Report::Ready(Capabilities {
            interrupts: true,
            queues: false,
            acknowledges: false,
            models: models.all.clone(),
            model: models.current.clone(),
            modes: modes.all.iter().filter(may).cloned().collect(),
            mode: modes.current.clone(),
            commands: self.commands.clone(),
            calls: self.calls(),
        }))
        .await
    }

    fn calls(&self) -> Vec<String> {
        CALLS.map(str::to_owned).to_vec()
    }

    /// Does what it is told, as far as that takes no time.
    async fn order(&mut self, order: Order) -> Result<Next, Unheard> {
        match order {
            Order::Prompt { turn, text, .. } => self.prompt(turn, text).await?,
            Order::Answer { question, answer } => self.answer(&question, &answer).await?,
            Order::Interrupt => self.interrupt().await?,
            Order::SetModel(model) => {
                let (method, params) = self.settings.model(&self.session, &model);
                self.aside(move |peer| async move {
                    let outcome = peer.request(method, params).await;
                    Done::Model(model, outcome)
                });
            }
            Order::SetMode(mode) => match self.entry.allows(&mode, self.may_skip) {
                Ok(()) => {
                    let (method, params) = self.settings.mode(&self.session, &mode);
                    self.aside(move |peer| async move {
                        let outcome = peer.request(method, params).await;
                        Done::Mode(mode, outcome)
                    });
                }
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    self.warn(format!("{error}{hint}")).await?;
                }
            },
            Order::Call { id, call: Call::Restart } => return Ok(Next::Anew(id)),
            Order::Call { id, call: Call::ReportStatus } => {
                self.tell(Report::Called(id, Ok(Value::String(self.status())))).await?;
            }
            Order::Call { id, call } => {
                let why = match call {
                    Call::Other { name, .. } => format!("{} has no {name}", self.entry.title),
                    other => format!("{} cannot do that: {other:?}", self.entry.title),
                };
                self.tell(Report::Called(id, Err(why))).await?;
            }
            Order::End => return Ok(Next::End),
        }
        Ok(Next::On)
    }

    fn status(&self) -> String {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        let Settings { modes, models } = &self.settings;
        format!(
            "{} {}\nmodel {}, mode {}",
            self.entry.title,
            known(&self.version),
            known(&models.current),
            known(&modes.current)
        )
    }

    /// Lets something take its time.
    fn aside<F>(&self, work: impl FnOnce(Peer) -> F)
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let (work, done) = (work(self.peer.clone()), self.done.clone());
        tokio::spawn(async move {
            // Nobody is left to be told when the harness has ended.
            let _ = done.send(work.await);
        });
    }

    async fn prompt(&mut self, turn: TurnId, text: String) -> Result<(), Unheard> {
        // What was said between turns is whole by now.
        let reports = self.memory.items.end();
        self.tell_all(reports).await?;
        self.memory.items.begin();
        self.replays = false;
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        match self.peer.begin("session/prompt", params, None).await {
            Ok(reply) => {
                let first = !std::mem::replace(&mut self.prompted, true);
                self.memory.turns += 1;
                let number = self.memory.turns;
                self.turn = Some(Turn { id: turn.clone(), number, begun: false, interrupted: false });
                self.aside(move |_| async move { Done::Prompted(number, reply.wait().await) });
                self.tell(Report::Delivered(turn)).await?;
                // One that nothing was said in is not kept by all of them.
                if first { self.tell_kept(true).await } else { Ok(()) }
            }
            Err(error) => self.tell(Report::Ended(turn, Outcome::Failed(error.to_string()))).await,
        }
    }

    async fn answer(&mut self, key: &str, answer: &Answer) -> Result<(), Unheard> {
        let Some(place) = self.open.iter().position(|(known, _)| known == key) else { return Ok(()) };
        let (_, open) = self.open.remove(place);
        let (reply, decided) = open.answer(answer);
        if let Some(report) = decided.and_then(|(call, status)| self.memory.items.decided(call, status)) {
            self.tell(report).await?;
        }
        if let Err(error) = self.peer.answer(&open.id, reply).await {
            self.tell(Report::Notice(Level::Error, format!("the answer was not sent: {error}"))).await?;
        }
        Ok(())
    }

    /// Has the agent stop. Every question that is open is closed first on its side, then on ours.
    async fn interrupt(&mut self) -> Result<(), Unheard> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        turn.interrupted = true;
        let stopped = self.peer.notify("session/cancel", json!({ "sessionId": self.session })).await;
        if let Err(error) = stopped {
            self.warn(format!("not interrupted: {error}")).await?;
        }
        self.withdraw_all().await
    }

    async fn withdraw_all(&mut self) -> Result<(), Unheard> {
        for (key, open) in std::mem::take(&mut self.open) {
            // It may be gone already, and with it whoever asked.
            let _ = self.peer.answer(&open.id, open.abandoned()).await;
            self.tell(Report::Withdrew(key)).await?;
        }
        Ok(())
    }

    /// What came of something that took its time.
    async fn done(&mut self, done: Done) -> Result<(), Unheard> {
        match done {
            Done::Prompted(number, outcome) => {
                let Some(turn) = self.turn.as_ref().filter(|turn| turn.number == number) else { return Ok(()) };
                match outcome {
                    Ok(reply) => {
                        let interrupted = turn.interrupted;
                        self.begun().await?;
                        self.ended(&read(reply), interrupted).await
                    }
                    // That it is gone is told by itself, with how it ended.
                    Err(RpcError::Gone(_)) => Ok(()),
                    // Some agents tell of an interrupt as of an error.
                    Err(_) if turn.interrupted => self.end_turn(Outcome::Cancelled).await,
                    Err(error) => self.end_turn(Outcome::Failed(life::said(&self.entry, &error))).await,
                }
            }
            Done::Model(model, Ok(reply)) => {
                self.settings.models.current = Some(model.clone());
                self.memory.model = Some(model);
                self.settings.learn(&read::<SessionReply>(reply));
                self.ready().await?;
                self.leave_unallowed().await
            }
            Done::Mode(mode, Ok(reply)) => {
                self.settings.modes.current = Some(mode.clone());
                self.memory.mode = Some(mode);
                self.settings.learn(&read::<SessionReply>(reply));
                self.ready().await
            }
            Done::Model(wanted, Err(error)) | Done::Mode(wanted, Err(error)) => {
                let text = format!("{} did not take {wanted:?}: {}", self.entry.title, life::said(&self.entry, &error));
                self.warn(text).await?;
                // What was said to be chosen is not: the old choice stands.
                self.ready().await
            }
        }
    }

    async fn ended(&mut self, reply: &PromptReply, interrupted: bool) -> Result<(), Unheard> {
        if let Some(tokens) = reply.tokens() {
            let usage = &mut self.memory.usage;
            usage.input_tokens = usage.input_tokens.saturating_add(tokens.input);
            usage.output_tokens = usage.output_tokens.saturating_add(tokens.output);
            self.tell(Report::Usage(self.memory.usage)).await?;
        }
        let title = &self.entry.title;
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
        self.end_turn(outcome).await
    }

    /// Ends the turn and all that belongs to it.
    async fn end_turn(&mut self, outcome: Outcome) -> Result<(), Unheard> {
        let reports = self.memory.items.end();
        self.tell_all(reports).await?;
        self.withdraw_all().await?;
        match self.turn.take() {
            Some(turn) => self.tell(Report::Ended(turn.id, outcome)).await,
            None => Ok(()),
        }
    }
}
