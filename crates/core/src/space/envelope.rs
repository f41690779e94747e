//! Envelopes of the MEW protocol (v0.4), computed from the items. An envelope is listed (becomes visible to clients)
//! when its item reaches the required state. Only the times of listing are stored ([`Item::listed`]).
//!
//! | item | envelopes |
//! |---|---|
//! | text | `chat`, when complete |
//! | thought | `reasoning/start`; then `reasoning/thought` and `reasoning/conclusion`, or `reasoning/cancel` if cut |
//! | tool call | `mcp/request`, when it runs; then `mcp/response` |
//! | question | `mcp/proposal`; then `mcp/request` (if granted), `mcp/reject`, `mcp/response` or `mcp/withdraw` |
//! | notice | `system/…` |
//! | act | its own kind |

use std::time::SystemTime;

use serde_json::{Value, json};

use super::extent::Extent;
use super::item::{Attachment, Item, ItemBody, ItemProgress, ToolCall, ToolResultPart, ToolStatus};
use super::name::ParticipantId;
use super::question::{Answer, Question, QuestionCloseReason, QuestionDetail, QuestionKind};

/// Protocol version of the envelopes.
pub const PROTOCOL: &str = "mew/v0.4";

#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Id of the envelope: the id of the item, with a suffix for the second and later envelopes of the item.
    pub id: String,
    pub kind: String,
    /// Sender; `None` for notices of `wh`.
    pub from: Option<ParticipantId>,
    /// Recipients; `None` for all participants.
    pub to: Option<Vec<ParticipantId>>,
    pub payload: Value,
    /// Ids of the envelopes that this envelope answers or refers to.
    pub correlation_id: Vec<String>,
    /// Id of the `reasoning/start` envelope of the same thought.
    pub context: Option<String>,
    /// Time at which the envelope was listed.
    pub at: SystemTime,
}

/// Returns the maximum number of envelopes of the item in its present state, listed or not.
pub fn max_count(item: &Item) -> usize {
    match (&item.body, item.progress) {
        (_, ItemProgress::Retracted) => 0,
        (ItemBody::Text { .. }, ItemProgress::Growing) => 0,
        (ItemBody::Thought { .. }, ItemProgress::Growing) => 1,
        (ItemBody::Thought { text, .. }, ItemProgress::Cut) => 2 + usize::from(!text.is_empty()),
        (ItemBody::Thought { .. }, _) => 3,
        (ItemBody::Tool(call), _) => 1 + usize::from(call.status.is_over()),
        (ItemBody::Question { closing, .. }, _) => 1 + usize::from(closing.is_some()),
        (ItemBody::Text { .. } | ItemBody::Notice { .. } | ItemBody::Act { .. }, _) => 1,
    }
}

/// Returns the number of envelopes of an item that must be listed now. The envelope of a running tool call is not
/// counted, because the agent may still ask for permission. The state machine lists that envelope later.
pub fn due_count(item: &Item) -> usize {
    match &item.body {
        ItemBody::Tool(call) if !call.status.is_over() => 0,
        _ => max_count(item),
    }
}

/// Returns the number of listed envelopes of an item.
pub fn listed_count(item: &Item) -> usize {
    item.listed.len().min(max_count(item))
}

/// Returns the listed envelopes of an item.
pub fn project(item: &Item) -> Vec<Envelope> {
    (0..listed_count(item)).filter_map(|place| at(item, place)).collect()
}

/// Returns the envelope of the item at this index; `None` if it is not listed.
pub fn at(item: &Item, place: usize) -> Option<Envelope> {
    let at = *item.listed.get(place).filter(|_| place < max_count(item))?;
    let first = |kind: &str, payload: Value| Envelope {
        id: item.id.to_string(),
        kind: kind.to_owned(),
        from: Some(item.from.clone()),
        to: item.to.clone(),
        payload,
        correlation_id: Vec::new(),
        context: None,
        at,
    };
    let later = |suffix: &str, kind: &str, payload: Value| Envelope {
        id: format!("{}.{suffix}", item.id),
        correlation_id: vec![item.id.to_string()],
        ..first(kind, payload)
    };
    let of_reasoning = |suffix: &str, kind: &str, payload: Value| Envelope {
        correlation_id: Vec::new(),
        context: Some(item.id.to_string()),
        ..later(suffix, kind, payload)
    };
    Some(match (&item.body, place) {
        (ItemBody::Text { text, attachments }, _) => first("chat", chat(text, attachments, item.extent)),
        (ItemBody::Thought { action, .. }, 0) => first("reasoning/start", json!({ "message": action })),
        (ItemBody::Thought { .. }, last) if item.progress == ItemProgress::Cut && last + 1 == max_count(item) => {
            of_reasoning("end", "reasoning/cancel", json!({ "reason": "interrupted" }))
        }
        (ItemBody::Thought { text, action, tokens }, 1) => {
            let thought = json!({ "reasoning": text, "action": action, "usage": { "total_tokens": tokens } });
            of_reasoning("thought", "reasoning/thought", thought)
        }
        (ItemBody::Thought { .. }, _) => of_reasoning("end", "reasoning/conclusion", json!({ "message": null })),
        (ItemBody::Tool(call), 0) => {
            let parameters = json!({ "name": call.name, "arguments": call.input });
            first("mcp/request", json!({ "method": "tools/call", "params": parameters }))
        }
        (ItemBody::Tool(call), _) => later("end", "mcp/response", response(call, item.extent)),
        (ItemBody::Question { question, .. }, 0) => first("mcp/proposal", proposal(question)),
        (ItemBody::Question { question, closing }, _) => {
            let (kind, payload, by) = closed(question, closing.as_ref()?, &item.id.to_string());
            let to = by.is_some().then(|| vec![item.from.clone()]);
            Envelope {
                from: by.or_else(|| Some(item.from.clone())),
                to: to.or_else(|| item.to.clone()),
                ..later("end", kind, payload)
            }
        }
        (ItemBody::Notice { topic, lines, .. }, _) => {
            let payload = if lines.len() == 1 { json!({ "text": lines[0] }) } else { json!({ "lines": lines }) };
            Envelope { from: None, ..first(&format!("system/{topic}"), payload) }
        }
        (ItemBody::Act { kind, payload, about }, _) => {
            let correlation_id = about.iter().map(ToString::to_string).collect();
            Envelope { correlation_id, ..first(kind, payload.clone()) }
        }
    })
}

