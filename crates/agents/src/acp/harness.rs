//! The task behind a running agent: orders and what it says in, requests and reports out. It waits for neither a person
//! nor a reply: whatever takes time runs in a task of its own and comes back as a [`Done`].

mod life;
mod news;
mod setup;

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Deed, Named, Order, Outcome, Report, Usage};
use wh_core::space::item::Level;
use wh_core::space::question::Answer;
use wh_wire::acp::{PromptReply, SessionReply, StopReason, read};

use super::items::Items;
use super::questions::Open;
use super::settings::Settings;
use super::table::Entry;
use crate::port::{NOT_READING, READING, Reports, STOPPING, Unheard};
use crate::rpc::{Events, Peer, Reply, RpcError};

pub(super) use life::run;

/// What only some agents can do and these can.
const CALLS: [&str; 2] = ["status", "restart"];

/// What a task of its own has come to.
#[derive(Debug)]
enum Done {
    /// The prompt of the turn of this number was written, or not.
    Sent(u64, Result<Reply, RpcError>),
    /// The turn of this number is over.
    Prompted(u64, Result<Value, RpcError>),
    /// The agent was told to stop, for so many orders, or not.
    Interrupted(usize, Result<(), String>),
    /// The answer to the question of this key was written, or not.
    Answered(String, Result<(), String>),
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
    /// Whether the agent was given its prompt.
    written: bool,
    /// Whether the agent has begun with it.
    begun: bool,
    /// Somebody wants it to stop, and until when it has to.
    interrupted: Option<Instant>,
    /// Interrupts that wait until there is something to interrupt.
    early: usize,
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
    /// A turn was given up: what is said before the next prompt was written may be of that one.
    astray: bool,
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
            Order::Answer { question, answer } => self.answer(question, &answer).await?,
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
                    let why = format!("{error}{hint}");
                    self.warn(why.clone()).await?;
                    self.tell(Report::Did(Deed::Mode(mode), Err(why))).await?;
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
        self.memory.turns += 1;
        let number = self.memory.turns;
        self.turn = Some(Turn { id: turn, number, written: false, begun: false, interrupted: None, early: 0 });
        self.aside(move |peer| async move { Done::Sent(number, peer.begin("session/prompt", params, None).await) });
        Ok(())
    }

    /// The agent has the prompt: it was written, or it works on it already.
    async fn delivered(&mut self) -> Result<(), Unheard> {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.written) else { return Ok(()) };
        (turn.written, self.astray) = (true, false);
        let (id, early) = (turn.id.clone(), std::mem::take(&mut turn.early));
        self.tell(Report::Delivered(id)).await?;
        if early > 0 {
            self.stop(early, Vec::new());
        }
        // One that nothing was said in is not kept by all of them.
        if std::mem::replace(&mut self.prompted, true) { Ok(()) } else { self.tell_kept(true).await }
    }

    async fn answer(&mut self, key: String, answer: &Answer) -> Result<(), Unheard> {
        let Some(place) = self.open.iter().position(|(known, _)| *known == key) else {
            let why = "the question is not open any more".to_owned();
            return self.tell(Report::Did(Deed::Answer(key), Err(why))).await;
        };
        let (_, open) = self.open.remove(place);
        let (reply, decided) = open.answer(answer);
        if let Some(report) = decided.and_then(|(call, status)| self.memory.items.decided(call, status)) {
            self.tell(report).await?;
        }
        self.aside(move |peer| async move {
            let outcome = match timeout(READING, peer.answer(&open.id, reply)).await {
                Ok(Ok(true)) => Ok(()),
                Ok(Ok(false)) => Err("the question is not open any more".to_owned()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(NOT_READING.to_owned()),
            };
            Done::Answered(key, outcome)
        });
        Ok(())
    }

    /// Has the agent stop. Every question that is open is closed first on its side, then on ours.
    async fn interrupt(&mut self) -> Result<(), Unheard> {
        // What there was to stop is over.
        let Some(turn) = &mut self.turn else { return self.tell(Report::Did(Deed::Interrupt, Ok(()))).await };
        turn.interrupted.get_or_insert_with(|| Instant::now() + STOPPING);
        if !turn.written {
            turn.early += 1;
            return Ok(());
        }
        let open = std::mem::take(&mut self.open);
        let keys: Vec<String> = open.iter().map(|(key, _)| key.clone()).collect();
        self.stop(1, open);
        for key in keys {
            self.tell(Report::Withdrew(key)).await?;
        }
        Ok(())
    }

    /// Writes that it is to stop, for so many orders, and that these questions need no answer.
    fn stop(&self, orders: usize, open: Vec<(String, Open)>) {
        let params = json!({ "sessionId": self.session });
        self.aside(move |peer| async move {
            let stopped = match timeout(READING, peer.notify("session/cancel", params)).await {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(_) => Err(NOT_READING.to_owned()),
            };
            for (_, open) in open {
                // It may be gone already, and with it whoever asked.
                let _ = timeout(READING, peer.answer(&open.id, open.abandoned())).await;
            }
            Done::Interrupted(orders, stopped)
        });
    }

    /// The agent was told to stop and has not. The turn is over all the same; what it still says of its end is passed over.
    async fn overdue(&mut self) -> Result<(), Unheard> {
        let title = &self.entry.title;
        self.warn(format!("{title} was told to stop and has not said within {STOPPING:?} that it has")).await?;
        self.astray = true;
        self.end_turn(Outcome::Cancelled).await
    }

    /// Until when the turn has to stop, if somebody wants that.
    fn stops_at(&self) -> Option<Instant> {
        self.turn.as_ref()?.interrupted
    }

    async fn withdraw_all(&mut self) -> Result<(), Unheard> {
        for (key, open) in std::mem::take(&mut self.open) {
            let peer = self.peer.clone();
            // It may be gone already, and with it whoever asked.
            tokio::spawn(async move { timeout(READING, peer.answer(&open.id, open.abandoned())).await });
            self.tell(Report::Withdrew(key)).await?;
        }
        Ok(())
    }

    /// What came of something that took its time.
    async fn done(&mut self, done: Done) -> Result<(), Unheard> {
        match done {
            Done::Sent(number, outcome) => {
                let current = self.turn.as_ref().is_some_and(|turn| turn.number == number);
                match outcome {
                    Ok(reply) => {
                        self.aside(move |_| async move { Done::Prompted(number, reply.wait().await) });
                        if current {
                            return self.delivered().await;
                        }
                        // It was given up before the agent had all of it: it is not to begin with it now.
                        self.stop(0, Vec::new());
                        Ok(())
                    }
                    Err(error) if current => self.end_turn(Outcome::Failed(error.to_string())).await,
                    Err(_) => Ok(()),
                }
            }
            Done::Interrupted(orders, outcome) => {
                if let Err(error) = &outcome {
                    self.warn(format!("not interrupted: {error}")).await?;
                }
                for _ in 0..orders {
                    self.tell(Report::Did(Deed::Interrupt, outcome.clone())).await?;
                }
                Ok(())
            }
            Done::Answered(key, outcome) => {
                if let Err(error) = &outcome {
                    self.tell(Report::Notice(Level::Error, format!("the answer was not sent: {error}"))).await?;
                }
                self.tell(Report::Did(Deed::Answer(key), outcome)).await
            }
            Done::Prompted(number, outcome) => {
                let Some(turn) = self.turn.as_ref().filter(|turn| turn.number == number) else { return Ok(()) };
                match outcome {
                    Ok(reply) => {
                        let interrupted = turn.interrupted.is_some();
                        self.begun().await?;
                        self.ended(&read(reply), interrupted).await
                    }
                    // That it is gone is told by itself, with how it ended.
                    Err(RpcError::Gone(_)) => Ok(()),
                    // Some agents tell of an interrupt as of an error.
                    Err(_) if turn.interrupted.is_some() => self.end_turn(Outcome::Cancelled).await,
                    Err(error) => self.end_turn(Outcome::Failed(life::said(&self.entry, &error))).await,
                }
            }
            Done::Model(model, Ok(reply)) => {
                self.settings.models.current = Some(model.clone());
                self.memory.model = Some(model.clone());
                self.settings.learn(&read::<SessionReply>(reply));
                self.ready().await?;
                self.leave_unallowed().await?;
                self.tell(Report::Did(Deed::Model(model), Ok(()))).await
            }
            Done::Mode(mode, Ok(reply)) => {
                self.settings.modes.current = Some(mode.clone());
                self.memory.mode = Some(mode.clone());
                self.settings.learn(&read::<SessionReply>(reply));
                self.ready().await?;
                self.tell(Report::Did(Deed::Mode(mode), Ok(()))).await
            }
            Done::Model(wanted, Err(error)) => self.declined(Deed::Model(wanted.clone()), &wanted, &error).await,
            Done::Mode(wanted, Err(error)) => self.declined(Deed::Mode(wanted.clone()), &wanted, &error).await,
        }
    }

    /// It does not want another model or mode: the old choice stands.
    async fn declined(&mut self, deed: Deed, wanted: &str, error: &RpcError) -> Result<(), Unheard> {
        let why = format!("{} did not take {wanted:?}: {}", self.entry.title, life::said(&self.entry, error));
        self.warn(why.clone()).await?;
        self.ready().await?;
        self.tell(Report::Did(deed, Err(why))).await
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
        let Some(turn) = self.turn.take() else { return Ok(()) };
        for _ in 0..turn.early {
            self.tell(Report::Did(Deed::Interrupt, Err(NOT_READING.to_owned()))).await?;
        }
        self.tell(Report::Ended(turn.id, outcome)).await
    }
}
