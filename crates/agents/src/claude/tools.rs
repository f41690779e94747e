//! Builds tool call cards from Claude Code's tool calls and results.

use serde_json::Value;
use wh_core::space::item::{ToolCall, ToolKind, ToolResultPart, ToolStatus};
use wh_core::space::question::QuestionDetail;
use wh_wire::claude::{ContentBlock, ToolResult};

/// Builds the card of a tool call.
pub(super) fn card(name: &str, input: &Value, status: ToolStatus) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        title: title(name, input),
        kind: kind(name),
        input: input.clone(),
        status,
        output: Vec::new(),
    }
}

fn kind(name: &str) -> ToolKind {
    match name {
        "Read" | "NotebookRead" | "LS" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Bash" | "BashOutput" | "KillShell" | "TaskStop" => ToolKind::Execute,
        "Grep" | "Glob" | "ToolSearch" => ToolKind::Search,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// Returns a one-line description of a call, from the most informative field of its input.
pub(super) fn title(name: &str, input: &Value) -> String {
    let subject = ["command", "file_path", "notebook_path", "pattern", "url", "query", "path", "description", "skill"]
        .iter()
        .find_map(|field| input[field].as_str())
        .and_then(|text| text.lines().next());
    let name = name.strip_prefix("mcp__").map_or_else(|| name.to_owned(), |rest| rest.replacen("__", ": ", 1));
    match subject.filter(|text| !text.is_empty()) {
        Some(subject) => format!("{name} {subject}"),
        None => name,
    }
}

/// Builds the output of a call: a diff for an edit, otherwise text.
pub(super) fn outputs(call: &ToolCall, result: &ToolResult, structured: Option<&Value>) -> Vec<ToolResultPart> {
    let mut outputs = Vec::new();
    if call.kind == ToolKind::Edit
        && !result.is_error
        && let Some(diff) = structured.and_then(changed_file).or_else(|| change(&call.name, &call.input))
    {
        outputs.push(diff);
    } else {
        let text: Vec<String> = result.content.iter().filter_map(text).collect();
        if !text.is_empty() {
            outputs.push(ToolResultPart::Text(text.join("\n")));
        }
    }
    outputs
}

fn text(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(text) => Some(text.clone()),
        ContentBlock::Image(_) => Some("[image]".to_owned()),
        ContentBlock::Unknown { kind, .. } => Some(format!("[{kind}]")),
        _ => None,
    }
}

/// Builds a diff from the structured result of an edit: of the complete file if the result contains the original text,
/// otherwise only of the replaced text.
fn changed_file(result: &Value) -> Option<ToolResultPart> {
    let path = result["filePath"].as_str()?.to_owned();
    let original = result["originalFile"].as_str();
    if let Some(content) = result["content"].as_str() {
        return Some(ToolResultPart::Diff { path, old: original.map(str::to_owned), new: content.to_owned() });
    }
    let (old, new) = (result["oldString"].as_str()?, result["newString"].as_str()?);
    match original {
        Some(original) if !old.is_empty() && original.contains(old) => {
            let every = result["replaceAll"].as_bool().unwrap_or(false);
            let new = if every { original.replace(old, new) } else { original.replacen(old, new, 1) };
            Some(ToolResultPart::Diff { path, old: Some(original.to_owned()), new })
        }
        _ => Some(ToolResultPart::Diff { path, old: Some(old.to_owned()), new: new.to_owned() }),
    }
}

/// Builds a diff of an edit from the input of the call.
fn change(name: &str, input: &Value) -> Option<ToolResultPart> {
    let path = input["file_path"].as_str()?.to_owned();
    match name {
        "Write" => Some(ToolResultPart::Diff { path, old: None, new: input["content"].as_str()?.to_owned() }),
        "Edit" => {
            let (old, new) = (input["old_string"].as_str()?, input["new_string"].as_str()?);
            Some(ToolResultPart::Diff { path, old: Some(old.to_owned()), new: new.to_owned() })
        }
        _ => None,
    }
}

/// Returns the complete details of a permission question.
pub(super) fn details(name: &str, input: &Value) -> Vec<QuestionDetail> {
    if let Some(command) = input["command"].as_str().filter(|_| kind(name) == ToolKind::Execute) {
        let mut details = vec![QuestionDetail::Command(command.to_owned())];
        details.extend(input["description"].as_str().map(|text| QuestionDetail::Text(text.to_owned())));
        return details;
    }
    if let Some(ToolResultPart::Diff { path, old, new }) = change(name, input) {
        return vec![QuestionDetail::Diff { path, old, new }];
    }
    match input["file_path"].as_str().filter(|_| kind(name) == ToolKind::Read) {
        Some(path) => vec![QuestionDetail::Path(path.to_owned())],
        None => vec![QuestionDetail::Input { tool: name.to_owned(), input: input.clone() }],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(text: &str, is_error: bool) -> ToolResult {
        ToolResult { tool_use_id: "t".to_owned(), content: vec![ContentBlock::Text(text.to_owned())], is_error }
    }

    #[test]
    fn a_card_says_what_the_call_does() {
        assert_eq!(title("Bash", &json!({"command": "ls -l\nrm x"})), "Bash ls -l");
        assert_eq!(title("Read", &json!({"file_path": "/a"})), "Read /a");
        assert_eq!(title("mcp__desk__double_it", &json!({})), "desk: double_it");
        assert_eq!(title("TodoWrite", &json!({"todos": []})), "TodoWrite");
    }

    #[test]
    fn an_edit_is_a_change_and_the_rest_is_text() {
        let input = json!({"file_path": "/a", "old_string": "b", "new_string": "c"});
        let call = card("Edit", &input, ToolStatus::Running);
        let structured = json!({"filePath": "/a", "oldString": "b", "newString": "c", "originalFile": "a b b\n"});
        let diff =
            |old: &str, new: &str| ToolResultPart::Diff { path: "/a".into(), old: Some(old.into()), new: new.into() };
        assert_eq!(outputs(&call, &result("done", false), Some(&structured)), [diff("a b b\n", "a c b\n")]);
        assert_eq!(outputs(&call, &result("done", false), None), [diff("b", "c")]);
        assert_eq!(outputs(&call, &result("no", true), None), [ToolResultPart::Text("no".to_owned())]);
        let call = card("Bash", &json!({"command": "ls"}), ToolStatus::Running);
        assert_eq!(outputs(&call, &result("a\nb", false), None), [ToolResultPart::Text("a\nb".to_owned())]);
    }

    #[test]
    fn a_new_file_has_nothing_before() {
        let call = card("Write", &json!({"file_path": "/n", "content": "x"}), ToolStatus::Running);
        let structured = json!({"type": "create", "filePath": "/n", "content": "x", "originalFile": null});
        let expected = ToolResultPart::Diff { path: "/n".into(), old: None, new: "x".into() };
        assert_eq!(outputs(&call, &result("", false), Some(&structured)), [expected]);
    }

    #[test]
    fn a_permission_shows_the_command_the_change_or_the_input() {
        assert_eq!(details("Bash", &json!({"command": "ls"})), [QuestionDetail::Command("ls".to_owned())]);
        assert!(matches!(
            &details("Write", &json!({"file_path": "/n", "content": "x"}))[..],
            [QuestionDetail::Diff { .. }]
        ));
        assert_eq!(details("Read", &json!({"file_path": "/n"})), [QuestionDetail::Path("/n".to_owned())]);
        assert!(matches!(&details("WebFetch", &json!({"url": "x"}))[..], [QuestionDetail::Input { .. }]));
    }
}
