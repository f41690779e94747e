//! Translates messages of an ACP agent into driver steps.

use serde_json::{Value, json};
use wh_core::space::harness::{AgentOption, Report};
use wh_core::space::item::NoticeLevel;
use wh_core::space::question::Question;
use wh_wire::acp::{self, MessageChunk, PermissionRequest, SessionUpdate, SessionUpdateKind, read};

use super::super::items::MessageKind;
use super::super::questions::{self, PendingAcpRequest};
use super::{AcpProtocol, AcpQuestion};
use crate::driver::{DriverState, DriverStep, DriverSteps};
use crate::rpc::{RpcFrame, RpcIncoming};

impl AcpProtocol {
    pub(super) fn incoming(&mut self, incoming: RpcIncoming, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        match incoming {
            RpcIncoming::Request { id, method, params } => self.asked(id, &method, params, now, steps),
            RpcIncoming::Notification { method, params } => match method.as_str() {
                "session/update" => self.update(read(params), steps),
                "$/cancel_request" => {
                    let id = params["requestId"].clone();
                    steps.push(DriverStep::Withdraw(id.to_string()));
                    steps.push(DriverStep::Send(RpcFrame::Refusal {
                        id,
                        code: acp::REQUEST_CANCELLED_CODE,
                        message: "cancelled".to_owned(),
                    }));
                }
                _ => tracing::debug!(method, "an unknown notification"),
            },
            RpcIncoming::Unreadable(error) => {
                steps.warn(format!("{} wrote an unreadable line ({error}); the line was skipped", self.title()));
            }
        }
    }

