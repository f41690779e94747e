//! Claude Code asked without a conversation.

use wh_claude::{Client, Options};
use wh_core::space::roster::{LoginMethod, LogoutDone, McpServer, ModelCard};
use wh_pipe::Launch;

use super::{Claude, history};
use crate::manage::run::{self, run};
use crate::manage::{self, LoginWay, claude};
use crate::port::{Kept, Login, ManageError, Surroundings};

/// The variables that log in, whatever the files say.
const VARIABLES: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

impl Claude {
    fn aside(&self, here: &Surroundings) -> Result<Launch, ManageError> {
        self.program.beside(&self.title, here, self.keeper.as_ref()).map_err(manage::missing)
    }
}

/// Its version, if it tells.
pub(super) async fn version(launch: &Launch) -> Option<String> {
    run::version(&run(launch, &["--version"]).await.ok()?.out)
}

/// Whether somebody is logged in.
pub(super) async fn login(launch: &Launch) -> Login {
    match run(launch, &["auth", "status"]).await {
        Ok(said) => claude::status(&said.out),
        Err(_) => Login::Unknown,
    }
}

pub(super) async fn login_way(claude: &Claude, here: &Surroundings) -> Result<LoginWay, ManageError> {
    let mut launch = claude.aside(here)?;
    launch.arguments = ["auth", "login"].map(Into::into).to_vec();
    Ok(LoginWay::Command { launch, method: LoginMethod::Browser })
}

pub(super) async fn log_out(claude: &Claude, here: &Surroundings) -> Result<LogoutDone, ManageError> {
    let said = run(&claude.aside(here)?, &["auth", "logout"]).await?;
    let here = claude.program.around(here);
    let still = VARIABLES.into_iter().find(|name| here.variable(name).is_some());
    Ok(manage::logout(&said, still))
}

/// As one tells that is started for nothing else.
pub(super) async fn models(claude: &Claude, here: &Surroundings) -> Result<Vec<ModelCard>, ManageError> {
    let launch = claude.aside(here)?;
    let mut options = Options::new().program(&launch.program).directory(&here.directory);
    if let Some(keeper) = &claude.keeper {
        options = options.keeper(keeper.iter().cloned());
    }
    for (name, value) in &launch.environment {
        options = match value {
            Some(value) => options.env(name, value),
            None => options.without_env(name),
        };
    }
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
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

pub(super) async fn mcp(claude: &Claude, here: &Surroundings) -> Result<Vec<McpServer>, ManageError> {
    let said = run(&claude.aside(here)?, &["mcp", "list"]).await?.well("claude mcp list")?;
    Ok(claude::mcp(&said.out))
}

pub(super) async fn conversations(claude: &Claude, here: &Surroundings) -> Result<Vec<Kept>, ManageError> {
    claude.aside(here)?;
    let Some(folder) = history::folder(&claude.program.around(here)) else { return Ok(Vec::new()) };
    let directory = here.directory.clone();
    let read = tokio::task::spawn_blocking(move || claude::conversations(&folder, &directory));
    read.await.map_err(|error| ManageError::Failed(error.to_string()))
}
