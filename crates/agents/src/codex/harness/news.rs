//! What Codex says, and what it means for the space.

use serde_json::Value;
use tokio::time::Instant;
use wh_core::space::harness::{Outcome, Report, Usage};
use wh_core::space::item::{Level, ToolStatus};
use wh_wire::codex::{self as wire, Ask, Item, ItemKind, Notification, Started, ThreadStatus, TurnError, TurnStatus};

use super::super::modes;
use super::super::questions::{self, Open};
use super::super::{LOG_IN, TITLE};
use super::{Busy, Live, Unheard, in_words};
use crate::rpc::Incoming;

impl Live {
    pub(super) async fn event(&mut self, event: Incoming) -> Result<(), Unheard> {
        self.heard = Instant::now();
        match event {
            Incoming::Notification { method, params } => self.notified(Notification::read(&method, params)).await,
            Incoming::Request { id, method, params } => self.asked(id, &method, params).await,
            Incoming::Skipped { bytes } => {
                let text =
                    format!("{TITLE} wrote a line of {bytes} bytes, which is too long to be read; it was passed over");
                self.tell(Report::Notice(Level::Warning, text)).await
            }
            Incoming::Unreadable(error) => {
                let text = format!("{TITLE} wrote a line that is no message ({error}); it was passed over");
                self.tell(Report::Notice(Level::Warning, text)).await
            }
            // The loop sees to it.
            Incoming::Closed(_) => Ok(()),
        }
    }

    /// What subagents do in conversations of their own stays there.
    async fn notified(&mut self, said: Notification) -> Result<(), Unheard> {
        let reports = match said {
            Notification::TurnStarted { thread, turn } if thread == self.thread => return self.started(turn).await,
            Notification::TurnCompleted { thread, turn } if thread == self.thread => return self.ended(turn).await,
            // It is told once that is over.
            Notification::Item { item: Item { kind: ItemKind::Compaction, .. }, .. } if self.busy.is_some() => {
                Vec::new()
            }
            Notification::Item { thread, turn, item, done } if thread == self.thread => {
                self.items.item(turn, item, done)
            }
            Notification::Delta { thread, turn, item, text } if thread == self.thread => {
                self.items.grow(turn, item, text)
            }
            Notification::Thought { thread, turn, item, text, full } if thread == self.thread => {
                self.items.think(turn, item, text, full)
            }
            Notification::PatchUpdated { thread, turn, item, changes } if thread == self.thread => {
                self.items.patch(turn, item, changes)
            }
            Notification::PlanUpdated { thread, explanation, steps } if thread == self.thread => {
                self.items.plan(explanation.as_deref(), &steps)
            }
            Notification::Usage { thread, total, last, window } if thread == self.thread => {
                vec![Report::Usage(Usage {
                    context_tokens: Some(last.total),
                    context_limit: window,
                    input_tokens: total.input,
                    output_tokens: total.output,
                    cost: None,
                })]
            }
            Notification::Status { thread, status } if thread == self.thread => {
                self.status = status;
                // The end of a turn that makes a conversation shorter does not always come.
                return match status {
                    ThreadStatus::Idle => self.compacted(true).await,
                    ThreadStatus::SystemError => self.compacted(false).await,
                    ThreadStatus::Active | ThreadStatus::Unknown => Ok(()),
                };
            }
            Notification::Settings { thread, settings } if thread == self.thread => {
                return self.holds(&settings).await;
            }
            Notification::Resolved { id } => return self.resolved(&id).await,
            Notification::Error { thread, error, will_retry: true } if thread == self.thread => {
                let details = error.details.as_ref().map(|details| format!(" ({details})")).unwrap_or_default();
                vec![Report::Notice(Level::Warning, format!("{}{details}", error.message))]
            }
            Notification::Error { thread, error, .. } if thread == self.thread && self.turn.is_none() => {
                vec![Report::Notice(Level::Error, words(Some(&error)))]
            }
            Notification::Warning { text } => return self.warn(Level::Warning, text).await,
            Notification::Rerouted { from, to } => {
                return self.warn(Level::Warning, format!("{to} answers in the place of {from}")).await;
            }
            Notification::Other { method, .. } => {
                tracing::debug!(method, "a notification of no use");
                Vec::new()
            }
            _ => Vec::new(),
        };
        self.tell_all(reports).await
    }