    fn update(&mut self, news: SessionUpdate, steps: &mut DriverSteps<Self>) {
        // Sessions of subagents are separate. Their work is part of a call in this session.
        if news.session_id.is_some_and(|session| session != self.conversation()) {
            return;
        }
        match news.update {
            SessionUpdateKind::AgentMessage(chunk) => match self.mode_in(&chunk) {
                Some(mode) => self.mode_is(mode, steps),
                None => self.chunk(MessageKind::Message, chunk, steps),
            },
            SessionUpdateKind::AgentThought(chunk) => self.chunk(MessageKind::Thought, chunk, steps),
            SessionUpdateKind::ToolCall(call) | SessionUpdateKind::ToolCallUpdate(call) if !self.replays => {
                steps.begun();
                steps.reports(self.items.call(*call));
            }
            SessionUpdateKind::Plan(entries) if !self.replays => {
                steps.begun();
                steps.reports(self.items.plan(&entries));
            }
            SessionUpdateKind::AvailableCommands(commands) => {
                let named = |command: acp::AcpCommand| AgentOption {
                    id: command.name.trim_start_matches('/').to_owned(),
                    title: command.description.lines().next().unwrap_or_default().to_owned(),
                };
                self.commands = commands.into_iter().map(named).collect();
                steps.push(DriverStep::Ready);
            }
            SessionUpdateKind::CurrentMode(mode) => self.mode_is(mode, steps),
            SessionUpdateKind::ConfigOptions(reply) => {
                self.settings.learn(&reply);
                steps.push(DriverStep::Ready);
            }
            SessionUpdateKind::Usage(news) => {
                let usage = &mut self.usage;
                usage.context_tokens = news.used.or(usage.context_tokens);
                usage.context_limit = news.size.or(usage.context_limit);
                usage.cost = news.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount).or(usage.cost);
                steps.report(Report::Usage(self.usage));
            }
            SessionUpdateKind::Notice(notice) if !notice.message.is_empty() => {
                let level = match notice.level {
                    acp::Level::Warning => NoticeLevel::Warning,
                    acp::Level::Error => NoticeLevel::Error,
                    acp::Level::Info | acp::Level::Other(_) => NoticeLevel::Info,
                };
                steps.notice(level, notice.message);
            }
            SessionUpdateKind::Compaction(news) if !self.replays => {
                if news["status"] == "completed" {
                    self.exchanges.clear();
                }
                compaction(&news, steps);
            }
            // User messages are already items of the space. Session titles are only needed in lists, which are
            // requested separately.
            SessionUpdateKind::UserMessage(_)
            | SessionUpdateKind::SessionInfo { .. }
            | SessionUpdateKind::ToolCall(_)
            | SessionUpdateKind::ToolCallUpdate(_)
            | SessionUpdateKind::Plan(_)
            | SessionUpdateKind::Notice(_)
            | SessionUpdateKind::Compaction(_) => {}
            SessionUpdateKind::Unknown { kind, raw } => tracing::debug!(kind, %raw, "an unknown update"),
        }
    }

    fn chunk(&mut self, voice: MessageKind, chunk: MessageChunk, steps: &mut DriverSteps<Self>) {
        if self.replays {
            return;
        }
        steps.begun();
        if voice == MessageKind::Message {
            self.exchanges.answer(&chunk.content.display_text());
        }
        steps.reports(self.items.chunk(voice, chunk));
    }

    /// Returns the new mode if the message announces a mode change, for agents with the `mode_message_prefix` quirk.
    fn mode_in(&self, chunk: &MessageChunk) -> Option<String> {
        let words = chunk.content.display_text();
        let mode = words.strip_prefix(self.entry.quirks.mode_message_prefix.as_deref()?)?;
        Some(mode.trim().to_owned())
    }

    fn mode_is(&mut self, mode: String, steps: &mut DriverSteps<Self>) {
        if self.settings.modes.current.as_ref() != Some(&mode) {
            self.settings.modes.current = Some(mode);
            steps.push(DriverStep::Ready);
        }
    }

    fn asked(&mut self, id: Value, method: &str, params: Value, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let answer = |id: Value, result: Value| DriverStep::Send(RpcFrame::Answer { id, result });
        match method {
            "session/request_permission" => self.permission(id, read(params), now, steps),
            "elicitation/create" => match PendingAcpRequest::form(id.clone(), self.title(), &params) {
                Some((ask, question)) => ask_person(ask, question, steps),
                None => steps.push(answer(id, questions::declined())),
            },
            reported if self.entry.quirks.acknowledged_requests.iter().any(|one| one == reported) => {
                steps.push(answer(id, json!({})))
            }
            other => {
                let text =
                    format!("{} requested {other:?}, which wh does not support; the request was refused", self.title());
                steps.push(DriverStep::NoticeOnce(NoticeLevel::Warning, text));
                steps.push(DriverStep::Send(RpcFrame::unknown(id, other)));
            }
        }
    }

    fn permission(
        &mut self,
        id: Value,
        request: PermissionRequest,
        now: DriverState<'_>,
        steps: &mut DriverSteps<Self>,
    ) {
        steps.begun();
        let call = request.tool_call.tool_call_id.clone();
        steps.reports(self.items.call(request.tool_call));
        let cancelled = |id| DriverStep::Send(RpcFrame::Answer { id, result: questions::cancelled() });
        if now.interrupted {
            return steps.push(cancelled(id));
        }
        let none = Default::default();
        let reported = self.items.reported_call(&call).unwrap_or(&none);
        let hidden = if self.start.may_skip_permissions { &[][..] } else { &self.entry.skipping_modes };
        match PendingAcpRequest::permission(id.clone(), self.title(), (&call, reported), request.options, hidden) {
            Some((ask, question)) => ask_person(ask, question, steps),
            None => {
                steps.push(cancelled(id));
                let title = self.title();
                steps.warn(format!(
                    "{title} asked for a permission but offered no usable option; the request was cancelled"
                ));
            }
        }
    }
}

fn ask_person(ask: PendingAcpRequest, question: Question, steps: &mut DriverSteps<AcpProtocol>) {
    steps.push(DriverStep::Ask { id: ask.id.to_string(), ask: AcpQuestion::Agent(ask), questions: vec![question] });
}

/// Reports the progress of a compaction.
fn compaction(news: &Value, steps: &mut DriverSteps<AcpProtocol>) {
    match news["status"].as_str() {
        Some("in_progress") => steps.notice(NoticeLevel::Info, "compacting the conversation"),
        Some("completed") => steps.notice(NoticeLevel::Info, "the conversation was compacted"),
        Some("failed" | "cancelled") => {
            let why = news["error"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            steps.warn(format!("the conversation was not compacted{why}"));
        }
        // The summary is only for the model.
        _ => {}
    }
}
