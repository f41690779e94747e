//! Agents of the protocol asked without a conversation: by their own commands where they have some, by what they leave in
//! files, and for conversations by the protocol itself.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::time::timeout;
use wh_core::space::roster::{Abilities, LoginMethod, LogoutDone, McpServer, ModelCard};
use wh_pipe::Launch;
use wh_wire::acp::{self, InitializeReply, SessionList};

use super::Acp;
use crate::codex;
use crate::manage::run::{self, Said, run};
use crate::manage::{self, LoginWay, claude, cursor, gemini, is_there, title};
use crate::port::{Kept, Login, ManageError, Surroundings};
use crate::rpc::{Dialect, Peer};

/// Whose commands it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gemini,
    Qwen,
    Cursor,
    OpenCode,
    Copilot,
    /// An adapter to the agent of this command, whose login it uses.
    Adapter(&'static str),
    Other,
}

fn kind(commands: &[String]) -> Kind {
    let name = commands.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
    match name.unwrap_or_default() {
        "gemini" => Kind::Gemini,
        "qwen" => Kind::Qwen,
        "cursor-agent" | "agent" => Kind::Cursor,
        "opencode" => Kind::OpenCode,
        "copilot" => Kind::Copilot,
        "codex-acp" => Kind::Adapter("codex"),
        "claude-agent-acp" => Kind::Adapter("claude"),
        _ => Kind::Other,
    }
}

/// The first of these variables that is set.
fn set<'a>(here: &Surroundings, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().find(|name| here.variable(name).is_some())
}

impl Acp {
    fn kind(&self) -> Kind {
        kind(&self.entry.program.commands)
    }

    fn aside(&self, here: &Surroundings) -> Result<Launch, ManageError> {
        self.entry.program.beside(&self.entry.title, here, self.keeper.as_ref()).map_err(manage::missing)
    }

    /// The agent that an adapter stands before, if it is there on its own.
    fn behind(&self, command: &str, here: &Surroundings) -> Option<Launch> {
        let mut launch = self.entry.program.within(here)?;
        launch.program = wh_pipe::find(command.as_ref(), &here.variable("PATH")?)?.into();
        Some(launch)
    }

    /// Whether somebody is logged in, by what there is to see of it.
    pub(super) async fn login(&self, launch: &Launch, here: &Surroundings) -> Login {
        let by = |account: &str| Login::Yes { account: Some(account.to_owned()) };
        let variables: &[&str] = match self.kind() {
            Kind::Cursor => &["CURSOR_API_KEY"],
            Kind::Copilot => &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
            Kind::Qwen => &["OPENAI_API_KEY"],
            Kind::Adapter("codex") => &["CODEX_API_KEY", "OPENAI_API_KEY"],
            Kind::Adapter("claude") => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            _ => &[],
        };
        if let Some(name) = set(here, variables) {
            return by(name);
        }
        let account = &self.entry.account;
        if !account.status.is_empty() {
            return match run(launch, &account.status).await {
                Ok(said) if said.success => Login::Yes { account: None },
                Ok(_) => Login::No,
                Err(_) => Login::Unknown,
            };
        }
        match self.kind() {
            Kind::Gemini => gemini::login(here),
            Kind::Cursor => match run(launch, &["status"]).await {
                Ok(said) => cursor::status(&said.text()),
                Err(_) => Login::Unknown,
            },
            Kind::OpenCode => opencode(here),
            Kind::Qwen if is_there(here.home(".qwen/oauth_creds.json")) => Login::Yes { account: None },
            Kind::Adapter("codex") => match self.behind("codex", here) {
                Some(launch) => codex::login(&launch, here).await,
                None if is_there(codex_home(here).map(|home| home.join("auth.json"))) => Login::Yes { account: None },
                None => Login::Unknown,
            },
            Kind::Adapter("claude") => match self.behind("claude", here) {
                Some(launch) => {
                    run(&launch, &["auth", "status"]).await.map_or(Login::Unknown, |said| claude::status(&said.out))
                }
                None if is_there(here.home(".claude/.credentials.json")) => Login::Yes { account: None },
                None => Login::Unknown,
            },
            _ => Login::Unknown,
        }
    }
}

