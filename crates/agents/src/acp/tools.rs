//! Builds tool call cards from the partial reports of an ACP agent.

mod derive;

use serde_json::Value;
use wh_core::space::bounds;
use wh_core::space::item::{ToolCall, ToolKind, ToolResultPart, ToolStatus};
use wh_core::space::question::QuestionDetail;
use wh_wire::acp;

/// State of a tool call, merged from all reports so far.
#[derive(Debug, Default)]
pub(crate) struct PartialToolCall {
    call: acp::ToolCall,
    /// True to derive name and arguments, because the agent reports neither.
    derives: bool,
    /// Description that the agent sends in place of the arguments. Not part of the output.
    description: Option<String>,
}

impl PartialToolCall {
    /// Creates an empty state without any report.
    pub fn new(derives: bool) -> Self {
        Self { derives, ..Self::default() }
    }

    pub fn clear(&mut self) {
        *self = Self::new(self.derives);
    }

    /// Merges a new report into the state.
    pub fn merge(&mut self, mut change: acp::ToolCall) {
        if self.derives {
            self.take_description(&mut change);
        }
        let reported = &mut self.call;
        reported.tool_call_id = change.tool_call_id;
        replace_if_some(&mut reported.title, change.title);
        replace_if_some(&mut reported.name, change.name);
        replace_if_some(&mut reported.kind, change.kind);
        replace_if_some(&mut reported.status, change.status);
        replace_if_some(&mut reported.locations, change.locations);
        replace_if_some(&mut reported.raw_input, change.raw_input);
        replace_if_some(&mut reported.raw_output, change.raw_output);
        // Some agents send an empty list if there is no new content. The earlier content is retained.
        if change.content.as_ref().is_some_and(|content| !content.is_empty()) {
            reported.content = change.content;
        }
    }

