//! Translates ACP session updates into conversation items. An agent may use the same ids again in the next turn or
//! after a restart. The keys of the items are therefore independent of these ids and never reused.

use std::collections::HashMap;

use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, NoticeLevel, ToolStatus};
use wh_wire::acp;

use super::tools::PartialToolCall;

/// Maximum number of tool calls tracked per turn. Further calls are not displayed.
const MAX_CALLS_PER_TURN: usize = 4096;

/// Translator state: message, tool calls and plan in progress.
#[derive(Debug, Default)]
pub(crate) struct AcpItems {
    /// Prefix of every item key.
    prefix: &'static str,
    /// True to derive the arguments of tool calls, because the agent does not report them.
    derives_arguments: bool,
    keys: u64,
    open_message: Option<OpenMessage>,
    /// Tool calls of the current turn, by the ids that the agent assigned.
    calls: HashMap<String, TrackedCall>,
    /// Item key of the current turn's plan.
    plan: Option<String>,
}

#[derive(Debug)]
struct OpenMessage {
    key: String,
    kind: MessageKind,
    message: Option<String>,
}

#[derive(Debug)]
struct TrackedCall {
    key: String,
    reported: PartialToolCall,
    status: ToolStatus,
}

/// Kind of a streamed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Message,
    Thought,
}

impl AcpItems {
    /// Creates a translator for a replayed conversation, with a separate key prefix.
    pub fn replayed() -> Self {
        Self { prefix: "recalled-", ..Self::default() }
    }

    /// Creates a translator. `derives_arguments` is true if the agent reports calls without their arguments.
    pub fn new(derives_arguments: bool) -> Self {
        Self { derives_arguments, ..Self::default() }
    }

    fn key(&mut self, what: &str) -> String {
        self.keys += 1;
        format!("{}{what}-{}", self.prefix, self.keys)
    }

    /// Starts a turn: forgets the calls and the plan of the previous turn.
    pub fn begin(&mut self) {
        self.calls.clear();
        self.plan = None;
    }

    /// Appends text to the message in progress, or starts a new message if the kind or the message id changed.
    pub fn chunk(&mut self, kind: MessageKind, chunk: acp::MessageChunk) -> Vec<Report> {
        let text = chunk.content.display_text();
        if text.is_empty() {
            return Vec::new();
        }
        let same = |open: &&mut OpenMessage| open.kind == kind && open.message == chunk.message_id;
        if let Some(open) = self.open_message.as_mut().filter(same) {
            return vec![Report::Grew { key: open.key.clone(), text, tokens: None }];
        }
        let mut reports = self.finish_message();
        let key = self.key(if kind == MessageKind::Message { "text" } else { "thought" });
        reports.push(Report::Item { key: key.clone(), body: body(kind, text), done: false });
        self.open_message = Some(OpenMessage { key, kind, message: chunk.message_id });
        reports
    }

    /// Finishes the message in progress.
    fn finish_message(&mut self) -> Vec<Report> {
        self.open_message.take().map(|it| Report::Finished(it.key)).into_iter().collect()
    }

    /// Handles a new or changed tool call. An update may be the first report of a call.
    pub fn call(&mut self, change: acp::ToolCall) -> Vec<Report> {
        let id = change.tool_call_id.clone();
        if id.is_empty() {
            return Vec::new();
        }
        let mut reports = Vec::new();
        if !self.calls.contains_key(&id) {
            if self.calls.len() == MAX_CALLS_PER_TURN {
                return Vec::new();
            }
            reports = self.finish_message();
            let key = self.key("call");
            let reported = PartialToolCall::new(self.derives_arguments);
            self.calls.insert(id.clone(), TrackedCall { key, reported, status: ToolStatus::Pending });
        }
        let Some(call) = self.calls.get_mut(&id) else { return reports };
        let has_status = change.status.is_some();
        call.reported.merge(change);
        // A denial or cancellation by the user overrides later reports of the agent.
        if has_status && !matches!(call.status, ToolStatus::Denied | ToolStatus::Cancelled) {
            let status = call.reported.status();
            // An agent may keep reporting an allowed call as pending.
            call.status = if status == ToolStatus::Pending { call.status } else { status };
        }
        reports.push(call.report());
        call.release_memory();
        reports
    }

    /// Returns the state of a call, merged from all reports so far.
    pub fn reported_call(&self, id: &str) -> Option<&PartialToolCall> {
        self.calls.get(id).map(|call| &call.reported)
    }

    /// Updates the status of a call after the user's decision on its permission.
    pub fn decided(&mut self, id: &str, status: ToolStatus) -> Option<Report> {
        let call = self.calls.get_mut(id).filter(|call| !call.status.is_over())?;
        call.status = status;
        Some(call.report())
    }

