//! Translates Codex's notifications into conversation items.

use std::collections::HashMap;

use wh_core::space::bounds;
use wh_core::space::harness::Report;
use wh_core::space::item::{ItemBody, NoticeLevel, ToolCall, ToolStatus};
use wh_wire::codex::{CodexFileChange, PlanStep, ThreadItem, ThreadItemKind, ThreadItemStatus};

use super::tools;

/// Maximum number of items tracked at once. Only the end of further items is displayed.
const MAX_OPEN_ITEMS: usize = 1024;

/// Items in progress. Codex may use an item id again in another turn. The item keys are therefore independent of these
/// ids and unique within the session.
#[derive(Debug, Default)]
pub(crate) struct CodexItems {
    last_key: u64,
    /// Items in progress by turn id and item id.
    open: HashMap<(String, String), OpenItem>,
    plan: Option<(String, ToolCall)>,
}

#[derive(Debug)]
struct OpenItem {
    key: String,
    what: ItemContent,
}

#[derive(Debug)]
enum ItemContent {
    /// Text or thought. `has_text` is true once text or a summary was received. `only_full` is true if the full text of
    /// a thought was received, but no summary.
    Text { thought: bool, has_text: bool, only_full: bool },
    /// Tool call card with its file changes.
    Card { card: ToolCall, changes: Vec<CodexFileChange> },
}

fn words(thought: bool, text: String) -> ItemBody {
    if thought {
        ItemBody::Thought { text, action: None, tokens: None }
    } else {
        ItemBody::Text { text, attachments: Vec::new() }
    }
}

impl CodexItems {
    fn key(&mut self) -> String {
        self.last_key += 1;
        format!("i{}", self.last_key)
    }

    /// Handles the start or completion of an item.
    pub fn item(&mut self, turn: String, item: ThreadItem, done: bool) -> Vec<Report> {
        let id = (turn, item.id);
        match item.kind {
            ThreadItemKind::Message { text } | ThreadItemKind::Plan { text } | ThreadItemKind::Review { text } => {
                self.words(id, false, text, done)
            }
            ThreadItemKind::Reasoning { summary, content } => {
                let parts = if summary.is_empty() { content } else { summary };
                self.words(id, true, parts.join("\n\n"), done)
            }
            ThreadItemKind::Command(command) => {
                let mut reports = self.card(id, tools::command(&command, done), Vec::new(), done);
                let omitted = command.output.as_deref().filter(|_| done).and_then(tools::omitted);
                reports.extend(omitted.map(|bytes| {
                    let text = format!("Codex omitted {bytes} bytes of a command's output; they cannot be shown");
                    Report::Notice(NoticeLevel::Warning, text)
                }));
                reports
            }
            ThreadItemKind::FileChange { changes, status } => {
                let card = tools::changes(&changes, status, done);
                self.card(id, card, changes, done)
            }
            ThreadItemKind::Tool(call) => self.card(id, tools::call(&call, done), Vec::new(), done),
            ThreadItemKind::Compaction if done => {
                vec![Report::Notice(NoticeLevel::Info, "the conversation was compacted".to_owned())]
            }
            ThreadItemKind::User | ThreadItemKind::Compaction => Vec::new(),
            ThreadItemKind::Unknown(raw) => {
                tracing::debug!(kind = ?raw["type"], "an unknown item");
                Vec::new()
            }
        }
    }

    fn words(&mut self, id: (String, String), thought: bool, text: String, done: bool) -> Vec<Report> {
        if !done {
            let key = self.key();
            let what = ItemContent::Text { thought, has_text: !text.is_empty(), only_full: false };
            self.track_item(id, OpenItem { key: key.clone(), what });
            // An empty text is not shown yet. A thought is shown from its start.
            if text.is_empty() && !thought {
                return Vec::new();
            }
            return vec![Report::Item { key, body: words(thought, text), done: false }];
        }
        let open = self.open.remove(&id);
        let shown = open.is_some();
        let key = match open {
            // Codex may have streamed the whole thought, so that the complete item contains no text.
            Some(OpenItem { key, what: ItemContent::Text { has_text, only_full, .. } })
                if text.is_empty() && (has_text || only_full) =>
            {
                return vec![Report::Finished(key)];
            }
            Some(entry) => entry.key,
            None => self.key(),
        };
        match (text.is_empty(), shown && thought) {
            (true, true) => vec![Report::Retracted(key)],
            (true, false) => Vec::new(),
            (false, _) => vec![Report::Item { key, body: words(thought, text), done: true }],
        }
    }

