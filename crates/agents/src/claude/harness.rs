//! The task behind a running Claude Code: orders and events in, requests and reports out. It waits for neither a person
//! nor Claude Code: whatever takes time runs in a task of its own and comes back as a [`Done`].

mod life;
mod news;
mod work;

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use tokio::sync::mpsc;
use wh_claude::{Connection, Error, Events, protocol};
use wh_core::space::TurnId;
use wh_core::space::harness::{Call, Capabilities, Deed, Order, Report, Usage};
use wh_core::space::item::{Level, ToolStatus};
use wh_core::space::question::Answer;

use super::calls::Checkpoint;
use super::items::Items;
use super::questions::{self, Open};
use super::{MODES, mode_of, skips_permissions};
use crate::port::{Reports, Start, Unheard};
use crate::program::Program;

pub(super) use life::run;
use work::{Prompt, Work};

/// What a task of its own has come to.
#[derive(Debug)]
pub(super) enum Done {
    /// The prompt of this turn was written, or not.
    Sent(TurnId, Result<(), Error>),
    /// An answer that nobody gave was written, or not.
    Answered(Result<bool, Error>),
    /// The answer to the question of this key was written, or not.
    Passed(String, Result<bool, Error>),
    /// Another model.
    Model(String, Result<(), Error>),
    /// Another mode.
    Mode(String, Result<(), Error>),
    /// The turn was interrupted.
    Interrupted(Result<(), Error>),
    /// A call was carried out.
    Called(u64, Result<Value, String>),
}

/// What goes on after an order.
enum Next {
    On,
    End,
    /// Begin a new conversation, for the call of this number.
    Anew(u64),
}

/// One that runs.
pub(super) struct Live {
    connection: Connection,
    events: Events,
    reports: Reports,
    done: mpsc::UnboundedSender<Done>,
    pub(super) start: Start,
    pub(super) program: Program,
    /// What it calls the conversation; known from its first turn on.
    session: Option<String>,
    pub(super) capabilities: Capabilities,
    pub(super) version: Option<String>,
    pub(super) checkpoints: Vec<Checkpoint>,
    work: Work,
    items: Items,
    open: HashMap<String, Open>,
    denied: Vec<String>,
    /// Calls that are not answered.
    calls: BTreeSet<u64>,
    usage: Usage,
    /// What was paid to processes before this one.
    paid: f64,
    /// Outputs of local commands so far.
    outputs: u64,
}

