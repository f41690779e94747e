//! Claude Code asked without a conversation.

use wh_claude::Client;
use wh_core::space::roster::ModelCard;
use wh_pipe::Launch;

use super::history;
use crate::manage::claude;
use crate::manage::run::{self, run};
use crate::port::{Kept, LoginState, ManageError};
use crate::table::management::Inquiry;

/// Runs `claude auth status`.
pub(crate) async fn login(launch: &Launch) -> LoginState {
    match run(launch, &["auth", "status"]).await {
        Ok(said) => claude::status(&said.out),
        Err(_) => LoginState::Unknown,
    }
}

/// Lists the models that one offers that is started for nothing else.
pub(crate) async fn models(inquiry: Inquiry<'_>) -> Result<Vec<ModelCard>, ManageError> {
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
    let options = super::options(inquiry.launch);
    let client = tokio::time::timeout(run::PATIENCE, Client::connect(&options)).await;
    let client = client.map_err(|_| failed(&"it did not answer in time"))?.map_err(|error| failed(&error))?;
    let offered = client.server_info().models;
    client.close().await;
    let card = |model: wh_claude::protocol::ModelInfo| {
        let is_default = model.value == "default";
        let title = if model.display_name.is_empty() { model.value.clone() } else { model.display_name };
        ModelCard { id: model.value, title, is_default, is_current: false }
    };
    Ok(offered.into_iter().map(card).collect())
}

/// Reads the conversations from the files in which they are kept.
pub(crate) async fn conversations(inquiry: Inquiry<'_>) -> Result<Vec<Kept>, ManageError> {
    let Some(folder) = history::folder(inquiry.here) else { return Ok(Vec::new()) };
    let directory = inquiry.here.directory.clone();
    let read = tokio::task::spawn_blocking(move || claude::conversations(&folder, &directory));
    read.await.map_err(|error| ManageError::Failed(error.to_string()))
}
