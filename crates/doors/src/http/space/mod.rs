//! The conversation behind a surface: what it says, and what can be asked of it.

mod agents;
mod commands;
mod output;
mod remote;

use wh_client::Conversation;

pub(super) use agents::{agent, agents, login, logout, mcp, models, sessions, start};
pub(super) use commands::{answer, command, interrupt, questions, receipt};
pub(super) use output::output;
pub(super) use remote::{history, message};

use super::Door;
use super::fault::Fault;

impl Door {
    fn conversation(&self) -> Result<&Conversation, Fault> {
        self.conversation.as_ref().ok_or(Fault::NoConversation)
    }
}