impl Live {
    pub(super) async fn tell(&self, report: Report) -> Result<(), Unheard> {
        self.reports.send(report).await
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
            Order::Prompt { turn, text, attachments, .. } => {
                if !attachments.is_empty() {
                    let text = "attachments do not go to Claude Code yet; name the files in the message".to_owned();
                    self.tell(Report::Notice(Level::Warning, text)).await?;
                }
                self.prompt(Prompt { turn, text });
            }
            Order::Answer { question, answer } => self.answer(question, answer).await?,
            Order::Interrupt => self.interrupt().await?,
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
                    let why = format!("{error}{hint}");
                    self.tell(Report::Notice(Level::Warning, why.clone())).await?;
                    self.tell(Report::Did(Deed::Mode(mode), Err(why))).await?;
                }
            },
            Order::Call { id, call: Call::Restart } => return Ok(Next::Anew(id)),
            Order::Call { id, call } => {
                self.calls.insert(id);
                self.call(id, call).await?;
            }
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

    async fn answer(&mut self, key: String, answer: Answer) -> Result<(), Unheard> {
        let asked = questions::parse(&key).and_then(|(id, part)| Some((id, part, self.open.get_mut(id)?)));
        let Some((id, part, open)) = asked else {
            let why = "the question is not open any more".to_owned();
            return self.tell(Report::Did(Deed::Answer(key), Err(why))).await;
        };
        if let (Some(why), Some((question, _))) = (open.objection(&answer), open.parts.get(part)) {
            let question = question.clone();
            self.tell(Report::Notice(Level::Warning, why.clone())).await?;
            self.tell(Report::Did(Deed::Answer(key.clone()), Err(why))).await?;
            return self.tell(Report::Asked { key, question }).await;
        }
        // Claude Code gets the answers to all parts at once.
        let Some((reply, open)) = open.answer(part, answer).and_then(|reply| Some((reply, self.open.remove(id)?)))
        else {
            return self.tell(Report::Did(Deed::Answer(key), Ok(()))).await;
        };
        let denied = matches!(&reply, protocol::Answer::Permission(protocol::PermissionResult::Deny { .. }));
        if let Some(call) = open.tool_use_id() {
            if denied {
                self.denied.push(call.to_owned());
            } else if let Some(report) = self.items.waits(call, ToolStatus::Running) {
                self.tell(report).await?;
            }
        }
        let id = id.to_owned();
        self.aside(|connection| async move { Done::Passed(key, connection.answer(&id, reply).await) });
        Ok(())
    }

    /// What came of something that took its time.
    async fn done(&mut self, done: Done) -> Result<(), Unheard> {
        match done {
            Done::Sent(turn, outcome) => self.sent(&turn, outcome).await,
            Done::Answered(Ok(_)) => Ok(()),
            Done::Answered(Err(error)) => {
                self.tell(Report::Notice(Level::Error, format!("the answer was not sent: {error}"))).await
            }
            Done::Passed(key, Ok(written)) => {
                let outcome = if written { Ok(()) } else { Err("the question is not open any more".to_owned()) };
                self.tell(Report::Did(Deed::Answer(key), outcome)).await
            }
            Done::Passed(key, Err(error)) => {
                self.tell(Report::Notice(Level::Error, format!("the answer was not sent: {error}"))).await?;
                self.tell(Report::Did(Deed::Answer(key), Err(error.to_string()))).await
            }
            Done::Model(model, Ok(())) => {
                self.capabilities.model = Some(model.clone());
                self.tell(Report::Ready(self.capabilities.clone())).await?;
                self.tell(Report::Did(Deed::Model(model), Ok(()))).await
            }
            Done::Mode(mode, Ok(())) => {
                self.capabilities.mode = Some(mode.clone());
                self.tell(Report::Ready(self.capabilities.clone())).await?;
                self.tell(Report::Did(Deed::Mode(mode), Ok(()))).await
            }
            Done::Model(model, Err(error)) => self.declined(Deed::Model(model), &error).await,
            Done::Mode(mode, Err(error)) => self.declined(Deed::Mode(mode), &error).await,
            Done::Interrupted(Ok(())) => self.tell(Report::Did(Deed::Interrupt, Ok(()))).await,
            Done::Interrupted(Err(error)) => {
                self.work.not_interrupted();
                self.tell(Report::Notice(Level::Warning, format!("not interrupted: {error}"))).await?;
                self.tell(Report::Did(Deed::Interrupt, Err(error.to_string()))).await
            }
            Done::Called(id, outcome) => self.called(id, outcome).await,
        }
    }

    /// It does not want another model or mode: the old choice stands.
    async fn declined(&mut self, deed: Deed, error: &Error) -> Result<(), Unheard> {
        self.tell(Report::Notice(Level::Warning, error.to_string())).await?;
        self.tell(Report::Ready(self.capabilities.clone())).await?;
        self.tell(Report::Did(deed, Err(error.to_string()))).await
    }

    /// Answers a call, once.
    pub(super) async fn called(&mut self, id: u64, outcome: Result<Value, String>) -> Result<(), Unheard> {
        if !self.calls.remove(&id) {
            return Ok(());
        }
        self.tell(Report::Called(id, outcome)).await
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

    /// It says that it is in this mode. One that nobody has allowed is left again.
    async fn heard_mode(&mut self, mode: &protocol::PermissionMode) -> Result<(), Unheard> {
        let changed = self.note_mode(mode);
        if changed {
            self.tell(Report::Ready(self.capabilities.clone())).await?;
        }
        let Some(mode) = self.unallowed().map(str::to_owned) else { return Ok(()) };
        if changed {
            self.tell(Report::Notice(Level::Warning, left(&mode))).await?;
        }
        self.aside(|connection| async move {
            let careful = protocol::PermissionMode::Default;
            Done::Mode("default".to_owned(), connection.set_permission_mode(careful).await)
        });
        Ok(())
    }

    /// The mode that it is in, if that skips permissions and may not.
    fn unallowed(&self) -> Option<&str> {
        let mode = self.capabilities.mode.as_deref()?;
        (!self.start.may_skip_permissions && skips_permissions(mode)).then_some(mode)
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

/// That it was in a mode that nobody has allowed.
fn left(mode: &str) -> String {
    format!(
        "Claude Code went into its mode {mode:?}, which skips permissions, and is brought back; to let it, start wh with \
         --allow-skipping-permissions"
    )
}
