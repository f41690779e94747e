//! `POST /message` and `GET /history`.

use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use serde_json::{Map, Value};
use wh_core::caller::Act;
use wh_core::space::ParticipantId;
use wh_core::space::command::{Command, Done};
use wh_core::space::event::Role;
use wh_core::space::item::{Body as ItemBody, Progress};
use wh_core::space::state::State as SpaceState;
use wh_wire::remote::{HistoryEntry, MessageBody, MessageRequest};

use super::commands::stage_name;
use crate::http::fault::Fault;
use crate::http::input::request_id;
use crate::http::peer::Peer;
use crate::http::{Door, body};

/// What a message that cannot be said is answered.
const REQUIRED: &str = "Message is required";

pub(in crate::http) async fn message(
    State(door): State<Door>,
    peer: Peer,
    body: Body,
) -> Result<Json<MessageBody>, Fault> {
    let fields: Map<String, Value> = body::json(body).await.map_err(|fault| match fault {
        Fault::Invalid(detail) => Fault::Refused("Invalid JSON", detail),
        other => other,
    })?;
    if fields.get("message").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
        return Err(Fault::Refused(REQUIRED, "give {\"message\": \"…\"}, and not empty".to_owned()));
    }
    let request: MessageRequest = serde_json::from_value(Value::Object(fields))
        .map_err(|error| Fault::Refused("Invalid JSON", error.to_string()))?;
    let id = request_id(request.request_id.as_deref())?;
    let conversation = door.conversation()?;
    door.admit(&peer, Act::say(&request.message)).await?;
    let to = request.to.map(|list| list.into_iter().map(ParticipantId::from).collect());
    let say = Command::Say { text: request.message, to, attachments: Vec::new() };
    let Done { receipt, duplicate, .. } = conversation.space.command(conversation.me.clone(), id, say).await??;
    Ok(Json(MessageBody {
        status: "Message submitted".to_owned(),
        request_id: receipt.request_id.as_str().to_owned(),
        turn: receipt.turn.as_ref().map(ToString::to_string),
        stage: stage_name(&receipt.stage).to_owned(),
        duplicate,
    }))
}

pub(in crate::http) async fn history(
    State(door): State<Door>,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<HistoryEntry>>, Fault> {
    // As the original: what is no number is no limit, and neither is 0.
    let limit = query.as_deref().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("limit="));
    let limit = limit.and_then(|text| text.parse::<usize>().ok()).filter(|limit| *limit > 0);
    let most = limit.unwrap_or(usize::MAX);
    Ok(Json(door.conversation()?.space.look(move |state| said(state, most)).await?))
}

/// The last of what people and agents said to each other.
fn said(state: &SpaceState, most: usize) -> Vec<HistoryEntry> {
    let entry = |item: &wh_core::space::item::Item| {
        let ItemBody::Text { text, .. } = &item.body else { return None };
        let role = match state.participants.get(&item.from).map(|one| one.role) {
            Some(Role::Human) => "user",
            Some(Role::Agent) => "model",
            Some(Role::System) => return None,
            // Not here, or no longer: what belongs to a turn was an agent's.
            None if item.turn.is_some() => "model",
            None => "user",
        };
        let shown = !matches!(item.progress, Progress::Retracted) && !text.is_empty();
        shown.then(|| HistoryEntry { role: role.to_owned(), text: text.clone() })
    };
    let mut last: Vec<HistoryEntry> = state.items.iter().rev().filter_map(|item| entry(item)).take(most).collect();
    last.reverse();
    last
}