fn chat(text: &str, attachments: &[Attachment], extent: Option<Extent>) -> Value {
    let mut chat = json!({ "text": text });
    if let Some(Extent { shown, whole }) = extent {
        chat["extent"] = json!({ "shown": shown, "whole": whole });
    } else if !attachments.is_empty() {
        let attachments: Vec<Value> = attachments
            .iter()
            .map(|file| json!({ "name": file.name, "mediaType": file.media_type, "size": file.size }))
            .collect();
        chat["attachments"] = json!(attachments);
    }
    chat
}

fn response(call: &ToolCall, extent: Option<Extent>) -> Value {
    let content: Vec<Value> = call
        .output
        .iter()
        .map(|piece| match piece {
            ToolResultPart::Text(text) => json!({ "type": "text", "text": text }),
            ToolResultPart::Diff { path, old, new } => {
                json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
            }
        })
        .collect();
    let status = match call.status {
        ToolStatus::Pending | ToolStatus::Running => "running",
        ToolStatus::Completed => "completed",
        ToolStatus::Failed => "failed",
        ToolStatus::Denied => "denied",
        ToolStatus::Cancelled => "cancelled",
    };
    let failed = call.status != ToolStatus::Completed;
    let mut response = json!({ "result": { "content": content, "isError": failed }, "status": status });
    if let Some(Extent { shown, whole }) = extent {
        response["extent"] = json!({ "shown": shown, "whole": whole });
    }
    response
}

fn proposal(question: &Question) -> Value {
    let options: Vec<Value> =
        question.options.iter().map(|option| json!({ "id": option.id, "label": option.label })).collect();
    json!({ "method": "tools/call", "params": parameters(question), "question": question.title, "options": options })
}

/// Returns the tool call that a question is about. If no part of the question describes a tool call, returns the kind
/// of the question with its parts as arguments.
fn parameters(question: &Question) -> Value {
    let given = question.details.iter().find_map(|detail| match detail {
        QuestionDetail::Input { tool, input } => Some(json!({ "name": tool, "arguments": input })),
        QuestionDetail::Command(command) => Some(json!({ "name": "shell", "arguments": { "command": command } })),
        QuestionDetail::Diff { path, old, new } => {
            Some(json!({ "name": "edit", "arguments": { "path": path, "oldText": old, "newText": new } }))
        }
        QuestionDetail::Text(_) | QuestionDetail::Path(_) => None,
    });
    given.unwrap_or_else(|| {
        let mut arguments = json!({ "question": question.title });
        for detail in &question.details {
            match detail {
                QuestionDetail::Path(path) => arguments["path"] = json!(path),
                QuestionDetail::Text(text) => arguments["text"] = json!(text),
                _ => {}
            }
        }
        let name = if question.kind == QuestionKind::Permission { "permission" } else { "ask" };
        json!({ "name": name, "arguments": arguments })
    })
}

fn closed(
    question: &Question,
    closing: &QuestionCloseReason,
    id: &str,
) -> (&'static str, Value, Option<ParticipantId>) {
    let (by, answer) = match closing {
        QuestionCloseReason::Withdrawn => return ("mcp/withdraw", json!({ "reason": "no_longer_needed" }), None),
        QuestionCloseReason::Cancelled => return ("mcp/withdraw", json!({ "reason": "interrupted" }), None),
        QuestionCloseReason::Answered { by, answer } => (by, answer),
    };
    let Answer { option, text } = answer;
    let chosen = option.as_deref().and_then(|id| question.option(id));
    let (kind, payload) = if chosen.is_some_and(|choice| choice.meaning.rejects())
        || (question.kind == QuestionKind::Permission && !question.grants(answer))
    {
        let reason = text.as_deref().unwrap_or("disagree");
        ("mcp/reject", json!({ "reason": reason, "option": option, "text": text }))
    } else if question.kind == QuestionKind::Permission {
        let parameters = parameters(question);
        let call =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters, "option": option });
        ("mcp/request", call)
    } else {
        ("mcp/response", json!({ "option": option, "text": text }))
    };
    (kind, payload, Some(by.clone()))
}
