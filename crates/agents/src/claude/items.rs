//! Translates Claude Code's streamed messages into conversation items.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use wh_core::space::bounds;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, ToolCall, ToolStatus};
use wh_wire::claude::{AssistantMessage, ContentBlock, Delta, StreamEvent, StreamMessage, ToolResult, UserMessage};

use super::tools;

/// Maximum number of frames that are remembered so that their items can be retracted. The oldest are forgotten.
const MAX_REMEMBERED_FRAMES: usize = 256;

/// Maximum number of tool calls tracked at once. The end of further calls is not displayed.
const MAX_OPEN_CALLS: usize = 1024;

/// Maximum size of the stored input of a tool call.
const MAX_STORED_INPUT_BYTES: usize = 256 * 1024;

/// Next value for `generation` of [`ClaudeItems`], shared by all connections in this process.
static NEXT_GENERATION: AtomicU64 = AtomicU64::new(0);

/// Translator state: message and tool calls in progress.
#[derive(Debug)]
pub(crate) struct ClaudeItems {
    /// Prefix of the item keys of the current turn. Unique in this process, because Claude Code may reuse ids.
    generation: u64,
    /// Id of the message in progress, and the blocks of the message by index.
    current_message: Option<(String, HashMap<usize, Block>)>,
    /// Number of complete blocks received so far, by message id.
    complete_blocks: HashMap<String, usize>,
    /// Tool calls in progress, by id.
    calls: HashMap<String, ToolCall>,
    /// Keys of the items that each frame has created, by frame id.
    frames: VecDeque<(String, Vec<String>)>,
}

#[derive(Debug)]
struct Block {
    key: String,
    kind: BlockKind,
    /// True if the block has text.
    has_text: bool,
    complete: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thought,
    Tool,
}

impl Default for ClaudeItems {
    fn default() -> Self {
        Self {
            generation: NEXT_GENERATION.fetch_add(1, Ordering::Relaxed),
            current_message: None,
            complete_blocks: HashMap::new(),
            calls: HashMap::new(),
            frames: VecDeque::new(),
        }
    }
}

impl ClaudeItems {
    fn key(&self, of: &str) -> String {
        format!("{}:{of}", self.generation)
    }

    /// Stores a tool call until its result arrives, because the result does not contain the call's input.
    fn track_call(&mut self, id: String, mut card: ToolCall) {
        if self.calls.len() < MAX_OPEN_CALLS || self.calls.contains_key(&id) {
            bounds::fit(&mut card.input, MAX_STORED_INPUT_BYTES);
            self.calls.insert(id, card);
        }
    }

    /// Handles a streaming event. Skips messages of subagents, which are part of a tool call.
    pub fn stream(&mut self, message: StreamMessage) -> Vec<Report> {
        if message.parent_tool_use_id.is_some() {
            return Vec::new();
        }
        match message.event {
            StreamEvent::MessageStart(message) => {
                self.current_message = Some((message.id.unwrap_or_default(), HashMap::new()));
                Vec::new()
            }
            StreamEvent::BlockStart { index, block } => self.begin(index, block),
            StreamEvent::BlockDelta { index, delta } => self.grow(index, delta),
            StreamEvent::BlockStop { index } => self.stop(index),
            StreamEvent::MessageStop | StreamEvent::MessageDelta { .. } | StreamEvent::Unknown { .. } => Vec::new(),
        }
    }

    fn begin(&mut self, index: usize, block: ContentBlock) -> Vec<Report> {
        let Some((id, _)) = &self.current_message else { return Vec::new() };
        let (kind, text, key) = match &block {
            ContentBlock::Text(text) => (BlockKind::Text, text.clone(), self.key(&format!("{id}#{index}"))),
            ContentBlock::Thinking(text) => (BlockKind::Thought, text.clone(), self.key(&format!("{id}#{index}"))),
            ContentBlock::ToolUse(call) => (BlockKind::Tool, String::new(), self.key(&call.id)),
            _ => return Vec::new(),
        };
        let Some((_, blocks)) = &mut self.current_message else { return Vec::new() };
        blocks.insert(index, Block { key: key.clone(), kind, has_text: !text.is_empty(), complete: false });
        let body = match block {
            ContentBlock::ToolUse(call) => {
                let card = tools::card(&call.name, &call.input, ToolStatus::Pending);
                self.track_call(call.id, card.clone());
                ItemBody::Tool(card)
            }
            // An empty text is not shown yet. A thought is shown from its start.
            _ if kind == BlockKind::Text && text.is_empty() => return Vec::new(),
            _ => body(kind, text),
        };
        vec![Report::Item { key, body, done: false }]
    }

