//! What Claude Code works on: a prompt of ours, a command of its own that was asked for, or something that it began by
//! itself. A prompt is only given to one that rests: otherwise the end of something else would be taken for its own.

use wh_claude::{Error, protocol};
use wh_core::space::TurnId;
use wh_core::space::harness::{Deed, Outcome, Report};

use super::super::calls::Checkpoint;
use super::{Done, Live, Unheard};

/// Something that a person wants done.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub turn: TurnId,
    pub text: String,
}

/// What is under way, and what waits for it.
#[derive(Debug, Default)]
pub(super) struct Work {
    now: Option<Now>,
    /// Whether it says that it works; versions that do not say are taken at their results.
    running: bool,
    says: bool,
    interrupted: bool,
    held: Option<Prompt>,
}

#[derive(Debug)]
enum Now {
    /// A prompt, and how far it is.
    Prompt { prompt: Prompt, uuid: String, written: bool, begun: bool },
    /// A command of its own, asked for by this call; `None` when it was answered.
    Command(Option<u64>),
    /// What it began by itself.
    Own,
}

impl Work {
    /// Whether a prompt would have to wait.
    pub fn is_busy(&self) -> bool {
        self.now.is_some() || self.running
    }

    /// The interrupt was refused.
    pub fn not_interrupted(&mut self) {
        self.interrupted = false;
    }

    /// Takes out a prompt that was not written, or never begun with.
    pub fn take_unsent(&mut self) -> Option<Prompt> {
        match self.now.take() {
            Some(Now::Prompt { prompt, written: false, .. }) => Some(prompt),
            now => {
                self.now = now;
                self.held.take()
            }
        }
    }
}

impl Live {
    /// Gives it a prompt as soon as it rests.
    pub(super) fn prompt(&mut self, prompt: Prompt) {
        if self.work.is_busy() {
            self.work.held = Some(prompt);
            return;
        }
        let checkpoint = Checkpoint::new(&prompt.text);
        let content = protocol::UserContent::Text(prompt.text.clone());
        let (turn, uuid) = (prompt.turn.clone(), checkpoint.uuid.clone());
        let input = protocol::UserInput { uuid: Some(uuid.clone()), ..protocol::UserInput::from(content) };
        self.checkpoints.push(checkpoint);
        self.work.interrupted = false;
        self.work.now = Some(Now::Prompt { prompt, uuid, written: false, begun: false });
        self.aside(|connection| async move { Done::Sent(turn, connection.send(input).await) });
    }

    /// Has it do a command of its own, as a person would say it; `Err` says why not.
    pub(in super::super) async fn command(&mut self, id: u64, command: &'static str) -> Result<(), Unheard> {
        if self.work.is_busy() {
            return self.called(id, Err("Claude Code is at work; interrupt it, or wait".to_owned())).await;
        }
        self.work.interrupted = false;
        self.work.now = Some(Now::Command(Some(id)));
        self.tell(Report::Began).await?;
        let content = protocol::UserContent::Text(command.to_owned());
        self.aside(move |connection| async move {
            match connection.send(protocol::UserInput::from(content)).await {
                // It is answered when Claude Code has begun with it.
                Ok(()) => Done::Answered(Ok(true)),
                Err(error) => Done::Called(id, Err(error.to_string())),
            }
        });
        Ok(())
    }

    /// Has it stop. A prompt that waits is not sent any more.
    pub(super) async fn interrupt(&mut self) -> Result<(), Unheard> {
        let held = self.work.held.take();
        let rests = if held.is_some() { self.work.now.is_none() } else { !self.work.is_busy() };
        if let Some(prompt) = held {
            self.tell(Report::Ended(prompt.turn, Outcome::Cancelled)).await?;
        }
        if rests {
            // What there was to stop is over.
            return self.tell(Report::Did(Deed::Interrupt, Ok(()))).await;
        }
        self.work.interrupted = true;
        self.aside(|connection| async move { Done::Interrupted(connection.interrupt().await.map(drop)) });
        Ok(())
    }

