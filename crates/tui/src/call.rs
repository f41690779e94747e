//! A tool call in a few words: which tool, and what it was given.

use std::path::Path;

use serde_json::Value;
use wh_core::space::item::ToolCall;

/// What a tool was given, in a few words: the one value that says most, or all of it.
pub(crate) fn given(input: &Value) -> Option<String> {
    const TELLING: [&str; 8] = ["command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt"];
    let first_line = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    let said = match input {
        Value::Null => return None,
        Value::String(text) => first_line(text),
        Value::Object(fields) => {
            let telling = TELLING.iter().find_map(|key| fields.get(*key)?.as_str());
            let only = fields.values().next().and_then(Value::as_str).filter(|_| fields.len() == 1);
            match telling.or(only) {
                Some(text) => first_line(text),
                None if fields.is_empty() => return None,
                None => input.to_string(),
            }
        }
        other => other.to_string(),
    };
    (!said.is_empty()).then_some(said)
}

/// The tool's name without what its agent puts in front of it: `mcp__files__read` is `files: read`, `demo/run` is `run`.
pub(crate) fn name(call: &ToolCall) -> String {
    let name = call.name.trim();
    let short = match name.strip_prefix("mcp__") {
        Some(rest) => rest.replacen("__", ": ", 1),
        None => name.rsplit('/').next().unwrap_or(name).to_owned(),
    };
    if short.is_empty() { call.title.trim().to_owned() } else { short }
}

/// What the tool works on: the file, from `directory` on where it is in there, the command, or what its title says.
pub(crate) fn target(call: &ToolCall, directory: &Path) -> Option<String> {
    let Some(given) = given(&call.input) else {
        let title = call.title.trim();
        let title = title.strip_prefix(call.name.as_str()).unwrap_or(title).trim();
        return (!title.is_empty() && title != name(call)).then(|| title.to_owned());
    };
    let inside = Path::new(&given).strip_prefix(directory).ok().filter(|path| !path.as_os_str().is_empty());
    Some(inside.map_or(given.clone(), |path| path.display().to_string()))
}

/// Whether this is a path, of which the end says most.
pub(crate) fn is_path(target: &str) -> bool {
    target.contains('/') && !target.contains(char::is_whitespace) && !target.contains("://")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wh_core::space::item::{ToolKind, ToolStatus};

    use super::*;

    fn call(name: &str, title: &str, input: Value) -> ToolCall {
        let (name, title) = (name.to_owned(), title.to_owned());
        ToolCall { name, title, kind: ToolKind::Other, input, status: ToolStatus::Running, output: vec![] }
    }

    #[test]
    fn a_name_is_short() {
        for (long, short) in [("Bash", "Bash"), ("demo/run", "run"), ("mcp__files__read__all", "files: read__all")] {
            assert_eq!(name(&call(long, "", json!({}))), short);
        }
        assert_eq!(name(&call("", "Search the web", json!({}))), "Search the web");
    }

    #[test]
    fn a_target_is_what_says_most() {
        let of = |call: ToolCall| target(&call, Path::new("/home/me/project"));
        assert_eq!(of(call("Read", "", json!({ "file_path": "/home/me/project/a/b.rs" }))).as_deref(), Some("a/b.rs"));
        assert_eq!(of(call("Read", "", json!({ "file_path": "/etc/passwd" }))).as_deref(), Some("/etc/passwd"));
        let command = call("Bash", "Bash ls", json!({ "command": "ls -l\nrm x", "timeout": 3 }));
        assert_eq!(of(command).as_deref(), Some("ls -l"));
        assert_eq!(of(call("plan", "plan three steps", json!({}))).as_deref(), Some("three steps"));
        assert_eq!(of(call("plan", "plan", Value::Null)), None);
        assert!(is_path("a/b.rs") && !is_path("ls -l a/b") && !is_path("https://a/b"));
    }
}
