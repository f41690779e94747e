//! Parses the output of Claude Code's commands (login state, MCP servers) and lists saved conversations from its files.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;
use wh_core::space::roster::McpServer;

use super::title;
use crate::interface::{LoginState, SavedConversation};

/// Maximum number of lines of a conversation that are scanned for a title.
const MAX_SCANNED_LINES: usize = 200;

/// Maximum length of a line in a conversation file. Longer lines are skipped.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// Parses the output of `claude auth status`.
pub(crate) fn status(output: &str) -> LoginState {
    let Ok(status) = serde_json::from_str::<Value>(output) else { return LoginState::Unknown };
    match status["loggedIn"].as_bool() {
        Some(false) => LoginState::No,
        Some(true) => {
            let account = ["email", "apiKeySource", "authMethod"].iter().find_map(|field| status[*field].as_str());
            LoginState::Yes { account: account.map(str::to_owned) }
        }
        None => LoginState::Unknown,
    }
}

/// Parses the output of `claude mcp list`, one line `NAME: COMMAND - ✔ Connected` per server.
pub(crate) fn mcp(output: &str) -> Vec<McpServer> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(": ")?;
        let (_, status) = rest.rsplit_once(" - ")?;
        let status = status.trim_start_matches(|first: char| !first.is_alphanumeric()).trim();
        let plain = !name.is_empty() && !name.contains(char::is_whitespace) && !status.is_empty();
        plain.then(|| McpServer { name: name.to_owned(), status: status.to_lowercase(), reason: None })
    };
    output.lines().filter_map(|text| line(text.trim())).collect()
}

/// Lists the conversations in the files of `folder`, newest first. `directory` is their working directory.
pub(crate) fn conversations(folder: &Path, directory: &Path) -> Vec<SavedConversation> {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut saved: Vec<SavedConversation> = files.filter_map(|file| conversation(&file, directory)).collect();
    saved.sort_by_key(|saved| std::cmp::Reverse(saved.at));
    saved
}

/// Reads the conversation in a file. Returns `None` if its first [`MAX_SCANNED_LINES`] lines contain neither a summary
/// nor a message of the user.
fn conversation(file: &Path, directory: &Path) -> Option<SavedConversation> {
    let name = file.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
    let at = file.metadata().and_then(|facts| facts.modified()).ok();
    let lines =
        BufReader::new(std::fs::File::open(file).ok()?).split(b'\n').map_while(Result::ok).take(MAX_SCANNED_LINES);
    let (mut about, mut first_prompt) = (None, None);
    for line in lines.filter(|line| line.len() <= MAX_LINE_BYTES) {
        let Ok(entry) = serde_json::from_slice::<Value>(&line) else { continue };
        match entry["type"].as_str() {
            Some("summary") => about = about.or_else(|| title(entry["summary"].as_str()?)),
            Some("user") if first_prompt.is_none() && entry["isSidechain"] != true && entry["isMeta"] != true => {
                first_prompt = prompt(&entry["message"]["content"]);
            }
            _ => {}
        }
    }
    let title = about.or(first_prompt)?;
    Some(SavedConversation { name, title, at, directory: Some(directory.to_owned()) })
}

/// Returns the title for a user message. `None` for user messages that Claude Code generated.
fn prompt(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.as_str(),
        Value::Array(blocks) => blocks.iter().find_map(|block| block["text"].as_str())?,
        _ => return None,
    };
    let of_the_agent = ["<command-", "<local-command", "[Request interrupted", "<task-notification", "Caveat:"];
    title(text).filter(|title| !of_the_agent.iter().any(|start| title.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_who_is_logged_in() {
        assert_eq!(status(include_str!("fixtures/claude-auth-no.txt")), LoginState::No);
        let key = LoginState::Yes { account: Some("ANTHROPIC_API_KEY".to_owned()) };
        assert_eq!(status(include_str!("fixtures/claude-auth.txt")), key);
        let person = r#"{"loggedIn": true, "authMethod": "claude.ai", "email": "a@b.c"}"#;
        assert_eq!(status(person), LoginState::Yes { account: Some("a@b.c".to_owned()) });
        for nonsense in ["", "error: unknown command 'auth'", "{}", "[]"] {
            assert_eq!(status(nonsense), LoginState::Unknown);
        }
    }

    #[test]
    fn its_servers_are_read() {
        let server = |name: &str, status: &str| McpServer { name: name.into(), status: status.into(), reason: None };
        let failed = mcp(include_str!("fixtures/claude-mcp.txt"));
        assert_eq!(failed, [server("desk", "failed to connect"), server("lamp", "failed to connect")]);
        let other = "a: npx a - b - ✔ Connected\nb: http://x (HTTP) - ⏸ Pending approval\nc: x - \nd e: x - ✔ y";
        assert_eq!(mcp(other), [server("a", "connected"), server("b", "pending approval")]);
        assert_eq!(mcp("No MCP servers configured. Use `claude mcp add` to add a server."), []);
    }

    #[test]
    fn conversations_are_known_by_what_was_said_first() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "one.jsonl",
            concat!(
                "{\"type\":\"queue-operation\"}\nnot json\n",
                "{\"type\":\"user\",\"isMeta\":true,\"message\":{\"content\":\"meta\"}}\n",
                "{\"type\":\"user\",\"message\":{\"content\":\"<command-name>x\"}}\n",
                "{\"type\":\"user\",\"message\":{\"content\":7}}\n",
                "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"fix the\\nthing\"}]}}\n",
            ),
        );
        write(
            "two.jsonl",
            "{\"type\":\"summary\",\"summary\":\"A summary\"}\n{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}\n",
        );
        write("empty.jsonl", "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"content\":\"aside\"}}\n");
        write("other.txt", "");
        std::fs::File::open(folder.path().join("one.jsonl"))
            .unwrap()
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        let saved = conversations(folder.path(), Path::new("/w"));
        let names: Vec<(&str, &str)> = saved.iter().map(|one| (one.name.as_str(), one.title.as_str())).collect();
        assert_eq!(names, [("two", "A summary"), ("one", "fix the")]);
        assert_eq!(conversations(Path::new("/nowhere/at/all"), Path::new("/w")), []);
    }
}
