//! Translates Codex's transcripts ("rollouts"). Completed items are converted into items of the app-server protocol;
//! calls in progress come from the recorded responses of the model.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use wh_core::space::harness::Report;
use wh_core::space::item::NoticeLevel;
use wh_wire::codex::{ServerNotification, ThreadItem};

use super::fact::{TranscriptEnd, TranscriptFact, TranscriptReader, parsed, reported};
use crate::codex::items::CodexItems;

/// Line types that state no fact.
const SILENT_TYPES: [&str; 5] =
    ["inter_agent_communication", "token_usage_record", "turn_context", "world_state", "ghost_snapshot"];

/// Maximum number of tool calls tracked at once. Further calls are shown only when they are complete.
const MAX_OPEN_CALLS: usize = 1024;

/// Translator of Codex's transcripts.
#[derive(Debug, Default)]
pub struct CodexTranscript {
    items: CodexItems,
    /// Ids of the conversation and of the conversations from which it was forked.
    sessions: Vec<String>,
    /// Transcript of a subagent, whose work is part of a call in another transcript.
    is_subagent: bool,
    turn: String,
    in_turn: bool,
    /// Number of prompts in the current turn.
    prompts: usize,
    /// Calls without a result, by id, with the item that shows them.
    calls: HashMap<String, Value>,
    /// True if the file contains completed items. Earlier versions record messages as events only.
    has_items: bool,
}

impl TranscriptReader for CodexTranscript {
    fn line(&mut self, line: &[u8]) -> Vec<TranscriptFact> {
        let Some(mut value) = parsed(line) else { return vec![TranscriptFact::Unknown] };
        let payload = value["payload"].take();
        let mut facts = Vec::new();
        let kind = value["type"].as_str();
        if self.is_subagent && kind != Some("session_meta") {
            return facts;
        }
        match kind {
            Some("session_meta") => self.session(&payload, &mut facts),
            Some("event_msg") => self.event(payload, &mut facts),
            Some("response_item") => self.response(&payload, &mut facts),
            Some("compacted") => facts.push(TranscriptFact::Compacted),
            Some(kind) if SILENT_TYPES.contains(&kind) => {}
            _ => facts.push(TranscriptFact::Unknown),
        }
        facts
    }

    fn end(&mut self) -> Vec<TranscriptFact> {
        self.in_turn = false;
        self.calls.clear();
        reported(self.items.end()).collect()
    }
}

impl CodexTranscript {
    fn session(&mut self, meta: &Value, facts: &mut Vec<TranscriptFact>) {
        let Some(id) = meta["id"].as_str() else { return facts.push(TranscriptFact::Unknown) };
        if self.sessions.is_empty() {
            self.is_subagent = is_subagent(meta);
            if !self.is_subagent {
                facts.push(TranscriptFact::SessionId(id.to_owned()));
            }
        }
        self.sessions.push(id.to_owned());
    }

    fn event(&mut self, mut event: Value, facts: &mut Vec<TranscriptFact>) {
        let thread = event["thread_id"].as_str();
        if thread.is_some_and(|thread| !self.sessions.is_empty() && !self.sessions.iter().any(|known| known == thread))
        {
            return;
        }
        match event["type"].as_str() {
            Some("task_started" | "turn_started") => {
                if self.in_turn {
                    // The process was ended during the turn.
                    self.ended(TranscriptEnd::Interrupted, facts);
                }
                self.turn = event["turn_id"].as_str().unwrap_or_default().to_owned();
                (self.in_turn, self.prompts) = (true, 0);
                facts.push(TranscriptFact::TurnBegan);
            }
            Some("task_complete" | "turn_complete") => {
                let end = match error_text(&event["error"]) {
                    Some(error) => TranscriptEnd::Failed(error),
                    None => TranscriptEnd::Completed,
                };
                self.ended(end, facts);
            }
            Some("turn_aborted") => self.ended(TranscriptEnd::Interrupted, facts),
            Some("item_completed") => {
                self.has_items = true;
                let turn = event["turn_id"].as_str().unwrap_or(&self.turn).to_owned();
                self.item(turn, event["item"].take(), facts);
            }
            Some("user_message") if !self.has_items => self.prompt(&event["message"], None, facts),
            Some("agent_message") if !self.has_items => self.legacy("agentMessage", "text", &event["message"], facts),
            Some("agent_reasoning") if !self.has_items => {
                let summary = json!([event["text"].take()]);
                self.legacy("reasoning", "summary", &summary, facts);
            }
            Some("stream_error" | "warning") => {
                facts.extend(event["message"].as_str().map(|text| notice(NoticeLevel::Warning, text)));
            }
            Some("error") if !self.in_turn => {
                facts.extend(event["message"].as_str().map(|text| notice(NoticeLevel::Error, text)));
            }
            Some(_) => {}
            None => facts.push(TranscriptFact::Unknown),
        }
    }

