//! Tool calls as cards: what is told of a call bit by bit, put together.

use serde_json::Value;
use wh_core::space::bounds;
use wh_core::space::item::{Output, ToolCall, ToolKind, ToolStatus};
use wh_core::space::question::Detail;
use wh_wire::acp;

/// A call as far as it was told.
#[derive(Debug, Default)]
pub(crate) struct Told(acp::ToolCall);

impl Told {
    /// Takes what has changed.
    pub fn merge(&mut self, change: acp::ToolCall) {
        let told = &mut self.0;
        told.tool_call_id = change.tool_call_id;
        take(&mut told.title, change.title);
        take(&mut told.name, change.name);
        take(&mut told.kind, change.kind);
        take(&mut told.status, change.status);
        take(&mut told.locations, change.locations);
        take(&mut told.raw_input, change.raw_input);
        take(&mut told.raw_output, change.raw_output);
        // An agent that has no more to show says so with an empty list; what was shown before is still of use.
        if change.content.as_ref().is_some_and(|content| !content.is_empty()) {
            told.content = change.content;
        }
    }

    /// Keeps of what is long only what is shown of it.
    pub fn settle(&mut self) {
        if let Some(input) = &mut self.0.raw_input {
            bounds::fit(input, bounds::SHOWN_OF_RESULT);
        }
        let mut output = self.output();
        if !bounds::shorten(&mut output).is_empty() {
            let content = |piece| match piece {
                Output::Text(text) => acp::ToolContent::Content(acp::ContentBlock::Text(text)),
                Output::Diff { path, old, new } => acp::ToolContent::Diff { path, old, new },
            };
            self.0.content = Some(output.into_iter().map(content).collect());
        }
        if let Some(raw) = &mut self.0.raw_output {
            bounds::fit(raw, bounds::SHOWN_OF_RESULT);
        }
    }

    /// How far the agent says it is.
    pub fn status(&self) -> ToolStatus {
        match &self.0.status {
            Some(acp::ToolStatus::InProgress) => ToolStatus::Running,
            Some(acp::ToolStatus::Completed) => ToolStatus::Completed,
            Some(acp::ToolStatus::Failed) => ToolStatus::Failed,
            Some(acp::ToolStatus::Other(word)) if word == "cancelled" => ToolStatus::Cancelled,
            Some(acp::ToolStatus::Pending | acp::ToolStatus::Other(_)) | None => ToolStatus::Pending,
        }
    }

    /// The card, at this status.
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

    /// The tool, or what kind of one it is where the agent does not say.
    fn name(&self) -> String {
        let word = match &self.0.kind {
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
        self.0.name.clone().unwrap_or_else(|| word.to_owned())
    }

    /// What it does, in a line.
    pub fn title(&self) -> String {
        let title = self.0.title.as_deref().and_then(|title| title.lines().next()).filter(|title| !title.is_empty());
        title.map_or_else(|| self.name(), str::to_owned)
    }

    pub fn kind(&self) -> ToolKind {
        match self.0.kind {
            Some(acp::ToolKind::Read) => ToolKind::Read,
            Some(acp::ToolKind::Edit | acp::ToolKind::Delete | acp::ToolKind::Move) => ToolKind::Edit,
            Some(acp::ToolKind::Execute) => ToolKind::Execute,
            Some(acp::ToolKind::Search) => ToolKind::Search,
            Some(acp::ToolKind::Fetch) => ToolKind::Fetch,
            _ => ToolKind::Other,
        }
    }

    fn input(&self) -> Value {
        self.0.raw_input.clone().unwrap_or_default()
    }

    fn content(&self) -> &[acp::ToolContent] {
        self.0.content.as_deref().unwrap_or_default()
    }

    fn output(&self) -> Vec<Output> {
        let mut outputs: Vec<Output> = self.content().iter().filter_map(shown).collect();
        if outputs.is_empty()
            && let Some(text) = self.0.raw_output.as_ref().and_then(raw_text)
        {
            outputs.push(Output::Text(text));
        }
        outputs
    }

    /// The command line, where it runs one.
    fn command(&self) -> Option<String> {
        if self.kind() != ToolKind::Execute {
            return None;
        }
        let given = self.0.raw_input.as_ref().map(|input| &input["command"]);
        match given {
            Some(Value::String(command)) => Some(command.clone()),
            // A shell that is started for one line says nothing to a person; the line does.
            Some(Value::Array(words)) => match &words[..] {
                [_, Value::String(flag), Value::String(line)] if flag == "-lc" || flag == "-c" => Some(line.clone()),
                words => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            },
            _ => self.0.title.clone(),
        }
    }

    /// What a permission is about, in full.
    pub fn details(&self) -> Vec<Detail> {
        let mut details: Vec<Detail> = self.command().map(Detail::Command).into_iter().collect();
        details.extend(self.content().iter().filter_map(shown).map(|output| match output {
            Output::Diff { path, old, new } => Detail::Diff { path, old, new },
            Output::Text(text) => Detail::Text(text),
        }));
        if !details.is_empty() {
            return details;
        }
        let locations = self.0.locations.as_deref().unwrap_or_default();
        details.extend(locations.iter().map(|location| Detail::Path(location.path.clone())));
        if details.is_empty()
            && let Some(input) = self.0.raw_input.clone().filter(|input| !input.is_null())
        {
            details.push(Detail::Input { tool: self.name(), input });
        }
        details
    }
}

fn take<T>(place: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *place = new;
    }
}

