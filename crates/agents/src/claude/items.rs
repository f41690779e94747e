//! The conversation as Claude Code streams it, as items of ours.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use wh_core::space::bounds;
use wh_core::space::harness::Report;
use wh_core::space::item::{Body, ToolCall, ToolStatus};
use wh_wire::claude::{AssistantMessage, ContentBlock, Delta, StreamEvent, StreamMessage, ToolResult, UserMessage};

use super::tools;

/// Frames whose items are remembered, so that they can be taken back.
const REMEMBERED: usize = 256;

/// Calls that are followed at once. Of more than that the end is not shown.
const MOST_CALLS: usize = 1024;

/// Bytes that are remembered of what a call was given.
const INPUT_KEPT: usize = 256 * 1024;

/// How often something has begun, in all processes of Claude Code together.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// What is under way.
#[derive(Debug)]
pub(crate) struct Items {
    /// Stands before every key: ids may come again, in another turn or from another process.
    life: u64,
    /// The message that grows, and its blocks by index.
    growing: Option<(String, HashMap<usize, Block>)>,
    /// How many blocks of a message have come whole.
    whole: HashMap<String, usize>,
    /// Calls that are not over.
    calls: HashMap<String, ToolCall>,
    /// The items that a frame has made.
    frames: VecDeque<(String, Vec<String>)>,
}

#[derive(Debug)]
struct Block {
    key: String,
    kind: Kind,
    /// Whether anything was said in it.
    grown: bool,
    whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Tool,
}

impl Default for Items {
    fn default() -> Self {
        Self {
            life: BEGUN.fetch_add(1, Ordering::Relaxed),
            growing: None,
            whole: HashMap::new(),
            calls: HashMap::new(),
            frames: VecDeque::new(),
        }
    }
}

impl Items {
    fn key(&self, of: &str) -> String {
        format!("{}:{of}", self.life)
    }

    /// Remembers a call until its end: what it was given may be needed once more.
    fn follow(&mut self, id: String, mut card: ToolCall) {
        if self.calls.len() < MOST_CALLS || self.calls.contains_key(&id) {
            bounds::fit(&mut card.input, INPUT_KEPT);
            self.calls.insert(id, card);
        }
    }

    /// A message grows. What a subagent says stays within its call.
    pub fn stream(&mut self, message: StreamMessage) -> Vec<Report> {
        if message.parent_tool_use_id.is_some() {
            return Vec::new();
        }
        match message.event {
            StreamEvent::MessageStart(message) => {
                self.growing = Some((message.id.unwrap_or_default(), HashMap::new()));
                Vec::new()
            }
            StreamEvent::BlockStart { index, block } => self.begin(index, block),
            StreamEvent::BlockDelta { index, delta } => self.grow(index, delta),
            StreamEvent::BlockStop { index } => self.stop(index),
            StreamEvent::MessageStop | StreamEvent::MessageDelta { .. } | StreamEvent::Unknown { .. } => Vec::new(),
        }
    }

    fn begin(&mut self, index: usize, block: ContentBlock) -> Vec<Report> {
        let Some((id, _)) = &self.growing else { return Vec::new() };
        let (kind, text, key) = match &block {
            ContentBlock::Text(text) => (Kind::Text, text.clone(), self.key(&format!("{id}#{index}"))),
            ContentBlock::Thinking(text) => (Kind::Thought, text.clone(), self.key(&format!("{id}#{index}"))),
            ContentBlock::ToolUse(call) => (Kind::Tool, String::new(), self.key(&call.id)),
            _ => return Vec::new(),
        };
        let Some((_, blocks)) = &mut self.growing else { return Vec::new() };
        blocks.insert(index, Block { key: key.clone(), kind, grown: !text.is_empty(), whole: false });
        let body = match block {
            ContentBlock::ToolUse(call) => {
                let card = tools::card(&call.name, &call.input, ToolStatus::Pending);
                self.follow(call.id, card.clone());
                Body::Tool(card)
            }
            // An empty text is none yet; a thought is shown from its beginning.
            _ if kind == Kind::Text && text.is_empty() => return Vec::new(),
            _ => body(kind, text),
        };
        vec![Report::Item { key, body, done: false }]
    }

    fn grow(&mut self, index: usize, delta: Delta) -> Vec<Report> {
        let block = self.growing.as_mut().and_then(|(_, blocks)| blocks.get_mut(&index));
        let Some(block) = block.filter(|block| !block.whole) else { return Vec::new() };
        match (delta, block.kind) {
            (Delta::Text(text), Kind::Text) | (Delta::Thinking(text), Kind::Thought) => {
                block.grown |= !text.is_empty();
                vec![Report::Grew { key: block.key.clone(), text, tokens: None }]
            }
            _ => Vec::new(),
        }
    }