    fn card(&mut self, id: (String, String), card: ToolCall, changes: Vec<CodexFileChange>, done: bool) -> Vec<Report> {
        let key = match self.open.remove(&id) {
            Some(entry) => entry.key,
            None => self.key(),
        };
        if !done {
            let mut stored = card.clone();
            bounds::fit(&mut stored.input, bounds::MAX_SHOWN_RESULT_BYTES);
            bounds::shorten(&mut stored.output);
            self.track_item(id, OpenItem { key: key.clone(), what: ItemContent::Card { card: stored, changes } });
        }
        vec![Report::Item { key, body: ItemBody::Tool(card), done }]
    }

    /// Returns true if an item is in progress.
    pub fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn track_item(&mut self, id: (String, String), entry: OpenItem) {
        if self.open.len() < MAX_OPEN_ITEMS {
            self.open.insert(id, entry);
        }
    }

    /// Appends streamed text to an item in progress.
    pub fn grow(&mut self, turn: String, item: String, more: String) -> Vec<Report> {
        let Some(entry) = self.open.get_mut(&(turn, item)) else { return Vec::new() };
        if let ItemContent::Text { has_text, .. } = &mut entry.what {
            *has_text |= !more.is_empty();
        }
        vec![Report::Grew { key: entry.key.clone(), text: more, tokens: None }]
    }

    /// Appends `more` to a thought: to its full text if `in_full` is true, otherwise to its summary. `None` as `more`
    /// starts a new paragraph of the summary. The first part of a summary replaces the full text.
    pub fn think(&mut self, turn: String, item: String, more: Option<String>, in_full: bool) -> Vec<Report> {
        let Some(entry) = self.open.get_mut(&(turn, item)) else { return Vec::new() };
        let ItemContent::Text { thought, has_text, only_full } = &mut entry.what else { return Vec::new() };
        if in_full {
            let more = more.filter(|more| !*has_text && !more.is_empty());
            *only_full |= more.is_some();
            let grew = |text| Report::Grew { key: entry.key.clone(), text, tokens: None };
            return more.map(grew).into_iter().collect();
        }
        let more = match more {
            Some(more) => more,
            None if !*has_text => return Vec::new(),
            None => "\n\n".to_owned(),
        };
        let first = !std::mem::replace(has_text, true);
        if first && std::mem::take(only_full) {
            return vec![Report::Item { key: entry.key.clone(), body: words(*thought, more), done: false }];
        }
        vec![Report::Grew { key: entry.key.clone(), text: more, tokens: None }]
    }

    /// Replaces the file changes of an item in progress.
    pub fn patch(&mut self, turn: String, item: String, changed: Vec<CodexFileChange>) -> Vec<Report> {
        let Some(entry) = self.open.get_mut(&(turn, item)) else { return Vec::new() };
        let ItemContent::Card { card, changes } = &mut entry.what else { return Vec::new() };
        *card = ToolCall { status: card.status, ..tools::changes(&changed, ThreadItemStatus::InProgress, false) };
        *changes = changed;
        vec![Report::Item { key: entry.key.clone(), body: ItemBody::Tool(card.clone()), done: false }]
    }

    /// Updates the plan of the turn.
    pub fn plan(&mut self, explanation: Option<&str>, steps: &[PlanStep]) -> Vec<Report> {
        let key = match &self.plan {
            Some((key, _)) => key.clone(),
            None => self.key(),
        };
        let card = tools::plan(explanation, steps);
        self.plan = Some((key.clone(), card.clone()));
        vec![Report::Item { key, body: ItemBody::Tool(card), done: false }]
    }

    /// Updates the status of a tool call after a permission request or decision.
    pub fn set_call_status(&mut self, item: &str, status: ToolStatus) -> Option<Report> {
        let (_, entry) = self.open.iter_mut().find(|((_, id), _)| id == item)?;
        let ItemContent::Card { card, .. } = &mut entry.what else { return None };
        card.status = status;
        Some(Report::Item { key: entry.key.clone(), body: ItemBody::Tool(card.clone()), done: false })
    }

