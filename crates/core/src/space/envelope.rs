//! Items as the MEW protocol (v0.4) shows them. A projection by one table: nothing is stored as an envelope.
//!
//! | item | envelopes |
//! |---|---|
//! | text | `chat`, when complete |
//! | thought | `reasoning/start`; then `reasoning/thought` and `reasoning/conclusion`, or `reasoning/cancel` if it was cut |
//! | tool call | `mcp/request`; then `mcp/response` |
//! | question | `mcp/proposal`; then `mcp/response`, `mcp/reject` or `mcp/withdraw` |
//! | notice | `system/…` |
//! | act | its own kind |

use std::time::SystemTime;

use serde_json::{Value, json};

use super::extent::Extent;
use super::item::{Body, Item, Output, Progress, ToolCall, ToolStatus};
use super::name::ParticipantId;
use super::question::{Answer, Closing, Detail, Question};

/// One envelope.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Its id: that of its item, with a suffix for all but the first of an item.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Whose it is; wh's own notices are nobody's.
    pub from: Option<ParticipantId>,
    /// Whom it is for; `None` is everybody.
    pub to: Option<Vec<ParticipantId>>,
    /// What it says.
    pub payload: Value,
    /// The ids of the envelopes that it is about.
    pub about: Vec<String>,
    /// When.
    pub at: SystemTime,
}

/// How many envelopes an item is.
pub fn count(item: &Item) -> usize {
    match (&item.body, item.progress) {
        (_, Progress::Retracted) => 0,
        (Body::Text { .. }, Progress::Growing) => 0,
        (Body::Thought { .. }, Progress::Growing) => 1,
        (Body::Thought { text, .. }, Progress::Cut) => 2 + usize::from(!text.is_empty()),
        (Body::Thought { .. }, _) => 3,
        (Body::Tool(call), _) => 1 + usize::from(call.status.is_over()),
        (Body::Question { closing, .. }, _) => 1 + usize::from(closing.is_some()),
        (Body::Text { .. } | Body::Notice { .. } | Body::Act { .. }, _) => 1,
    }
}

/// The envelopes of an item.
pub fn project(item: &Item) -> Vec<Envelope> {
    if item.progress == Progress::Retracted {
        return Vec::new();
    }
    let first = |kind: &str, payload: Value| Envelope {
        id: item.id.to_string(),
        kind: kind.to_owned(),
        from: Some(item.from.clone()),
        to: item.to.clone(),
        payload,
        about: Vec::new(),
        at: item.at,
    };
    let later = |suffix: &str, kind: &str, payload: Value| Envelope {
        id: format!("{}.{suffix}", item.id),
        about: vec![item.id.to_string()],
        ..first(kind, payload)
    };
    match &item.body {
        Body::Text { .. } if item.progress == Progress::Growing => Vec::new(),
        Body::Text { text, .. } if item.extent.is_some() => {
            let extent = item.extent.map(|extent| json!({ "shown": extent.shown, "whole": extent.whole }));
            vec![first("chat", json!({ "text": text, "extent": extent }))]
        }
        Body::Text { text, attachments } if attachments.is_empty() => vec![first("chat", json!({ "text": text }))],
        Body::Text { text, attachments } => {
            let attachments: Vec<Value> = attachments
                .iter()
                .map(|file| json!({ "name": file.name, "mediaType": file.media_type, "size": file.size }))
                .collect();
            vec![first("chat", json!({ "text": text, "attachments": attachments }))]
        }
        Body::Thought { text, action, tokens } => {
            let mut all = vec![first("reasoning/start", json!({ "message": action }))];
            if item.progress != Progress::Growing {
                let thought = json!({ "reasoning": text, "action": action, "usage": { "total_tokens": tokens } });
                match item.progress {
                    Progress::Cut => {
                        all.extend((!text.is_empty()).then(|| later("thought", "reasoning/thought", thought)));
                        all.push(later("end", "reasoning/cancel", json!({ "reason": "interrupted" })));
                    }
                    _ => {
                        all.push(later("thought", "reasoning/thought", thought));
                        all.push(later("end", "reasoning/conclusion", json!({ "message": null })));
                    }
                }
            }
            all
        }
        Body::Tool(call) => {
            let parameters = json!({ "name": call.name, "arguments": call.input });
            let mut all = vec![first("mcp/request", json!({ "method": "tools/call", "params": parameters }))];
            if call.status.is_over() {
                all.push(later("end", "mcp/response", response(call, item.extent)));
            }
            all
        }
        Body::Question { question, closing } => {
            let mut all = vec![first("mcp/proposal", proposal(question))];
            if let Some(closing) = closing {
                let (kind, payload, by) = closed(question, closing);
                all.push(Envelope { from: by.or_else(|| Some(item.from.clone())), ..later("end", kind, payload) });
            }
            all
        }
        Body::Notice { topic, lines, .. } => {
            let payload = if lines.len() == 1 { json!({ "text": lines[0] }) } else { json!({ "lines": lines }) };
            vec![Envelope { from: None, ..first(&format!("system/{topic}"), payload) }]
        }
        Body::Act { kind, payload, about } => {
            let about = about.iter().map(ToString::to_string).collect();
            vec![Envelope { about, ..first(kind, payload.clone()) }]
        }
    }
}

fn response(call: &ToolCall, extent: Option<Extent>) -> Value {
    let content: Vec<Value> = call
        .output
        .iter()
        .map(|piece| match piece {
            Output::Text(text) => json!({ "type": "text", "text": text }),
            Output::Diff { path, old, new } => json!({ "type": "diff", "path": path, "oldText": old, "newText": new }),
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
    let call = question.details.iter().find_map(|detail| match detail {
        Detail::Input { tool, input } => Some(json!({ "name": tool, "arguments": input })),
        Detail::Command(command) => Some(json!({ "name": "shell", "arguments": { "command": command } })),
        _ => None,
    });
    json!({ "method": "tools/call", "params": call, "question": question.title, "options": options })
}

fn closed(question: &Question, closing: &Closing) -> (&'static str, Value, Option<ParticipantId>) {
    match closing {
        Closing::Withdrawn => ("mcp/withdraw", json!({ "reason": "no_longer_needed" }), None),
        Closing::Cancelled => ("mcp/withdraw", json!({ "reason": "interrupted" }), None),
        Closing::Answered { by, answer: Answer { option, text } } => {
            let chosen = option.as_deref().and_then(|id| question.option(id));
            let payload = json!({ "option": option, "text": text });
            let kind =
                if chosen.is_some_and(|choice| choice.meaning.rejects()) { "mcp/reject" } else { "mcp/response" };
            (kind, payload, Some(by.clone()))
        }
    }
}