    /// A prompt was written, or could not be.
    pub(super) async fn sent(&mut self, turn: &TurnId, outcome: Result<(), Error>) -> Result<(), Unheard> {
        let Some(Now::Prompt { prompt, written, .. }) = &mut self.work.now else { return Ok(()) };
        if prompt.turn != *turn {
            return Ok(());
        }
        // What cannot be written is kept: the process is gone, and the next one gets it.
        if outcome.is_err() || *written {
            return Ok(());
        }
        *written = true;
        self.tell(Report::Delivered(turn.clone())).await
    }

    /// A sign that it works.
    pub(super) async fn begun(&mut self) -> Result<(), Unheard> {
        let reports = match &mut self.work.now {
            Some(Now::Prompt { prompt, written, begun, .. }) if !*begun => {
                let turn = &prompt.turn;
                let mut reports = Vec::new();
                if !*written {
                    reports.push(Report::Delivered(turn.clone()));
                }
                reports.extend([Report::Submitted(turn.clone()), Report::Started(turn.clone())]);
                (*written, *begun) = (true, true);
                reports
            }
            Some(Now::Command(id @ Some(_))) => {
                let id = id.take();
                if let Some(id) = id {
                    return self.called(id, Ok(serde_json::Value::Null)).await;
                }
                Vec::new()
            }
            None if self.work.says => {
                self.work.now = Some(Now::Own);
                self.work.interrupted = false;
                vec![Report::Began]
            }
            _ => Vec::new(),
        };
        self.tell_all(reports).await
    }

    /// It says how it is.
    pub(super) async fn state(&mut self, state: protocol::SessionState) -> Result<(), Unheard> {
        self.work.says = true;
        match state {
            protocol::SessionState::Running => {
                self.work.running = true;
                self.begun().await
            }
            protocol::SessionState::RequiresAction => Ok(()),
            protocol::SessionState::Idle => {
                self.work.running = false;
                self.rest().await
            }
        }
    }

    /// It rests: what was not a prompt of ours is over, and what waits may come.
    async fn rest(&mut self) -> Result<(), Unheard> {
        match self.work.now {
            // Its prompt is read and not begun with, or its result is still to come.
            Some(Now::Prompt { .. }) => return Ok(()),
            Some(Now::Command(_) | Now::Own) => {
                let outcome = if self.work.interrupted { Outcome::Cancelled } else { Outcome::Completed };
                self.end_work(outcome).await?;
            }
            None => {}
        }
        if let Some(prompt) = self.work.held.take() {
            self.prompt(prompt);
        }
        Ok(())
    }

    /// Something has come to its end.
    pub(super) async fn result(&mut self, result: protocol::TurnResult) -> Result<(), Unheard> {
        self.spend(&result).await?;
        match &self.work.now {
            Some(Now::Prompt { uuid, .. }) => {
                // Newer versions say whose end it is.
                let whose = &result.user_message_uuids;
                if !whose.is_empty() && !whose.contains(uuid) {
                    return Ok(());
                }
                let outcome = super::news::outcome(&result, self.work.interrupted);
                self.end_work(outcome).await
            }
            _ if self.work.says => Ok(()),
            _ => self.rest().await,
        }
    }

    /// Ends what is under way, and all that belongs to it.
    pub(super) async fn end_work(&mut self, outcome: Outcome) -> Result<(), Unheard> {
        let reports = self.items.end();
        self.tell_all(reports).await?;
        self.denied.clear();
        self.withdraw_all().await?;
        match self.work.now.take() {
            Some(Now::Prompt { prompt, .. }) => self.tell(Report::Ended(prompt.turn, outcome)).await,
            Some(Now::Command(call)) => {
                if let Some(call) = call {
                    self.called(call, Ok(serde_json::Value::Null)).await?;
                }
                self.tell(Report::Rested(outcome)).await
            }
            Some(Now::Own) => self.tell(Report::Rested(outcome)).await,
            None => Ok(()),
        }
    }

    /// Everything that waits for it fails at once.
    pub(super) async fn fail_all(&mut self, reason: &str) -> Result<(), Unheard> {
        for call in std::mem::take(&mut self.calls) {
            self.tell(Report::Called(call, Err(reason.to_owned()))).await?;
        }
        self.end_work(Outcome::Failed(reason.to_owned())).await?;
        match self.work.held.take() {
            Some(prompt) => self.tell(Report::Ended(prompt.turn, Outcome::Failed(reason.to_owned()))).await,
            None => Ok(()),
        }
    }
}