    /// Returns the file changes of an item.
    pub fn changes(&self, item: &str) -> &[CodexFileChange] {
        let entry = self.open.iter().find(|((_, id), _)| id == item);
        match entry.map(|(_, entry)| &entry.what) {
            Some(ItemContent::Card { changes, .. }) => changes,
            _ => &[],
        }
    }

    /// Ends the turn: cancels tool calls in progress, completes the plan, and retracts thoughts without text. Other
    /// texts stay as they are.
    pub fn end(&mut self) -> Vec<Report> {
        let open = self.open.drain().filter_map(|(_, entry)| match entry.what {
            ItemContent::Card { card, .. } => {
                let body = ItemBody::Tool(ToolCall { status: ToolStatus::Cancelled, ..card });
                Some(Report::Item { key: entry.key, body, done: true })
            }
            ItemContent::Text { thought: true, has_text: false, only_full: false } => {
                Some(Report::Retracted(entry.key))
            }
            ItemContent::Text { .. } => None,
        });
        let plan = self.plan.take().map(|(key, card)| {
            let body = ItemBody::Tool(ToolCall { status: ToolStatus::Completed, ..card });
            Report::Item { key, body, done: true }
        });
        open.chain(plan).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, text: &str) -> ThreadItem {
        ThreadItem { id: id.to_owned(), kind: ThreadItemKind::Message { text: text.to_owned() } }
    }

    fn thought(id: &str, summary: &[&str]) -> ThreadItem {
        let summary = summary.iter().map(|part| (*part).to_owned()).collect();
        ThreadItem { id: id.to_owned(), kind: ThreadItemKind::Reasoning { summary, content: Vec::new() } }
    }

    fn turn() -> String {
        "t".to_owned()
    }

    #[test]
    fn a_message_grows_and_the_same_id_again_is_another() {
        let mut items = CodexItems::default();
        assert_eq!(items.item(turn(), message("m1", ""), false), []);
        let grew = items.grow(turn(), "m1".to_owned(), "Hello".to_owned());
        assert_eq!(grew, [Report::Grew { key: "i1".to_owned(), text: "Hello".to_owned(), tokens: None }]);
        let done = items.item(turn(), message("m1", "Hello world"), true);
        let body = |text: &str| ItemBody::Text { text: text.to_owned(), attachments: Vec::new() };
        assert_eq!(done, [Report::Item { key: "i1".to_owned(), body: body("Hello world"), done: true }]);
        assert_eq!(items.grow(turn(), "m1".to_owned(), "late".to_owned()), []);
        let again = items.item(turn(), message("m1", "more"), true);
        assert_eq!(again, [Report::Item { key: "i2".to_owned(), body: body("more"), done: true }]);
    }

    #[test]
    fn a_thought_is_shown_at_once_and_taken_back_if_nothing_was_thought() {
        let mut items = CodexItems::default();
        assert_eq!(items.item(turn(), thought("r", &[]), false).len(), 1);
        assert_eq!(items.item(turn(), thought("r", &[]), true), [Report::Retracted("i1".to_owned())]);
        items.item(turn(), thought("r", &[]), false);
        items.think(turn(), "r".to_owned(), Some("deep".to_owned()), true);
        let done = items.item(turn(), thought("r", &[]), true);
        assert_eq!(done, [Report::Finished("i2".to_owned())], "as it has grown");
        items.item(turn(), thought("r", &[]), false);
        items.think(turn(), "r".to_owned(), Some("at length".to_owned()), true);
        let short = items.think(turn(), "r".to_owned(), Some("in short".to_owned()), false);
        assert!(
            matches!(&short[..], [Report::Item { body: ItemBody::Thought { text, .. }, .. }] if text == "in short")
        );
    }

    #[test]
    fn what_is_under_way_when_the_turn_ends_is_cancelled() {
        let mut items = CodexItems::default();
        let command = wh_wire::codex::CommandExecution { command: "sleep 9".to_owned(), ..Default::default() };
        items.item(turn(), ThreadItem { id: "c".to_owned(), kind: ThreadItemKind::Command(command) }, false);
        assert!(items.set_call_status("c", ToolStatus::Pending).is_some());
        let ended = items.end();
        assert!(matches!(&ended[..], [Report::Item { body: ItemBody::Tool(call), done: true, .. }]
            if call.status == ToolStatus::Cancelled));
        assert_eq!(items.end(), []);
    }

