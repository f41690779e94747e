//! Messages of Claude Code, as steps of the driver.

use wh_claude::{Event, Message, TurnResult, protocol};
use wh_core::space::harness::{Outcome, Report};
use wh_core::space::item::{Body, Level, ToolStatus};

use super::super::questions::Open;
use super::super::{LOG_IN, TITLE};
use super::ClaudeProtocol;
use super::setup::hinted;
use crate::driver::{Now, Step, Steps};
use wh_claude::Frame;

impl ClaudeProtocol {
    pub(super) fn event(&mut self, event: Event, now: Now<'_>, steps: &mut Steps<Self>) {
        match event {
            Event::Message(message) => self.message(message, now, steps),
            Event::Ask(ask) => self.asked(ask, steps),
            Event::Withdrawn(id) => steps.push(Step::Withdraw(id)),
            Event::Unreadable(error) => steps.warn(format!("{error}; it was passed over")),
            // These are events of the link.
            Event::Skipped { .. } | Event::Closed(_) => {}
        }
    }

    fn message(&mut self, message: Message, now: Now<'_>, steps: &mut Steps<Self>) {
        match message {
            Message::Stream(message) => {
                self.begun(now, steps);
                steps.reports(self.items.stream(message));
            }
            Message::Assistant(message) => {
                self.begun(now, steps);
                if let Some(usage) = message.message.usage.as_ref().filter(|_| message.parent_tool_use_id.is_none()) {
                    let cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
                    self.usage.context_tokens = Some(usage.input_tokens + cached + usage.output_tokens);
                }
                steps.reports(self.items.assistant(*message));
            }
            Message::User(message) => steps.reports(self.items.user(&message, &self.denied)),
            Message::Result(result) => self.result(*result, now, steps),
            Message::System(system) => self.system(system, now, steps),
            Message::RateLimit(limit) => {
                let info = limit.rate_limit_info;
                if info.status != "allowed" {
                    let what = info.rate_limit_type.unwrap_or_else(|| "plan".to_owned());
                    steps.warn(format!("the {what} limit is {}", info.status));
                }
            }
            Message::AuthStatus(status) => {
                if let Some(error) = status.error {
                    steps.notice(Level::Error, error);
                }
            }
            Message::ConversationReset(reset) => {
                self.session = Some(reset.new_conversation_id);
                self.checkpoints.clear();
                // Nothing was said in it, and an empty one is not kept: its first turn tells.
                steps.report(Report::Kept(None));
                steps.notice(Level::Info, "the conversation begins anew");
            }
            Message::CommandLifecycle(_)
            | Message::ToolProgress(_)
            | Message::ToolUseSummary(_)
            | Message::PromptSuggestion(_) => {}
            Message::Unknown(unknown) => {
                tracing::debug!(kind = ?unknown.kind, subtype = ?unknown.subtype, "an unknown frame");
            }
        }
    }

    fn system(&mut self, system: protocol::System, now: Now<'_>, steps: &mut Steps<Self>) {
        use protocol::System;
        match system {
            System::Init(init) => self.init(*init, now, steps),
            System::SessionStateChanged(change) => self.state(change.state, now, steps),
            System::Status(status) => {
                if let Some(mode) = &status.permission_mode
                    && self.note_mode(mode)
                {
                    steps.push(Step::Ready);
                }
                if status.status.as_deref() == Some("compacting") {
                    steps.notice(Level::Info, "making the conversation shorter");
                }
            }
            System::CompactBoundary(_) => steps.notice(Level::Info, "the conversation was made shorter"),
            System::ApiRetry(retry) => {
                let seconds = retry.retry_delay_ms / 1000.0;
                let which = format!("attempt {} of {} in {seconds:.1} s", retry.attempt, retry.max_retries);
                steps.warn(match retry.error_status {
                    Some(status @ (401 | 403)) => {
                        format!("the model refuses the login (HTTP {status}): {LOG_IN}; {which}")
                    }
                    Some(status) => format!("the model answered with HTTP {status}; {which}"),
                    None => format!("the model did not answer; {which}"),
                });
            }
            System::PermissionDenied(denied) => {
                self.denied.push(denied.tool_use_id);
                steps.warn(format!("{} was not allowed: {}", denied.tool_name, denied.message));
            }
            System::Notification(note) => steps.notice(Level::Info, note.text),
            System::Informational(note) => steps.notice(Level::Info, note.content),
            System::LocalCommandOutput(output) => {
                self.outputs += 1;
                let key = format!("local-{}", self.outputs);
                let body = Body::Text { text: output.content, attachments: Vec::new() };
                steps.report(Report::Item { key, body, done: true });
            }
            System::RefusalFallback(fallback) => {
                for frame in &fallback.retracted_message_uuids {
                    steps.reports(self.items.retract(frame));
                }
                steps.warn(format!("{} refused; {} goes on", fallback.original_model, fallback.fallback_model));
            }
            System::RefusalNoFallback(refusal) => steps.warn(format!("{} refused", refusal.original_model)),
            System::TaskNotification(_)
            | System::TaskStarted(_)
            | System::TaskProgress(_)
            | System::TaskUpdated(_)
            | System::BackgroundTasksChanged(_)
            | System::ThinkingTokens(_)
            | System::CommandsChanged(_)
            | System::ElicitationComplete(_)
            | System::SessionTitle(_) => {}
        }
    }

