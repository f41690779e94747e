//! What Claude Code prints: who is logged in, its MCP servers; and the files in which it keeps conversations.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;
use wh_core::space::roster::McpServer;

use super::title;
use crate::port::{Kept, LoginState};

/// Lines of a conversation that are looked at for what it is about.
const LINES: usize = 200;

/// The longest line that is read.
const LONGEST: usize = 4 * 1024 * 1024;

/// `claude auth status`.
pub(crate) fn status(said: &str) -> LoginState {
    let Ok(status) = serde_json::from_str::<Value>(said) else { return LoginState::Unknown };
    match status["loggedIn"].as_bool() {
        Some(false) => LoginState::No,
        Some(true) => {
            let account = ["email", "apiKeySource", "authMethod"].iter().find_map(|field| status[*field].as_str());
            LoginState::Yes { account: account.map(str::to_owned) }
        }
        None => LoginState::Unknown,
    }
}

/// `claude mcp list`: `NAME: COMMAND - ✔ Connected`, a line each.
pub(crate) fn mcp(said: &str) -> Vec<McpServer> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(": ")?;
        let (_, status) = rest.rsplit_once(" - ")?;
        let status = status.trim_start_matches(|first: char| !first.is_alphanumeric()).trim();
        let plain = !name.is_empty() && !name.contains(char::is_whitespace) && !status.is_empty();
        plain.then(|| McpServer { name: name.to_owned(), status: status.to_lowercase(), reason: None })
    };
    said.lines().filter_map(|text| line(text.trim())).collect()
}

/// The conversations in a folder, the newest first.
pub(crate) fn conversations(folder: &Path, directory: &Path) -> Vec<Kept> {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut kept: Vec<Kept> = files.filter_map(|file| conversation(&file, directory)).collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.at));
    kept
}

/// One of them; none if nobody has said anything in it.
fn conversation(file: &Path, directory: &Path) -> Option<Kept> {
    let name = file.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
    let at = file.metadata().and_then(|facts| facts.modified()).ok();
    let lines = BufReader::new(std::fs::File::open(file).ok()?).split(b'\n').map_while(Result::ok).take(LINES);
    let (mut about, mut said) = (None, None);
    for line in lines.filter(|line| line.len() <= LONGEST) {
        let Ok(entry) = serde_json::from_slice::<Value>(&line) else { continue };
        match entry["type"].as_str() {
            Some("summary") => about = about.or_else(|| title(entry["summary"].as_str()?)),
            Some("user") if said.is_none() && entry["isSidechain"] != true && entry["isMeta"] != true => {
                said = prompt(&entry["message"]["content"]);
            }
            _ => {}
        }
    }
    let said = about.or(said)?;
    Some(Kept { name, title: said, at, directory: Some(directory.to_owned()) })
}

/// What a person said, not what was written in their place.
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
        let kept = conversations(folder.path(), Path::new("/w"));
        let names: Vec<(&str, &str)> = kept.iter().map(|one| (one.name.as_str(), one.title.as_str())).collect();
        assert_eq!(names, [("two", "A summary"), ("one", "fix the")]);
        assert_eq!(conversations(Path::new("/nowhere/at/all"), Path::new("/w")), []);
    }
}
