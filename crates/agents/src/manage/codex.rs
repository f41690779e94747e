//! Parses Codex's command output and app-server replies: login state, MCP servers, models and conversations.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use wh_core::space::roster::{McpServer, ModelCard};
use wh_wire::codex::Account;

use super::title;
use crate::interface::{LoginState, QueryContext, SavedConversation};

/// Parses the output of `codex login status`. Omits the API key, which the output shows partially masked.
pub(crate) fn status(output: &str) -> LoginState {
    let line =
        |beginning: &str| output.lines().find_map(|line| Some(line.trim().strip_prefix(beginning)?.trim().to_owned()));
    if line("Not logged in").is_some() {
        return LoginState::No;
    }
    if line("API key configured").is_some() {
        return LoginState::Yes { account: Some("an API key".to_owned()) };
    }
    match line("Logged in using") {
        Some(how) => {
            let how = how.split(" - ").next().unwrap_or_default().trim();
            LoginState::Yes { account: (!how.is_empty()).then(|| how.to_owned()) }
        }
        None => LoginState::Unknown,
    }
}

/// Determines the login state from the replies to `account/read` and `config/read`. Model providers other than OpenAI
/// take their API key from an environment variable, or need no key.
pub(crate) fn account(account: &Value, config: &Value, here: &QueryContext) -> LoginState {
    let Account { login: by, needed } = Account::read(account);
    if let Some(by) = by {
        return LoginState::Yes { account: Some(by) };
    }
    if needed {
        return LoginState::No;
    }
    let config = &config["config"];
    let provider = config["model_provider"].as_str().unwrap_or_default();
    match config["model_providers"][provider]["env_key"].as_str() {
        Some(key) if here.variable(key).is_some() => LoginState::Yes { account: Some(key.to_owned()) },
        Some(_) => LoginState::No,
        None => LoginState::NotNeeded,
    }
}

/// Returns the name of the environment variable for the API key of the configured provider, if the provider has one.
pub(crate) fn variable(config: &Value) -> Option<String> {
    let config = &config["config"];
    let provider = config["model_provider"].as_str()?;
    config["model_providers"][provider]["env_key"].as_str().map(str::to_owned)
}

/// Parses the output of `codex mcp list --json`. Returns `None` if the output is not valid.
pub(crate) fn mcp(output: &str) -> Option<Vec<McpServer>> {
    let servers: Vec<Value> = serde_json::from_str(output).ok()?;
    let server = |server: &Value| {
        let enabled = server["enabled"].as_bool().unwrap_or(true);
        let asks = server["auth_status"].as_str() == Some("not_logged_in");
        let reason = server["disabled_reason"].as_str().map(str::to_owned);
        Some(McpServer {
            name: server["name"].as_str()?.to_owned(),
            status: if enabled { "enabled" } else { "disabled" }.to_owned(),
            reason: reason.or_else(|| asks.then(|| "not logged in".to_owned())),
        })
    };
    Some(servers.iter().filter_map(server).collect())
}

/// Parses the reply to `model/list`. `current` is the id of the selected model.
pub(crate) fn models(reply: &Value, current: Option<&str>) -> Vec<ModelCard> {
    let list = reply["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let model = |model: &Value| {
        let id = model["model"].as_str().or_else(|| model["id"].as_str())?.to_owned();
        let title = model["displayName"].as_str().unwrap_or(&id).to_owned();
        let is_current = current == Some(id.as_str());
        Some(ModelCard { id, title, is_default: model["isDefault"] == true, is_current })
    };
    list.iter().filter(|one| one["hidden"] != true).filter_map(model).collect()
}

