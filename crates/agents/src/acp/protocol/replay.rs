//! Translates the messages of a replay, which an agent sends when it loads a conversation.

use wh_core::space::extent::boundary;
use wh_core::space::harness::Report;
use wh_pipe::link::LinkEvent;
use wh_wire::acp::{SessionUpdate, SessionUpdateKind, read};

use super::super::handshake_buffer::{CONVERSATION, update};
use super::super::items::{AcpItems, MessageKind};
use super::replayed_messages::ReplayedMessages;
use crate::rpc::{JsonRpc, RpcIncoming};

/// Size to which a replayed user message is truncated when it exceeds twice this size. The end of the message is
/// retained.
const MAX_REPLAYED_MESSAGE_BYTES: usize = 1 << 20;

/// Appends text to a replayed user message, and removes the beginning of the message if it is too long.
fn push_bounded(all: &mut String, text: &str) {
    all.push_str(text);
    if all.len() > 2 * MAX_REPLAYED_MESSAGE_BYTES {
        let cut = all.len() - boundary(all, all.len() - MAX_REPLAYED_MESSAGE_BYTES);
        *all = all.split_off(all.len() - cut);
    }
}

/// Translates replayed messages into reports.
pub(super) struct ReplayTranslator {
    session: String,
    /// True to report the replay to clients. False to only compare the replay with the exchanges that wh has recorded.
    shows: bool,
    items: AcpItems,
    /// Text of the user message in progress.
    user_message: String,
    /// All user messages, to compare with the exchanges that wh has recorded.
    user_messages: ReplayedMessages,
}

impl ReplayTranslator {
    pub fn new(session: &str, shows: bool) -> Self {
        Self {
            session: session.to_owned(),
            shows,
            items: AcpItems::replayed(),
            user_message: String::new(),
            user_messages: ReplayedMessages::default(),
        }
    }

    /// Translates an event that is part of the conversation into reports. Returns any other event as `Err`.
    pub fn take(&mut self, event: LinkEvent<JsonRpc>) -> Result<Vec<Report>, LinkEvent<JsonRpc>> {
        if !update(&event).is_some_and(|kind| CONVERSATION.contains(&kind)) {
            return Err(event);
        }
        let LinkEvent::Message(RpcIncoming::Notification { params, .. }) = event else { return Err(event) };
        let news: SessionUpdate = read(params);
        if news.session_id.is_some_and(|session| session != self.session) {
            return Ok(Vec::new());
        }
        match &news.update {
            SessionUpdateKind::UserMessage(chunk) => self.user_messages.push(&chunk.content.display_text()),
            _ => self.user_messages.close(),
        }
        if !self.shows {
            return Ok(Vec::new());
        }
        let reports = match news.update {
            SessionUpdateKind::UserMessage(chunk) => {
                let reports = self.items.end();
                push_bounded(&mut self.user_message, &chunk.content.display_text());
                return Ok(reports);
            }
            SessionUpdateKind::AgentMessage(chunk) => self.items.chunk(MessageKind::Message, chunk),
            SessionUpdateKind::AgentThought(chunk) => self.items.chunk(MessageKind::Thought, chunk),
            SessionUpdateKind::ToolCall(call) | SessionUpdateKind::ToolCallUpdate(call) => self.items.call(*call),
            SessionUpdateKind::Plan(entries) => self.items.plan(&entries),
            _ => Vec::new(),
        };
        Ok(self.take_user_message().into_iter().chain(reports).collect())
    }

    /// Returns all user messages of the replay.
    pub fn user_messages(&self) -> &ReplayedMessages {
        &self.user_messages
    }

    /// Ends the replay and completes all items.
    pub fn finish(&mut self) -> Vec<Report> {
        let mut reports = self.take_user_message();
        reports.extend(self.items.end());
        reports
    }

    fn take_user_message(&mut self) -> Vec<Report> {
        let message = std::mem::take(&mut self.user_message);
        if message.is_empty() { Vec::new() } else { vec![Report::EarlierPrompt(message)] }
    }
}