    fn prompt(&mut self, text: &Value, id: Option<&str>, facts: &mut Vec<TranscriptFact>) {
        let Some(text) = text.as_str() else { return };
        let queued = self.prompts > 0;
        self.prompts += 1;
        facts.push(TranscriptFact::Prompt { text: text.to_owned(), id: id.map(str::to_owned), queued });
    }

    /// Handles a message of an earlier version, which has no id.
    fn legacy(&mut self, kind: &str, field: &str, content: &Value, facts: &mut Vec<TranscriptFact>) {
        let item = ThreadItem::read(&json!({ "id": "", "type": kind, field: content }));
        facts.extend(item.into_iter().flat_map(|item| reported(self.items.item(self.turn.clone(), item, true))));
    }

    fn item(&mut self, turn: String, item: Value, facts: &mut Vec<TranscriptFact>) {
        if item["type"] == "UserMessage" {
            let parts = item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
            let text = Value::String(parts.collect());
            return self.prompt(&text, item["id"].as_str(), facts);
        }
        let Some(item) = app_server_item(&item).and_then(|item| ThreadItem::read(&item)) else {
            return facts.push(TranscriptFact::Unknown);
        };
        let id = item.id.clone();
        // A call keeps the turn in which it was started.
        let turn = match self.calls.remove(&id) {
            Some(call) => call["turn"].as_str().map_or(turn, str::to_owned),
            None => turn,
        };
        facts.extend(reported(self.items.item(turn, item, true)));
    }

    fn response(&mut self, item: &Value, facts: &mut Vec<TranscriptFact>) {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call" | "custom_tool_call") => {
                let name = item["name"].as_str().unwrap_or_default();
                let arguments = item["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
                let arguments: Value = arguments.unwrap_or_else(|| item["input"].clone());
                if name == "update_plan" {
                    return facts.extend(reported(self.plan(arguments)));
                }
                facts.push(TranscriptFact::ToolWaits { id: id.to_owned(), name: name.to_owned() });
                self.call(id, item["namespace"].as_str(), name, &arguments, facts);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                facts.push(TranscriptFact::ToolDone { id: id.to_owned() });
                self.result(id, &item["output"], facts);
            }
            Some(_) => {}
            None => facts.push(TranscriptFact::Unknown),
        }
    }

    fn plan(&mut self, arguments: Value) -> Vec<Report> {
        match ServerNotification::read(
            "turn/plan/updated",
            with_fields(arguments, json!({ "threadId": "", "turnId": "" })),
        ) {
            ServerNotification::PlanUpdated { explanation, steps, .. } => {
                self.items.plan(explanation.as_deref(), &steps)
            }
            _ => Vec::new(),
        }
    }

    /// Shows a call whose result is not recorded yet.
    fn call(
        &mut self,
        id: &str,
        namespace: Option<&str>,
        name: &str,
        arguments: &Value,
        facts: &mut Vec<TranscriptFact>,
    ) {
        let command = ["cmd", "command"].iter().map(|field| &arguments[*field]).find(|command| !command.is_null());
        let mut item = match (name, command) {
            ("exec_command" | "shell" | "shell_command" | "local_shell", Some(command)) => json!({
                "type": "commandExecution", "command": command_line(command), "cwd": arguments["workdir"],
            }),
            ("apply_patch", _) => json!({ "type": "fileChange", "changes": [] }),
            // Input and output of a command that is already shown.
            ("write_stdin", _) => return,
            _ => json!({ "type": "dynamicToolCall", "namespace": namespace, "tool": name, "arguments": arguments }),
        };
        item["id"] = json!(id);
        item["status"] = json!("inProgress");
        let Some(shown) = ThreadItem::read(&item) else { return };
        if self.calls.len() < MAX_OPEN_CALLS {
            item["turn"] = json!(self.turn);
            self.calls.insert(id.to_owned(), item);
            facts.extend(reported(self.items.item(self.turn.clone(), shown, false)));
        }
    }

    /// Completes a call that no completed item shows.
    fn result(&mut self, id: &str, output: &Value, facts: &mut Vec<TranscriptFact>) {
        let Some(mut item) = self.calls.remove(id) else { return };
        let parts = output.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        let text = output.as_str().map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned);
        if text.contains("aborted by user") {
            // The end of the turn cancels the call.
            self.calls.insert(id.to_owned(), item);
            return;
        }
        let denied = text.contains("rejected by user");
        item["status"] = json!(if denied { "declined" } else { "completed" });
        item["aggregatedOutput"] = json!(text);
        item["contentItems"] = json!([{ "type": "text", "text": text }]);
        let turn = item["turn"].as_str().unwrap_or(&self.turn).to_owned();
        facts.extend(
            ThreadItem::read(&item).into_iter().flat_map(|item| reported(self.items.item(turn.clone(), item, true))),
        );
    }

    fn ended(&mut self, end: TranscriptEnd, facts: &mut Vec<TranscriptFact>) {
        self.in_turn = false;
        self.calls.clear();
        facts.extend(reported(self.items.end()));
        facts.push(TranscriptFact::TurnEnded(end));
    }
}

