//! Messages of the agent, as steps of the driver.

use serde_json::{Value, json};
use wh_core::space::harness::{Named, Report};
use wh_core::space::item::Level;
use wh_core::space::question::Question;
use wh_wire::acp::{self, Chunk, PermissionRequest, SessionUpdate, Update, read};

use super::super::items::Voice;
use super::super::questions::{self, Ask as AgentAsk};
use super::{AcpProtocol, Ask};
use crate::driver::{Now, Step, Steps};
use crate::rpc::{Frame, Incoming};

impl AcpProtocol {
    pub(super) fn incoming(&mut self, incoming: Incoming, now: Now<'_>, steps: &mut Steps<Self>) {
        match incoming {
            Incoming::Request { id, method, params } => self.asked(id, &method, params, now, steps),
            Incoming::Notification { method, params } => match method.as_str() {
                "session/update" => self.update(read(params), steps),
                "$/cancel_request" => {
                    let id = params["requestId"].clone();
                    steps.push(Step::Withdraw(id.to_string()));
                    steps.push(Step::Send(Frame::Refusal {
                        id,
                        code: acp::CANCELLED,
                        message: "cancelled".to_owned(),
                    }));
                }
                _ => tracing::debug!(method, "an unknown notification"),
            },
            Incoming::Unreadable(error) => {
                steps.warn(format!("{} wrote what cannot be read: {error}; it was passed over", self.title()));
            }
        }
    }

    fn update(&mut self, news: SessionUpdate, steps: &mut Steps<Self>) {
        // A subagent's session is its own; its work is within a call of this one.
        if news.session_id.is_some_and(|session| session != self.conversation()) {
            return;
        }
        match news.update {
            Update::AgentMessage(chunk) => match self.mode_in(&chunk) {
                Some(mode) => self.mode_is(mode, steps),
                None => self.chunk(Voice::Said, chunk, steps),
            },
            Update::AgentThought(chunk) => self.chunk(Voice::Thought, chunk, steps),
            Update::ToolCall(call) | Update::ToolCallUpdate(call) if !self.replays => {
                steps.begun();
                steps.reports(self.items.call(*call));
            }
            Update::Plan(entries) if !self.replays => {
                steps.begun();
                steps.reports(self.items.plan(&entries));
            }
            Update::AvailableCommands(commands) => {
                let named = |command: acp::Command| Named {
                    id: command.name.trim_start_matches('/').to_owned(),
                    title: command.description.lines().next().unwrap_or_default().to_owned(),
                };
                self.commands = commands.into_iter().map(named).collect();
                steps.push(Step::Ready);
            }
            Update::CurrentMode(mode) => self.mode_is(mode, steps),
            Update::ConfigOptions(reply) => {
                self.settings.learn(&reply);
                steps.push(Step::Ready);
            }
            Update::Usage(news) => {
                let usage = &mut self.usage;
                usage.context_tokens = news.used.or(usage.context_tokens);
                usage.context_limit = news.size.or(usage.context_limit);
                usage.cost = news.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount).or(usage.cost);
                steps.report(Report::Usage(self.usage));
            }
            Update::Notice(notice) if !notice.message.is_empty() => {
                let level = match notice.level {
                    acp::Level::Warning => Level::Warning,
                    acp::Level::Error => Level::Error,
                    acp::Level::Info | acp::Level::Other(_) => Level::Info,
                };
                steps.notice(level, notice.message);
            }
            Update::Compaction(news) if !self.replays => {
                if news["status"] == "completed" {
                    self.said.clear();
                }
                compaction(&news, steps);
            }
            // A person's messages are the space's own; only an earlier conversation has them again. A title is for lists,
            // which are asked for.
            Update::UserMessage(_)
            | Update::SessionInfo { .. }
            | Update::ToolCall(_)
            | Update::ToolCallUpdate(_)
            | Update::Plan(_)
            | Update::Notice(_)
            | Update::Compaction(_) => {}
            Update::Unknown { kind, raw } => tracing::debug!(kind, %raw, "an unknown update"),
        }
    }

    fn chunk(&mut self, voice: Voice, chunk: Chunk, steps: &mut Steps<Self>) {
        if self.replays {
            return;
        }
        steps.begun();
        if voice == Voice::Said {
            self.said.answer(&chunk.content.words());
        }
        steps.reports(self.items.chunk(voice, chunk));
    }

    /// The mode that a message announces, with agents that do so.
    fn mode_in(&self, chunk: &Chunk) -> Option<String> {
        let words = chunk.content.words();
        let mode = words.strip_prefix(self.entry.quirks.mode_in_words.as_deref()?)?;
        Some(mode.trim().to_owned())
    }

    fn mode_is(&mut self, mode: String, steps: &mut Steps<Self>) {
        if self.settings.modes.current.as_ref() != Some(&mode) {
            self.settings.modes.current = Some(mode);
            steps.push(Step::Ready);
        }
    }

    fn asked(&mut self, id: Value, method: &str, params: Value, now: Now<'_>, steps: &mut Steps<Self>) {
        let answer = |id: Value, result: Value| Step::Send(Frame::Answer { id, result });
        match method {
            "session/request_permission" => self.permission(id, read(params), now, steps),
            "elicitation/create" => match AgentAsk::form(id.clone(), self.title(), &params) {
                Some((ask, question)) => ask_person(ask, question, steps),
                None => steps.push(answer(id, questions::declined())),
            },
            told if self.entry.quirks.told.iter().any(|one| one == told) => steps.push(answer(id, json!({}))),
            other => {
                let text = format!("{} asked for {other:?}, which wh does not offer; it was refused", self.title());
                steps.push(Step::Once(Level::Warning, text));
                steps.push(Step::Send(Frame::unknown(id, other)));
            }
        }
    }

    fn permission(&mut self, id: Value, request: PermissionRequest, now: Now<'_>, steps: &mut Steps<Self>) {
        steps.begun();
        let call = request.tool_call.tool_call_id.clone();
        steps.reports(self.items.call(request.tool_call));
        let cancelled = |id| Step::Send(Frame::Answer { id, result: questions::cancelled() });
        if now.interrupted {
            return steps.push(cancelled(id));
        }
        let none = Default::default();
        let told = self.items.told(&call).unwrap_or(&none);
        let hidden = if self.start.may_skip_permissions { &[][..] } else { &self.entry.skipping };
        match AgentAsk::permission(id.clone(), self.title(), (&call, told), request.options, hidden) {
            Some((ask, question)) => ask_person(ask, question, steps),
            None => {
                steps.push(cancelled(id));
                let title = self.title();
                steps.warn(format!("{title} asked for a permission and gave nothing to choose from"));
            }
        }
    }
}

fn ask_person(ask: AgentAsk, question: Question, steps: &mut Steps<AcpProtocol>) {
    steps.push(Step::Ask { id: ask.id.to_string(), ask: Ask::Agent(ask), questions: vec![question] });
}

/// The conversation is made shorter, or was.
fn compaction(news: &Value, steps: &mut Steps<AcpProtocol>) {
    match news["status"].as_str() {
        Some("in_progress") => steps.notice(Level::Info, "making the conversation shorter"),
        Some("completed") => steps.notice(Level::Info, "the conversation was made shorter"),
        Some("failed" | "cancelled") => {
            let why = news["error"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            steps.warn(format!("the conversation was not made shorter{why}"));
        }
        // The summary is for the model.
        _ => {}
    }
}
