//! The conversation behind a surface: what it says, and what can be asked of it.

mod agents;
mod commands;
mod happened;
mod output;
mod remote;
mod state;

use wh_client::Conversation;

pub use agents::told_body;
pub(super) use agents::{agent, agents, login, logout, mcp, models, sessions, start};
pub(super) use commands::{answer, command, interrupt, questions, receipt};
pub(crate) use commands::{questions_of, receipt_body};
pub(super) use happened::event_body;
pub(super) use output::output;
pub(super) use remote::{history, message};
pub(super) use state::{messages, state, state_fingerprint};

use super::Door;
use super::fault::Fault;

impl Door {
    fn conversation(&self) -> Result<&Conversation, Fault> {
        self.conversation.as_ref().ok_or(Fault::NoConversation)
    }
}