    /// Truncates long fields to their displayed length.
    pub fn truncate_long_fields(&mut self) {
        if let Some(input) = &mut self.call.raw_input {
            bounds::fit(input, bounds::MAX_SHOWN_RESULT_BYTES);
        }
        if let Some(text) = self.description.as_mut().filter(|text| text.len() > bounds::MAX_SHOWN_RESULT_BYTES) {
            let mut end = bounds::MAX_SHOWN_RESULT_BYTES;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        let mut output = self.output();
        if !bounds::shorten(&mut output).is_empty() {
            let content = |piece| match piece {
                ToolResultPart::Text(text) => acp::ToolContent::Content(acp::ContentBlock::Text(text)),
                ToolResultPart::Diff { path, old, new } => acp::ToolContent::Diff { path, old, new },
            };
            self.call.content = Some(output.into_iter().map(content).collect());
        }
        if let Some(raw) = &mut self.call.raw_output {
            bounds::fit(raw, bounds::MAX_SHOWN_RESULT_BYTES);
        }
    }

    /// Returns the status that the agent reported last.
    pub fn status(&self) -> ToolStatus {
        match &self.call.status {
            Some(acp::ToolStatus::InProgress) => ToolStatus::Running,
            Some(acp::ToolStatus::Completed) => ToolStatus::Completed,
            Some(acp::ToolStatus::Failed) => ToolStatus::Failed,
            Some(acp::ToolStatus::Other(word)) if word == "cancelled" => ToolStatus::Cancelled,
            Some(acp::ToolStatus::Pending | acp::ToolStatus::Other(_)) | None => ToolStatus::Pending,
        }
    }

    /// Builds the tool call card with this status.
    pub fn card(&self, status: ToolStatus) -> ToolCall {
        ToolCall {
            name: self.name(),
            title: self.title(),
            kind: self.kind(),
            input: self.input(),
            status,
            output: self.output(),
        }
    }

    /// Returns the reported name of the tool. Without one, returns the name derived from the call's id, or the kind of
    /// the tool.
    fn name(&self) -> String {
        let word = match &self.call.kind {
            Some(acp::ToolKind::Other(word)) if !word.is_empty() => word.as_str(),
            Some(acp::ToolKind::Read) => "read",
            Some(acp::ToolKind::Edit) => "edit",
            Some(acp::ToolKind::Delete) => "delete",
            Some(acp::ToolKind::Move) => "move",
            Some(acp::ToolKind::Search) => "search",
            Some(acp::ToolKind::Execute) => "execute",
            Some(acp::ToolKind::Think) => "think",
            Some(acp::ToolKind::Fetch) => "fetch",
            Some(acp::ToolKind::SwitchMode) => "mode",
            Some(acp::ToolKind::Other(_)) | None => "tool",
        };
        let derived = || self.derives.then(|| derive::name(&self.call.tool_call_id)).flatten().map(str::to_owned);
        self.call.name.clone().or_else(derived).unwrap_or_else(|| word.to_owned())
    }

    /// Returns a one-line description of the call.
    pub fn title(&self) -> String {
        let title = self.call.title.as_deref().and_then(|title| title.lines().next()).filter(|title| !title.is_empty());
        title.map_or_else(|| self.name(), str::to_owned)
    }

    pub fn kind(&self) -> ToolKind {
        match self.call.kind {
            Some(acp::ToolKind::Read) => ToolKind::Read,
            Some(acp::ToolKind::Edit | acp::ToolKind::Delete | acp::ToolKind::Move) => ToolKind::Edit,
            Some(acp::ToolKind::Execute) => ToolKind::Execute,
            Some(acp::ToolKind::Search) => ToolKind::Search,
            Some(acp::ToolKind::Fetch) => ToolKind::Fetch,
            _ => ToolKind::Other,
        }
    }

    fn input(&self) -> Value {
        let derived = || self.derives.then(|| derive::arguments(&self.call, self.description.as_deref())).flatten();
        self.call.raw_input.clone().or_else(derived).unwrap_or_default()
    }

    /// Moves the text of a call's first report from the output into the description, and removes repetitions of this
    /// text from later reports. If the first report also ends the call, the text stays in the output.
    fn take_description(&mut self, change: &mut acp::ToolCall) {
        let is_over = matches!(change.status, Some(acp::ToolStatus::Completed | acp::ToolStatus::Failed));
        let is_first = self.call.tool_call_id.is_empty() && !is_over;
        let Some(content) = &mut change.content else { return };
        content.retain(|piece| match piece {
            acp::ToolContent::Content(acp::ContentBlock::Text(text)) if is_first && self.description.is_none() => {
                self.description = Some(text.clone());
                false
            }
            acp::ToolContent::Content(acp::ContentBlock::Text(text)) => self.description.as_ref() != Some(text),
            _ => true,
        });
    }

    fn content(&self) -> &[acp::ToolContent] {
        self.call.content.as_deref().unwrap_or_default()
    }

    fn output(&self) -> Vec<ToolResultPart> {
        let mut outputs: Vec<ToolResultPart> = self.content().iter().filter_map(shown).collect();
        if outputs.is_empty()
            && let Some(text) = self.call.raw_output.as_ref().and_then(raw_text)
        {
            outputs.push(ToolResultPart::Text(text));
        }
        outputs
    }

    /// Returns the command line of a call that executes a command.
    fn command(&self) -> Option<String> {
        if self.kind() != ToolKind::Execute {
            return None;
        }
        let given = self.call.raw_input.as_ref().map(|input| &input["command"]);
        match given {
            Some(Value::String(command)) => Some(command.clone()),
            // Only the command line is shown, without the shell that runs it.
            Some(Value::Array(words)) => match &words[..] {
                [_, Value::String(flag), Value::String(line)] if flag == "-lc" || flag == "-c" => Some(line.clone()),
                words => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            },
            _ => self.call.title.clone(),
        }
    }

    /// Returns the complete details of a permission question.
    pub fn details(&self) -> Vec<QuestionDetail> {
        let mut details: Vec<QuestionDetail> = self.command().map(QuestionDetail::Command).into_iter().collect();
        details.extend(self.content().iter().filter_map(shown).map(|output| match output {
            ToolResultPart::Diff { path, old, new } => QuestionDetail::Diff { path, old, new },
            ToolResultPart::Text(text) => QuestionDetail::Text(text),
        }));
        let input = self.input();
        // A description that is only the JSON text of the arguments is not repeated.
        let is_arguments = |text: &&String| derive::parsed(text).is_some_and(|parsed| parsed == input);
        details.extend(self.description.iter().filter(|text| !is_arguments(text)).cloned().map(QuestionDetail::Text));
        if !details.is_empty() {
            return details;
        }
        let locations = self.call.locations.as_deref().unwrap_or_default();
        details.extend(locations.iter().map(|location| QuestionDetail::Path(location.path.clone())));
        if details.is_empty() && !input.is_null() {
            details.push(QuestionDetail::Input { tool: self.name(), input });
        }
        details
    }
}

fn replace_if_some<T>(place: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *place = new;
    }
}

