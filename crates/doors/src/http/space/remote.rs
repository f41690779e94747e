//! `POST /message` and `GET /history`.

use axum::Json;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use serde_json::{Map, Value};
use wh_core::line;
use wh_core::receipt::Stage;
use wh_core::request::{Content, Request as Named, TextDigest};
use wh_core::slash::Slash;
use wh_core::space::ParticipantId;
use wh_core::space::command::{Command, Done};
use wh_core::space::event::Role;
use wh_core::space::item::{Body as ItemBody, Item, Progress};
use wh_core::space::state::State as SpaceState;
use wh_wire::remote::{ExtentBody, HistoryEntry, MessageBody, MessageRequest};

use super::commands::{run_line, stage_name};
use crate::http::SENDER;
use crate::http::fault::Fault;
use crate::http::input::request_id;
use crate::http::peer::Peer;
use crate::http::{Door, body};
use crate::time::iso;

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
    if request.to.as_ref().is_some_and(Vec::is_empty) {
        return Err(Fault::Invalid("to names nobody; leave it out for the chat's targets".to_owned()));
    }
    let to: Option<Vec<ParticipantId>> =
        request.to.as_ref().map(|list| list.iter().map(|one| ParticipantId::from(one.as_str())).collect());
    // A text for named participants is a message whatever it begins with: slash commands name their own.
    let mut asked = match request.literal || to.is_some() {
        true => Slash::Space(Command::say(request.message.as_str(), to)),
        false => line::read(&request.message).map_err(Fault::Line)?,
    };
    let content = match &mut asked {
        Slash::Space(Command::Say { text, literal, .. }) if *text == request.message => {
            *literal = request.literal;
            let to = request.to.as_deref().filter(|to| !door.is_usual(to));
            Content::Text { digest: TextDigest::of(text), interrupt: false, to }
        }
        _ => Content::Line(request.message.trim()),
    };
    line::check_shell(&asked, request.allow_shell).map_err(Fault::Line)?;
    door.admit(&peer, line::act(&asked)).await?;
    let named = id.map(|id| Named::new(id, SENDER, &content));
    let Done { receipt, duplicate, lines, .. } = run_line(conversation, named, asked).await?;
    let failure = if let Stage::Failed(failure) = &receipt.stage { Some(failure) } else { None };
    Ok(Json(MessageBody {
        status: "Message submitted".to_owned(),
        request_id: receipt.request_id.as_str().to_owned(),
        turn: receipt.turn.as_ref().map(ToString::to_string),
        stage: stage_name(&receipt.stage).to_owned(),
        reason: failure.map(|failure| failure.words.clone()),
        code: failure.map(|failure| failure.reason.code().to_owned()),
        duplicate,
        lines,
    }))
}

pub(in crate::http) async fn history(
    State(door): State<Door>,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<HistoryEntry>>, Fault> {
    let query = query.unwrap_or_default();
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    // As the original: what is no number is no limit, and neither is 0.
    let limit = parameter("limit").and_then(|text| text.parse::<usize>().ok()).filter(|limit| *limit > 0);
    let (most, details) = (limit.unwrap_or(usize::MAX), parameter("details") == Some("1"));
    Ok(Json(door.conversation()?.space.look(move |state| said(state, most, details)).await?))
}

/// The last of what people and agents said to each other.
fn said(state: &SpaceState, most: usize, details: bool) -> Vec<HistoryEntry> {
    let entry = |item: &Item| {
        let ItemBody::Text { text, .. } = &item.body else { return None };
        let role = match state.participants.get(&item.from).map(|one| one.role) {
            Some(Role::Human) => "user",
            Some(Role::Agent) => "model",
            Some(Role::System) => return None,
            // Not here, or no longer: what belongs to a turn was an agent's.
            None if item.turn.is_some() => "model",
            None => "user",
        };
        // A message of a person that no agent was given, or not yet, was not said to it.
        let unsent = role == "user" && matches!(item.progress, Progress::Queued | Progress::Cut);
        if unsent || item.progress == Progress::Retracted || text.is_empty() {
            return None;
        }
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
    };
    let mut last: Vec<HistoryEntry> = state.items.iter().rev().filter_map(|item| entry(item)).take(most).collect();
    last.reverse();
    last
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use wh_core::space::extent::Extent;

    use super::*;

    fn item(id: &str, progress: Progress, extent: Option<Extent>) -> Arc<Item> {
        Arc::new(Item {
            id: id.into(),
            from: "human".into(),
            to: None,
            turn: None,
            at: SystemTime::UNIX_EPOCH,
            body: ItemBody::Text { text: id.to_owned(), attachments: Vec::new() },
            progress,
            extent,
            listed: Vec::new(),
            starts: vec!["turn-1".into()],
        })
    }

    #[test]
    fn the_history_has_what_was_handed_over_and_marks_what_it_has_cut() {
        let mut state = SpaceState::new("test", "human".into());
        state.put(item("whole", Progress::Done, None));
        state.put(item("cut", Progress::Done, Some(Extent { shown: 3, whole: 300 })));
        state.put(item("queued", Progress::Queued, None));
        state.put(item("never sent", Progress::Cut, None));
        let history = said(&state, usize::MAX, false);
        let texts: Vec<&str> = history.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(texts, ["whole", "cut"]);
        assert_eq!(history[1].extent, Some(ExtentBody { shown: 3, whole: 300 }));
        assert_eq!((&history[0].id, history[0].turns.len()), (&None, 0));
        let details = said(&state, 1, true);
        assert_eq!((details[0].id.as_deref(), &details[0].turns[..]), (Some("cut"), &["turn-1".to_owned()][..]));
    }
}
