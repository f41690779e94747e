//! What only Claude Code can do, asked for by name.

use serde_json::{Value, json};
use wh_claude::{Connection, Error};
use wh_core::space::harness::Call;

use super::harness::{Done, Live};
use super::{LOG_IN, manage};
use crate::port::Login;
use crate::port::Unheard;

/// The calls that it understands.
pub(super) const CALLS: [&str; 7] = ["status", "clear", "compact", "restart", "mcp", "context", "rewind"];

/// Characters of a prompt that are shown in a list.
const SHOWN: usize = 60;

/// A prompt that files can be brought back to.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    pub uuid: String,
    pub text: String,
}

impl Checkpoint {
    pub fn new(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        Self { uuid: wh_claude::message_id(), text: line.chars().take(SHOWN).collect() }
    }
}

impl Live {
    pub(super) async fn call(&mut self, id: u64, call: Call) -> Result<(), Unheard> {
        match call {
            Call::Clear => return self.command(id, "/clear").await,
            Call::Compact { .. } => return self.command(id, "/compact").await,
            Call::ReportStatus => self.status(id),
            Call::Other { name, parameters } => {
                let words: Vec<String> = parameters["words"]
                    .as_array()
                    .map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                    .unwrap_or_default();
                match name.as_str() {
                    "mcp" => self.mcp(id, words),
                    "context" => self.aside(move |connection| async move {
                        Done::Called(id, spoken(connection.context_usage().await.map(|usage| context(&usage))))
                    }),
                    "rewind" => self.rewind(id, words),
                    other => return self.called(id, Err(format!("Claude Code has no {other}"))).await,
                }
            }
            other => {
                let what = wh_core::slash::call_name(&other).to_owned();
                return self.called(id, Err(format!("Claude Code has no {what}"))).await;
            }
        }
        Ok(())
    }

    fn status(&self, id: u64) {
        let version = self.version.clone().unwrap_or_else(|| "unknown".to_owned());
        let (model, mode) = (self.capabilities.model.clone(), self.capabilities.mode.clone());
        let launch = self.program.aside(&self.start.environment);
        self.aside(move |_| async move {
            let login = match launch {
                Some(launch) => manage::login(&launch).await,
                None => Login::Unknown,
            };
            let login = match login {
                Login::Yes { account: Some(account) } => format!("logged in by {account}"),
                Login::Yes { account: None } => "logged in".to_owned(),
                Login::No => format!("not logged in: {LOG_IN}"),
                Login::NotNeeded | Login::Unknown => "whether somebody is logged in is not known".to_owned(),
            };
            let choice = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
            let lines =
                [format!("Claude Code {version}"), login, format!("model {}, mode {}", choice(model), choice(mode))];
            Done::Called(id, Ok(Value::String(lines.join("\n"))))
        });
    }

    fn mcp(&self, id: u64, words: Vec<String>) {
        self.aside(move |connection| async move {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let outcome = match words[..] {
                [] => connection.mcp_status().await.map(|status| servers(&status)),
                ["reconnect", server] => {
                    connection.mcp_reconnect(server).await.map(|()| json!(format!("{server}: connected again")))
                }
                ["enable", server] => {
                    connection.mcp_toggle(server, true).await.map(|()| json!(format!("{server}: on")))
                }
                ["disable", server] => {
                    connection.mcp_toggle(server, false).await.map(|()| json!(format!("{server}: off")))
                }
                _ => return Done::Called(id, Err("say /mcp, or /mcp reconnect|enable|disable SERVER".to_owned())),
            };
            Done::Called(id, spoken(outcome))
        });
    }

    /// Without words it lists; with a number it says what would change; `NUMBER now` does it.
    fn rewind(&self, id: u64, words: Vec<String>) {
        let checkpoints = self.checkpoints.clone();
        self.aside(move |connection| async move { Done::Called(id, rewound(&connection, &checkpoints, &words).await) });
    }
}

async fn rewound(connection: &Connection, checkpoints: &[Checkpoint], words: &[String]) -> Result<Value, String> {
    let Some(number) = words.first() else {
        if checkpoints.is_empty() {
            return Ok(json!("Nothing was said yet: there is nothing to go back to."));
        }
        let list = checkpoints.iter().enumerate().map(|(index, one)| format!("{:>3}  {}", index + 1, one.text));
        let mut lines: Vec<String> = vec!["Files can go back to what they were before:".to_owned()];
        lines.extend(list);
        lines.push("/rewind NUMBER says what that would change, /rewind NUMBER now does it.".to_owned());
        return Ok(json!(lines.join("\n")));
    };
    let now = match words.get(1).map(String::as_str) {
        None => false,
        Some("now") => true,
        Some(other) => return Err(format!("say /rewind {number} or /rewind {number} now, not {other:?}")),
    };
    let place = number.parse::<usize>().ok().and_then(|number| checkpoints.get(number.checked_sub(1)?));
    let place = place.ok_or_else(|| format!("there is no {number}; /rewind lists what there is"))?;
    let failed = |error: Error| error.to_string();
    // Only a dry run tells what changes.
    let reply = connection.rewind_files(&place.uuid, true).await.map_err(failed)?;
    let files = reply.files_changed;
    if files.is_empty() {
        return Ok(json!("Nothing would change."));
    }
    if now {
        connection.rewind_files(&place.uuid, false).await.map_err(failed)?;
    }
    let verb = if now { "Brought back" } else { "Would bring back" };
    let counts = format!("{verb} {} (+{} −{})", counted(files.len()), reply.insertions, reply.deletions);
    let mut lines = vec![counts];
    lines.extend(files.into_iter().map(|file| format!("  {file}")));
    if !now {
        lines.push(format!("/rewind {number} now does it."));
    }
    Ok(json!(lines.join("\n")))
}

fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

fn spoken(outcome: Result<Value, Error>) -> Result<Value, String> {
    outcome.map_err(|error| error.to_string())
}

fn servers(status: &Value) -> Value {
    let servers = status["mcpServers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if servers.is_empty() {
        return json!("No MCP servers.");
    }
    let line = |server: &Value| {
        let text = |field: &str| server[field].as_str().unwrap_or("?").to_owned();
        format!("{}: {}", text("name"), text("status"))
    };
    json!(servers.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn context(usage: &Value) -> Value {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let mut lines = vec![format!("{} of {} tokens", number(&usage["totalTokens"]), number(&usage["maxTokens"]))];
    let categories = usage["categories"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.extend(
        categories.iter().map(|one| format!("  {}: {}", one["name"].as_str().unwrap_or("?"), number(&one["tokens"]))),
    );
    json!(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_put_in_words() {
        assert_eq!(servers(&json!({"mcpServers": []})), json!("No MCP servers."));
        let two = json!({"mcpServers": [{"name": "a", "status": "connected"}, {"name": "b", "status": "failed"}]});
        assert_eq!(servers(&two), json!("a: connected\nb: failed"));
        let usage = json!({"totalTokens": 5, "maxTokens": 10, "categories": [{"name": "Skills", "tokens": 3}]});
        assert_eq!(context(&usage), json!("5 of 10 tokens\n  Skills: 3"));
    }

    #[test]
    fn a_checkpoint_is_known_by_the_beginning_of_its_prompt() {
        let one = Checkpoint::new(&format!("{}\nsecond line", "x".repeat(100)));
        assert_eq!(one.text.len(), SHOWN);
        assert_ne!(one.uuid, Checkpoint::new("x").uuid);
    }
}
