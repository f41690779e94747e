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

const NO_CONVERSATION: &str = "There is no conversation, or not yet, or there are too many open waits.";

pub(super) fn routes() -> Vec<Route<ApiState>> {
    let routes = [commands::routes(), output::routes(), agents::routes(), remote::routes()];
    routes.into_iter().flatten().collect()
}

impl ApiState {
    fn conversation(&self) -> Result<&Conversation, Fault> {
        self.conversation.as_ref().ok_or(Fault::NoConversation)
    }
}
