//! The task behind a running Claude Code: orders and events in, requests and reports out. It waits for neither a person
//! nor a reply: whatever takes time runs in a task of its own and comes back as a [`Done`].

mod life;
mod news;

use std::collections::HashMap;

use serde_json::Value;
use tokio::sync::mpsc;
use wh_claude::{Connection, Error, Event, Events, Options, protocol};
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Order, Outcome, Report, Usage};
use wh_core::space::item::{Level, ToolStatus};
use wh_core::space::question::Answer;

use super::calls::Checkpoint;
use super::items::Items;
use super::questions::{self, Open};
use super::{MODES, mode_of};
use crate::port::{Inside, Start};

pub(super) use life::run;

/// What a task of its own has come to.
#[derive(Debug)]
pub(super) enum Done {
    /// Another model.
    Model(String, Result<(), Error>),
    /// Another mode.
    Mode(String, Result<(), Error>),
    /// The turn was interrupted.
    Interrupted(Result<(), Error>),
    /// A call was carried out.
    Called(u64, Result<Value, String>),
}

/// Nobody reads reports any more.
#[derive(Debug)]
pub(super) struct Unheard;

/// What goes on after an order.
enum Next {
    On,
    End,
    /// Begin a new conversation, for the call of this number.
    Anew(u64),
}

/// A turn that runs.
struct Turn {
    id: TurnId,
    /// Whether Claude Code has begun with it.
    begun: bool,
    interrupted: bool,
}

/// One that runs.
pub(super) struct Live {
    connection: Connection,
    events: Events,
    reports: mpsc::Sender<Report>,
    done: mpsc::UnboundedSender<Done>,
    start: Start,
    /// What it calls the conversation; known from its first turn on.
    session: Option<String>,
    pub(super) capabilities: Capabilities,
    pub(super) version: Option<String>,
    pub(super) checkpoints: Vec<Checkpoint>,
    turn: Option<Turn>,
    items: Items,
    open: HashMap<String, Open>,
    denied: Vec<String>,
    usage: Usage,
}

impl Live {
    pub(super) async fn tell(&self, report: Report) -> Result<(), Unheard> {
        self.reports.send(report).await.map_err(|_| Unheard)
    }

    async fn tell_all(&self, reports: Vec<Report>) -> Result<(), Unheard> {
        for report in reports {
            self.tell(report).await?;
        }
        Ok(())
    }

