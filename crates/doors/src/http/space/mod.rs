//! The conversation behind a surface: what it says, and what can be asked of it.

mod agents;
mod commands;
mod output;
mod remote;

use wh_client::Conversation;

pub(super) use commands::RECEIPT_PATH;

use super::Door;
use super::fault::Fault;
use super::route::Route;

const NO_CONVERSATION: &str = "There is no conversation here, or not yet; or enough waits already. Try again.";

pub(super) fn routes() -> Vec<Route<Door>> {
    let routes = [commands::routes(), output::routes(), agents::routes(), remote::routes()];
    routes.into_iter().flatten().collect()
}

impl Door {
    fn conversation(&self) -> Result<&Conversation, Fault> {
        self.conversation.as_ref().ok_or(Fault::NoConversation)
    }
}
