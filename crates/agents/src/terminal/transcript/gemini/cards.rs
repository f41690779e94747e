//! Builds tool call cards from the calls in Gemini CLI's transcripts.

use std::collections::HashMap;

use serde_json::Value;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolCall, ToolStatus};
use wh_wire::acp;

use super::super::fact::TranscriptFact;
use crate::acp::tools::PartialToolCall;

/// Maximum number of calls tracked per turn. Repeated lines of further calls are shown again.
const MAX_TRACKED_CALLS: usize = 4096;

/// Lines after the output in the result of a command.
const RESULT_FIELDS: [&str; 5] = ["Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// Tool calls of the current turn.
#[derive(Debug, Default)]
pub(super) struct GeminiCalls {
    /// Status and card by id. The card is dropped when the call has ended.
    calls: HashMap<String, (ToolStatus, Option<ToolCall>)>,
}

impl GeminiCalls {
    /// Handles a call of a message. Messages repeat their calls.
    pub fn call(&mut self, call: &Value) -> Vec<TranscriptFact> {
        let Some(id) = call["id"].as_str() else { return vec![TranscriptFact::Unknown] };
        let status = status(call);
        let known = self.calls.get(id).map(|(status, _)| *status);
        if known == Some(status) {
            return Vec::new();
        }
        let card = card(id, call, status);
        if self.calls.len() < MAX_TRACKED_CALLS {
            self.calls.insert(id.to_owned(), (status, (!status.is_over()).then(|| card.clone())));
        }
        let name = card.name.clone();
        let mut facts = vec![report(id, card)];
        if known.is_none() && !status.is_over() {
            facts.push(TranscriptFact::ToolWaits { id: id.to_owned(), name });
        }
        if status.is_over() {
            facts.push(TranscriptFact::ToolDone { id: id.to_owned() });
        }
        facts
    }

    /// Ends the turn and cancels the calls in progress.
    pub fn end(&mut self) -> Vec<Report> {
        let open = self.calls.drain().filter_map(|(id, (_, card))| Some((id, card?)));
        let cancelled = |(id, card): (String, ToolCall)| Report::Item {
            key: key(&id),
            body: ItemBody::Tool(ToolCall { status: ToolStatus::Cancelled, ..card }),
            done: true,
        };
        open.map(cancelled).collect()
    }
}

fn key(id: &str) -> String {
    format!("call-{id}")
}

fn report(id: &str, card: ToolCall) -> TranscriptFact {
    let done = card.status.is_over();
    TranscriptFact::Report(Report::Item { key: key(id), body: ItemBody::Tool(card), done })
}

fn response(call: &Value) -> &Value {
    &call["result"][0]["functionResponse"]["response"]
}

fn status(call: &Value) -> ToolStatus {
    let error = response(call)["error"].as_str().unwrap_or_default();
    match call["status"].as_str() {
        Some("success") => ToolStatus::Completed,
        Some("error") => ToolStatus::Failed,
        Some("cancelled") if error.contains("denied") => ToolStatus::Denied,
        Some("cancelled") => ToolStatus::Cancelled,
        Some("awaiting_approval" | "validating") => ToolStatus::Pending,
        _ => ToolStatus::Running,
    }
}

fn card(id: &str, call: &Value, status: ToolStatus) -> ToolCall {
    let text = |field: &str| call[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let name = text("name");
    let mut partial = PartialToolCall::new(false);
    partial.merge(acp::ToolCall {
        tool_call_id: id.to_owned(),
        title: text("description").or_else(|| text("displayName")),
        kind: name.as_deref().map(kind),
        name,
        raw_input: Some(call["args"].clone()),
        content: output(call).map(|content| vec![content]),
        ..acp::ToolCall::default()
    });
    partial.card(status)
}

/// Returns the kind that Gemini's ACP mode reports for a tool.
fn kind(name: &str) -> acp::ToolKind {
    match name {
        "run_shell_command" => acp::ToolKind::Execute,
        "write_file" | "replace" | "edit" => acp::ToolKind::Edit,
        "read_file" | "read_many_files" => acp::ToolKind::Read,
        "list_directory" | "glob" | "grep_search" | "search_file_content" | "google_web_search" => {
            acp::ToolKind::Search
        }
        "web_fetch" => acp::ToolKind::Fetch,
        _ => acp::ToolKind::Other(String::new()),
    }
}

/// Returns the result as Gemini displays it: a change of a file, or text.
fn output(call: &Value) -> Option<acp::ToolContent> {
    let shown = &call["resultDisplay"];
    if let (Some(path), Some(new)) = (shown["filePath"].as_str(), shown["newContent"].as_str()) {
        let old = shown["originalContent"].as_str().map(str::to_owned);
        return Some(acp::ToolContent::Diff { path: path.to_owned(), old, new: new.to_owned() });
    }
    let given = ["error", "output"].iter().find_map(|field| response(call)[*field].as_str()).unwrap_or_default();
    let text = match shown {
        Value::String(text) => text.clone(),
        // A command displays its screen, which may lack lines. The result for the model has all lines.
        _ => command_output(given),
    };
    (!text.is_empty()).then_some(acp::ToolContent::Content(acp::ContentBlock::Text(text)))
}

/// Returns the output of a command from its result, which also contains marks for the model, exit code and process ids.
fn command_output(result: &str) -> String {
    let unmarked = result.trim().strip_prefix("<untrusted_context>").unwrap_or(result);
    let unmarked = unmarked.strip_suffix("</untrusted_context>").unwrap_or(unmarked).trim();
    let Some(output) = unmarked.strip_prefix("Output: ") else { return unmarked.to_owned() };
    let mut lines: Vec<&str> = output.lines().collect();
    while let Some(last) = lines.last()
        && RESULT_FIELDS.iter().any(|field| last.starts_with(field))
    {
        lines.pop();
    }
    let output = lines.join("\n");
    if output == "(empty)" { String::new() } else { output }
}