    fn grow(&mut self, index: usize, delta: Delta) -> Vec<Report> {
        let block = self.current_message.as_mut().and_then(|(_, blocks)| blocks.get_mut(&index));
        let Some(block) = block.filter(|block| !block.complete) else { return Vec::new() };
        match (delta, block.kind) {
            (Delta::Text(text), BlockKind::Text) | (Delta::Thinking(text), BlockKind::Thought) => {
                block.has_text |= !text.is_empty();
                vec![Report::Grew { key: block.key.clone(), text, tokens: None }]
            }
            _ => Vec::new(),
        }
    }

    /// Handles the end of a streamed block. The complete block usually arrives earlier in a separate frame; without
    /// that frame, the streamed text is final.
    fn stop(&mut self, index: usize) -> Vec<Report> {
        let block = self.current_message.as_mut().and_then(|(_, blocks)| blocks.get_mut(&index));
        let Some(block) = block.filter(|block| !block.complete && block.kind != BlockKind::Tool) else {
            return Vec::new();
        };
        if block.has_text { vec![Report::Finished(block.key.clone())] } else { Vec::new() }
    }

    /// Handles a message with complete blocks. Retracts the items of the frames that this message supersedes. Skips
    /// messages of subagents.
    pub fn assistant(&mut self, message: AssistantMessage) -> Vec<Report> {
        if message.parent_tool_use_id.is_some() {
            return Vec::new();
        }
        let mut reports: Vec<Report> = message.supersedes.iter().flat_map(|frame| self.retract(frame)).collect();
        let id = message.message.id.or_else(|| message.uuid.clone()).unwrap_or_default();
        let mut made = Vec::new();
        for block in message.message.content {
            let (kind, text) = match block {
                ContentBlock::Text(text) => (BlockKind::Text, text),
                ContentBlock::Thinking(text) => (BlockKind::Thought, text),
                ContentBlock::ToolUse(call) => {
                    self.mark_complete(&call.id);
                    let card = tools::card(&call.name, &call.input, ToolStatus::Running);
                    self.track_call(call.id.clone(), card.clone());
                    let key = self.key(&call.id);
                    made.push(key.clone());
                    reports.push(Report::Item { key, body: ItemBody::Tool(card), done: false });
                    continue;
                }
                _ => continue,
            };
            let key = self.complete_block_key(&id, kind);
            // Placeholder that the agent sends if the model has no text.
            if text.is_empty() || text == "(no content)" {
                continue;
            }
            made.push(key.clone());
            reports.push(Report::Item { key, body: body(kind, text), done: true });
        }
        if let Some(frame) = message.uuid.filter(|_| !made.is_empty()) {
            self.frames.push_back((frame, made));
            if self.frames.len() > MAX_REMEMBERED_FRAMES {
                self.frames.pop_front();
            }
        }
        reports
    }

    /// Returns the item key for a complete block: the key of the first open block of the same kind in the streamed
    /// message, or a new key.
    fn complete_block_key(&mut self, id: &str, kind: BlockKind) -> String {
        let number = self.complete_blocks.entry(id.to_owned()).or_default();
        *number += 1;
        let number = *number;
        if let Some((growing, blocks)) = &mut self.current_message
            && growing == id
        {
            let first = blocks.iter_mut().filter(|(_, block)| !block.complete && block.kind == kind);
            if let Some((_, block)) = first.min_by_key(|(index, _)| **index) {
                block.complete = true;
                return block.key.clone();
            }
        }
        self.key(&format!("{id}+{number}"))
    }

    fn mark_complete(&mut self, call: &str) {
        let call = self.key(call);
        let blocks = self.current_message.as_mut().map(|(_, blocks)| blocks.values_mut());
        blocks.into_iter().flatten().filter(|block| block.key == call).for_each(|block| block.complete = true);
    }