fn shown(content: &acp::ToolContent) -> Option<ToolResultPart> {
    match content {
        acp::ToolContent::Content(block) => {
            Some(block.display_text()).filter(|text| !text.is_empty()).map(ToolResultPart::Text)
        }
        acp::ToolContent::Diff { path, old, new } => {
            let old = old.clone().filter(|old| !old.is_empty());
            Some(ToolResultPart::Diff { path: path.clone(), old, new: new.clone() })
        }
        acp::ToolContent::Terminal(_) | acp::ToolContent::Unknown(_) => None,
    }
}

/// Extracts the output text for agents that send only a raw output.
fn raw_text(output: &Value) -> Option<String> {
    let text = match output {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => ["formatted_output", "output", "stdout", "text", "error"]
            .iter()
            .find_map(|name| fields.get(*name).and_then(Value::as_str).map(str::to_owned)),
        _ => None,
    };
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported(changes: &[Value]) -> PartialToolCall {
        merged(PartialToolCall::default(), changes)
    }

    fn merged(mut reported: PartialToolCall, changes: &[Value]) -> PartialToolCall {
        changes.iter().for_each(|change| reported.merge(acp::read(change.clone())));
        reported
    }

    #[test]
    fn a_call_is_put_together_from_what_is_told() {
        let reported = reported(&[
            json!({"toolCallId": "a", "title": "touch x", "kind": "execute", "status": "pending",
                "content": [{"type": "content", "content": {"type": "text", "text": "why"}}]}),
            json!({"toolCallId": "a", "status": "completed", "content": []}),
        ]);
        assert_eq!(reported.status(), ToolStatus::Completed);
        let card = reported.card(reported.status());
        assert_eq!((card.title.as_str(), card.kind), ("touch x", ToolKind::Execute));
        assert_eq!(card.output, [ToolResultPart::Text("why".to_owned())]);
    }

    #[test]
    fn a_permission_shows_the_command_the_change_or_the_place() {
        let title = reported(&[json!({"toolCallId": "a", "title": "touch x", "kind": "execute"})]);
        assert_eq!(title.details(), [QuestionDetail::Command("touch x".to_owned())]);
        let words = reported(&[json!({"toolCallId": "a", "title": "t", "kind": "execute",
            "rawInput": {"command": ["/bin/bash", "-lc", "echo hi"]}})]);
        assert_eq!(words.details(), [QuestionDetail::Command("echo hi".to_owned())]);
        let edit = reported(&[json!({"toolCallId": "a", "kind": "edit", "locations": [{"path": "/n"}],
            "content": [{"type": "diff", "path": "/n", "oldText": "", "newText": "x"}]})]);
        assert_eq!(edit.details(), [QuestionDetail::Diff { path: "/n".into(), old: None, new: "x".into() }]);
        let read = reported(&[json!({"toolCallId": "a", "kind": "read", "locations": [{"path": "/n"}]})]);
        assert_eq!(read.details(), [QuestionDetail::Path("/n".to_owned())]);
        let other = reported(&[json!({"toolCallId": "a", "name": "dig", "rawInput": {"deep": 3}})]);
        assert_eq!(other.details(), [QuestionDetail::Input { tool: "dig".to_owned(), input: json!({"deep": 3}) }]);
    }

    #[test]
    fn a_call_without_a_name_is_called_by_its_kind() {
        let kinds = [
            ("read", "read", ToolKind::Read),
            ("edit", "edit", ToolKind::Edit),
            ("delete", "delete", ToolKind::Edit),
            ("move", "move", ToolKind::Edit),
            ("search", "search", ToolKind::Search),
            ("execute", "execute", ToolKind::Execute),
            ("think", "think", ToolKind::Other),
            ("fetch", "fetch", ToolKind::Fetch),
            ("switch_mode", "mode", ToolKind::Other),
            ("dance", "dance", ToolKind::Other),
        ];
        for (kind, name, of) in kinds {
            let card = reported(&[json!({"toolCallId": "a", "kind": kind, "title": "\n"})]).card(ToolStatus::Pending);
            assert_eq!((card.name.as_str(), card.title.as_str(), card.kind), (name, name, of));
        }
        let statuses = [
            ("in_progress", ToolStatus::Running),
            ("failed", ToolStatus::Failed),
            ("cancelled", ToolStatus::Cancelled),
            ("odd", ToolStatus::Pending),
        ];
        for (word, status) in statuses {
            assert_eq!(reported(&[json!({"toolCallId": "a", "status": word})]).status(), status);
        }
        let plain = reported(&[json!({"toolCallId": "a", "kind": "execute", "rawInput": {"command": ["ls", "-l"]}})]);
        assert_eq!(plain.details(), [QuestionDetail::Command("ls -l".to_owned())]);
    }

    #[test]
    fn long_fields_are_truncated_to_the_shown_part() {
        let long = "x".repeat(200_000);
        let mut reported = reported(&[json!({"toolCallId": "a", "rawInput": {"text": long}, "rawOutput": long,
            "content": [{"type": "content", "content": {"type": "text", "text": long}},
                {"type": "diff", "path": "/n", "oldText": "a", "newText": "b"}]})]);
        assert_eq!(reported.output().len(), 2);
        reported.truncate_long_fields();
        let [ToolResultPart::Text(shown)] = &reported.output()[..] else { panic!("one text") };
        assert_eq!(shown.len(), bounds::MAX_SHOWN_RESULT_BYTES);
        assert!(reported.input().to_string().len() < 2 * bounds::MAX_SHOWN_RESULT_BYTES);
    }

    #[test]
    fn raw_output_is_shown_where_there_is_nothing_else() {
        let reported =
            reported(&[json!({"toolCallId": "a", "rawOutput": {"formatted_output": "hi\n", "exit_code": 0}})]);
        assert_eq!(reported.card(ToolStatus::Completed).output, [ToolResultPart::Text("hi\n".to_owned())]);
        assert_eq!(reported.card(ToolStatus::Completed).title, "tool");
    }

    /// Builds a call of an agent that reports no arguments.
    fn bare(changes: &[Value]) -> PartialToolCall {
        merged(PartialToolCall::new(true), changes)
    }

    fn derived(changes: &[Value]) -> (String, Value) {
        let card = bare(changes).card(ToolStatus::Running);
        (card.name, card.input)
    }

    fn text(text: &str) -> Value {
        json!([{"type": "content", "content": {"type": "text", "text": text}}])
    }

    fn shell() -> Value {
        json!({"toolCallId": "run_shell_command__run_shell_command_1794965454030_0", "status": "pending",
            "title": "touch x && printf 'a\\nb'\ntrue", "content": text("[current working directory /d] (run it)"),
            "locations": [], "kind": "execute"})
    }

    #[test]
    fn a_shell_call_without_arguments_has_its_title_as_command() {
        let command = json!({"command": "touch x && printf 'a\\nb'\ntrue"});
        assert_eq!(derived(&[shell()]), ("run_shell_command".to_owned(), command));
        let details = bare(&[shell()]).details();
        assert_eq!(
            details[1],
            QuestionDetail::Text("[current working directory /d] (run it)".to_owned()),
            "{details:?}"
        );
    }

    #[test]
    fn the_description_of_a_call_is_not_its_output() {
        let id = "run_shell_command__run_shell_command_1794965454030_0";
        let end = |content: Value| json!({"toolCallId": id, "status": "completed", "content": content});
        let silent = bare(&[shell(), end(json!([]))]);
        assert!(silent.card(ToolStatus::Completed).output.is_empty());
        let loud = bare(&[shell(), end(text("two"))]);
        assert_eq!(loud.card(ToolStatus::Completed).output, [ToolResultPart::Text("two".to_owned())]);
        let mut running = shell();
        running["status"] = json!("in_progress");
        assert!(bare(&[shell(), running]).card(ToolStatus::Running).output.is_empty(), "repeated");
        let unannounced = bare(&[json!({"toolCallId": id, "status": "failed", "content": text("bad arguments")})]);
        assert_eq!(unannounced.card(ToolStatus::Failed).output, [ToolResultPart::Text("bad arguments".to_owned())]);
    }

    #[test]
    fn files_are_arguments_by_their_location_with_the_new_text_of_a_change() {
        let read = json!({"toolCallId": "read_file__read_file_1794965454850_0", "status": "in_progress", "title": "a.txt",
            "content": [], "locations": [{"path": "/d/a.txt", "line": 1}], "kind": "read"});
        assert_eq!(derived(&[read]), ("read_file".to_owned(), json!({"file_path": "/d/a.txt"})));
        let write = json!({"toolCallId": "write_file__write_file_1_0", "status": "pending", "title": "Writing to new.txt",
            "content": [], "locations": [{"path": "/d/new.txt"}], "kind": "edit"});
        let diff = json!({"toolCallId": "write_file__write_file_1_0", "status": "completed",
            "content": [{"type": "diff", "path": "new.txt", "oldText": "", "newText": "words"}]});
        assert_eq!(derived(std::slice::from_ref(&write)).1, json!({"file_path": "/d/new.txt"}));
        let whole = json!({"file_path": "/d/new.txt", "content": "words"});
        assert_eq!(derived(&[write, diff]), ("write_file".to_owned(), whole));
    }

    #[test]
    fn the_arguments_of_an_mcp_tool_are_its_first_content() {
        let call = |content: &str| {
            json!({"toolCallId": "mcp_desk_lamp__mcp_desk_lamp_1794965455741_0", "status": "pending",
                "title": "lamp (desk MCP Server)", "content": text(content), "locations": [], "kind": "other"})
        };
        let input = json!({"on": true, "room": "attic"});
        let reported = bare(&[call(r#"{"on":true,"room":"attic"}"#)]);
        let tool = "mcp_desk_lamp".to_owned();
        assert_eq!(derived(&[call(r#"{"on":true,"room":"attic"}"#)]), (tool.clone(), input.clone()));
        assert_eq!(reported.details(), [QuestionDetail::Input { tool, input }]);
        let omitted = "[Payload omitted due to length with parameters: a, b]";
        let long = bare(&[call(omitted)]);
        assert_eq!((long.input(), long.details()), (Value::Null, vec![QuestionDetail::Text(omitted.to_owned())]));
        assert!(long.output().is_empty());
    }

    #[test]
    fn arguments_are_derived_only_where_an_agent_sends_none_and_is_known_for_it() {
        let plain = reported(&[shell()]).card(ToolStatus::Pending);
        assert_eq!((plain.name.as_str(), plain.input, plain.output.len()), ("execute", Value::Null, 1));
        let mut given = shell();
        given["rawInput"] = json!({"command": "x"});
        given["name"] = json!("sh");
        assert_eq!(derived(&[given]), ("sh".to_owned(), json!({"command": "x"})));
        let search = json!({"toolCallId": "glob__glob_1_0", "kind": "search", "title": "'*.txt'", "content": []});
        assert_eq!(derived(&[search]), ("glob".to_owned(), Value::Null));
    }
}
