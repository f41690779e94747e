//! Executes the calls that wh supports for Claude Code, such as `/mcp`, `/context` and `/rewind`.

use serde_json::{Value, json};
use wh_claude::{Connection, Error};
use wh_core::space::harness::Call;

use super::protocol::ClaudeProtocol;
use super::{LOG_IN, TITLE, manage};
use crate::driver::{DriverState, DriverStep, DriverSteps};
use crate::interface::LoginState;
use crate::manage::describe_login;

/// Names of the calls that wh supports for Claude Code.
pub(super) const CALLS: [&str; 7] = ["status", "clear", "compact", "restart", "mcp", "context", "rewind"];

/// Maximum number of characters of a prompt that are shown in the list of checkpoints.
const MAX_CHECKPOINT_CHARS: usize = 60;

/// Prompt of the conversation. `/rewind` can restore the files to their state before this prompt.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    pub uuid: String,
    pub text: String,
}

impl Checkpoint {
    pub fn new(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        Self { uuid: wh_claude::message_id(), text: line.chars().take(MAX_CHECKPOINT_CHARS).collect() }
    }
}

impl ClaudeProtocol {
    pub(super) fn run_command(&mut self, id: u64, call: Call, now: DriverState<'_>, steps: &mut DriverSteps<Self>) {
        let (name, parameters) = match call {
            Call::Clear => return self.run_slash_command(id, "/clear", now, steps),
            Call::Compact { .. } => return self.run_slash_command(id, "/compact", now, steps),
            Call::ReportStatus => return steps.push(DriverStep::RunInBackground(id, Box::pin(self.status()))),
            Call::Other { name, parameters } => (name, parameters),
            other => (wh_core::slash::call_name(&other).to_owned(), Value::Null),
        };
        let Some(connection) = self.connection() else {
            return steps.called(id, Err(format!("{TITLE} is not running")));
        };
        let words: Vec<String> = parameters["words"]
            .as_array()
            .map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        steps.push(DriverStep::RunInBackground(
            id,
            match name.as_str() {
                "mcp" => Box::pin(mcp(connection, words)),
                "context" => {
                    Box::pin(
                        async move { reply_or_text(connection.context_usage().await.map(|usage| context(&usage))) },
                    )
                }
                "rewind" => {
                    let checkpoints = self.checkpoints.clone();
                    Box::pin(async move { rewind(&connection, &checkpoints, &words).await })
                }
                other => return steps.called(id, Err(format!("{TITLE} does not support the command {other:?}"))),
            },
        ));
    }

    fn status(&self) -> impl Future<Output = Result<Value, String>> + use<> {
        let name = self.version.as_ref().map_or_else(|| TITLE.to_owned(), |version| format!("{TITLE} {version}"));
        let (model, mode) = (self.capabilities.model.clone(), self.capabilities.mode.clone());
        let launch = self.program.query_launch(&self.start.environment);
        async move {
            let login = match launch {
                Some(launch) => manage::login(&launch).await,
                None => LoginState::Unknown,
            };
            let choice = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
            let chosen = format!("model {}, mode {}", choice(model), choice(mode));
            Ok(Value::String([name, describe_login(&login, LOG_IN), chosen].join("\n")))
        }
    }
}

async fn mcp(connection: Connection, words: Vec<String>) -> Result<Value, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    reply_or_text(match words[..] {
        [] => connection.mcp_status().await.map(|status| servers(&status)),
        ["reconnect", server] => {
            connection.mcp_reconnect(server).await.map(|()| json!(format!("{server}: reconnected")))
        }
        ["enable", server] => connection.mcp_toggle(server, true).await.map(|()| json!(format!("{server}: on"))),
        ["disable", server] => connection.mcp_toggle(server, false).await.map(|()| json!(format!("{server}: off"))),
        _ => return Err("use /mcp, or /mcp reconnect|enable|disable SERVER".to_owned()),
    })
}

/// Runs `/rewind`: without arguments, lists the checkpoints; with a number, shows the changes; with `NUMBER now`,
/// applies the changes.
async fn rewind(connection: &Connection, checkpoints: &[Checkpoint], words: &[String]) -> Result<Value, String> {
    let Some(number) = words.first() else {
        if checkpoints.is_empty() {
            return Ok(json!("The conversation has no prompts to rewind to."));
        }
        let list = checkpoints.iter().enumerate().map(|(index, one)| format!("{:>3}  {}", index + 1, one.text));
        let mut lines: Vec<String> =
            vec!["/rewind can restore the files to their state before one of these prompts:".to_owned()];
        lines.extend(list);
        lines.push("Show the changes with: /rewind NUMBER. Apply them with: /rewind NUMBER now".to_owned());
        return Ok(json!(lines.join("\n")));
    };
    let now = match words.get(1).map(String::as_str) {
        None => false,
        Some("now") => true,
        Some(other) => {
            return Err(format!(
                "{other:?} is not valid; `/rewind {number}` shows the changes, `/rewind {number} now` applies them"
            ));
        }
    };
    let place = number.parse::<usize>().ok().and_then(|number| checkpoints.get(number.checked_sub(1)?));
    let place = place.ok_or_else(|| format!("there is no checkpoint {number}; /rewind lists the checkpoints"))?;
    let failed = |error: Error| error.to_string();
    // Only a dry run reports the changed files.
    let reply = connection.rewind_files(&place.uuid, true).await.map_err(failed)?;
    let files = reply.files_changed;
    if files.is_empty() {
        return Ok(json!("No file has changed since this prompt."));
    }
    if now {
        connection.rewind_files(&place.uuid, false).await.map_err(failed)?;
    }
    let verb = if now { "Restored" } else { "Would restore" };
    let counts = format!("{verb} {} (+{} −{})", counted(files.len()), reply.insertions, reply.deletions);
    let mut lines = vec![counts];
    lines.extend(files.into_iter().map(|file| format!("  {file}")));
    if !now {
        lines.push(format!("Apply the changes with: /rewind {number} now"));
    }
    Ok(json!(lines.join("\n")))
}

fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

fn reply_or_text(outcome: Result<Value, Error>) -> Result<Value, String> {
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
        assert_eq!(one.text.len(), MAX_CHECKPOINT_CHARS);
        assert_ne!(one.uuid, Checkpoint::new("x").uuid);
    }
}
