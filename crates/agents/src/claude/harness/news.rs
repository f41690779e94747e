//! What Claude Code says, and what it means for the space.

use wh_claude::{Event, Message, TurnResult, protocol};
use wh_core::space::harness::{Outcome, Report};
use wh_core::space::item::{Body, Level, ToolStatus};

use super::super::LOG_IN;
use super::super::questions::{self, Open};
use super::life::hinted;
use super::{Done, Live, Unheard};

impl Live {
    pub(super) async fn event(&mut self, event: Event) -> Result<(), Unheard> {
        match event {
            Event::Message(message) => self.message(message).await,
            Event::Ask(ask) => self.asked(ask).await,
            Event::Withdrawn(id) => self.withdraw(&id).await,
            Event::Skipped { bytes } => {
                let text = format!(
                    "Claude Code wrote a line of {bytes} bytes, which is too long to be read; it was passed over"
                );
                self.tell(Report::Notice(Level::Warning, text)).await
            }
            Event::Unreadable(error) => {
                self.tell(Report::Notice(Level::Warning, format!("{error}; it was passed over"))).await
            }
            Event::Unknown(unknown) => {
                tracing::debug!(kind = ?unknown.kind, subtype = ?unknown.subtype, "an unknown frame");
                Ok(())
            }
            // The loop sees to it.
            Event::Closed(_) => Ok(()),
        }
    }

    async fn message(&mut self, message: Message) -> Result<(), Unheard> {
        match message {
            Message::Stream(message) => {
                self.begun().await?;
                let reports = self.items.stream(message);
                self.tell_all(reports).await
            }
            Message::Assistant(message) => {
                self.begun().await?;
                if let Some(usage) = message.message.usage.as_ref().filter(|_| message.parent_tool_use_id.is_none()) {
                    let cached = usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
                    self.usage.context_tokens = Some(usage.input_tokens + cached + usage.output_tokens);
                }
                let reports = self.items.assistant(*message);
                self.tell_all(reports).await
            }
            Message::User(message) => {
                let reports = self.items.user(&message, &self.denied);
                self.tell_all(reports).await
            }
            Message::Result(result) => self.result(*result).await,
            Message::System(system) => self.system(system).await,
            Message::RateLimit(limit) => {
                let info = limit.rate_limit_info;
                if info.status == "allowed" {
                    return Ok(());
                }
                let what = info.rate_limit_type.unwrap_or_else(|| "plan".to_owned());
                self.tell(Report::Notice(Level::Warning, format!("the {what} limit is {}", info.status))).await
            }
            Message::AuthStatus(status) => match status.error {
                Some(error) => self.tell(Report::Notice(Level::Error, error)).await,
                None => Ok(()),
            },
            Message::ConversationReset(reset) => {
                self.session = Some(reset.new_conversation_id);
                self.checkpoints.clear();
                // Nothing was said in it, and what is empty is not kept: its first turn tells.
                self.tell(Report::Kept(None)).await?;
                self.tell(Report::Notice(Level::Info, "the conversation begins anew".to_owned())).await
            }
            Message::CommandLifecycle(_)
            | Message::ToolProgress(_)
            | Message::ToolUseSummary(_)
            | Message::PromptSuggestion(_) => Ok(()),
        }
    }

