//! Routes of a conversation: messages, questions, commands, agents and item output.

mod agents;
mod commands;
mod output;
mod remote;

use wh_client::Conversation;

pub(super) use commands::RECEIPT_PATH;

use super::ApiState;
use super::fault::Fault;
use super::route::Route;

const NO_CONVERSATION: &str = "The session has no conversation, or cannot accept the request now; see the detail.";

pub(super) fn routes() -> Vec<Route<ApiState>> {
    let routes = [commands::routes(), output::routes(), agents::routes(), remote::routes()];
    routes.into_iter().flatten().collect()
}

impl ApiState {
    fn conversation(&self) -> Result<&Conversation, Fault> {
        self.conversation.as_ref().ok_or(Fault::NoConversation)
    }

    /// Returns the conversation, unless its agent is still starting in its own terminal UI.
    async fn ready_conversation(&self) -> Result<&Conversation, Fault> {
        let conversation = self.conversation()?;
        if conversation.refuses_until_ready && conversation.space.watch().await?.changes.borrow().gauges.starting {
            return Err(Fault::AgentStarting);
        }
        Ok(conversation)
    }
}