/// What the protocol brings, what its commands do, and what is known of the tested ones; the rest the running one tells.
pub(super) fn abilities(agent: &Acp) -> Abilities {
    let kind = agent.kind();
    let tested = matches!(kind, Kind::Gemini | Kind::Adapter("codex")).then_some(true);
    let lists = matches!(kind, Kind::Gemini | Kind::Qwen | Kind::Cursor | Kind::Adapter("claude"));
    Abilities {
        streaming: Some(true),
        resume: tested,
        modes: tested,
        models: tested,
        thinking: tested,
        mcp: Some(lists),
        mcp_switching: Some(matches!(kind, Kind::Gemini | Kind::Qwen | Kind::Cursor)),
        skips_permissions: (!agent.entry.skipping.is_empty()).then_some(true),
        conversations: tested,
    }
}

fn codex_home(here: &Surroundings) -> Option<PathBuf> {
    here.variable("CODEX_HOME").map(PathBuf::from).or_else(|| here.home(".codex"))
}

/// OpenCode keeps a file with an entry for each provider.
fn opencode(here: &Surroundings) -> Login {
    let data = here.variable("XDG_DATA_HOME").map(PathBuf::from).or_else(|| here.home(".local/share"));
    let file = data.map(|data| data.join("opencode/auth.json"));
    let text = file.and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
    let providers: Option<Value> = serde_json::from_slice(&text).ok();
    let names: Vec<&str> = providers
        .as_ref()
        .and_then(Value::as_object)
        .map(|all| all.keys().map(String::as_str).collect())
        .unwrap_or_default();
    if names.is_empty() { Login::Unknown } else { Login::Yes { account: Some(names.join(", ")) } }
}

pub(super) async fn login_way(agent: &Acp, here: &Surroundings) -> Result<LoginWay, ManageError> {
    let entry = &agent.entry;
    let mut launch = agent.aside(here)?;
    let by_command = |mut launch: Launch, arguments: &[&str]| {
        launch.arguments = arguments.iter().map(Into::into).collect();
        LoginWay::Command { launch, method: LoginMethod::Browser }
    };
    let by_hand = |instructions: &str, method| LoginWay::ByHand { instructions: instructions.to_owned(), method };
    if !entry.account.log_in.is_empty() {
        launch.arguments = entry.account.log_in.iter().map(Into::into).collect();
        return Ok(LoginWay::Command { launch, method: LoginMethod::Terminal });
    }
    Ok(match agent.kind() {
        Kind::Gemini => by_hand(gemini::INSTRUCTIONS, LoginMethod::Variable),
        Kind::Cursor | Kind::Copilot => by_command(launch, &["login"]),
        Kind::Adapter("codex") => match agent.behind("codex", here) {
            Some(codex) => by_command(codex, &["login"]),
            None => by_hand(&entry.log_in, LoginMethod::Variable),
        },
        Kind::Adapter("claude") => match agent.behind("claude", here) {
            Some(claude) => by_command(claude, &["auth", "login"]),
            None => by_hand(&entry.log_in, LoginMethod::Variable),
        },
        Kind::Qwen | Kind::OpenCode | Kind::Adapter(_) | Kind::Other => by_hand(&entry.log_in, LoginMethod::Terminal),
    })
}

pub(super) async fn log_out(agent: &Acp, here: &Surroundings) -> Result<LogoutDone, ManageError> {
    let entry = &agent.entry;
    let here = &entry.program.around(here);
    let launch = agent.aside(here)?;
    if !entry.account.log_out.is_empty() {
        return Ok(manage::logout(&run(&launch, &entry.account.log_out).await?, None));
    }
    let variables: &[&str] = match agent.kind() {
        Kind::Cursor => &["CURSOR_API_KEY"],
        Kind::Adapter("codex") => &["CODEX_API_KEY", "OPENAI_API_KEY"],
        Kind::Adapter("claude") => &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        _ => &[],
    };
    let still = set(here, variables);
    let (launch, arguments): (Option<Launch>, &[&str]) = match agent.kind() {
        Kind::Cursor => (Some(launch), &["logout"]),
        Kind::Adapter("codex") => (agent.behind("codex", here), &["logout"]),
        Kind::Adapter("claude") => (agent.behind("claude", here), &["auth", "logout"]),
        _ => (None, &[]),
    };
    let Some(launch) = launch else {
        let instead = match agent.kind() {
            Kind::Gemini => "unset GEMINI_API_KEY, or say /auth in `gemini` on a terminal",
            Kind::OpenCode => "run `opencode auth logout` on a terminal",
            Kind::Copilot => "say /logout in `copilot` on a terminal",
            Kind::Qwen => "say /auth in `qwen` on a terminal",
            _ => "take its login away where it was set up",
        };
        return Ok(manage::no_logout(&entry.title, instead));
    };
    Ok(manage::logout(&run(&launch, arguments).await?, still))
}