    /// Replaces the plan of the turn.
    pub fn plan(&mut self, entries: &[acp::PlanEntry]) -> Vec<Report> {
        let key = match self.plan.clone() {
            Some(key) => key,
            None => self.key("plan"),
        };
        self.plan = Some(key.clone());
        let lines = entries.iter().map(|entry| {
            let mark = match entry.status.as_str() {
                "completed" => "[x]",
                "in_progress" => "[>]",
                _ => "[ ]",
            };
            format!("{mark} {}", entry.content)
        });
        let body = ItemBody::Notice { level: NoticeLevel::Info, topic: "plan".to_owned(), lines: lines.collect() };
        let mut reports = self.finish_message();
        reports.push(Report::Item { key, body, done: true });
        reports
    }

    /// Ends the turn: finishes the message in progress and cancels tool calls in progress.
    pub fn end(&mut self) -> Vec<Report> {
        let mut reports = self.finish_message();
        let mut open: Vec<&mut TrackedCall> = self.calls.values_mut().filter(|call| !call.status.is_over()).collect();
        open.sort_by(|one, other| one.key.cmp(&other.key));
        for call in open {
            call.status = ToolStatus::Cancelled;
            reports.push(call.report());
        }
        reports
    }
}

impl TrackedCall {
    /// Frees memory after a call was reported: truncates long fields to their displayed length and clears finished
    /// calls.
    fn release_memory(&mut self) {
        if self.status.is_over() {
            self.reported.clear();
        } else {
            self.reported.truncate_long_fields();
        }
    }

    fn report(&self) -> Report {
        let body = ItemBody::Tool(self.reported.card(self.status));
        Report::Item { key: self.key.clone(), body, done: self.status.is_over() }
    }
}

fn body(kind: MessageKind, text: String) -> ItemBody {
    match kind {
        MessageKind::Message => ItemBody::Text { text, attachments: Vec::new() },
        MessageKind::Thought => ItemBody::Thought { text, action: None, tokens: None },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(items: &mut AcpItems, text: &str, message: Option<&str>) -> Vec<Report> {
        let chunk = acp::MessageChunk {
            content: acp::ContentBlock::Text(text.to_owned()),
            message_id: message.map(str::to_owned),
        };
        items.chunk(MessageKind::Message, chunk)
    }

    fn call(items: &mut AcpItems, change: Value) -> Vec<Report> {
        items.call(acp::read(change))
    }

    fn status(report: &Report) -> (ToolStatus, bool) {
        match report {
            Report::Item { body: ItemBody::Tool(call), done, .. } => (call.status, *done),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_grows_until_something_else_comes() {
        let mut items = AcpItems::default();
        assert!(matches!(&said(&mut items, "a", None)[..], [Report::Item { done: false, .. }]));
        assert!(matches!(&said(&mut items, "b", None)[..], [Report::Grew { text, .. }] if text == "b"));
        let reports = said(&mut items, "c", Some("m"));
        let [Report::Finished(first), Report::Item { key: second, .. }] = &reports[..] else {
            panic!("{reports:?}");
        };
        assert_ne!(first, second);
        assert_eq!(call(&mut items, json!({"toolCallId": "t"})).len(), 2, "a call ends it, too");
        assert_eq!(call(&mut items, json!({"toolCallId": "t", "title": "x"})).len(), 1);
        assert!(said(&mut items, "", None).is_empty());
    }

    #[test]
    fn the_agents_ids_may_come_again() {
        let mut items = AcpItems::default();
        let first = call(&mut items, json!({"toolCallId": "t", "status": "completed"}));
        items.end();
        items.begin();
        let second = call(&mut items, json!({"toolCallId": "t", "status": "pending"}));
        let key = |reports: &[Report]| match &reports[0] {
            Report::Item { key, .. } => key.clone(),
            other => panic!("{other:?}"),
        };
        assert_ne!(key(&first), key(&second));
    }

    #[test]
    fn what_was_denied_stays_denied_and_what_is_open_at_the_end_is_cancelled() {
        let mut items = AcpItems::default();
        call(&mut items, json!({"toolCallId": "t", "status": "pending"}));
        assert_eq!(items.decided("t", ToolStatus::Denied).map(|it| status(&it)), Some((ToolStatus::Denied, true)));
        let late = call(&mut items, json!({"toolCallId": "t", "status": "failed"}));
        assert_eq!(status(&late[0]), (ToolStatus::Denied, true));
        call(&mut items, json!({"toolCallId": "u", "status": "in_progress"}));
        let end = items.end();
        assert_eq!(end.iter().map(status).collect::<Vec<_>>(), [(ToolStatus::Cancelled, true)]);
        assert!(items.decided("nothing", ToolStatus::Running).is_none());
    }

    #[test]
    fn a_plan_takes_the_place_of_the_one_before() {
        let mut items = AcpItems::default();
        let entry = |status: &str| acp::PlanEntry { content: "dig".to_owned(), status: status.to_owned() };
        let first = items.plan(&[entry("pending")]);
        let second = items.plan(&[entry("completed")]);
        let (Report::Item { key: one, .. }, Report::Item { key: two, body: ItemBody::Notice { lines, .. }, .. }) =
            (&first[0], &second[0])
        else {
            panic!("{first:?} {second:?}");
        };
        assert_eq!((one, &lines[..]), (two, &["[x] dig".to_owned()][..]));
    }
}