    async fn system(&mut self, system: protocol::System) -> Result<(), Unheard> {
        use protocol::System;
        let notice = match system {
            System::Init(init) => return self.init(*init).await,
            System::SessionStateChanged(change) => return self.state(change.state).await,
            System::Status(status) => {
                if let Some(mode) = &status.permission_mode {
                    self.heard_mode(mode).await?;
                }
                match status.status.as_deref() {
                    Some("compacting") => (Level::Info, "making the conversation shorter".to_owned()),
                    _ => return Ok(()),
                }
            }
            System::CompactBoundary(_) => (Level::Info, "the conversation was made shorter".to_owned()),
            System::ApiRetry(retry) => {
                let seconds = retry.retry_delay_ms / 1000.0;
                let which = format!("attempt {} of {} in {seconds:.1} s", retry.attempt, retry.max_retries);
                (
                    Level::Warning,
                    match retry.error_status {
                        Some(status @ (401 | 403)) => {
                            format!("the model refuses the login (HTTP {status}): {LOG_IN}; {which}")
                        }
                        Some(status) => format!("the model answered with HTTP {status}; {which}"),
                        None => format!("the model did not answer; {which}"),
                    },
                )
            }
            System::PermissionDenied(denied) => {
                self.denied.push(denied.tool_use_id);
                (Level::Warning, format!("{} was not allowed: {}", denied.tool_name, denied.message))
            }
            System::Notification(note) => (Level::Info, note.text),
            System::Informational(note) => (Level::Info, note.content),
            System::LocalCommandOutput(output) => {
                self.outputs += 1;
                let key = format!("local-{}", self.outputs);
                let body = Body::Text { text: output.content, attachments: Vec::new() };
                return self.tell(Report::Item { key, body, done: true }).await;
            }
            System::RefusalFallback(fallback) => {
                for frame in &fallback.retracted_message_uuids {
                    let reports = self.items.retract(frame);
                    self.tell_all(reports).await?;
                }
                (Level::Warning, format!("{} refused; {} goes on", fallback.original_model, fallback.fallback_model))
            }
            System::RefusalNoFallback(refusal) => (Level::Warning, format!("{} refused", refusal.original_model)),
            System::TaskNotification(_)
            | System::TaskStarted(_)
            | System::TaskProgress(_)
            | System::TaskUpdated(_)
            | System::BackgroundTasksChanged(_)
            | System::ThinkingTokens(_)
            | System::CommandsChanged(_)
            | System::ElicitationComplete(_)
            | System::SessionTitle(_) => return Ok(()),
        };
        self.tell(Report::Notice(notice.0, notice.1)).await
    }

    async fn init(&mut self, init: protocol::Init) -> Result<(), Unheard> {
        // Another conversation in the same process: what was said before it cannot be gone back to.
        if self.session.as_ref().is_some_and(|session| *session != init.session_id) {
            let newest = self.checkpoints.pop();
            self.checkpoints.clear();
            self.checkpoints.extend(newest);
        }
        self.session = Some(init.session_id);
        self.tell(Report::Kept(self.session.clone())).await?;
        self.version = init.claude_code_version.or(self.version.take());
        if let Some(mode) = &init.permission_mode {
            self.heard_mode(mode).await?;
        }
        self.begun().await
    }

    async fn asked(&mut self, ask: protocol::Ask) -> Result<(), Unheard> {
        let id = ask.request_id.clone();
        let Some(open) = Open::new(ask) else {
            self.aside(|connection| async move {
                Done::Answered(connection.refuse(&id, "there is nothing in this to ask a person").await)
            });
            return Ok(());
        };
        if let Some(report) = open.tool_use_id().and_then(|call| self.items.waits(call, ToolStatus::Pending)) {
            self.tell(report).await?;
        }
        let questions: Vec<_> = open.parts.iter().map(|(question, _)| question.clone()).collect();
        self.open.insert(id.clone(), open);
        for (part, question) in questions.into_iter().enumerate() {
            self.tell(Report::Asked { key: questions::key(&id, part), question }).await?;
        }
        Ok(())
    }

    /// What it has cost.
    pub(super) async fn spend(&mut self, result: &TurnResult) -> Result<(), Unheard> {
        let usage = result.usage.clone().unwrap_or_default();
        self.usage.input_tokens +=
            usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cost = Some(self.paid + result.total_cost_usd);
        let limit = result.model_usage.values().map(|model| model.context_window).max();
        self.usage.context_limit = limit.filter(|limit| *limit > 0).or(self.usage.context_limit);
        self.tell(Report::Usage(self.usage)).await
    }
}

/// A turn that somebody interrupted is cancelled, whatever else it says.
pub(super) fn outcome(result: &TurnResult, interrupted: bool) -> Outcome {
    let cut = result.is_aborted() || (interrupted && result.subtype == "error_during_execution");
    if cut {
        Outcome::Cancelled
    } else if result.is_error || result.subtype != "success" {
        let words = result.result.clone().filter(|text| !text.is_empty());
        Outcome::Failed(hinted(&words.unwrap_or_else(|| match result.errors.first() {
            Some(error) => error.clone(),
            None => result.subtype.replace('_', " "),
        })))
    } else {
        Outcome::Completed
    }
}