    /// Handles a message with tool results. `denied` contains the ids of the calls that the user denied.
    pub fn user(&mut self, message: &UserMessage, denied: &[String]) -> Vec<Report> {
        if message.parent_tool_use_id.is_some() || message.is_replay {
            return Vec::new();
        }
        let structured = message.tool_use_result.as_ref().and_then(|json| json.value());
        let results = message.content.iter().filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some(result),
            _ => None,
        });
        results.filter_map(|result| self.finish(result, structured.as_ref(), denied)).collect()
    }

    fn finish(
        &mut self,
        result: &ToolResult,
        structured: Option<&serde_json::Value>,
        denied: &[String],
    ) -> Option<Report> {
        let mut call = self.calls.remove(&result.tool_use_id)?;
        call.output = tools::outputs(&call, result, structured);
        call.status = match result.is_error {
            true if denied.contains(&result.tool_use_id) => ToolStatus::Denied,
            true => ToolStatus::Failed,
            false => ToolStatus::Completed,
        };
        Some(Report::Item { key: self.key(&result.tool_use_id), body: ItemBody::Tool(call), done: true })
    }

    /// Updates the status of a tool call after a permission request or decision.
    pub fn set_call_status(&mut self, call: &str, status: ToolStatus) -> Option<Report> {
        let key = self.key(call);
        let card = self.calls.get_mut(call)?;
        card.status = status;
        Some(Report::Item { key, body: ItemBody::Tool(card.clone()), done: false })
    }

    /// Retracts the items that a frame has created.
    pub fn retract(&mut self, frame: &str) -> Vec<Report> {
        let Some(place) = self.frames.iter().position(|(known, _)| known == frame) else { return Vec::new() };
        let (_, made) = self.frames.remove(place).unwrap_or_default();
        made.into_iter().map(Report::Retracted).collect()
    }

    /// Ends the turn and cancels tool calls in progress.
    pub fn end(&mut self) -> Vec<Report> {
        self.current_message = None;
        self.complete_blocks.clear();
        let open = std::mem::take(&mut self.calls);
        let cancelled = |(id, call): (String, ToolCall)| {
            let call = ToolCall { status: ToolStatus::Cancelled, ..call };
            Report::Item { key: self.key(&id), body: ItemBody::Tool(call), done: true }
        };
        let reports = open.into_iter().map(cancelled).collect();
        self.generation = NEXT_GENERATION.fetch_add(1, Ordering::Relaxed);
        reports
    }
}

