//! Short labels for tool calls: the name of the tool and its most significant argument.

use std::path::Path;

use serde_json::Value;
use wh_core::space::item::ToolCall;

/// Returns the first line of the most significant value in a tool's input, or else the whole input as JSON.
pub(crate) fn input_summary(input: &Value) -> Option<String> {
    const SUMMARY_KEYS: [&str; 8] = ["command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt"];
    let first_line = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    let summary = match input {
        Value::Null => return None,
        Value::String(text) => first_line(text),
        Value::Object(fields) => {
            let significant = SUMMARY_KEYS.iter().find_map(|key| fields.get(*key)?.as_str());
            let only = fields.values().next().and_then(Value::as_str).filter(|_| fields.len() == 1);
            match significant.or(only) {
                Some(text) => first_line(text),
                None if fields.is_empty() => return None,
                None => input.to_string(),
            }
        }
        other => other.to_string(),
    };
    (!summary.is_empty()).then_some(summary)
}

/// Returns the name of the tool without the prefix of its agent: `files: read` for `mcp__files__read`, `run` for
/// `demo/run`.
pub(crate) fn name(call: &ToolCall) -> String {
    let name = call.name.trim();
    let short = match name.strip_prefix("mcp__") {
        Some(rest) => rest.replacen("__", ": ", 1),
        None => name.rsplit('/').next().unwrap_or(name).to_owned(),
    };
    if short.is_empty() { call.title.trim().to_owned() } else { short }
}

/// Returns the target of a call: a file (relative to `directory` if the file is inside), a command, or else the title
/// without the tool's name.
pub(crate) fn target(call: &ToolCall, directory: &Path) -> Option<String> {
    let Some(given) = input_summary(&call.input) else {
        let title = call.title.trim();
        let title = title.strip_prefix(call.name.as_str()).unwrap_or(title).trim();
        return (!title.is_empty() && title != name(call)).then(|| title.to_owned());
    };
    let inside = Path::new(&given).strip_prefix(directory).ok().filter(|path| !path.as_os_str().is_empty());
    Some(inside.map_or(given.clone(), |path| path.display().to_string()))
}

/// Returns true if the target is a path. Callers truncate a path at its beginning, because the file name is at the end.
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
    fn a_target_is_the_most_significant_argument() {
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