    /// The whole block comes in a frame of its own, mostly before this. If it has not, what has grown is all.
    fn stop(&mut self, index: usize) -> Vec<Report> {
        let block = self.growing.as_mut().and_then(|(_, blocks)| blocks.get_mut(&index));
        let Some(block) = block.filter(|block| !block.whole && block.kind != Kind::Tool) else { return Vec::new() };
        if block.grown { vec![Report::Finished(block.key.clone())] } else { Vec::new() }
    }

    /// A block, or some, as they are in the end.
    pub fn assistant(&mut self, message: AssistantMessage) -> Vec<Report> {
        if message.parent_tool_use_id.is_some() {
            return Vec::new();
        }
        let mut reports: Vec<Report> = message.supersedes.iter().flat_map(|frame| self.retract(frame)).collect();
        let id = message.message.id.or_else(|| message.uuid.clone()).unwrap_or_default();
        let mut made = Vec::new();
        for block in message.message.content {
            let (kind, text) = match block {
                ContentBlock::Text(text) => (Kind::Text, text),
                ContentBlock::Thinking(text) => (Kind::Thought, text),
                ContentBlock::ToolUse(call) => {
                    self.note(&call.id);
                    let card = tools::card(&call.name, &call.input, ToolStatus::Running);
                    self.follow(call.id.clone(), card.clone());
                    let key = self.key(&call.id);
                    made.push(key.clone());
                    reports.push(Report::Item { key, body: Body::Tool(card), done: false });
                    continue;
                }
                _ => continue,
            };
            let key = self.settle(&id, kind);
            // What the agent says in the model's place when there is nothing to say.
            if text.is_empty() || text == "(no content)" {
                continue;
            }
            made.push(key.clone());
            reports.push(Report::Item { key, body: body(kind, text), done: true });
        }
        if let Some(frame) = message.uuid.filter(|_| !made.is_empty()) {
            self.frames.push_back((frame, made));
            if self.frames.len() > REMEMBERED {
                self.frames.pop_front();
            }
        }
        reports
    }

    /// The key of the block that has come whole: of the first that grows and is of its kind, or a new one.
    fn settle(&mut self, id: &str, kind: Kind) -> String {
        let number = self.whole.entry(id.to_owned()).or_default();
        *number += 1;
        let number = *number;
        if let Some((growing, blocks)) = &mut self.growing
            && growing == id
        {
            let first = blocks.iter_mut().filter(|(_, block)| !block.whole && block.kind == kind);
            if let Some((_, block)) = first.min_by_key(|(index, _)| **index) {
                block.whole = true;
                return block.key.clone();
            }
        }
        self.key(&format!("{id}+{number}"))
    }

    fn note(&mut self, call: &str) {
        let call = self.key(call);
        let blocks = self.growing.as_mut().map(|(_, blocks)| blocks.values_mut());
        blocks.into_iter().flatten().filter(|block| block.key == call).for_each(|block| block.whole = true);
    }

    /// What tools answered. `denied` are the calls that somebody here said no to.
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
        Some(Report::Item { key: self.key(&result.tool_use_id), body: Body::Tool(call), done: true })
    }

    /// A call waits for a permission, or runs after one.
    pub fn waits(&mut self, call: &str, status: ToolStatus) -> Option<Report> {
        let key = self.key(call);
        let card = self.calls.get_mut(call)?;
        card.status = status;
        Some(Report::Item { key, body: Body::Tool(card.clone()), done: false })
    }

    /// Takes back what a frame has made.
    pub fn retract(&mut self, frame: &str) -> Vec<Report> {
        let Some(place) = self.frames.iter().position(|(known, _)| known == frame) else { return Vec::new() };
        let (_, made) = self.frames.remove(place).unwrap_or_default();
        made.into_iter().map(Report::Retracted).collect()
    }

    /// The turn is over: what was under way is not any more.
    pub fn end(&mut self) -> Vec<Report> {
        self.growing = None;
        self.whole.clear();
        let open = std::mem::take(&mut self.calls);
        let cancelled = |(id, call): (String, ToolCall)| {
            let call = ToolCall { status: ToolStatus::Cancelled, ..call };
            Report::Item { key: self.key(&id), body: Body::Tool(call), done: true }
        };
        let reports = open.into_iter().map(cancelled).collect();
        self.life = BEGUN.fetch_add(1, Ordering::Relaxed);
        reports
    }
}