fn body(kind: BlockKind, text: String) -> ItemBody {
    match kind {
        BlockKind::Thought => ItemBody::Thought { text, action: None, tokens: None },
        BlockKind::Text | BlockKind::Tool => ItemBody::Text { text, attachments: Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wh_wire::claude::{ClaudeMessage, Incoming, decode};

    use super::*;

    fn read(line: &Value) -> ClaudeMessage {
        match decode(line.to_string().as_bytes()) {
            Ok(Incoming::Message(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn say(items: &mut ClaudeItems, line: Value, denied: &[&str]) -> Vec<Report> {
        let denied: Vec<String> = denied.iter().map(|id| (*id).to_owned()).collect();
        match read(&line) {
            ClaudeMessage::Stream(message) => items.stream(message),
            ClaudeMessage::Assistant(message) => items.assistant(*message),
            ClaudeMessage::User(message) => items.user(&message, &denied),
            other => panic!("{other:?}"),
        }
    }

    fn event(items: &mut ClaudeItems, event: Value) -> Vec<Report> {
        say(items, json!({"type": "stream_event", "event": event}), &[])
    }

    fn key(report: &Report) -> String {
        match report {
            Report::Item { key, .. } | Report::Grew { key, .. } | Report::Finished(key) | Report::Retracted(key) => {
                key.clone()
            }
            other => panic!("{other:?}"),
        }
    }

    fn status(report: &Report) -> ToolStatus {
        match report {
            Report::Item { body: ItemBody::Tool(call), .. } => call.status,
            other => panic!("{other:?}"),
        }
    }

    fn call(items: &mut ClaudeItems, id: &str) -> Vec<Report> {
        let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
        say(
            items,
            json!({"type": "assistant", "uuid": format!("f-{id}"), "message": {"id": "m", "content": [call]}}),
            &[],
        )
    }

    fn result(items: &mut ClaudeItems, id: &str, is_error: bool, denied: &[&str]) -> Vec<Report> {
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": "x", "is_error": is_error});
        say(items, json!({"type": "user", "message": {"role": "user", "content": [result]}}), denied)
    }

    #[test]
    fn a_thought_and_a_text_grow_and_end_as_they_have_grown() {
        let mut items = ClaudeItems::default();
        assert_eq!(event(&mut items, json!({"type": "content_block_stop", "index": 0})), [], "of nothing");
        event(&mut items, json!({"type": "message_start", "message": {"id": "m", "content": []}}));
        let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
        let began = event(&mut items, json!({"type": "content_block_start", "index": 0, "content_block": thinking}));
        assert!(matches!(&began[..], [Report::Item { body: ItemBody::Thought { .. }, done: false, .. }]), "{began:?}");
        let text = json!({"type": "text", "text": ""});
        assert_eq!(event(&mut items, json!({"type": "content_block_start", "index": 1, "content_block": text})), []);
        let delta = json!({"type": "thinking_delta", "thinking": "hm"});
        let grew = event(&mut items, json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        assert_eq!(key(&grew[0]), key(&began[0]));
        assert_eq!(event(&mut items, json!({"type": "content_block_stop", "index": 1})), [], "nothing was said");
        let ended = event(&mut items, json!({"type": "content_block_stop", "index": 0}));
        assert_eq!(ended, [Report::Finished(key(&began[0]))]);
        assert_eq!(event(&mut items, json!({"type": "message_stop"})), []);
    }

    #[test]
    fn the_status_of_a_call_follows_its_result_or_the_decision() {
        let mut items = ClaudeItems::default();
        for id in ["good", "bad", "no", "open"] {
            assert_eq!(status(&call(&mut items, id)[0]), ToolStatus::Running);
        }
        assert_eq!(
            items.set_call_status("no", ToolStatus::Pending).map(|report| status(&report)),
            Some(ToolStatus::Pending)
        );
        assert_eq!(items.set_call_status("other", ToolStatus::Pending), None);
        assert_eq!(status(&result(&mut items, "good", false, &[])[0]), ToolStatus::Completed);
        assert_eq!(status(&result(&mut items, "bad", true, &[])[0]), ToolStatus::Failed);
        assert_eq!(status(&result(&mut items, "no", true, &["no"])[0]), ToolStatus::Denied);
        assert_eq!(result(&mut items, "good", false, &[]), [], "once");
        assert_eq!(items.end().iter().map(status).collect::<Vec<_>>(), [ToolStatus::Cancelled]);
    }

    #[test]
    fn the_same_id_in_another_turn_is_another_item() {
        let mut items = ClaudeItems::default();
        let first = key(&call(&mut items, "t")[0]);
        items.end();
        assert_ne!(key(&call(&mut items, "t")[0]), first);
        assert_ne!(key(&call(&mut ClaudeItems::default(), "t")[0]), first, "and from another process");
    }

    #[test]
    fn a_retracted_frame_removes_its_items_and_a_subagent_stays_within_its_call() {
        let mut items = ClaudeItems::default();
        let made = key(&call(&mut items, "t")[0]);
        let text = json!([{"type": "text", "text": "instead"}]);
        let instead = json!({"type": "assistant", "supersedes": ["f-t"], "message": {"id": "n", "content": text}});
        let reports = say(&mut items, instead, &[]);
        assert_eq!(reports[0], Report::Retracted(made));
        assert!(matches!(
            &reports[1],
            Report::Item { body: ItemBody::Text { text, .. }, done: true, .. } if text == "instead"
        ));
        assert_eq!(items.retract("f-t"), []);
        let within = json!({"type": "assistant", "parent_tool_use_id": "t", "message": {"id": "s", "content": text}});
        assert_eq!(say(&mut items, within, &[]), []);
        let nothing = json!([{"type": "text", "text": "(no content)"}]);
        assert_eq!(say(&mut items, json!({"type": "assistant", "message": {"id": "o", "content": nothing}}), &[]), []);
    }
}
