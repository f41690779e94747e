//! Codex asked without a conversation: by its commands, and where those do not tell, by its app-server.

use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::sync::Mutex;
use wh_core::space::roster::{LoginMethod, ModelCard};
use wh_pipe::Launch;
use wh_wire::codex as wire;

use crate::manage::run::{self, run};
use crate::manage::{LoginWay, codex};
use crate::port::{Kept, LoginState, ManageError, Surroundings};
use crate::rpc::{self, Frame, JsonRpc, RpcError};
use crate::table::management::Inquiry;

/// Conversations that are listed at most.
const MOST: u64 = 100;

/// Whether somebody is logged in. The command knows of its own login only; a provider of one's own needs another, or none,
/// and that the app-server tells.
pub(crate) async fn login(launch: &Launch, here: &Surroundings) -> LoginState {
    let status = match run(launch, &["login", "status"]).await {
        Ok(said) => codex::status(&said.text()),
        Err(_) => LoginState::Unknown,
    };
    if matches!(status, LoginState::Yes { .. }) {
        return status;
    }
    match ask(launch, vec![("account/read", json!({})), ("config/read", json!({}))]).await.as_deref() {
        Ok([account, config]) => codex::account(account, config, here),
        _ => status,
    }
}

/// One at a time: of two app-servers that begin at once in a home that is new to them, one ends.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Asks an app-server that is started for nothing else. Once more if it ended: another program may have begun one.
async fn ask(launch: &Launch, questions: Vec<(&'static str, Value)>) -> Result<Vec<Value>, ManageError> {
    let _alone = ALONE.lock().await;
    let answers = match ask_once(launch, &questions).await {
        Err(RpcError::Gone(_)) => ask_once(launch, &questions).await,
        asked => asked,
    };
    answers.map_err(|error| match error {
        RpcError::Gone(_) => ManageError::Failed("its app-server ended".to_owned()),
        other => ManageError::Failed(other.to_string()),
    })
}

async fn ask_once(launch: &Launch, questions: &[(&'static str, Value)]) -> Result<Vec<Value>, RpcError> {
    let mut launch = launch.clone();
    launch.arguments = vec!["app-server".into()];
    rpc::ask_aside(&launch, JsonRpc { names_version: false }, run::PATIENCE, async |link| {
        let us = wire::Client { name: "wheelhouse", title: "Wheelhouse", version: env!("CARGO_PKG_VERSION") };
        rpc::request(link, "initialize", us.initialize()).await?;
        link.send(Frame::Notification { method: "initialized", params: json!({}) }).await?;
        let mut answers = Vec::new();
        for (method, params) in questions {
            answers.push(rpc::request(link, method, params.clone()).await?);
        }
        Ok(answers)
    })
    .await
}

/// The login of its command; or, with a provider of one's own, what that needs.
pub(crate) async fn login_way(inquiry: Inquiry<'_>) -> LoginWay {
    let Inquiry { entry, launch, .. } = inquiry;
    if let Ok([account, config]) =
        ask(launch, vec![("account/read", json!({})), ("config/read", json!({}))]).await.as_deref()
        && account["requiresOpenaiAuth"] == false
    {
        return match codex::variable(config) {
            Some(variable) => LoginWay::ByHand {
                instructions: format!(
                    "{} uses a provider of its own: set {variable} before wh is started.",
                    entry.title
                ),
                method: LoginMethod::Variable,
            },
            None => LoginWay::NotNeeded,
        };
    }
    LoginWay::command(launch.clone(), &["login"], LoginMethod::Browser)
}

/// The variable that pays a provider of one's own, if it is set. No logout takes it away.
pub(crate) async fn provider_variable(inquiry: Inquiry<'_>) -> Option<String> {
    let config = ask(inquiry.launch, vec![("config/read", json!({}))]).await.unwrap_or_default();
    config.first().and_then(codex::variable).filter(|name| inquiry.here.variable(name).is_some())
}

/// The file that it keeps its login in.
pub(crate) fn credentials(here: &Surroundings) -> Option<PathBuf> {
    let home = here.variable("CODEX_HOME").map(PathBuf::from).or_else(|| here.home(".codex"));
    home.map(|home| home.join("auth.json"))
}

/// Lists the models that its app-server offers.
pub(crate) async fn models(inquiry: Inquiry<'_>) -> Result<Vec<ModelCard>, ManageError> {
    let answers = ask(inquiry.launch, vec![("model/list", json!({})), ("config/read", json!({}))]).await?;
    let current = answers[1]["config"]["model"].as_str();
    Ok(codex::models(&answers[0], current))
}

/// Lists the conversations that its app-server keeps.
pub(crate) async fn conversations(inquiry: Inquiry<'_>) -> Result<Vec<Kept>, ManageError> {
    let params = json!({
        "cwd": inquiry.here.directory, "limit": MOST, "sortKey": "updated_at", "modelProviders": [],
        "sourceKinds": ["cli", "vscode", "exec", "appServer"],
    });
    let answers = ask(inquiry.launch, vec![("thread/list", params)]).await?;
    Ok(codex::conversations(&answers[0]))
}