    #[test]
    fn the_plan_of_a_turn_is_one_card_that_changes() {
        let mut items = CodexItems::default();
        let step = |status| PlanStep { step: "look".to_owned(), status };
        let first = items.plan(None, &[step(wh_wire::codex::StepStatus::Pending)]);
        let second = items.plan(None, &[step(wh_wire::codex::StepStatus::InProgress)]);
        let key = |reports: &[Report]| match reports {
            [Report::Item { key, done, .. }] => (key.clone(), *done),
            other => panic!("{other:?}"),
        };
        assert_eq!((key(&first), key(&second)), (("i1".to_owned(), false), ("i1".to_owned(), false)));
        assert_eq!(key(&items.end()), ("i1".to_owned(), true));
        assert_eq!(items.plan(None, &[]).len(), 1, "another turn has another plan");
        assert_eq!(key(&items.end()).0, "i2");
    }

    #[test]
    fn changes_that_change_are_shown_anew_and_what_nobody_knows_is_passed_over() {
        use wh_wire::codex::ChangeKind;

        let change =
            |diff: &str| CodexFileChange { path: "a".to_owned(), kind: ChangeKind::Add, diff: diff.to_owned() };
        let mut items = CodexItems::default();
        let kind = ThreadItemKind::FileChange { changes: vec![change("x")], status: ThreadItemStatus::InProgress };
        items.item(turn(), ThreadItem { id: "f".to_owned(), kind }, false);
        assert_eq!(items.changes("f").len(), 1);
        assert_eq!(items.changes("other"), []);
        let anew = items.patch(turn(), "f".to_owned(), vec![change("x"), change("y")]);
        assert!(matches!(
            &anew[..],
            [Report::Item { body: ItemBody::Tool(card), done: false, .. }] if card.output.len() == 2
        ));
        assert_eq!(items.patch(turn(), "other".to_owned(), Vec::new()), []);
        assert_eq!(items.think(turn(), "f".to_owned(), Some("x".to_owned()), false), [], "a change does not think");
        assert_eq!(items.set_call_status("other", ToolStatus::Pending), None);
        let compacted = items.item(turn(), ThreadItem { id: "c".to_owned(), kind: ThreadItemKind::Compaction }, true);
        assert!(matches!(&compacted[..], [Report::Notice(NoticeLevel::Info, _)]));
        let unknown = ThreadItemKind::Unknown(serde_json::json!({"type": "dreaming"}));
        assert_eq!(items.item(turn(), ThreadItem { id: "u".to_owned(), kind: unknown }, true), []);
        let call = wh_wire::codex::CodexToolCall {
            item_type: "mcpToolCall".to_owned(),
            server: None,
            name: "t".to_owned(),
            input: serde_json::Value::Null,
            status: ThreadItemStatus::Completed,
            output: None,
        };
        let used = items.item(turn(), ThreadItem { id: "t".to_owned(), kind: ThreadItemKind::Tool(call) }, true);
        assert!(matches!(&used[..], [Report::Item { done: true, .. }]));
    }

    #[test]
    fn a_thought_in_short_has_parts() {
        let mut items = CodexItems::default();
        items.item(turn(), thought("r", &[]), false);
        assert_eq!(items.think(turn(), "r".to_owned(), None, false), [], "before anything was thought");
        let grew = |text: &str| [Report::Grew { key: "i1".to_owned(), text: text.to_owned(), tokens: None }];
        assert_eq!(items.think(turn(), "r".to_owned(), Some("one".to_owned()), false), grew("one"));
        assert_eq!(items.think(turn(), "r".to_owned(), None, false), grew("\n\n"));
        assert_eq!(items.think(turn(), "r".to_owned(), Some("in full".to_owned()), true), [], "in short is enough");
        let done = items.item(turn(), thought("r", &["one", "two"]), true);
        assert!(
            matches!(&done[..], [Report::Item { body: ItemBody::Thought { text, .. }, .. }] if text == "one\n\ntwo")
        );
        assert_eq!(items.item(turn(), thought("s", &[]), true), [], "a thought of nothing");
        items.item(turn(), thought("t", &[]), false);
        assert_eq!(items.end(), [Report::Retracted("i3".to_owned())]);
    }
}
