//! Translates messages of Claude Code into driver steps.

use wh_claude::{ClaudeMessage, Event, TurnResult, protocol};
use wh_core::space::harness::{Report, TurnOutcome};
use wh_core::space::item::{ItemBody, NoticeLevel, ToolStatus};

use super::super::questions::PendingClaudeRequest;
use super::super::{LOG_IN, TITLE};
use super::ClaudeProtocol;
use super::setup::hinted;
use crate::driver::{DriverState, DriverStep, DriverSteps};
use wh_claude::ClaudeFrame;

impl ClaudeProtocol {
    pub(super) fn event(&mut self, event: Event, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match event {
            Event::Message(message) => self.message(message, now, steps),
            Event::Ask(ask) => self.asked(ask, steps),
            Event::Withdrawn(id) => steps.push(DriverStep::Withdraw(id)),
            Event::Unreadable(error) => steps.warn(format!("{error}; the line was skipped")),
            // The driver handles these events of the link.
            Event::Skipped { .. } | Event::Closed(_) => {}
        }
    }

    fn message(&mut self, message: ClaudeMessage, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match message {
            ClaudeMessage::Stream(message) => {
                self.begun(now, steps);
                steps.reports(self.items.stream(message));
            }
            ClaudeMessage::Assistant(message) => {
                self.begun(now, steps);
                if let Some(usage) = message.message.usage.as_ref().filter(|_| message.parent_tool_use_id.is_none()) {
                    let cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
                    self.usage.context_tokens = Some(usage.input_tokens + cached + usage.output_tokens);
                }
                steps.reports(self.items.assistant(*message));
            }
            ClaudeMessage::User(message) => steps.reports(self.items.user(&message, &self.denied)),
            ClaudeMessage::Result(result) => self.result(*result, now, steps),
            ClaudeMessage::System(system) => self.system(system, now, steps),
            ClaudeMessage::RateLimit(limit) => {
                let info = limit.rate_limit_info;
                if info.status != "allowed" {
                    let what = info.rate_limit_type.unwrap_or_else(|| "plan".to_owned());
                    steps.warn(format!("the rate limit {what:?} has the status {:?}", info.status));
                }
            }
            ClaudeMessage::AuthStatus(status) => {
                if let Some(error) = status.error {
                    steps.notice(NoticeLevel::Error, error);
                }
            }
            ClaudeMessage::ConversationReset(reset) => {
                self.session = Some(reset.new_conversation_id);
                self.checkpoints.clear();
                // Claude Code does not store an empty conversation. The first turn of the new conversation reports the
                // id.
                steps.report(Report::ResumeId(None));
                steps.notice(NoticeLevel::Info, "a new conversation was started");
            }
            ClaudeMessage::CommandLifecycle(_)
            | ClaudeMessage::ToolProgress(_)
            | ClaudeMessage::ToolUseSummary(_)
            | ClaudeMessage::PromptSuggestion(_) => {}
            ClaudeMessage::Unknown(unknown) => {
                tracing::debug!(kind = ?unknown.kind, subtype = ?unknown.subtype, "an unknown frame");
            }
        }
    }

    fn system(&mut self, system: protocol::SystemMessage, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        use protocol::SystemMessage;
        match system {
            SystemMessage::Init(init) => self.init(*init, now, steps),
            SystemMessage::SessionStateChanged(change) => self.state(change.state, now, steps),
            SystemMessage::Status(status) => {
                if let Some(mode) = &status.permission_mode
                    && self.note_mode(mode)
                {
                    steps.push(DriverStep::Ready);
                }
                if status.status.as_deref() == Some("compacting") {
                    steps.notice(NoticeLevel::Info, "compacting the conversation");
                }
            }
            SystemMessage::CompactBoundary(_) => steps.notice(NoticeLevel::Info, "the conversation was compacted"),
            SystemMessage::ApiRetry(retry) => {
                let seconds = retry.retry_delay_ms / 1000.0;
                let which = format!("retry {} of {} in {seconds:.1} s", retry.attempt, retry.max_retries);
                steps.warn(match retry.error_status {
                    Some(status @ (401 | 403)) => {
                        format!("the model provider rejected the login (HTTP {status}): {LOG_IN}; {which}")
                    }
                    Some(status) => format!("the model answered with HTTP {status}; {which}"),
                    None => format!("the model did not answer; {which}"),
                });
            }
            SystemMessage::PermissionDenied(denied) => {
                self.denied.push(denied.tool_use_id);
                steps.warn(format!("the tool {} was denied: {}", denied.tool_name, denied.message));
            }
            SystemMessage::Notification(note) => steps.notice(NoticeLevel::Info, note.text),
            SystemMessage::Informational(note) => steps.notice(NoticeLevel::Info, note.content),
            SystemMessage::LocalCommandOutput(output) => {
                self.outputs += 1;
                let key = format!("local-{}", self.outputs);
                let body = ItemBody::Text { text: output.content, attachments: Vec::new() };
                steps.report(Report::Item { key, body, done: true });
            }
            SystemMessage::RefusalFallback(fallback) => {
                for frame in &fallback.retracted_message_uuids {
                    steps.reports(self.items.retract(frame));
                }
                steps.warn(format!(
                    "the model {} refused the request; the turn continues with {}",
                    fallback.original_model, fallback.fallback_model
                ));
            }
            SystemMessage::RefusalNoFallback(refusal) => {
                steps.warn(format!("the model {} refused the request", refusal.original_model))
            }
            SystemMessage::TaskNotification(_)
            | SystemMessage::TaskStarted(_)
            | SystemMessage::TaskProgress(_)
            | SystemMessage::TaskUpdated(_)
            | SystemMessage::BackgroundTasksChanged(_)
            | SystemMessage::ThinkingTokens(_)
            | SystemMessage::CommandsChanged(_)
            | SystemMessage::ElicitationComplete(_)
            | SystemMessage::SessionTitle(_) => {}
        }
    }