fn body(kind: Kind, text: String) -> Body {
    match kind {
        Kind::Thought => Body::Thought { text, action: None, tokens: None },
        Kind::Text | Kind::Tool => Body::Text { text, attachments: Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wh_wire::claude::{Incoming, Message, decode};

    use super::*;

    fn read(line: &Value) -> Message {
        match decode(line.to_string().as_bytes()) {
            Ok(Incoming::Message(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn say(items: &mut Items, line: Value, denied: &[&str]) -> Vec<Report> {
        let denied: Vec<String> = denied.iter().map(|id| (*id).to_owned()).collect();
        match read(&line) {
            Message::Stream(message) => items.stream(message),
            Message::Assistant(message) => items.assistant(*message),
            Message::User(message) => items.user(&message, &denied),
            other => panic!("{other:?}"),
        }
    }

    fn event(items: &mut Items, event: Value) -> Vec<Report> {
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
            Report::Item { body: Body::Tool(call), .. } => call.status,
            other => panic!("{other:?}"),
        }
    }

    fn call(items: &mut Items, id: &str) -> Vec<Report> {
        let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
        say(
            items,
            json!({"type": "assistant", "uuid": format!("f-{id}"), "message": {"id": "m", "content": [call]}}),
            &[],
        )
    }

    fn result(items: &mut Items, id: &str, is_error: bool, denied: &[&str]) -> Vec<Report> {
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": "x", "is_error": is_error});
        say(items, json!({"type": "user", "message": {"role": "user", "content": [result]}}), denied)
    }

    #[test]
    fn a_thought_and_a_text_grow_and_end_as_they_have_grown() {
        let mut items = Items::default();
        assert_eq!(event(&mut items, json!({"type": "content_block_stop", "index": 0})), [], "of nothing");
        event(&mut items, json!({"type": "message_start", "message": {"id": "m", "content": []}}));
        let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
        let began = event(&mut items, json!({"type": "content_block_start", "index": 0, "content_block": thinking}));
        assert!(matches!(&began[..], [Report::Item { body: Body::Thought { .. }, done: false, .. }]), "{began:?}");
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
    fn a_call_fares_as_its_result_says_or_as_somebody_has_decided() {
        let mut items = Items::default();
        for id in ["good", "bad", "no", "open"] {
            assert_eq!(status(&call(&mut items, id)[0]), ToolStatus::Running);
        }
        assert_eq!(items.waits("no", ToolStatus::Pending).map(|report| status(&report)), Some(ToolStatus::Pending));
        assert_eq!(items.waits("other", ToolStatus::Pending), None);
        assert_eq!(status(&result(&mut items, "good", false, &[])[0]), ToolStatus::Completed);
        assert_eq!(status(&result(&mut items, "bad", true, &[])[0]), ToolStatus::Failed);
        assert_eq!(status(&result(&mut items, "no", true, &["no"])[0]), ToolStatus::Denied);
        assert_eq!(result(&mut items, "good", false, &[]), [], "once");
        assert_eq!(items.end().iter().map(status).collect::<Vec<_>>(), [ToolStatus::Cancelled]);
    }

    #[test]
    fn the_same_id_in_another_turn_is_another_item() {
        let mut items = Items::default();
        let first = key(&call(&mut items, "t")[0]);
        items.end();
        assert_ne!(key(&call(&mut items, "t")[0]), first);
        assert_ne!(key(&call(&mut Items::default(), "t")[0]), first, "and from another process");
    }

    #[test]
    fn a_frame_is_taken_back_with_what_it_made_and_a_subagent_stays_within_its_call() {
        let mut items = Items::default();
        let made = key(&call(&mut items, "t")[0]);
        let text = json!([{"type": "text", "text": "instead"}]);
        let instead = json!({"type": "assistant", "supersedes": ["f-t"], "message": {"id": "n", "content": text}});
        let reports = say(&mut items, instead, &[]);
        assert_eq!(reports[0], Report::Retracted(made));
        assert!(
            matches!(&reports[1], Report::Item { body: Body::Text { text, .. }, done: true, .. } if text == "instead")
        );
        assert_eq!(items.retract("f-t"), []);
        let within = json!({"type": "assistant", "parent_tool_use_id": "t", "message": {"id": "s", "content": text}});
        assert_eq!(say(&mut items, within, &[]), []);
        let nothing = json!([{"type": "text", "text": "(no content)"}]);
        assert_eq!(say(&mut items, json!({"type": "assistant", "message": {"id": "o", "content": nothing}}), &[]), []);
    }
}
