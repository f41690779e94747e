//! Translates messages of Codex into driver steps.

use serde_json::Value;
use wh_core::space::harness::{Report, TurnOutcome, Usage};
use wh_core::space::item::{NoticeLevel, ToolStatus};
use wh_wire::codex::{
    self as wire, ServerNotification, StartedThread, ThreadItem, ThreadItemKind, ThreadStatus, TurnError, TurnStatus,
};

use super::super::TITLE;
use super::super::questions::PendingCodexRequest;
use super::{CodexOperation, CodexProtocol, with_login_hint};
use crate::driver::{DriverState, DriverStep, DriverSteps};
use crate::rpc::{RpcFrame, RpcIncoming};

impl CodexProtocol {
    pub(super) fn incoming(&mut self, incoming: RpcIncoming, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match incoming {
            RpcIncoming::Notification { method, params } => {
                self.notified(ServerNotification::read(&method, params), steps)
            }
            RpcIncoming::Request { id, method, params } => self.asked(id, &method, params, now, steps),
            RpcIncoming::Unreadable(error) => {
                steps.warn(format!("{TITLE} wrote an unreadable line ({error}); the line was skipped"));
            }
        }
    }

    /// Handles a notification. Notifications of other threads (subagents) are ignored.
    fn notified(&mut self, notification: ServerNotification, steps: &mut DriverSteps<Self>) {
        match notification {
            ServerNotification::TurnStarted { thread, turn } if thread == self.thread => self.turn_started(turn, steps),
            ServerNotification::TurnCompleted { thread, turn } if thread == self.thread => self.turn_ended(turn, steps),
            // The end of a requested compaction is reported by `compacted`, not by this item.
            ServerNotification::Item { item: ThreadItem { kind: ThreadItemKind::Compaction, .. }, .. }
                if self.busy.is_some() => {}
            ServerNotification::Item { thread, turn, item, done } if thread == self.thread => {
                steps.reports(self.items.item(turn, item, done));
            }
            ServerNotification::Delta { thread, turn, item, text } if thread == self.thread => {
                steps.reports(self.items.grow(turn, item, text));
            }
            ServerNotification::Thought { thread, turn, item, text, full } if thread == self.thread => {
                steps.reports(self.items.think(turn, item, text, full));
            }
            ServerNotification::PatchUpdated { thread, turn, item, changes } if thread == self.thread => {
                steps.reports(self.items.patch(turn, item, changes));
            }
            ServerNotification::PlanUpdated { thread, explanation, steps: plan } if thread == self.thread => {
                steps.reports(self.items.plan(explanation.as_deref(), &plan));
            }
            ServerNotification::Usage { thread, total, last, window } if thread == self.thread => {
                steps.report(Report::Usage(Usage {
                    context_tokens: Some(last.total),
                    context_limit: window,
                    input_tokens: total.input,
                    output_tokens: total.output,
                    cost: None,
                }));
            }
            ServerNotification::Status { thread, status } if thread == self.thread => {
                self.status = status;
                // Codex sometimes does not report the end of a compaction turn. A status change also shows that the
                // turn has ended.
                match status {
                    ThreadStatus::Idle => self.compacted(true, steps),
                    ThreadStatus::SystemError => self.compacted(false, steps),
                    ThreadStatus::Active | ThreadStatus::Unknown => {}
                }
            }
            ServerNotification::Settings { thread, settings } if thread == self.thread => {
                self.update_settings(&settings, steps)
            }
            ServerNotification::Resolved { id } => steps.push(DriverStep::Withdraw(id.to_string())),
            ServerNotification::Error { thread, error, will_retry: true } if thread == self.thread => {
                let details = error.details.as_ref().map(|details| format!(" ({details})")).unwrap_or_default();
                steps.warn(format!("{}{details}", error.message));
            }
            ServerNotification::Error { thread, error, .. } if thread == self.thread && self.turn.is_none() => {
                steps.notice(NoticeLevel::Error, error_text(Some(&error)));
            }
            ServerNotification::Warning { text } => steps.push(DriverStep::NoticeOnce(NoticeLevel::Warning, text)),
            ServerNotification::Rerouted { from, to } => {
                steps.push(DriverStep::NoticeOnce(
                    NoticeLevel::Warning,
                    format!("the model {to} is used instead of {from}"),
                ));
            }
            ServerNotification::Other { method, .. } => tracing::debug!(method, "ignoring a notification"),
            _ => {}
        }
    }