    fn init(&mut self, init: protocol::Init, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        // If the id has changed, Claude Code began a new conversation in the same process. Only the newest checkpoint
        // belongs to the new conversation.
        if self.session.as_ref().is_some_and(|session| *session != init.session_id) {
            let newest = self.checkpoints.pop();
            self.checkpoints.clear();
            self.checkpoints.extend(newest);
        }
        self.session = Some(init.session_id);
        steps.report(Report::ResumeId(self.session.clone()));
        self.version = init.claude_code_version.or(self.version.take());
        if let Some(mode) = &init.permission_mode
            && self.note_mode(mode)
        {
            steps.push(DriverStep::Ready);
        }
        self.begun(now, steps);
    }

    fn state(&mut self, state: protocol::SessionState, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.reports_state = true;
        match state {
            protocol::SessionState::Running => {
                self.begun(now, steps);
                steps.push(DriverStep::Occupied(true));
            }
            protocol::SessionState::RequiresAction => {}
            protocol::SessionState::Idle => self.on_idle(now, steps),
        }
    }

    fn asked(&mut self, ask: protocol::IncomingRequest, steps: &mut DriverSteps<Self>) {
        let id = ask.request_id.clone();
        let Some(open) = PendingClaudeRequest::new(ask) else {
            let refusal = ClaudeFrame::refusal(&id, "the request contains no question for the user");
            return steps.push(DriverStep::Send(refusal));
        };
        if let Some(report) = open.tool_use_id().and_then(|call| self.items.set_call_status(call, ToolStatus::Pending))
        {
            steps.report(report);
        }
        let questions = open.questions.clone();
        steps.push(DriverStep::Ask { id, ask: open, questions });
    }

    /// Handles the result of a turn. Ends the current turn if the result belongs to it.
    fn result(&mut self, result: TurnResult, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        self.add_usage(&result, steps);
        if now.turn.is_some() {
            // Newer versions of Claude Code report the ids of the prompts that the result belongs to.
            let whose = &result.user_message_uuids;
            if whose.is_empty() || self.current.as_ref().is_some_and(|uuid| whose.contains(uuid)) {
                let outcome = self.outcome(&result, now.interrupted);
                steps.ended(outcome);
            }
        } else if !self.reports_state {
            self.on_idle(now, steps);
        }
    }

    fn add_usage(&mut self, result: &TurnResult, steps: &mut DriverSteps<Self>) {
        let usage = result.usage.clone().unwrap_or_default();
        self.usage.input_tokens +=
            usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cost = Some(self.earlier_cost + result.total_cost_usd);
        let limit = result.model_usage.values().map(|model| model.context_window).max();
        self.usage.context_limit = limit.filter(|limit| *limit > 0).or(self.usage.context_limit);
        steps.report(Report::Usage(self.usage));
    }

    /// Determines the outcome of a turn. An interrupted turn counts as cancelled.
    fn outcome(&self, result: &TurnResult, interrupted: bool) -> TurnOutcome {
        let cut = result.is_aborted() || (interrupted && result.subtype == "error_during_execution");
        let words = result.result.clone().filter(|text| !text.is_empty());
        if cut {
            TurnOutcome::Cancelled
        } else if let Some(command) = self.unknown_command(words.as_deref()) {
            TurnOutcome::Failed(format!("{TITLE} has no command /{command}"))
        } else if result.is_error || result.subtype != "success" {
            TurnOutcome::Failed(hinted(&words.unwrap_or_else(|| match result.errors.first() {
                Some(error) => error.clone(),
                None => result.subtype.replace('_', " "),
            })))
        } else {
            TurnOutcome::Completed
        }
    }

    /// Returns the name of the prompt's slash command if Claude Code answered that it does not know the command.
    fn unknown_command(&self, words: Option<&str>) -> Option<&str> {
        let command = self.slash_command.as_deref()?;
        let refused = ["Unknown slash command", "Unknown command", "Unknown skill"];
        let line = words?.trim_start().lines().next()?;
        let is_refused = refused.iter().any(|start| line.starts_with(start)) && line.contains(command);
        is_refused.then_some(command)
    }
}