pub(super) async fn about(agent: &Acp, here: &Surroundings) -> Vec<(String, String)> {
    match (agent.kind(), agent.aside(here)) {
        (Kind::Cursor, Ok(launch)) => {
            run(&launch, &["about"]).await.map(|said| cursor::about(&said.out)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

pub(super) async fn models(agent: &Acp, here: &Surroundings) -> Result<Vec<ModelCard>, ManageError> {
    let launch = agent.aside(here)?;
    match agent.kind() {
        Kind::Cursor => Ok(cursor::models(&run(&launch, &["models"]).await?.well("cursor-agent models")?.out)),
        Kind::OpenCode => {
            let said = run(&launch, &["models"]).await?.well("opencode models")?;
            let model =
                |id: &str| ModelCard { id: id.to_owned(), title: id.to_owned(), is_default: false, is_current: false };
            let named = said.out.lines().map(str::trim).filter(|line| line.contains('/') && !line.contains(' '));
            Ok(named.map(model).collect())
        }
        _ => Err(manage::no_models(&agent.entry.title)),
    }
}

pub(super) async fn mcp(agent: &Acp, here: &Surroundings) -> Result<Vec<McpServer>, ManageError> {
    let launch = agent.aside(here)?;
    let list = |launch: Launch| async move { run(&launch, &["mcp", "list"]).await?.well("mcp list") };
    match agent.kind() {
        Kind::Gemini | Kind::Qwen => list(launch).await.map(|said| gemini::mcp(&said.text())),
        Kind::Cursor => list(launch).await.map(|said| cursor::mcp(&said.out)),
        Kind::Adapter("claude") => match agent.behind("claude", here) {
            Some(launch) => list(launch).await.map(|said| claude::mcp(&said.out)),
            None => Err(manage::no_mcp(&agent.entry.title)),
        },
        _ => Err(manage::no_mcp(&agent.entry.title)),
    }
}

pub(super) async fn switch_mcp(
    agent: &Acp,
    here: &Surroundings,
    server: &str,
    on: bool,
) -> Result<String, ManageError> {
    let launch = agent.aside(here)?;
    let verb = if on { "enable" } else { "disable" };
    // A name that looks like an option is none of a server.
    if server.starts_with('-') {
        return Err(ManageError::Failed(format!("there is no MCP server {server:?}")));
    }
    let said = |said: Said| if said.text().is_empty() { format!("{server}: {verb}d") } else { said.text() };
    match agent.kind() {
        Kind::Gemini | Kind::Qwen => {
            let text = run(&launch, &["mcp", verb, server]).await?.well("mcp")?.text();
            gemini::switched(&text).map_err(ManageError::Failed)
        }
        Kind::Cursor => run(&launch, &["mcp", verb, server]).await?.well("mcp").map(said),
        _ => Err(manage::no_switch(&agent.entry.title)),
    }
}

pub(super) async fn conversations(agent: &Acp, here: &Surroundings) -> Result<Vec<Kept>, ManageError> {
    let launch = agent.aside(here)?;
    if agent.kind() != Kind::Gemini {
        return listed(agent, launch, here).await;
    }
    let around = agent.entry.program.around(here);
    let read = tokio::task::spawn_blocking(move || gemini::conversations(&around)).await;
    if let Ok(Some(kept)) = read {
        return Ok(kept);
    }
    let said = run(&launch, &["--list-sessions"]).await?.well("gemini --list-sessions")?;
    Ok(gemini::sessions(&said.text(), &here.directory))
}

/// By the protocol, of an agent that is started for nothing else.
async fn listed(agent: &Acp, mut launch: Launch, here: &Surroundings) -> Result<Vec<Kept>, ManageError> {
    launch.arguments = agent.entry.program.arguments.iter().map(Into::into).collect();
    let none = || ManageError::NotSupported(format!("{} lists no conversations", agent.entry.title));
    let failed = |why: &dyn std::fmt::Display| ManageError::Failed(why.to_string());
    let (peer, mut events) = Peer::start(&launch, Dialect::default()).await.map_err(|error| failed(&error))?;
    let talk = async {
        let us = json!({
            "protocolVersion": acp::VERSION,
            "clientCapabilities": {},
            "clientInfo": { "name": "wheelhouse", "title": "Wheelhouse", "version": env!("CARGO_PKG_VERSION") },
        });
        let hello = peer.request("initialize", us).await.map_err(|error| failed(&error))?;
        let hello: InitializeReply = serde_json::from_value(hello).unwrap_or_default();
        if !hello.agent_capabilities.session("list") {
            return Err(none());
        }
        let reply = peer.request("session/list", json!({ "cwd": here.directory })).await;
        reply.map_err(|error| failed(&error))
    };
    let reply = timeout(run::PATIENCE, talk).await;
    peer.close();
    // Until nothing of it is left.
    while events.next().await.is_some() {}
    let reply = reply.map_err(|_| failed(&"it did not answer in time"))??;
    Ok(sessions(&reply, &here.directory))
}

/// `session/list`, the newest first.
fn sessions(reply: &Value, directory: &Path) -> Vec<Kept> {
    let titles = reply["sessions"].as_array().cloned().unwrap_or_default();
    let about = |id: &str| {
        let of = titles.iter().find(|one| one["sessionId"] == id)?;
        title(of["title"].as_str()?)
    };
    let list: SessionList = serde_json::from_value(reply.clone()).unwrap_or_default();
    let here = list.sessions.into_iter().filter(|one| one.cwd.as_deref().is_none_or(|cwd| Path::new(cwd) == directory));
    let mut kept: Vec<Kept> = here
        .map(|one| Kept {
            title: about(&one.session_id).unwrap_or_else(|| "(untitled)".to_owned()),
            at: one.updated_at.as_deref().and_then(manage::time),
            directory: one.cwd.map(Into::into),
            name: one.session_id,
        })
        .collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.at));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_command_wherever_it_is() {
        let of = |command: &str| kind(&[command.to_owned()]);
        assert_eq!(
            (of("/opt/bin/gemini"), of("agent"), of("codex-acp")),
            (Kind::Gemini, Kind::Cursor, Kind::Adapter("codex"))
        );
        assert_eq!((of("mine"), kind(&[])), (Kind::Other, Kind::Other));
    }

    #[test]
    fn listed_sessions_are_of_the_directory_and_the_newest_is_first() {
        let reply = json!({"sessions": [
            {"sessionId": "a", "cwd": "/w", "title": "Old", "updatedAt": "2026-01-01T00:00:00Z"},
            {"sessionId": "b", "cwd": "/w", "updatedAt": "2026-02-01T00:00:00Z"},
            {"sessionId": "c", "cwd": "/elsewhere"},
        ]});
        let kept = sessions(&reply, Path::new("/w"));
        let found: Vec<(&str, &str)> = kept.iter().map(|one| (one.name.as_str(), one.title.as_str())).collect();
        assert_eq!(found, [("b", "(untitled)"), ("a", "Old")]);
        assert_eq!(sessions(&json!({}), Path::new("/w")), []);
    }

    #[test]
    fn opencode_is_logged_in_with_the_providers_of_its_file() {
        let home = tempfile::tempdir().unwrap();
        let mut here = Surroundings::new("/");
        here.environment.insert("XDG_DATA_HOME".into(), Some(home.path().into()));
        assert_eq!(opencode(&here), Login::Unknown);
        std::fs::create_dir(home.path().join("opencode")).unwrap();
        std::fs::write(home.path().join("opencode/auth.json"), r#"{"a": {}, "b": {}}"#).unwrap();
        assert_eq!(opencode(&here), Login::Yes { account: Some("a, b".into()) });
    }
}