    fn turn_started(&mut self, native: wire::CodexTurn, steps: &mut DriverSteps<Self>) {
        let Some(turn) = &mut self.turn else { return };
        if turn.replied && turn.native.as_ref() != Some(&native.id) {
            return;
        }
        turn.native = Some(native.id);
        steps.begun();
    }

    /// Handles the end of a turn. An unknown turn may belong to the current prompt. Its end is stored until the reply
    /// to the prompt arrives. If there is no current turn, a compaction has ended.
    pub(super) fn turn_ended(&mut self, native: wire::CodexTurn, steps: &mut DriverSteps<Self>) {
        match &self.turn {
            Some(turn) if turn.native.as_ref() == Some(&native.id) => {}
            Some(turn) => {
                if !turn.replied {
                    self.early_ends.push(native);
                }
                return;
            }
            None => return self.compacted(native.status == TurnStatus::Completed, steps),
        }
        let outcome = match native.status {
            TurnStatus::Completed | TurnStatus::InProgress => TurnOutcome::Completed,
            TurnStatus::Interrupted => TurnOutcome::Cancelled,
            TurnStatus::Failed => TurnOutcome::Failed(error_text(native.error.as_ref())),
            TurnStatus::Other(status) => {
                TurnOutcome::Failed(format!("the turn ended with the unknown status {status:?}"))
            }
        };
        self.end_turn(outcome, steps);
    }

    /// Ends a compaction that the user requested, and completes its call.
    pub(super) fn compacted(&mut self, success: bool, steps: &mut DriverSteps<Self>) {
        if self.busy == Some(CodexOperation::Compacting) {
            let (level, not) = if success { (NoticeLevel::Info, "") } else { (NoticeLevel::Error, "not ") };
            steps.notice(level, format!("the conversation was {not}compacted"));
            self.finish_operation(steps);
        }
    }

    /// Updates the settings of the conversation. Reports the capabilities if they changed, or if the settings skip
    /// permissions.
    pub(super) fn update_settings(&mut self, settings: &StartedThread, steps: &mut DriverSteps<Self>) {
        let before = self.capabilities.clone();
        self.record_settings(settings);
        if self.capabilities != before || super::modes::skips(&self.settings_in_effect) {
            steps.push(DriverStep::Ready);
        }
    }

    fn asked(&mut self, id: Value, method: &str, params: Value, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let ask = wire::ServerRequest::read(method, params);
        let changes = match &ask {
            wire::ServerRequest::FileChange(file) => self.items.changes(&file.item),
            _ => &[],
        };
        let Some(open) = PendingCodexRequest::new(id.clone(), ask, changes) else {
            tracing::debug!(method, "an unknown request");
            let text = format!("{TITLE} requested {method:?}, which wh does not support; the request was refused");
            steps.push(DriverStep::NoticeOnce(NoticeLevel::Warning, text));
            return steps.push(DriverStep::Send(RpcFrame::unknown(id, method)));
        };
        if now.turn.is_none() {
            // The turn has already ended, so the request is refused.
            return steps.push(DriverStep::Send(RpcFrame::Answer { id, result: open.refusal() }));
        }
        steps.0.extend(
            open.item().and_then(|item| self.items.set_call_status(item, ToolStatus::Pending)).map(DriverStep::Report),
        );
        let questions = open.questions.clone();
        steps.push(DriverStep::Ask { id: id.to_string(), ask: open, questions });
    }
}

fn error_text(error: Option<&TurnError>) -> String {
    match error {
        Some(error) if !error.message.is_empty() => with_login_hint(&error.message, error.is_about_login()),
        Some(TurnError { kind: Some(kind), .. }) => kind.clone(),
        _ => format!("{TITLE} gave no reason"),
    }
}
