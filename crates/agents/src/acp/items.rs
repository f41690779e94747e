//! The conversation as it is streamed, as items of ours. The agent's ids may come again, in the next turn or after a new
//! start; our keys do not.

use std::collections::HashMap;

use wh_core::space::harness::Report;
use wh_core::space::item::{Body, Level, ToolStatus};
use wh_wire::acp;

use super::tools::Told;

/// Calls of one turn that are followed. Of more than that nothing is shown.
const MOST_CALLS: usize = 4096;

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// Stands before every key.
    prefix: &'static str,
    /// Calls are reported without their arguments.
    derives_arguments: bool,
    keys: u64,
    growing: Option<Growing>,
    /// The calls of this turn by the agent's id.
    calls: HashMap<String, Call>,
    /// The plan of this turn.
    plan: Option<String>,
}

#[derive(Debug)]
struct Growing {
    key: String,
    voice: Voice,
    message: Option<String>,
}

#[derive(Debug)]
struct Call {
    key: String,
    told: Told,
    status: ToolStatus,
}

/// Whether something is said or thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Said,
    Thought,
}

impl Items {
    /// Items of an earlier conversation, with keys of their own.
    pub fn recalled() -> Self {
        Self { prefix: "recalled-", ..Self::default() }
    }

    /// Items of an agent that may report calls without their arguments.
    pub fn new(derives_arguments: bool) -> Self {
        Self { derives_arguments, ..Self::default() }
    }

    fn key(&mut self, what: &str) -> String {
        self.keys += 1;
        format!("{}{what}-{}", self.prefix, self.keys)
    }

    /// A turn begins: what was of the last one is not spoken of any more.
    pub fn begin(&mut self) {
        self.calls.clear();
        self.plan = None;
    }

    /// More is said or thought: of the same message, or of a new one.
    pub fn chunk(&mut self, voice: Voice, chunk: acp::Chunk) -> Vec<Report> {
        let text = chunk.content.words();
        if text.is_empty() {
            return Vec::new();
        }
        let same = |growing: &&mut Growing| growing.voice == voice && growing.message == chunk.message_id;
        if let Some(growing) = self.growing.as_mut().filter(same) {
            return vec![Report::Grew { key: growing.key.clone(), text, tokens: None }];
        }
        let mut reports = self.settle();
        let key = self.key(if voice == Voice::Said { "text" } else { "thought" });
        reports.push(Report::Item { key: key.clone(), body: body(voice, text), done: false });
        self.growing = Some(Growing { key, voice, message: chunk.message_id });
        reports
    }

    /// What grew is whole.
    fn settle(&mut self) -> Vec<Report> {
        self.growing.take().map(|it| Report::Finished(it.key)).into_iter().collect()
    }

    /// A call begins or has changed, wherever that is told first.
    pub fn call(&mut self, change: acp::ToolCall) -> Vec<Report> {
        let id = change.tool_call_id.clone();
        if id.is_empty() {
            return Vec::new();
        }
        let mut reports = Vec::new();
        if !self.calls.contains_key(&id) {
            if self.calls.len() == MOST_CALLS {
                return Vec::new();
            }
            reports = self.settle();
            let key = self.key("call");
            let told = Told::new(self.derives_arguments);
            self.calls.insert(id.clone(), Call { key, told, status: ToolStatus::Pending });
        }
        let Some(call) = self.calls.get_mut(&id) else { return reports };
        let told = change.status.is_some();
        call.told.merge(change);
        // What somebody here said no to, or ended, stays so.
        if told && !matches!(call.status, ToolStatus::Denied | ToolStatus::Cancelled) {
            let status = call.told.status();
            // An agent may go on calling a call pending that was allowed.
            call.status = if status == ToolStatus::Pending { call.status } else { status };
        }
        reports.push(call.report());
        call.settle();
        reports
    }

    /// What is known of a call.
    pub fn told(&self, id: &str) -> Option<&Told> {
        self.calls.get(id).map(|call| &call.told)
    }

    /// Somebody has decided about a call.
    pub fn decided(&mut self, id: &str, status: ToolStatus) -> Option<Report> {
        let call = self.calls.get_mut(id).filter(|call| !call.status.is_over())?;
        call.status = status;
        Some(call.report())
    }

    /// What the agent means to do, in place of what it meant before.
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
        let body = Body::Notice { level: Level::Info, topic: "plan".to_owned(), lines: lines.collect() };
        let mut reports = self.settle();
        reports.push(Report::Item { key, body, done: true });
        reports
    }

    /// The turn is over: what was under way is not any more.
    pub fn end(&mut self) -> Vec<Report> {
        let mut reports = self.settle();
        let mut open: Vec<&mut Call> = self.calls.values_mut().filter(|call| !call.status.is_over()).collect();
        open.sort_by(|one, other| one.key.cmp(&other.key));
        for call in open {
            call.status = ToolStatus::Cancelled;
            reports.push(call.report());
        }
        reports
    }
}

impl Call {
    /// It was reported: of what is long only that is remembered which is shown again, and of what is over nothing.
    fn settle(&mut self) {
        if self.status.is_over() {
            self.told.clear();
        } else {
            self.told.settle();
        }
    }

    fn report(&self) -> Report {
        let body = Body::Tool(self.told.card(self.status));
        Report::Item { key: self.key.clone(), body, done: self.status.is_over() }
    }
}

fn body(voice: Voice, text: String) -> Body {
    match voice {
        Voice::Said => Body::Text { text, attachments: Vec::new() },
        Voice::Thought => Body::Thought { text, action: None, tokens: None },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(items: &mut Items, text: &str, message: Option<&str>) -> Vec<Report> {
        let chunk =
            acp::Chunk { content: acp::ContentBlock::Text(text.to_owned()), message_id: message.map(str::to_owned) };
        items.chunk(Voice::Said, chunk)
    }

    fn call(items: &mut Items, change: Value) -> Vec<Report> {
        items.call(acp::read(change))
    }

    fn status(report: &Report) -> (ToolStatus, bool) {
        match report {
            Report::Item { body: Body::Tool(call), done, .. } => (call.status, *done),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_grows_until_something_else_comes() {
        let mut items = Items::default();
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
        let mut items = Items::default();
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
        let mut items = Items::default();
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
        let mut items = Items::default();
        let entry = |status: &str| acp::PlanEntry { content: "dig".to_owned(), status: status.to_owned() };
        let first = items.plan(&[entry("pending")]);
        let second = items.plan(&[entry("completed")]);
        let (Report::Item { key: one, .. }, Report::Item { key: two, body: Body::Notice { lines, .. }, .. }) =
            (&first[0], &second[0])
        else {
            panic!("{first:?} {second:?}");
        };
        assert_eq!((one, &lines[..]), (two, &["[x] dig".to_owned()][..]));
    }
}