/// Returns true if the first line of a transcript belongs to a subagent or to another internal conversation of Codex.
pub(super) fn is_subagent(meta: &Value) -> bool {
    meta["source"].is_object() || meta["thread_source"].as_str().is_some_and(|source| source != "user")
}

fn notice(level: NoticeLevel, text: &str) -> TranscriptFact {
    TranscriptFact::Report(Report::Notice(level, text.to_owned()))
}

fn error_text(error: &Value) -> Option<String> {
    let message = error["message"].as_str().or(error.as_str())?;
    let body = serde_json::from_str::<Value>(message).ok();
    let inner = body.as_ref().and_then(|body| body["error"]["message"].as_str());
    Some(inner.unwrap_or(message).to_owned())
}

fn with_fields(mut value: Value, fields: Value) -> Value {
    if let (Value::Object(value), Value::Object(fields)) = (&mut value, fields) {
        value.extend(fields);
    }
    value
}

/// Converts a recorded item into an item of the app-server protocol: other names of types and fields, and other forms
/// of texts, commands and file changes.
fn app_server_item(item: &Value) -> Option<Value> {
    let kind = item["type"].as_str()?;
    let mut converted = Map::new();
    for (name, value) in item.as_object()? {
        converted.insert(camel_case(name), value.clone());
    }
    let mut first = kind.chars();
    let lowered = first.next()?.to_lowercase().chain(first).collect::<String>();
    converted.insert("type".to_owned(), Value::String(lowered));
    let mut set = |name: &str, value: Value| converted.insert(name.to_owned(), value);
    match kind {
        "AgentMessage" => {
            let parts = item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
            set("text", Value::String(parts.collect()));
        }
        "Reasoning" => {
            set("summary", item["summary_text"].clone());
            set("content", item["raw_content"].clone());
        }
        "CommandExecution" => {
            let actions = item["parsed_cmd"].as_array().into_iter().flatten();
            let action = |action: &Value| {
                let kind = camel_case(action["type"].as_str().unwrap_or_default());
                json!({ "type": kind, "command": action["cmd"] })
            };
            set("commandActions", actions.map(action).collect());
            set("command", Value::String(command_line(&item["command"])));
            let directory = item["cwd"].as_str().map(|cwd| cwd.strip_prefix("file://").unwrap_or(cwd));
            set("cwd", json!(directory));
        }
        "FileChange" => {
            let change = |(path, change): (&String, &Value)| {
                let diff =
                    ["unified_diff", "content"].iter().map(|field| &change[*field]).find(|diff| diff.is_string());
                json!({
                    "path": path, "diff": diff,
                    "kind": { "type": change["type"], "move_path": change["move_path"] },
                })
            };
            set("changes", item["changes"].as_object().into_iter().flatten().map(change).collect());
        }
        _ => {}
    }
    Some(Value::Object(converted))
}

/// Returns the command line of a command: the script of a shell, or the words.
fn command_line(command: &Value) -> String {
    let Some(words) = command.as_array() else { return command.as_str().unwrap_or_default().to_owned() };
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match &words[..] {
        [shell, "-lc" | "-c", script] if shell.ends_with("sh") => (*script).to_owned(),
        words => words.join(" "),
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut converted = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        converted.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        converted.push_str(letters.as_str());
    }
    converted
}
