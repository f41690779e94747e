//! Tools of the demo agent. File tools only access the agent's own directory, and the tool that runs commands is
//! simulated.

use serde_json::{Value, json};
use wh_core::space::harness::Tool;
use wh_core::space::item::{ToolCall, ToolKind, ToolResultPart, ToolStatus};

use super::character::DemoMode;
use super::folder::DemoDirectory;

pub(super) fn catalogue() -> Vec<Tool> {
    let text = json!({ "type": "string" });
    let tool = |name: &str, title: &str, description: &str, properties: Value, required: &[&str]| Tool {
        name: format!("demo/{name}"),
        title: Some(title.to_owned()),
        description: Some(description.to_owned()),
        input_schema: Some(json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })),
    };
    vec![
        tool("read", "Read", "Reads a file in the demo agent's directory.", json!({ "path": text }), &["path"]),
        tool(
            "edit",
            "Edit",
            "Writes a file in the demo agent's directory.",
            json!({ "path": text, "content": text }),
            &["path", "content"],
        ),
        tool("run", "Run", "Simulates a command.", json!({ "command": text }), &["command"]),
        tool(
            "search",
            "Search",
            "Finds the lines with a given text in the files of the demo agent's directory.",
            json!({ "text": text }),
            &["text"],
        ),
    ]
}

/// Creates a tool call that has not started.
pub(super) fn card(name: &str, title: &str, kind: ToolKind, input: Value) -> ToolCall {
    let (name, title) = (format!("demo/{name}"), title.to_owned());
    ToolCall { name, title, kind, input, status: ToolStatus::Pending, output: Vec::new() }
}

/// Tool call, with the output text or the reason for the failure. The call is `None` if the tool is unknown.
pub(super) type ToolUse = (Option<ToolCall>, Result<String, String>);

/// Uses a tool and returns the finished call with its result. The prefix `demo/` of the name is optional. For an
/// unknown tool, returns an error without a call.
pub(super) fn use_tool(folder: &mut DemoDirectory, mode: DemoMode, name: &str, input: Value) -> ToolUse {
    let short = name.strip_prefix("demo/").unwrap_or(name);
    let argument = |key: &str| {
        let text = input.get(key).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| format!("{name} needs the string argument {key:?}"))
    };
    let (title, kind, result) = match short {
        "read" => ("Read a file", ToolKind::Read, argument("path").and_then(|path| text(folder.read(&path)?))),
        "search" => ("Search", ToolKind::Search, argument("text").and_then(|wanted| text(search(folder, &wanted)?))),
        "run" => (
            "Run a command",
            ToolKind::Execute,
            check_mode(mode).and_then(|()| text(simulated_output(&argument("command")?))),
        ),
        "edit" => {
            let mut edit = || {
                check_mode(mode)?;
                let (path, new) = (argument("path")?, argument("content")?);
                let old = folder.write(&path, &new)?;
                let words = format!("Wrote {path}, {} bytes.", new.len());
                Ok((ToolResultPart::Diff { path, old, new }, words))
            };
            ("Edit a file", ToolKind::Edit, edit())
        }
        _ => {
            let known = catalogue().into_iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
            return (None, Err(format!("demo has no tool {name:?}; it has {known}")));
        }
    };
    let mut card = card(short, title, kind, input);
    let result = match result {
        Ok((output, words)) => {
            (card.status, card.output) = (ToolStatus::Completed, vec![output]);
            Ok(words)
        }
        Err(reason) => {
            (card.status, card.output) = (ToolStatus::Failed, vec![ToolResultPart::Text(reason.clone())]);
            Err(reason)
        }
    };
    (Some(card), result)
}

fn text(words: String) -> Result<(ToolResultPart, String), String> {
    Ok((ToolResultPart::Text(words.clone()), words))
}

fn check_mode(mode: DemoMode) -> Result<(), String> {
    if mode == DemoMode::Plan { Err("plan mode allows no changes".to_owned()) } else { Ok(()) }
}

/// Returns the lines of all files that contain the text `wanted`.
pub(super) fn search(folder: &mut DemoDirectory, wanted: &str) -> Result<String, String> {
    let names = folder.names().map_err(|error| format!("the demo agent's directory cannot be read: {error}"))?;
    let mut lines = Vec::new();
    for name in names {
        let content = folder.read(&name)?;
        let hits = content.lines().enumerate().filter(|(_, line)| line.contains(wanted));
        lines.extend(hits.map(|(number, line)| format!("{name}:{}: {}", number + 1, line.trim())));
    }
    Ok(if lines.is_empty() { format!("Nothing contains {wanted:?}.") } else { lines.join("\n") })
}

fn simulated_output(command: &str) -> String {
    format!("$ {command}\n(simulated: the demo agent starts no programs)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, DemoDirectory) {
        let place = tempfile::tempdir().unwrap();
        let folder = DemoDirectory::new(Some(place.path().to_owned()));
        (place, folder)
    }

    #[test]
    fn every_tool_of_the_catalogue_can_be_used() {
        let (_place, mut folder) = folder();
        let inputs = [
            ("demo/read", json!({ "path": "README.md" })),
            ("demo/edit", json!({ "path": "a.txt", "content": "a\n" })),
            ("demo/run", json!({ "command": "make" })),
            ("demo/search", json!({ "text": "greet" })),
        ];
        assert_eq!(
            catalogue().iter().map(|tool| tool.name.clone()).collect::<Vec<_>>(),
            inputs.clone().map(|one| one.0)
        );
        for (name, input) in inputs {
            let (card, result) = use_tool(&mut folder, DemoMode::Ask, name, input);
            assert_eq!(card.map(|card| card.status), Some(ToolStatus::Completed), "{name}");
            assert!(result.is_ok(), "{name}");
        }
        assert_eq!(folder.read("a.txt").unwrap(), "a\n");
    }

    #[test]
    fn missing_arguments_and_forbidden_changes_are_reported() {
        let (_place, mut folder) = folder();
        let mut fails = |mode, name: &str, input| use_tool(&mut folder, mode, name, input).1.unwrap_err();
        assert_eq!(fails(DemoMode::Ask, "demo/read", json!({})), "demo/read needs the string argument \"path\"");
        assert_eq!(
            fails(DemoMode::Ask, "demo/edit", json!({ "path": 1 })),
            "demo/edit needs the string argument \"path\""
        );
        assert!(fails(DemoMode::Plan, "edit", json!({ "path": "a", "content": "" })).contains("allows no changes"));
        assert!(fails(DemoMode::Ask, "demo/fly", Value::Null).contains("demo/search"));
        assert!(fails(DemoMode::Ask, "read", json!({ "path": "../x" })).contains("not the name of a file"));
    }
}
