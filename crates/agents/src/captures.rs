//! Tests that replay captures of real agents through the translators. Every item must be completed, and the displayed
//! text must equal the captured text.

use std::collections::HashMap;

use serde_json::Value;
use wh_core::space::bounds::ReportBounds;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolCall, ToolStatus};
use wh_wire::{acp, claude, codex};

/// Returns the lines that the agent wrote in the captures.
fn captured_lines(captures: &[&str]) -> Vec<String> {
    let lines = captures.iter().flat_map(|capture| capture.lines());
    lines.filter_map(|line| line.strip_prefix("<- ").map(str::to_owned)).collect()
}

/// Items built from the reports of a replay.
#[derive(Default)]
struct ReplayedItems {
    items: HashMap<String, (ItemBody, bool)>,
    order: Vec<String>,
    bounds: ReportBounds,
}

impl ReplayedItems {
    fn take(&mut self, reports: Vec<Report>) {
        for report in reports.into_iter().flat_map(|report| self.bounds.bound(report).reports).collect::<Vec<_>>() {
            match report {
                Report::Item { key, body, done } => {
                    if !self.items.contains_key(&key) {
                        self.order.push(key.clone());
                    }
                    let before = self.items.insert(key.clone(), (body, done));
                    assert!(!before.is_some_and(|(_, was)| was && !done), "{key} was already complete");
                }
                Report::Grew { key, text: more, .. } => {
                    if !self.items.contains_key(&key) {
                        self.order.push(key.clone());
                    }
                    let none = || (ItemBody::Text { text: String::new(), attachments: Vec::new() }, false);
                    match &mut self.items.entry(key).or_insert_with(none).0 {
                        ItemBody::Text { text, .. } | ItemBody::Thought { text, .. } => text.push_str(&more),
                        _ => {}
                    }
                }
                Report::Finished(key) => self.items.get_mut(&key).expect("a finished item exists").1 = true,
                Report::Retracted(key) => {
                    self.items.remove(&key);
                }
                _ => {}
            }
        }
    }

    #[track_caller]
    fn all_are_over(&self) {
        for (key, (body, done)) in &self.items {
            assert!(done, "{key} is not complete: {body:?}");
            if let ItemBody::Tool(call) = body {
                assert!(call.status.is_over(), "{call:?}");
            }
        }
    }

    fn texts(&self) -> Vec<&str> {
        let text = |key: &String| match &self.items.get(key)?.0 {
            ItemBody::Text { text, .. } => Some(text.as_str()),
            _ => None,
        };
        self.order.iter().filter_map(text).collect()
    }

    fn calls(&self) -> Vec<&ToolCall> {
        let call = |key: &String| match &self.items.get(key)?.0 {
            ItemBody::Tool(call) => Some(call),
            _ => None,
        };
        self.order.iter().filter_map(call).collect()
    }
}

#[test]
fn every_line_of_claude_code_becomes_what_it_is() {
    let captures = [
        include_str!("../../wire/tests/it/wires/claude-control-1.wire"),
        include_str!("../../wire/tests/it/wires/claude-control-2.wire"),
    ];
    let (mut items, mut made) = (crate::claude::items::ClaudeItems::default(), ReplayedItems::default());
    for line in captured_lines(&captures) {
        match claude::decode(line.as_bytes()).unwrap() {
            claude::Incoming::Message(claude::ClaudeMessage::Stream(message)) => made.take(items.stream(message)),
            claude::Incoming::Message(claude::ClaudeMessage::Assistant(message)) => {
                made.take(items.assistant(*message))
            }
            claude::Incoming::Message(claude::ClaudeMessage::User(message)) => made.take(items.user(&message, &[])),
            claude::Incoming::Message(claude::ClaudeMessage::Result(_)) => made.take(items.end()),
            _ => {}
        }
    }
    made.take(items.end());
    made.all_are_over();
    assert_eq!(made.texts(), ["I will run it ", "Done now ", "Done now ", "Done now "]);
    assert!(made.calls().iter().any(|call| call.status == ToolStatus::Completed), "{:?}", made.calls());
}

#[test]
fn every_line_of_codex_becomes_what_it_is() {
    let captures = [
        include_str!("../../wire/tests/it/wires/codex-app-server-1.wire"),
        include_str!("../../wire/tests/it/wires/codex-app-server-2.wire"),
    ];
    let (mut items, mut made) = (crate::codex::items::CodexItems::default(), ReplayedItems::default());
    for line in captured_lines(&captures) {
        let mut message: Value = serde_json::from_str(&line).unwrap();
        let Some(method) = message["method"].as_str().map(str::to_owned).filter(|_| message.get("id").is_none()) else {
            continue;
        };
        match codex::ServerNotification::read(&method, message["params"].take()) {
            codex::ServerNotification::Item { turn, item, done, .. } => made.take(items.item(turn, item, done)),
            codex::ServerNotification::Delta { turn, item, text, .. } => made.take(items.grow(turn, item, text)),
            codex::ServerNotification::Thought { turn, item, text, full, .. } => {
                made.take(items.think(turn, item, text, full));
            }
            codex::ServerNotification::PatchUpdated { turn, item, changes, .. } => {
                made.take(items.patch(turn, item, changes));
            }
            codex::ServerNotification::PlanUpdated { explanation, steps, .. } => {
                made.take(items.plan(explanation.as_deref(), &steps));
            }
            codex::ServerNotification::TurnCompleted { .. } => made.take(items.end()),
            _ => {}
        }
    }
    made.take(items.end());
    made.all_are_over();
    assert!(!made.texts().is_empty() && !made.calls().is_empty(), "{:?} {:?}", made.texts(), made.calls());
}

#[test]
fn every_line_of_the_agent_client_protocol_becomes_what_it_is() {
    let captures = [
        include_str!("../../wire/tests/it/wires/gemini-acp-1.wire"),
        include_str!("../../wire/tests/it/wires/gemini-acp-2.wire"),
        include_str!("../../wire/tests/it/wires/codex-acp-1.wire"),
    ];
    let (mut items, mut made) = (crate::acp::items::AcpItems::default(), ReplayedItems::default());
    for line in captured_lines(&captures) {
        let mut message: Value = serde_json::from_str(&line).unwrap();
        if message["method"] != "session/update" {
            if message["result"]["stopReason"].is_string() {
                made.take(items.end());
                items.begin();
            }
            continue;
        }
        let update: acp::SessionUpdate = acp::read(message["params"].take());
        match update.update {
            acp::SessionUpdateKind::AgentMessage(chunk) => {
                made.take(items.chunk(crate::acp::items::MessageKind::Message, chunk))
            }
            acp::SessionUpdateKind::AgentThought(chunk) => {
                made.take(items.chunk(crate::acp::items::MessageKind::Thought, chunk))
            }
            acp::SessionUpdateKind::ToolCall(call) | acp::SessionUpdateKind::ToolCallUpdate(call) => {
                made.take(items.call(*call))
            }
            acp::SessionUpdateKind::Plan(entries) => made.take(items.plan(&entries)),
            _ => {}
        }
    }
    made.take(items.end());
    made.all_are_over();
    assert!(!made.texts().is_empty() && !made.calls().is_empty(), "{:?} {:?}", made.texts(), made.calls());
}
