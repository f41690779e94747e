//! Queries Codex outside of a conversation, through its command line or its app-server.

use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::sync::Mutex;
use wh_core::space::roster::{LoginMethod, ModelCard};
use wh_pipe::LaunchSpec;
use wh_wire::codex as wire;

use crate::interface::{LoginState, ManageError, QueryContext, SavedConversation};
use crate::manage::run::{self, run};
use crate::manage::{LoginAction, codex};
use crate::rpc::{self, JsonRpc, RpcError, RpcFrame};
use crate::table::management::AgentQuery;

/// Maximum number of conversations to list.
const MAX_LISTED_CONVERSATIONS: u64 = 100;

/// Reads the login state with `codex login status`, which covers only OpenAI accounts. If it reports no login, queries
/// the app-server, which also covers other model providers.
pub(crate) async fn login(launch: &LaunchSpec, here: &QueryContext) -> LoginState {
    let status = match run(launch, &["login", "status"]).await {
        Ok(output) => codex::status(&output.text()),
        Err(_) => LoginState::Unknown,
    };
    if matches!(status, LoginState::Yes { .. }) {
        return status;
    }
    match ask_app_server(launch, vec![("account/read", json!({})), ("config/read", json!({}))]).await.as_deref() {
        Ok([account, config]) => codex::account(account, config, here),
        _ => status,
    }
}

/// Lock that prevents two app-servers from starting at the same time. In a new Codex home directory, one of them would
/// exit.
static APP_SERVER_LOCK: Mutex<()> = Mutex::const_new(());

/// Sends requests to an app-server that is started only for these requests. Retries once if the app-server exits,
/// because another program may have started an app-server at the same time.
async fn ask_app_server(launch: &LaunchSpec, questions: Vec<(&'static str, Value)>) -> Result<Vec<Value>, ManageError> {
    let _lock = APP_SERVER_LOCK.lock().await;
    let answers = match ask_app_server_once(launch, &questions).await {
        Err(RpcError::Gone(_)) => ask_app_server_once(launch, &questions).await,
        asked => asked,
    };
    answers.map_err(|error| match error {
        RpcError::Gone(_) => ManageError::Failed("the app-server of Codex exited".to_owned()),
        other => ManageError::Failed(other.to_string()),
    })
}

async fn ask_app_server_once(launch: &LaunchSpec, questions: &[(&'static str, Value)]) -> Result<Vec<Value>, RpcError> {
    let mut launch = launch.clone();
    launch.arguments = vec!["app-server".into()];
    rpc::request_once(&launch, JsonRpc { names_version: false }, run::COMMAND_TIMEOUT, async |link| {
        let us = wire::CodexClient { name: "wheelhouse", title: "Wheelhouse", version: env!("CARGO_PKG_VERSION") };
        rpc::request(link, "initialize", us.initialize()).await?;
        link.send(RpcFrame::Notification { method: "initialized", params: json!({}) }).await?;
        let mut answers = Vec::new();
        for (method, params) in questions {
            answers.push(rpc::request(link, method, params.clone()).await?);
        }
        Ok(answers)
    })
    .await
}

/// Returns the way to log in: the login command for OpenAI. For another model provider, returns instructions for
/// setting its API key, or that no login is required.
pub(crate) async fn login_way(inquiry: AgentQuery<'_>) -> LoginAction {
    let AgentQuery { entry, launch, .. } = inquiry;
    if let Ok([account, config]) =
        ask_app_server(launch, vec![("account/read", json!({})), ("config/read", json!({}))]).await.as_deref()
        && account["requiresOpenaiAuth"] == false
    {
        return match codex::variable(config) {
            Some(variable) => LoginAction::ByHand {
                instructions: format!(
                    "{} uses a custom model provider: set {variable} before you start wh.",
                    entry.title
                ),
                method: LoginMethod::Variable,
            },
            None => LoginAction::NotNeeded,
        };
    }
    LoginAction::command(launch.clone(), &["login"], LoginMethod::Browser)
}

/// Returns the name of the environment variable that contains the API key of the configured provider. `None` if the
/// variable is not set. A logout does not remove the variable.
pub(crate) async fn provider_variable(inquiry: AgentQuery<'_>) -> Option<String> {
    let config = ask_app_server(inquiry.launch, vec![("config/read", json!({}))]).await.unwrap_or_default();
    config.first().and_then(codex::variable).filter(|name| inquiry.here.variable(name).is_some())
}

/// Returns the path of Codex's login file.
pub(crate) fn credentials(here: &QueryContext) -> Option<PathBuf> {
    let home = here.variable("CODEX_HOME").map(PathBuf::from).or_else(|| here.home(".codex"));
    home.map(|home| home.join("auth.json"))
}

/// Lists the models that the app-server reports.
pub(crate) async fn models(inquiry: AgentQuery<'_>) -> Result<Vec<ModelCard>, ManageError> {
    let answers = ask_app_server(inquiry.launch, vec![("model/list", json!({})), ("config/read", json!({}))]).await?;
    let current = answers[1]["config"]["model"].as_str();
    Ok(codex::models(&answers[0], current))
}

/// Lists the conversations that the app-server reports.
pub(crate) async fn conversations(inquiry: AgentQuery<'_>) -> Result<Vec<SavedConversation>, ManageError> {
    let params = json!({
        "cwd": inquiry.here.directory, "limit": MAX_LISTED_CONVERSATIONS, "sortKey": "updated_at", "modelProviders": [],
        "sourceKinds": ["cli", "vscode", "exec", "appServer"],
    });
    let answers = ask_app_server(inquiry.launch, vec![("thread/list", params)]).await?;
    Ok(codex::conversations(&answers[0]))
}
