//! Codex asked without a conversation: by its commands, and where those do not tell, by its app-server.

use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;
use wh_core::space::roster::{LoginMethod, LogoutDone, McpServer, ModelCard};
use wh_pipe::Launch;
use wh_wire::codex as wire;

use super::Codex;
use crate::manage::run::{self, run};
use crate::manage::{self, LoginWay, codex};
use crate::port::{Kept, Login, ManageError, Surroundings};
use crate::rpc::{Dialect, Peer, RpcError};

/// Conversations that are listed at most.
const MOST: u64 = 100;

impl Codex {
    fn aside(&self, here: &Surroundings) -> Result<Launch, ManageError> {
        self.program.beside(&self.title, here, self.keeper.as_ref()).map_err(manage::missing)
    }
}

/// Its version, if it tells.
pub(crate) async fn version(launch: &Launch) -> Option<String> {
    run::version(&run(launch, &["--version"]).await.ok()?.text())
}

/// Whether somebody is logged in. The command knows of its own login only; a provider of one's own needs another, or none,
/// and that the app-server tells.
pub(crate) async fn login(launch: &Launch, here: &Surroundings) -> Login {
    let status = match run(launch, &["login", "status"]).await {
        Ok(said) => codex::status(&said.text()),
        Err(_) => Login::Unknown,
    };
    if matches!(status, Login::Yes { .. }) {
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
    match ask_once(launch, &questions).await {
        Err(Unasked::Gone) => ask_once(launch, &questions).await.map_err(ManageError::from),
        asked => asked.map_err(ManageError::from),
    }
}

/// Why an app-server did not tell.
enum Unasked {
    /// It ended.
    Gone,
    /// Something else, in words.
    Failed(String),
}

impl From<Unasked> for ManageError {
    fn from(unasked: Unasked) -> Self {
        match unasked {
            Unasked::Gone => Self::Failed("its app-server ended".to_owned()),
            Unasked::Failed(why) => Self::Failed(why),
        }
    }
}

async fn ask_once(launch: &Launch, questions: &[(&'static str, Value)]) -> Result<Vec<Value>, Unasked> {
    let mut launch = launch.clone();
    launch.arguments = vec!["app-server".into()];
    let failed = |why: &dyn std::fmt::Display| Unasked::Failed(why.to_string());
    let dialect = Dialect { version: false, ..Dialect::default() };
    let (peer, mut events) = Peer::start(&launch, dialect).await.map_err(|error| failed(&error))?;
    let talk = async {
        let us = wire::Client { name: "wheelhouse", title: "Wheelhouse", version: env!("CARGO_PKG_VERSION") };
        peer.request("initialize", us.initialize()).await?;
        peer.notify("initialized", json!({})).await?;
        let mut answers = Vec::new();
        for (method, params) in questions {
            answers.push(peer.request(method, params.clone()).await?);
        }
        Ok(answers)
    };
    let answers = timeout(run::PATIENCE, talk).await;
    peer.close();
    // Until nothing of it is left.
    while events.next().await.is_some() {}
    let answers: Result<Vec<Value>, RpcError> = answers.map_err(|_| failed(&"it did not answer in time"))?;
    answers.map_err(|error| match error {
        RpcError::Gone(_) => Unasked::Gone,
        other => failed(&other),
    })
}

pub(super) async fn login_way(agent: &Codex, here: &Surroundings) -> Result<LoginWay, ManageError> {
    let mut launch = agent.aside(here)?;
    if let Ok([account, config]) =
        ask(&launch, vec![("account/read", json!({})), ("config/read", json!({}))]).await.as_deref()
        && account["requiresOpenaiAuth"] == false
    {
        return Ok(match codex::variable(config) {
            Some(variable) => LoginWay::ByHand {
                instructions: format!(
                    "{} uses a provider of its own: set {variable} before wh is started.",
                    agent.title
                ),
                method: LoginMethod::Variable,
            },
            None => LoginWay::NotNeeded,
        });
    }
    launch.arguments = vec!["login".into()];
    Ok(LoginWay::Command { launch, method: LoginMethod::Browser })
}

pub(super) async fn log_out(agent: &Codex, here: &Surroundings) -> Result<LogoutDone, ManageError> {
    let launch = agent.aside(here)?;
    let said = run(&launch, &["logout"]).await?;
    // A provider of one's own is paid by a variable, which no logout takes away.
    let config = ask(&launch, vec![("config/read", json!({}))]).await.unwrap_or_default();
    let around = agent.program.around(here);
    let still = config.first().and_then(codex::variable).filter(|name| around.variable(name).is_some());
    Ok(manage::logout(&said, still.as_deref()))
}

pub(super) async fn models(agent: &Codex, here: &Surroundings) -> Result<Vec<ModelCard>, ManageError> {
    let answers = ask(&agent.aside(here)?, vec![("model/list", json!({})), ("config/read", json!({}))]).await?;
    let current = answers[1]["config"]["model"].as_str();
    Ok(codex::models(&answers[0], current))
}

pub(super) async fn mcp(agent: &Codex, here: &Surroundings) -> Result<Vec<McpServer>, ManageError> {
    let said = run(&agent.aside(here)?, &["mcp", "list", "--json"]).await?.well("codex mcp list")?;
    codex::mcp(&said.out).ok_or_else(|| ManageError::Failed(said.text()))
}

pub(super) async fn conversations(agent: &Codex, here: &Surroundings) -> Result<Vec<Kept>, ManageError> {
    let params = json!({
        "cwd": here.directory, "limit": MOST, "sortKey": "updated_at", "modelProviders": [],
        "sourceKinds": ["cli", "vscode", "exec", "appServer"],
    });
    let answers = ask(&agent.aside(here)?, vec![("thread/list", params)]).await?;
    Ok(codex::conversations(&answers[0]))
}