    async fn started(&mut self, native: wire::Turn) -> Result<(), Unheard> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        if turn.replied && turn.native.as_ref() != Some(&native.id) {
            return Ok(());
        }
        turn.native = Some(native.id);
        self.begun().await?;
        self.interrupt();
        Ok(())
    }

    /// A turn is over: ours, one that nobody here has asked for, or one that may be ours once its reply has come.
    pub(super) async fn ended(&mut self, native: wire::Turn) -> Result<(), Unheard> {
        match &self.turn {
            Some(turn) if turn.native.as_ref() == Some(&native.id) => {}
            Some(turn) => {
                if !turn.replied {
                    self.early.push(native);
                }
                return Ok(());
            }
            None => return self.compacted(native.status == TurnStatus::Completed).await,
        }
        let outcome = match native.status {
            TurnStatus::Completed | TurnStatus::InProgress => Outcome::Completed,
            TurnStatus::Interrupted => Outcome::Cancelled,
            TurnStatus::Failed => Outcome::Failed(words(native.error.as_ref())),
            TurnStatus::Other(status) => Outcome::Failed(format!("the turn is {status}")),
        };
        self.end_turn(outcome).await
    }

    /// The conversation was made shorter, or not, if that was asked for.
    pub(super) async fn compacted(&mut self, well: bool) -> Result<(), Unheard> {
        if self.busy != Some(Busy::Compacting) {
            return Ok(());
        }
        let (level, not) = if well { (Level::Info, "") } else { (Level::Error, "not ") };
        self.tell(Report::Notice(level, format!("the conversation was {not}made shorter"))).await?;
        self.freed().await
    }

    /// What holds in the conversation, as it says.
    pub(super) async fn holds(&mut self, settings: &Started) -> Result<(), Unheard> {
        if !self.start.may_skip_permissions && modes::skips(settings) {
            let mode = modes::instead(settings);
            (self.pending.mode, self.choice.mode) = (Some(mode), Some(mode));
            let text = format!(
                "{TITLE} would work without asking a person, and wh was not started for that \
                 (--allow-skipping-permissions); it works in the mode {}",
                mode.id
            );
            self.warn(Level::Warning, text).await?;
        }
        let before = self.capabilities.clone();
        self.note(settings);
        if self.capabilities == before { Ok(()) } else { self.tell(Report::Ready(self.capabilities.clone())).await }
    }

    /// Takes down which model and which mode are in use. What was chosen since counts more.
    pub(super) fn note(&mut self, settings: &Started) {
        let mode = modes::of(settings);
        let mode = self.pending.mode.or(mode).map(|mode| mode.id.to_owned());
        let model = self.pending.model.clone().or_else(|| settings.model.clone());
        self.capabilities.mode = mode;
        self.capabilities.model = model.or(self.capabilities.model.take());
    }

    async fn asked(&mut self, id: Value, method: &str, params: Value) -> Result<(), Unheard> {
        let ask = Ask::read(method, params);
        let changes = match &ask {
            Ask::FileChange(file) => self.items.changes(&file.item),
            _ => &[],
        };
        let Some(open) = Open::new(id.clone(), ask, changes) else {
            tracing::debug!(method, "a request that nobody here knows");
            // Who cannot be answered any more is gone, and that is told by itself.
            let _ = self.peer.unknown(&id, method).await;
            return Ok(());
        };
        if self.turn.is_none() {
            // It comes too late: nobody waits for what it is about.
            let _ = self.peer.answer(&id, open.refusal()).await;
            return Ok(());
        }
        if let Some(report) = open.item().and_then(|item| self.items.waits(item, ToolStatus::Pending)) {
            self.tell(report).await?;
        }
        self.asked += 1;
        let number = self.asked;
        let questions: Vec<_> = open.parts.iter().map(|(question, _)| question.clone()).collect();
        self.open.insert(number, open);
        for (part, question) in questions.into_iter().enumerate() {
            self.tell(Report::Asked { key: questions::key(number, part), question }).await?;
        }
        Ok(())
    }

    /// A request needs no answer any more. If it had ours, nothing of it is open.
    async fn resolved(&mut self, id: &Value) -> Result<(), Unheard> {
        let Some(number) = self.open.iter().find(|(_, open)| open.id == *id).map(|(number, _)| *number) else {
            return Ok(());
        };
        let Some(open) = self.open.remove(&number) else { return Ok(()) };
        for part in 0..open.parts.len() {
            self.tell(Report::Withdrew(questions::key(number, part))).await?;
        }
        Ok(())
    }

    /// Somebody has to log in first.
    pub(super) async fn wants_login(&mut self) -> Result<(), Unheard> {
        self.warn(Level::Warning, format!("nobody is logged in with {TITLE}: {LOG_IN}")).await
    }
}

fn words(error: Option<&TurnError>) -> String {
    match error {
        Some(error) if !error.message.is_empty() => in_words(&error.message, error.is_about_login()),
        Some(TurnError { kind: Some(kind), .. }) => kind.clone(),
        _ => "it does not say why".to_owned(),
    }
}