/// Parses the reply to `thread/list`, newest first.
pub(crate) fn conversations(reply: &Value) -> Vec<SavedConversation> {
    let list = reply["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let saved = |thread: &Value| {
        let name = thread["id"].as_str()?.to_owned();
        let about = ["name", "preview"].iter().find_map(|field| title(thread[*field].as_str()?));
        let seconds = ["updatedAt", "createdAt"].iter().find_map(|field| thread[*field].as_u64());
        let at = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        let directory = thread["cwd"].as_str().map(Into::into);
        Some(SavedConversation { name, title: about.unwrap_or_else(|| "(no messages)".to_owned()), at, directory })
    };
    list.iter().filter_map(saved).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_status_tells_who_is_logged_in() {
        assert_eq!(status("WARNING: something\nNot logged in"), LoginState::No);
        assert_eq!(status("Logged in using ChatGPT"), LoginState::Yes { account: Some("ChatGPT".to_owned()) });
        assert_eq!(status("Logged in using"), LoginState::Yes { account: None });
        let key = LoginState::Yes { account: Some("an API key".to_owned()) };
        assert_eq!(status("Logged in using an API key - sk-pr***abc"), key, "no part of a key is shown");
        assert_eq!(status(include_str!("fixtures/codex-status-key.txt")), key);
        for nonsense in ["", "error: unrecognized subcommand 'login'"] {
            assert_eq!(status(nonsense), LoginState::Unknown);
        }
    }

    #[test]
    fn a_provider_of_ones_own_is_paid_by_a_variable_or_by_nothing() {
        let mut here = QueryContext::new("/");
        let nobody = json!({"account": null, "requiresOpenaiAuth": false});
        let config = json!({"config": {"model_provider": "lab", "model_providers": {"lab": {"env_key": "LAB_KEY"}}}});
        here.environment.insert("LAB_KEY".into(), Some("x".into()));
        assert_eq!(account(&nobody, &config, &here), LoginState::Yes { account: Some("LAB_KEY".into()) });
        assert_eq!(variable(&config).as_deref(), Some("LAB_KEY"));
        here.environment.insert("LAB_KEY".into(), None);
        assert_eq!(account(&nobody, &config, &here), LoginState::No);
        let free = json!({"config": {"model_provider": "lab", "model_providers": {"lab": {}}}});
        assert_eq!(account(&nobody, &free, &here), LoginState::NotNeeded);
        assert_eq!((variable(&free), variable(&json!({}))), (None, None));
        let openai = json!({"account": null, "requiresOpenaiAuth": true});
        assert_eq!(account(&openai, &config, &here), LoginState::No);
        let person = json!({"account": {"type": "chatgpt", "email": "a@b.c"}, "requiresOpenaiAuth": true});
        assert_eq!(account(&person, &config, &here), LoginState::Yes { account: Some("a@b.c".into()) });
    }

    #[test]
    fn its_servers_are_read() {
        let server = |name: &str, status: &str, reason: Option<&str>| McpServer {
            name: name.into(),
            status: status.into(),
            reason: reason.map(Into::into),
        };
        assert_eq!(mcp(include_str!("fixtures/codex-mcp-json.txt")), Some(vec![server("desk", "enabled", None)]));
        let two = r#"[{"name": "a", "enabled": false, "disabled_reason": "admin"}, {"name": "b", "auth_status": "not_logged_in"}, {}]"#;
        let two = mcp(two).unwrap();
        assert_eq!(two, [server("a", "disabled", Some("admin")), server("b", "enabled", Some("not logged in"))]);
        assert_eq!(mcp("No MCP servers configured yet."), None);
    }

    #[test]
    fn its_models_and_conversations_are_read() {
        let reply = json!({"data": [
            {"id": "x", "model": "gpt-6", "displayName": "GPT-6", "isDefault": true},
            {"id": "y", "hidden": true}, {"id": "z"}, {},
        ]});
        let found = models(&reply, Some("z"));
        assert_eq!(found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["gpt-6", "z"]);
        assert!(found[0].is_default && !found[0].is_current && found[1].is_current && found[1].title == "z");
        assert_eq!(models(&json!({}), None), []);
        let reply = json!({"data": [
            {"id": "t1", "preview": "fix it\nnow", "updatedAt": 5, "cwd": "/w"},
            {"id": "t2", "name": "Named", "createdAt": 3}, {"id": "t3"}, {},
        ]});
        let saved = conversations(&reply);
        let titles: Vec<&str> = saved.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["fix it", "Named", "(no messages)"]);
        assert_eq!(saved[0].at, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(5)));
        assert_eq!(conversations(&json!({})), []);
    }
}