fn shown(content: &acp::ToolContent) -> Option<Output> {
    match content {
        acp::ToolContent::Content(block) => Some(block.words()).filter(|text| !text.is_empty()).map(Output::Text),
        acp::ToolContent::Diff { path, old, new } => {
            let old = old.clone().filter(|old| !old.is_empty());
            Some(Output::Diff { path: path.clone(), old, new: new.clone() })
        }
        acp::ToolContent::Terminal(_) | acp::ToolContent::Unknown(_) => None,
    }
}

/// What agents that show nothing else give as output.
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

    fn told(changes: &[Value]) -> Told {
        let mut told = Told::default();
        changes.iter().for_each(|change| told.merge(acp::read(change.clone())));
        told
    }

    #[test]
    fn a_call_is_put_together_from_what_is_told() {
        let told = told(&[
            json!({"toolCallId": "a", "title": "touch x", "kind": "execute", "status": "pending",
                "content": [{"type": "content", "content": {"type": "text", "text": "why"}}]}),
            json!({"toolCallId": "a", "status": "completed", "content": []}),
        ]);
        assert_eq!(told.status(), ToolStatus::Completed);
        let card = told.card(told.status());
        assert_eq!((card.title.as_str(), card.kind), ("touch x", ToolKind::Execute));
        assert_eq!(card.output, [Output::Text("why".to_owned())]);
    }

    #[test]
    fn a_permission_shows_the_command_the_change_or_the_place() {
        let title = told(&[json!({"toolCallId": "a", "title": "touch x", "kind": "execute"})]);
        assert_eq!(title.details(), [Detail::Command("touch x".to_owned())]);
        let words = told(&[json!({"toolCallId": "a", "title": "t", "kind": "execute",
            "rawInput": {"command": ["/bin/bash", "-lc", "echo hi"]}})]);
        assert_eq!(words.details(), [Detail::Command("echo hi".to_owned())]);
        let edit = told(&[json!({"toolCallId": "a", "kind": "edit", "locations": [{"path": "/n"}],
            "content": [{"type": "diff", "path": "/n", "oldText": "", "newText": "x"}]})]);
        assert_eq!(edit.details(), [Detail::Diff { path: "/n".into(), old: None, new: "x".into() }]);
        let read = told(&[json!({"toolCallId": "a", "kind": "read", "locations": [{"path": "/n"}]})]);
        assert_eq!(read.details(), [Detail::Path("/n".to_owned())]);
        let other = told(&[json!({"toolCallId": "a", "name": "dig", "rawInput": {"deep": 3}})]);
        assert_eq!(other.details(), [Detail::Input { tool: "dig".to_owned(), input: json!({"deep": 3}) }]);
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
            let card = told(&[json!({"toolCallId": "a", "kind": kind, "title": "\n"})]).card(ToolStatus::Pending);
            assert_eq!((card.name.as_str(), card.title.as_str(), card.kind), (name, name, of));
        }
        let statuses = [
            ("in_progress", ToolStatus::Running),
            ("failed", ToolStatus::Failed),
            ("cancelled", ToolStatus::Cancelled),
            ("odd", ToolStatus::Pending),
        ];
        for (word, status) in statuses {
            assert_eq!(told(&[json!({"toolCallId": "a", "status": word})]).status(), status);
        }
        let plain = told(&[json!({"toolCallId": "a", "kind": "execute", "rawInput": {"command": ["ls", "-l"]}})]);
        assert_eq!(plain.details(), [Detail::Command("ls -l".to_owned())]);
    }

    #[test]
    fn of_what_is_long_only_what_is_shown_is_remembered() {
        let long = "x".repeat(200_000);
        let mut told = told(&[json!({"toolCallId": "a", "rawInput": {"text": long}, "rawOutput": long,
            "content": [{"type": "content", "content": {"type": "text", "text": long}},
                {"type": "diff", "path": "/n", "oldText": "a", "newText": "b"}]})]);
        assert_eq!(told.output().len(), 2);
        told.settle();
        let [Output::Text(shown)] = &told.output()[..] else { panic!("one text") };
        assert_eq!(shown.len(), bounds::SHOWN_OF_RESULT);
        assert!(told.input().to_string().len() < 2 * bounds::SHOWN_OF_RESULT);
    }

    #[test]
    fn raw_output_is_shown_where_there_is_nothing_else() {
        let told = told(&[json!({"toolCallId": "a", "rawOutput": {"formatted_output": "hi\n", "exit_code": 0}})]);
        assert_eq!(told.card(ToolStatus::Completed).output, [Output::Text("hi\n".to_owned())]);
        assert_eq!(told.card(ToolStatus::Completed).title, "tool");
    }
}
