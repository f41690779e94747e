//! Derives name and arguments of a tool call from other fields of its report, for agents that send neither. Gemini CLI
//! 0.61 puts the tool name into the call's id, and the arguments into title, locations and content.

use serde_json::{Value, json};
use wh_wire::acp::{ToolCall, ToolContent, ToolKind};

/// Extracts the tool name from an id such as `read_file__read_file_1794965454850_0`.
pub(super) fn name(id: &str) -> Option<&str> {
    let splits =
        || id.match_indices("__").filter(|(at, _)| *at > 0).map(|(at, mark)| (&id[..at], &id[at + mark.len()..]));
    // A name may itself contain the separator.
    let repeated = splits().find(|(name, rest)| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')));
    repeated.or_else(|| splits().next()).map(|(name, _)| name)
}

/// Derives the arguments of a call from the fields that its kind uses. `description` is the text of the call's first
/// report.
pub(super) fn arguments(call: &ToolCall, description: Option<&str>) -> Option<Value> {
    match call.kind {
        Some(ToolKind::Execute) => call.title.as_ref().map(|title| json!({ "command": title })),
        Some(ToolKind::Read | ToolKind::Edit) => {
            let path = &call.locations.as_ref()?.first()?.path;
            let mut arguments = json!({ "file_path": path });
            let new_text = call.content.iter().flatten().find_map(|piece| match piece {
                ToolContent::Diff { new, .. } => Some(new),
                _ => None,
            });
            if let Some(text) = new_text {
                arguments["content"] = json!(text);
            }
            Some(arguments)
        }
        _ if name(&call.tool_call_id)?.starts_with("mcp_") => parsed(description?),
        _ => None,
    }
}

/// Parses arguments that are formatted as a JSON object.
pub(super) fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_named_by_the_id_of_the_call() {
        assert_eq!(name("read_file__read_file_1794965454850_0"), Some("read_file"));
        assert_eq!(name("mcp_a__b__mcp_a__b_1794965455741_0"), Some("mcp_a__b"));
        assert_eq!(name("glob__1"), Some("glob"));
        for id in ["c1", "__x", "", "read_file_1"] {
            assert_eq!(name(id), None, "{id}");
        }
    }
}
