//! Messages of Codex, as steps of the driver.

use serde_json::Value;
use wh_core::space::harness::{Outcome, Report, Usage};
use wh_core::space::item::{Level, ToolStatus};
use wh_wire::codex::{self as wire, Item, ItemKind, Notification, Started, ThreadStatus, TurnError, TurnStatus};

use super::super::TITLE;
use super::super::questions::Open;
use super::{Busy, CodexProtocol, in_words};
use crate::driver::{Now, Step, Steps};
use crate::rpc::{Frame, Incoming};

impl CodexProtocol {
    pub(super) fn incoming(&mut self, incoming: Incoming, now: Now<'_>, steps: &mut Steps<Self>) {
        match incoming {
            Incoming::Notification { method, params } => self.notified(Notification::read(&method, params), steps),
            Incoming::Request { id, method, params } => self.asked(id, &method, params, now, steps),
            Incoming::Unreadable(error) => {
                steps.warn(format!("{TITLE} wrote a line that is no message ({error}); it was passed over"));
            }
        }
    }

    /// Conversations of subagents are their own.
    fn notified(&mut self, said: Notification, steps: &mut Steps<Self>) {
        match said {
            Notification::TurnStarted { thread, turn } if thread == self.thread => self.turn_started(turn, steps),
            Notification::TurnCompleted { thread, turn } if thread == self.thread => self.turn_ended(turn, steps),
            // It is told once that is over.
            Notification::Item { item: Item { kind: ItemKind::Compaction, .. }, .. } if self.busy.is_some() => {}
            Notification::Item { thread, turn, item, done } if thread == self.thread => {
                steps.reports(self.items.item(turn, item, done));
            }
            Notification::Delta { thread, turn, item, text } if thread == self.thread => {
                steps.reports(self.items.grow(turn, item, text));
            }
            Notification::Thought { thread, turn, item, text, full } if thread == self.thread => {
                steps.reports(self.items.think(turn, item, text, full));
            }
            Notification::PatchUpdated { thread, turn, item, changes } if thread == self.thread => {
                steps.reports(self.items.patch(turn, item, changes));
            }
            Notification::PlanUpdated { thread, explanation, steps: plan } if thread == self.thread => {
                steps.reports(self.items.plan(explanation.as_deref(), &plan));
            }
            Notification::Usage { thread, total, last, window } if thread == self.thread => {
                steps.report(Report::Usage(Usage {
                    context_tokens: Some(last.total),
                    context_limit: window,
                    input_tokens: total.input,
                    output_tokens: total.output,
                    cost: None,
                }));
            }
            Notification::Status { thread, status } if thread == self.thread => {
                self.status = status;
                // The end of a turn that makes a conversation shorter does not always come.
                match status {
                    ThreadStatus::Idle => self.compacted(true, steps),
                    ThreadStatus::SystemError => self.compacted(false, steps),
                    ThreadStatus::Active | ThreadStatus::Unknown => {}
                }
            }
            Notification::Settings { thread, settings } if thread == self.thread => self.holds(&settings, steps),
            Notification::Resolved { id } => steps.push(Step::Withdraw(id.to_string())),
            Notification::Error { thread, error, will_retry: true } if thread == self.thread => {
                let details = error.details.as_ref().map(|details| format!(" ({details})")).unwrap_or_default();
                steps.warn(format!("{}{details}", error.message));
            }
            Notification::Error { thread, error, .. } if thread == self.thread && self.turn.is_none() => {
                steps.notice(Level::Error, words(Some(&error)));
            }
            Notification::Warning { text } => steps.push(Step::Once(Level::Warning, text)),
            Notification::Rerouted { from, to } => {
                steps.push(Step::Once(Level::Warning, format!("{to} answers in the place of {from}")));
            }
            Notification::Other { method, .. } => tracing::debug!(method, "a notification of no use"),
            _ => {}
        }
    }

    fn turn_started(&mut self, native: wire::Turn, steps: &mut Steps<Self>) {
        let Some(turn) = &mut self.turn else { return };
        if turn.replied && turn.native.as_ref() != Some(&native.id) {
            return;
        }
        turn.native = Some(native.id);
        steps.begun();
    }

    /// A turn is over: ours, one that nobody here has asked for, or one that may be ours once its reply has come.
    pub(super) fn turn_ended(&mut self, native: wire::Turn, steps: &mut Steps<Self>) {
        match &self.turn {
            Some(turn) if turn.native.as_ref() == Some(&native.id) => {}
            Some(turn) => {
                if !turn.replied {
                    self.early.push(native);
                }
                return;
            }
            None => return self.compacted(native.status == TurnStatus::Completed, steps),
        }
        let outcome = match native.status {
            TurnStatus::Completed | TurnStatus::InProgress => Outcome::Completed,
            TurnStatus::Interrupted => Outcome::Cancelled,
            TurnStatus::Failed => Outcome::Failed(words(native.error.as_ref())),
            TurnStatus::Other(status) => Outcome::Failed(format!("the turn is {status}")),
        };
        self.end_turn(outcome, steps);
    }

    /// The conversation was made shorter, or not, if that was asked for.
    pub(super) fn compacted(&mut self, well: bool, steps: &mut Steps<Self>) {
        if self.busy == Some(Busy::Compacting) {
            let (level, not) = if well { (Level::Info, "") } else { (Level::Error, "not ") };
            steps.notice(level, format!("the conversation was {not}made shorter"));
            self.free(steps);
        }
    }

    /// Takes the settings that hold in the conversation.
    pub(super) fn holds(&mut self, settings: &Started, steps: &mut Steps<Self>) {
        let before = self.capabilities.clone();
        self.note(settings);
        if self.capabilities != before || super::modes::skips(&self.holds) {
            steps.push(Step::Ready);
        }
    }

    fn asked(&mut self, id: Value, method: &str, params: Value, now: Now<'_>, steps: &mut Steps<Self>) {
        let ask = wire::Ask::read(method, params);
        let changes = match &ask {
            wire::Ask::FileChange(file) => self.items.changes(&file.item),
            _ => &[],
        };
        let Some(open) = Open::new(id.clone(), ask, changes) else {
            tracing::debug!(method, "an unknown request");
            let text = format!("{TITLE} asked for {method:?}, which wh does not offer; it was refused");
            steps.push(Step::Once(Level::Warning, text));
            return steps.push(Step::Send(Frame::unknown(id, method)));
        };
        if now.turn.is_none() {
            // It comes too late: nobody waits for its subject.
            return steps.push(Step::Send(Frame::Answer { id, result: open.refusal() }));
        }
        steps.0.extend(open.item().and_then(|item| self.items.waits(item, ToolStatus::Pending)).map(Step::Report));
        let questions = open.questions.clone();
        steps.push(Step::Ask { id: id.to_string(), ask: open, questions });
    }
}

fn words(error: Option<&TurnError>) -> String {
    match error {
        Some(error) if !error.message.is_empty() => in_words(&error.message, error.is_about_login()),
        Some(TurnError { kind: Some(kind), .. }) => kind.clone(),
        _ => "it does not say why".to_owned(),
    }
}
