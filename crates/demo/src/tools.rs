//! The tools that the demo agent has. They know its own folder and nothing else; a command is only pretended.

use serde_json::{Value, json};
use wh_core::space::harness::Tool;
use wh_core::space::item::{Output, ToolCall, ToolKind, ToolStatus};

use super::character::Mode;
use super::folder::Folder;

/// The tools, as they are announced.
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
        tool("read", "Read", "Reads a file of the demo's own folder.", json!({ "path": text }), &["path"]),
        tool(
            "edit",
            "Edit",
            "Writes a file of the demo's own folder.",
            json!({ "path": text, "content": text }),
            &["path", "content"],
        ),
        tool("run", "Run", "Pretends to run a command.", json!({ "command": text }), &["command"]),
        tool(
            "search",
            "Search",
            "Finds lines that contain a text in the demo's own folder.",
            json!({ "text": text }),
            &["text"],
        ),
    ]
}

/// A card for the use of a tool that has not begun.
pub(super) fn card(name: &str, title: &str, kind: ToolKind, input: Value) -> ToolCall {
    let (name, title) = (format!("demo/{name}"), title.to_owned());
    ToolCall { name, title, kind, input, status: ToolStatus::Pending, output: Vec::new() }
}

/// What was done, and what came of it: a text, or why not.
pub(super) type Used = (Option<ToolCall>, Result<String, String>);

/// Uses a tool at once. The name may be without `demo/`. Without such a tool there is no card.
pub(super) fn used(folder: &mut Folder, mode: Mode, name: &str, input: Value) -> Used {
    let short = name.strip_prefix("demo/").unwrap_or(name);
    let argument = |key: &str| {
        let text = input.get(key).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| format!("{name} wants a text as {key:?}"))
    };
    let (title, kind, result) = match short {
        "read" => ("Read a file", ToolKind::Read, argument("path").and_then(|path| text(folder.read(&path)?))),
        "search" => ("Search", ToolKind::Search, argument("text").and_then(|wanted| text(found(folder, &wanted)?))),
        "run" => ("Run a command", ToolKind::Execute, may(mode).and_then(|()| text(pretended(&argument("command")?)))),
        "edit" => {
            let mut edit = || {
                may(mode)?;
                let (path, new) = (argument("path")?, argument("content")?);
                let old = folder.write(&path, &new)?;
                let words = format!("Wrote {path}, {} bytes.", new.len());
                Ok((Output::Diff { path, old, new }, words))
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
            (card.status, card.output) = (ToolStatus::Failed, vec![Output::Text(reason.clone())]);
            Err(reason)
        }
    };
    (Some(card), result)
}

fn text(words: String) -> Result<(Output, String), String> {
    Ok((Output::Text(words.clone()), words))
}

fn may(mode: Mode) -> Result<(), String> {
    if mode == Mode::Plan { Err("in the mode plan nothing is changed".to_owned()) } else { Ok(()) }
}

/// The lines of the folder's files that contain this.
pub(super) fn found(folder: &mut Folder, wanted: &str) -> Result<String, String> {
    let names = folder.names().map_err(|error| format!("the demo's folder cannot be read: {error}"))?;
    let mut lines = Vec::new();
    for name in names {
        let content = folder.read(&name)?;
        let hits = content.lines().enumerate().filter(|(_, line)| line.contains(wanted));
        lines.extend(hits.map(|(number, line)| format!("{name}:{}: {}", number + 1, line.trim())));
    }
    Ok(if lines.is_empty() { format!("Nothing contains {wanted:?}.") } else { lines.join("\n") })
}

/// What a command would have said.
fn pretended(command: &str) -> String {
    format!("$ {command}\n(pretended: the demo agent starts no programs)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(Some(place.path().to_owned()));
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
            let (card, result) = used(&mut folder, Mode::Ask, name, input);
            assert_eq!(card.map(|card| card.status), Some(ToolStatus::Completed), "{name}");
            assert!(result.is_ok(), "{name}");
        }
        assert_eq!(folder.read("a.txt").unwrap(), "a\n");
    }

    #[test]
    fn what_is_missing_or_not_allowed_is_said() {
        let (_place, mut folder) = folder();
        let mut fails = |mode, name: &str, input| used(&mut folder, mode, name, input).1.unwrap_err();
        assert_eq!(fails(Mode::Ask, "demo/read", json!({})), "demo/read wants a text as \"path\"");
        assert_eq!(fails(Mode::Ask, "demo/edit", json!({ "path": 1 })), "demo/edit wants a text as \"path\"");
        assert!(fails(Mode::Plan, "edit", json!({ "path": "a", "content": "" })).contains("nothing is changed"));
        assert!(fails(Mode::Ask, "demo/fly", Value::Null).contains("demo/search"));
        assert!(fails(Mode::Ask, "read", json!({ "path": "../x" })).contains("not the name of a file"));
    }
}
