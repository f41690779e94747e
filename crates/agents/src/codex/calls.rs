//! What only Codex can do, asked for by name.

use serde_json::{Value, json};
use wh_core::space::harness::Call;
use wh_wire::codex::{self as wire, Account, McpServer};

use super::harness::{Busy, Done, Live, is_unknown};
use super::{LOG_IN, TITLE, manage};
use crate::manage::run::run;
use crate::port::{Login, Surroundings, Unheard};

/// The calls that it understands.
pub(super) const CALLS: [&str; 5] = ["status", "clear", "compact", "restart", "mcp"];

impl Live {
    pub(super) async fn call(&mut self, id: u64, call: Call) -> Result<(), Unheard> {
        match call {
            Call::Clear | Call::Compact { .. } if self.works() => {
                return self.refuse(id, "a turn runs; interrupt it first, or wait for its end".to_owned()).await;
            }
            Call::Clear | Call::Compact { .. } if self.busy.is_some() => {
                return self.refuse(id, "it is at that already".to_owned()).await;
            }
            Call::Clear => self.clear(id),
            Call::Compact { .. } => self.compact(id),
            Call::ReportStatus => self.report_status(id),
            Call::Other { name, parameters } => match name.as_str() {
                "mcp" if parameters["words"].as_array().is_some_and(|words| !words.is_empty()) => {
                    return self.refuse(id, format!("say /mcp; {TITLE} changes its servers by `codex mcp`")).await;
                }
                "mcp" => self.mcp(id),
                other => return self.refuse(id, format!("{TITLE} has no {other}")).await,
            },
            other => return self.refuse(id, format!("{TITLE} cannot do that: {other:?}")).await,
        }
        Ok(())
    }

    async fn refuse(&mut self, id: u64, why: String) -> Result<(), Unheard> {
        self.called(id, Err(why)).await
    }

    /// A new conversation in the same process; the old one stays where Codex keeps it.
    fn clear(&mut self, id: u64) {
        self.busy = Some(Busy::Clearing);
        let (params, old) = (self.anew(), self.thread.clone());
        self.aside(move |peer| async move {
            let begun = peer.request("thread/start", params).await;
            if begun.is_ok() {
                // Whether it still tells of the old one does not matter: nobody listens.
                let _ = peer.request("thread/unsubscribe", json!({ "threadId": old })).await;
            }
            Done::Cleared(id, begun)
        });
    }

    fn compact(&mut self, id: u64) {
        self.busy = Some(Busy::Compacting);
        let params = json!({ "threadId": self.thread });
        self.aside(move |peer| async move {
            Done::Compacts(id, peer.request("thread/compact/start", params).await.map(drop))
        });
    }

    fn report_status(&self, id: u64) {
        let version = self.version.clone().unwrap_or_else(|| "of an unknown version".to_owned());
        let (model, mode) = (self.capabilities.model.clone(), self.capabilities.mode.clone());
        let launch = self.launch.clone();
        self.aside(move |peer| async move {
            let login = match peer.request("account/read", json!({})).await {
                Ok(reply) => account(&Account::read(&reply)),
                Err(_) => words(&manage::login(&launch, &Surroundings::new(".")).await),
            };
            let choice = |value: Option<String>| value.unwrap_or_else(|| "of its own".to_owned());
            let lines =
                [format!("{TITLE} {version}"), login, format!("model {}, mode {}", choice(model), choice(mode))];
            Done::Called(id, Ok(json!(lines.join("\n"))))
        });
    }

    fn mcp(&self, id: u64) {
        let (launch, params) = (self.launch.clone(), json!({ "threadId": self.thread }));
        self.aside(move |peer| async move {
            let outcome = match peer.request("mcpServerStatus/list", params).await {
                Ok(reply) => Ok(servers(&McpServer::list(&reply))),
                Err(error) if is_unknown(&error) => run(&launch, &["mcp", "list"])
                    .await
                    .and_then(|said| said.well("codex mcp list"))
                    .map(|said| json!(said.text()))
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            Done::Called(id, outcome)
        });
    }

    /// What a new conversation is begun with: the same place, and what was chosen.
    fn anew(&self) -> Value {
        wire::start(&self.directory(), &self.choice().beginning(self.start.may_skip_permissions))
    }
}

fn account(account: &Account) -> String {
    match &account.by {
        Some(by) => format!("logged in by {by}"),
        None if account.needed => format!("not logged in: {LOG_IN}"),
        None => "no login is needed for its provider".to_owned(),
    }
}

fn words(login: &Login) -> String {
    match login {
        Login::Yes { account: Some(by) } => format!("logged in by {by}"),
        Login::Yes { account: None } => "logged in".to_owned(),
        Login::No => format!("not logged in: {LOG_IN}"),
        Login::NotNeeded | Login::Unknown => "whether somebody is logged in is not known".to_owned(),
    }
}

fn servers(servers: &[McpServer]) -> Value {
    if servers.is_empty() {
        return json!("No MCP servers.");
    }
    let line = |server: &McpServer| {
        let status = server.status.as_deref().unwrap_or("its state is not known");
        let error = server.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        format!("{}: {status}, {} tools{error}", server.name, server.tools)
    };
    json!(servers.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_put_in_words() {
        assert_eq!(servers(&[]), json!("No MCP servers."));
        let reply = json!({"data": [
            {"name": "desk", "runtimeStatus": "connected", "tools": {"a": {}, "b": {}}},
            {"name": "lamp", "runtimeStatus": null, "tools": {}, "toolsError": "no light"},
        ]});
        let both = servers(&McpServer::list(&reply));
        assert_eq!(both, json!("desk: connected, 2 tools\nlamp: its state is not known, 0 tools: no light"));
        let nobody = Account::read(&json!({"account": null, "requiresOpenaiAuth": true}));
        assert!(account(&nobody).contains("codex login"));
        let key = Account::read(&json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true}));
        assert_eq!(account(&key), "logged in by an API key");
    }
}
