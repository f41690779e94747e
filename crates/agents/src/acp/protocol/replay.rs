//! An earlier conversation, as an agent repeats it when it loads one.

use wh_core::space::extent::boundary;
use wh_core::space::harness::Report;
use wh_pipe::link::Inbound;
use wh_wire::acp::{SessionUpdate, Update, read};

use super::super::backlog::{CONVERSATION, update};
use super::super::items::{Items, Voice};
use super::repeated::Repeated;
use crate::rpc::{Incoming, JsonRpc};

/// Bytes of a message of the person that are shown; the newest.
const MAX_RECALLED_BYTES: usize = 1 << 20;

/// Appends a text, and drops the beginning of what is too long.
fn push_bounded(all: &mut String, text: &str) {
    all.push_str(text);
    if all.len() > 2 * MAX_RECALLED_BYTES {
        let cut = all.len() - boundary(all, all.len() - MAX_RECALLED_BYTES);
        *all = all.split_off(all.len() - cut);
    }
}

/// Translates the repeated conversation into reports.
pub(super) struct Replay {
    session: String,
    /// Somebody wants to see it; otherwise it is passed over.
    shows: bool,
    items: Items,
    /// The message of the person that grows.
    said: String,
    /// Everything that the person said, to be compared.
    repeated: Repeated,
}

impl Replay {
    pub fn new(session: &str, shows: bool) -> Self {
        Self {
            session: session.to_owned(),
            shows,
            items: Items::recalled(),
            said: String::new(),
            repeated: Repeated::default(),
        }
    }

    /// Takes a message. One that is not of the conversation comes back.
    pub fn take(&mut self, event: Inbound<JsonRpc>) -> Result<Vec<Report>, Inbound<JsonRpc>> {
        if !update(&event).is_some_and(|kind| CONVERSATION.contains(&kind)) {
            return Err(event);
        }
        let Inbound::Message(Incoming::Notification { params, .. }) = event else { return Err(event) };
        let news: SessionUpdate = read(params);
        if news.session_id.is_some_and(|session| session != self.session) {
            return Ok(Vec::new());
        }
        match &news.update {
            Update::UserMessage(chunk) => self.repeated.push(&chunk.content.words()),
            _ => self.repeated.close(),
        }
        if !self.shows {
            return Ok(Vec::new());
        }
        let reports = match news.update {
            Update::UserMessage(chunk) => {
                let reports = self.items.end();
                push_bounded(&mut self.said, &chunk.content.words());
                return Ok(reports);
            }
            Update::AgentMessage(chunk) => self.items.chunk(Voice::Said, chunk),
            Update::AgentThought(chunk) => self.items.chunk(Voice::Thought, chunk),
            Update::ToolCall(call) | Update::ToolCallUpdate(call) => self.items.call(*call),
            Update::Plan(entries) => self.items.plan(&entries),
            _ => Vec::new(),
        };
        Ok(self.recalled().into_iter().chain(reports).collect())
    }

    /// Everything that the person said in it.
    pub fn repeated(&self) -> &Repeated {
        &self.repeated
    }

    /// The conversation is complete.
    pub fn finish(&mut self) -> Vec<Report> {
        let mut reports = self.recalled();
        reports.extend(self.items.end());
        reports
    }

    fn recalled(&mut self) -> Vec<Report> {
        let said = std::mem::take(&mut self.said);
        if said.is_empty() { Vec::new() } else { vec![Report::Recalled(said)] }
    }
}
