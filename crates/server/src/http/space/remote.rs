//! Messages: `POST /message` and `GET /history`.

use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use serde_json::{Map, Value, json};
use wh_core::line::ComposerLine;
use wh_core::request::{CommandContent, FingerprintedId, TextDigest};
use wh_core::space::ParticipantId;
use wh_core::space::command::CommandAccepted;
use wh_core::space::item::ItemBody;
use wh_core::space::query::{HistoryMessage, Speaker};
use wh_core::time::iso;
use wh_wire::control::ReceiptBody;
use wh_wire::remote::{ExtentBody, HistoryEntry, MessageBody, MessageRequest};

use super::NO_CONVERSATION;
use super::commands::run_line;
use crate::bodies::receipt_body;
use crate::http::SENDER;
use crate::http::fault::Fault;
use crate::http::input::request_id;
use crate::http::peer::Peer;
use crate::http::route::{Route, RouteMethod};
use crate::http::{ApiState, body};

/// Error text for a missing message. Clients of the Gemini CLI's remote control expect this text.
const MESSAGE_REQUIRED: &str = "Message is required";

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        // The handler itself checks the caller, because the result depends on the message.
        Route::new(
            RouteMethod::Post,
            "/message",
            message,
            "message",
            "Send a message to the agent, or run a slash command.",
            |it| {
                it.accepts::<MessageRequest>()
                    .returns::<MessageBody>(
                        200,
                        "The message was sent, by this request or by an earlier request with the same request_id.",
                    )
                    .fails(400, "The message is empty, or is an invalid slash command or envelope.")
                    .fails(404, "No such participant, or no agent has this slash command.")
                    .fails(408, "The body did not arrive in time.")
                    .fails(
                        409,
                        "The message cannot be sent; see the code. Examples: the agent is gone; the request_id belongs to another \
                         command; `not_literal`: the agent would interpret the text; `shell_not_allowed`: the text begins with `!`.",
                    )
                    .fails(503, NO_CONVERSATION)
            },
        ),
        Route::new(
            RouteMethod::Get,
            "/history",
            history,
            "history",
            "Get the conversation of users and agents.",
            |it| {
                it.query(
                    "limit",
                    json!({"type": "string"}),
                    "Number of newest messages to return. 0 or an invalid number returns all.",
                )
                .query("details", json!({"type": "string"}), "`1` adds ids, senders, times and turns.")
                .returns::<Vec<HistoryEntry>>(200, "The conversation, oldest first.")
                .fails(503, NO_CONVERSATION)
            },
        ),
    ]
}

async fn message(State(api): State<ApiState>, peer: Peer, body: Body) -> Result<Json<MessageBody>, Fault> {
    let fields: Map<String, Value> = body::json(body).await.map_err(|fault| match fault {
        Fault::Invalid(detail) => Fault::Refused("Invalid JSON", detail),
        other => other,
    })?;
    if fields.get("message").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
        return Err(Fault::Refused(MESSAGE_REQUIRED, "set a non-empty message: {\"message\": \"…\"}".to_owned()));
    }
    let request: MessageRequest = serde_json::from_value(Value::Object(fields))
        .map_err(|error| Fault::Refused("Invalid JSON", error.to_string()))?;
    let id = request_id(request.request_id.as_deref())?;
    let conversation = api.ready_conversation().await?;
    if request.to.as_ref().is_some_and(Vec::is_empty) {
        return Err(Fault::Invalid("to is empty; omit it to use the current targets".to_owned()));
    }
    let to: Option<Vec<ParticipantId>> =
        request.to.as_ref().map(|list| list.iter().map(|one| ParticipantId::from(one.as_str())).collect());
    // Text with an explicit `to` is always a message, because slash commands name their own targets.
    let line = match request.literal || to.is_some() {
        true => ComposerLine::Message { text: request.message.clone(), to, literal: request.literal },
        false => ComposerLine::read(&request.message).map_err(Fault::Line)?,
    };
    let content = match &line {
        ComposerLine::Message { text, .. } => {
            let to = request.to.as_deref().filter(|to| !api.is_default_target(to));
            CommandContent::Text { digest: TextDigest::of(text), interrupt: false, to }
        }
        ComposerLine::Slash(_) | ComposerLine::Envelope(_) => CommandContent::Line(request.message.trim()),
    };
    line.check_shell(request.allow_shell).map_err(Fault::Line)?;
    api.admit(&peer, line.act()).await?;
    let named = id.map(|id| FingerprintedId::new(id, SENDER, &content));
    let CommandAccepted { receipt, duplicate, lines, .. } = run_line(conversation, named, line.into_slash()).await?;
    let ReceiptBody { request_id, turn, stage, reason, code, .. } = receipt_body(&receipt);
    let status = "Message submitted".to_owned();
    Ok(Json(MessageBody { status, request_id, turn, stage, reason, code, duplicate, lines }))
}

async fn history(State(api): State<ApiState>, RawQuery(query): RawQuery) -> Result<Json<Vec<HistoryEntry>>, Fault> {
    let query = query.unwrap_or_default();
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    // As in the remote control of the Gemini CLI: an invalid number or 0 means no limit.
    let limit = parameter("limit").and_then(|text| text.parse::<usize>().ok()).filter(|limit| *limit > 0);
    let (most, details) = (limit.unwrap_or(usize::MAX), parameter("details") == Some("1"));
    let said = api.conversation()?.space.history(most).await?;
    Ok(Json(said.iter().filter_map(|one| entry(one, details)).collect()))
}

fn entry(said: &HistoryMessage, details: bool) -> Option<HistoryEntry> {
    let item = &said.item;
    let ItemBody::Text { text, .. } = &item.body else { return None };
    let role = match said.speaker {
        Speaker::Human => "user",
        Speaker::Agent => "model",
    };
    let extent = item.extent.map(|extent| ExtentBody { shown: extent.shown, whole: extent.whole });
    let entry = HistoryEntry { role: role.to_owned(), text: text.clone(), extent, ..HistoryEntry::default() };
    Some(match details {
        false => entry,
        true => HistoryEntry {
            id: Some(item.id.to_string()),
            from: Some(item.from.to_string()),
            at: Some(iso(item.at)),
            turns: item.turn.iter().chain(&item.starts).map(ToString::to_string).collect(),
            ..entry
        },
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use wh_core::space::extent::Extent;
    use wh_core::space::item::{Item, ItemProgress};

    use super::*;

    #[test]
    fn an_entry_of_the_history_marks_what_was_cut_and_has_details_on_request() {
        let item = Item {
            id: "cut".into(),
            from: "human".into(),
            to: None,
            turn: None,
            at: SystemTime::UNIX_EPOCH,
            body: ItemBody::Text { text: "cut".to_owned(), attachments: Vec::new() },
            progress: ItemProgress::Done,
            extent: Some(Extent { shown: 3, whole: 300 }),
            listed: Vec::new(),
            starts: vec!["turn-1".into()],
        };
        let said = HistoryMessage { speaker: Speaker::Human, item: Arc::new(item) };
        let plain = entry(&said, false).unwrap();
        assert_eq!((plain.role.as_str(), plain.extent), ("user", Some(ExtentBody { shown: 3, whole: 300 })));
        assert_eq!((&plain.id, plain.turns.len()), (&None, 0));
        let details = entry(&said, true).unwrap();
        assert_eq!((details.id.as_deref(), &details.turns[..]), (Some("cut"), &["turn-1".to_owned()][..]));
    }
}