    /// Does what it is told, as far as that takes no time.
    async fn order(&mut self, order: Order) -> Result<Next, Unheard> {
        match order {
            Order::Prompt { turn, text, .. } => self.prompt(turn, text).await?,
            Order::Answer { question, answer } => self.answer(&question, answer).await?,
            Order::Interrupt => {
                if let Some(turn) = &mut self.turn {
                    turn.interrupted = true;
                    self.aside(|connection| async move { Done::Interrupted(connection.interrupt().await.map(drop)) });
                }
            }
            Order::SetModel(model) => self.aside(|connection| async move {
                let wanted = (model != "default").then_some(model.as_str());
                let outcome = connection.set_model(wanted).await.map(drop);
                Done::Model(model, outcome)
            }),
            Order::SetMode(mode) => match mode_of(&mode, self.start.may_skip_permissions) {
                Ok(wanted) => self.aside(|connection| async move {
                    let outcome = connection.set_permission_mode(wanted).await;
                    Done::Mode(mode, outcome)
                }),
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    self.tell(Report::Notice(Level::Warning, format!("{error}{hint}"))).await?;
                }
            },
            Order::Call { id, call: Call::Restart } => return Ok(Next::Anew(id)),
            Order::Call { id, call } => self.call(id, call).await?,
            Order::End => return Ok(Next::End),
        }
        Ok(Next::On)
    }

    /// Lets something take its time.
    pub(super) fn aside<F>(&self, work: impl FnOnce(Connection) -> F)
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let (work, done) = (work(self.connection.clone()), self.done.clone());
        tokio::spawn(async move {
            // Nobody is left to be told when the harness has ended.
            let _ = done.send(work.await);
        });
    }

    async fn prompt(&mut self, turn: TurnId, text: String) -> Result<(), Unheard> {
        let checkpoint = Checkpoint::new(&text);
        let content = protocol::UserContent::Text(text);
        let input = protocol::UserInput { uuid: Some(checkpoint.uuid.clone()), ..protocol::UserInput::from(content) };
        self.turn = Some(Turn { id: turn.clone(), begun: false, interrupted: false });
        match self.connection.send(input).await {
            Ok(()) => {
                self.checkpoints.push(checkpoint);
                self.tell(Report::Delivered(turn)).await
            }
            Err(error) => {
                self.turn = None;
                self.tell(Report::Ended(turn, Outcome::Failed(error.to_string()))).await
            }
        }
    }

    async fn answer(&mut self, key: &str, answer: Answer) -> Result<(), Unheard> {
        let Some((id, part)) = questions::parse(key) else { return Ok(()) };
        let Some(open) = self.open.get_mut(id) else { return Ok(()) };
        let Some(reply) = open.answer(part, answer) else { return Ok(()) };
        let Some(open) = self.open.remove(id) else { return Ok(()) };
        let denied = matches!(&reply, protocol::Answer::Permission(protocol::PermissionResult::Deny { .. }));
        if let Some(call) = open.tool_use_id() {
            if denied {
                self.denied.push(call.to_owned());
            } else if let Some(report) = self.items.waits(call, ToolStatus::Running) {
                self.tell(report).await?;
            }
        }
        if let Err(error) = self.connection.answer(id, reply).await {
            self.tell(Report::Notice(Level::Error, format!("the answer was not sent: {error}"))).await?;
        }
        Ok(())
    }

    /// What came of something that took its time.
    async fn done(&mut self, done: Done) -> Result<(), Unheard> {
        match done {
            Done::Model(model, Ok(())) => {
                self.capabilities.model = Some(model);
                self.tell(Report::Ready(self.capabilities.clone())).await
            }
            Done::Mode(mode, Ok(())) => {
                self.capabilities.mode = Some(mode);
                self.tell(Report::Ready(self.capabilities.clone())).await
            }
            Done::Interrupted(Ok(())) => Ok(()),
            Done::Model(_, Err(error)) | Done::Mode(_, Err(error)) => {
                self.tell(Report::Notice(Level::Warning, error.to_string())).await?;
                // What was said to be chosen is not: the old choice stands.
                self.tell(Report::Ready(self.capabilities.clone())).await
            }
            Done::Interrupted(Err(error)) => {
                self.tell(Report::Notice(Level::Warning, format!("not interrupted: {error}"))).await
            }
            Done::Called(id, outcome) => self.tell(Report::Called(id, outcome)).await,
        }
    }

    /// Ends the turn and all that belongs to it.
    async fn end_turn(&mut self, outcome: Outcome) -> Result<(), Unheard> {
        let reports = self.items.end();
        self.tell_all(reports).await?;
        self.denied.clear();
        self.withdraw_all().await?;
        match self.turn.take() {
            Some(turn) => self.tell(Report::Ended(turn.id, outcome)).await,
            None => Ok(()),
        }
    }

    async fn withdraw_all(&mut self) -> Result<(), Unheard> {
        let open: Vec<String> = self.open.keys().cloned().collect();
        for id in open {
            self.withdraw(&id).await?;
        }
        Ok(())
    }

    async fn withdraw(&mut self, id: &str) -> Result<(), Unheard> {
        let Some(open) = self.open.remove(id) else { return Ok(()) };
        for part in 0..open.parts.len() {
            self.tell(Report::Withdrew(questions::key(id, part))).await?;
        }
        Ok(())
    }

    /// The mode that it says it is in.
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
}

/// Everything that ends an agent on the way in.
pub(super) struct Ways {
    pub options: Options,
    pub start: Start,
    pub inside: Inside,
}

/// What the loop hears.
enum Heard {
    Order(Option<Order>),
    Event(Option<Event>),
    Done(Done),
}
