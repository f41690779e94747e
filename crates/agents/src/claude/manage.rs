//! Queries Claude Code outside of a conversation: login, models and saved conversations.

use wh_claude::ClaudeClient;
use wh_core::space::roster::ModelCard;
use wh_pipe::LaunchSpec;

use super::history;
use crate::interface::{LoginState, ManageError, SavedConversation};
use crate::manage::claude;
use crate::manage::run::{self, run};
use crate::table::management::AgentQuery;

/// Reads the login state with `claude auth status`.
pub(crate) async fn login(launch: &LaunchSpec) -> LoginState {
    match run(launch, &["auth", "status"]).await {
        Ok(output) => claude::status(&output.out),
        Err(_) => LoginState::Unknown,
    }
}

/// Lists models through a process that is started only for this request.
pub(crate) async fn models(inquiry: AgentQuery<'_>) -> Result<Vec<ModelCard>, ManageError> {
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
    let options = super::options(inquiry.launch);
    let client = tokio::time::timeout(run::COMMAND_TIMEOUT, ClaudeClient::connect(&options)).await;
    let client = client.map_err(|_| failed(&"Claude Code did not answer in time"))?.map_err(|error| failed(&error))?;
    let offered = client.server_info().models;
    client.close().await;
    let card = |model: wh_claude::protocol::ModelInfo| {
        let is_default = model.value == "default";
        let title = if model.display_name.is_empty() { model.value.clone() } else { model.display_name };
        ModelCard { id: model.value, title, is_default, is_current: false }
    };
    Ok(offered.into_iter().map(card).collect())
}

/// Lists conversations from Claude Code's files.
pub(crate) async fn conversations(inquiry: AgentQuery<'_>) -> Result<Vec<SavedConversation>, ManageError> {
    let Some(folder) = history::folder(inquiry.here) else { return Ok(Vec::new()) };
    let directory = inquiry.here.directory.clone();
    let read = tokio::task::spawn_blocking(move || claude::conversations(&folder, &directory));
    read.await.map_err(|error| ManageError::Failed(error.to_string()))
}