    fn init(&mut self, init: protocol::Init, now: Now<'_>, steps: &mut Steps<Self>) {
        // Another conversation in the same process: files cannot be brought back to before it.
        if self.session.as_ref().is_some_and(|session| *session != init.session_id) {
            let newest = self.checkpoints.pop();
            self.checkpoints.clear();
            self.checkpoints.extend(newest);
        }
        self.session = Some(init.session_id);
        steps.report(Report::Kept(self.session.clone()));
        self.version = init.claude_code_version.or(self.version.take());
        if let Some(mode) = &init.permission_mode
            && self.note_mode(mode)
        {
            steps.push(Step::Ready);
        }
        self.begun(now, steps);
    }

    fn state(&mut self, state: protocol::SessionState, now: Now<'_>, steps: &mut Steps<Self>) {
        self.says = true;
        match state {
            protocol::SessionState::Running => {
                self.begun(now, steps);
                steps.push(Step::Occupied(true));
            }
            protocol::SessionState::RequiresAction => {}
            protocol::SessionState::Idle => self.rest(now, steps),
        }
    }

    fn asked(&mut self, ask: protocol::Ask, steps: &mut Steps<Self>) {
        let id = ask.request_id.clone();
        let Some(open) = Open::new(ask) else {
            let refusal = Frame::refusal(&id, "there is nothing in this to ask a person");
            return steps.push(Step::Send(refusal));
        };
        if let Some(report) = open.tool_use_id().and_then(|call| self.items.waits(call, ToolStatus::Pending)) {
            steps.report(report);
        }
        let questions = open.questions.clone();
        steps.push(Step::Ask { id, ask: open, questions });
    }

    /// A turn has come to its end.
    fn result(&mut self, result: TurnResult, now: Now<'_>, steps: &mut Steps<Self>) {
        self.spend(&result, steps);
        if now.turn.is_some() {
            // Newer versions say whose end it is.
            let whose = &result.user_message_uuids;
            if whose.is_empty() || self.current.as_ref().is_some_and(|uuid| whose.contains(uuid)) {
                let outcome = self.outcome(&result, now.interrupted);
                steps.ended(outcome);
            }
        } else if !self.says {
            self.rest(now, steps);
        }
    }

    fn spend(&mut self, result: &TurnResult, steps: &mut Steps<Self>) {
        let usage = result.usage.clone().unwrap_or_default();
        self.usage.input_tokens +=
            usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cost = Some(self.paid + result.total_cost_usd);
        let limit = result.model_usage.values().map(|model| model.context_window).max();
        self.usage.context_limit = limit.filter(|limit| *limit > 0).or(self.usage.context_limit);
        steps.report(Report::Usage(self.usage));
    }

    /// A turn that somebody interrupted is cancelled, whatever else it says.
    fn outcome(&self, result: &TurnResult, interrupted: bool) -> Outcome {
        let cut = result.is_aborted() || (interrupted && result.subtype == "error_during_execution");
        let words = result.result.clone().filter(|text| !text.is_empty());
        if cut {
            Outcome::Cancelled
        } else if let Some(command) = self.unknown_command(words.as_deref()) {
            Outcome::Failed(format!("{TITLE} has no command /{command}"))
        } else if result.is_error || result.subtype != "success" {
            Outcome::Failed(hinted(&words.unwrap_or_else(|| match result.errors.first() {
                Some(error) => error.clone(),
                None => result.subtype.replace('_', " "),
            })))
        } else {
            Outcome::Completed
        }
    }

    /// The command that the prompt named and Claude Code does not know: it says so in place of an answer.
    fn unknown_command(&self, words: Option<&str>) -> Option<&str> {
        let command = self.slash.as_deref()?;
        let refused = ["Unknown slash command", "Unknown command", "Unknown skill"];
        let line = words?.trim_start().lines().next()?;
        let is_refused = refused.iter().any(|start| line.starts_with(start)) && line.contains(command);
        is_refused.then_some(command)
    }
}
