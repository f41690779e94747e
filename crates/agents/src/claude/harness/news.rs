//! What Claude Code says, and what it means for the space.

use wh_claude::{Event, Message, TurnResult, protocol};
use wh_core::space::harness::{Outcome, Report};
use wh_core::space::item::{Body, Level, ToolStatus};

use super::super::questions::{self, Open};
use super::{Live, Unheard};

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
            Message::ConversationReset(_) => {
                self.checkpoints.clear();
                self.tell(Report::Notice(Level::Info, "the conversation begins anew".to_owned())).await
            }
            Message::CommandLifecycle(_)
            | Message::ToolProgress(_)
            | Message::ToolUseSummary(_)
            | Message::PromptSuggestion(_) => Ok(()),
        }
    }

    /// The first sign that it works on the prompt.
    async fn begun(&mut self) -> Result<(), Unheard> {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.begun) else { return Ok(()) };
        turn.begun = true;
        let id = turn.id.clone();
        self.tell(Report::Submitted(id.clone())).await?;
        self.tell(Report::Started(id)).await
    }

    async fn system(&mut self, system: protocol::System) -> Result<(), Unheard> {
        use protocol::System;
        let notice = match system {
            System::Init(init) => return self.init(*init).await,
            System::SessionStateChanged(change) => {
                return match change.state {
                    protocol::SessionState::Running => self.begun().await,
                    protocol::SessionState::Idle | protocol::SessionState::RequiresAction => Ok(()),
                };
            }
            System::Status(status) => {
                let changed = status.permission_mode.as_ref().is_some_and(|mode| self.note_mode(mode));
                if changed {
                    self.tell(Report::Ready(self.capabilities.clone())).await?;
                }
                match status.status.as_deref() {
                    Some("compacting") => (Level::Info, "making the conversation shorter".to_owned()),
                    _ => return Ok(()),
                }
            }
            System::CompactBoundary(_) => (Level::Info, "the conversation was made shorter".to_owned()),
            System::ApiRetry(retry) => {
                let seconds = retry.retry_delay_ms / 1000.0;
                let status = retry.error_status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
                let which = format!("attempt {} of {}", retry.attempt, retry.max_retries);
                (Level::Warning, format!("the model did not answer{status}; {which} in {seconds:.1} s"))
            }
            System::PermissionDenied(denied) => {
                self.denied.push(denied.tool_use_id);
                (Level::Warning, format!("{} was not allowed: {}", denied.tool_name, denied.message))
            }
            System::Notification(note) => (Level::Info, note.text),
            System::Informational(note) => (Level::Info, note.content),
            System::LocalCommandOutput(output) => {
                let key = format!("local-{}", self.checkpoints.len());
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
        self.session = Some(init.session_id);
        self.version = init.claude_code_version.or(self.version.take());
        let changed = init.permission_mode.as_ref().is_some_and(|mode| self.note_mode(mode));
        if changed {
            self.tell(Report::Ready(self.capabilities.clone())).await?;
        }
        self.begun().await
    }

    async fn asked(&mut self, ask: protocol::Ask) -> Result<(), Unheard> {
        let id = ask.request_id.clone();
        let Some(open) = Open::new(ask) else {
            let _ = self.connection.refuse(&id, "there is nothing in this to ask a person").await;
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

    async fn result(&mut self, result: TurnResult) -> Result<(), Unheard> {
        let usage = result.usage.clone().unwrap_or_default();
        self.usage.input_tokens +=
            usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
        self.usage.output_tokens += usage.output_tokens;
        self.usage.cost = Some(result.total_cost_usd);
        let limit = result.model_usage.values().map(|model| model.context_window).max();
        self.usage.context_limit = limit.filter(|limit| *limit > 0).or(self.usage.context_limit);
        self.tell(Report::Usage(self.usage)).await?;
        let interrupted = self.turn.as_ref().is_some_and(|turn| turn.interrupted);
        self.end_turn(outcome(&result, interrupted)).await
    }
}

/// A turn that somebody interrupted is cancelled, whatever else it says.
fn outcome(result: &TurnResult, interrupted: bool) -> Outcome {
    let cut = result.is_aborted() || (interrupted && result.subtype == "error_during_execution");
    if cut {
        Outcome::Cancelled
    } else if result.is_error || result.subtype != "success" {
        let words = result.result.clone().filter(|text| !text.is_empty());
        Outcome::Failed(words.unwrap_or_else(|| match result.errors.first() {
            Some(error) => error.clone(),
            None => result.subtype.replace('_', " "),
        }))
    } else {
        Outcome::Completed
    }
}
