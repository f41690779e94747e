//! `GET /control/events` (server-sent events) and `GET /control/stream` (WebSocket): the same feed by two transports.

use std::convert::Infallible;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use wh_core::event::Cursor;
use wh_wire::control::StreamBody;

use super::Door;
use super::fault::Fault;
use super::openapi::Describe;
use super::query::Params;
use super::route::{Method, Route};
use crate::bodies::Frames;
use crate::feed::Feed;

/// Frames a second unless the reader wants another number.
const USUAL_RATE: u32 = 30;
/// What the reader may want.
const HIGHEST_RATE: u32 = 60;
/// Nobody has anything long to say on the WebSocket.
const LONGEST_MESSAGE: usize = 4096;

pub(super) fn routes() -> Vec<Route<Door>> {
    vec![
        Route::new(
            Method::Get,
            "/control/events",
            events,
            "events",
            "Watch, by server-sent events; each `data` is a StreamBody.",
            |it| watched(it.text(200, "text/event-stream", "The stream. `Last-Event-ID` does what `after` does.")),
        ),
        Route::new(
            Method::Get,
            "/control/stream",
            stream,
            "stream",
            "Watch, by WebSocket; each text message is a StreamBody.",
            |it| watched(it.nothing(101, "The stream.").fails(426, "This is a WebSocket.")),
        ),
    ]
}

fn watched(it: Describe<'_>) -> Describe<'_> {
    it.mentions::<StreamBody>()
        .query("after", json!({"type": "string"}), "Go on after this event: EPOCH.SEQ.")
        .query("frames", json!({"enum": ["none", "plain", "raw"]}), "What of the screen to send when it changes.")
        .query(
            "rate",
            json!({"type": "integer", "minimum": 1, "maximum": 60}),
            "Frames a second at most; 30 unless said otherwise.",
        )
        .fails(400, "The query is not what it should be.")
        .gone()
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamQuery {
    after: Option<String>,
    frames: Option<String>,
    rate: Option<u32>,
}

async fn events(
    State(door): State<Door>,
    Params(query): Params<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let feed = open(door, query, last).await?;
    let events = stream::unfold(feed, |mut feed| async move {
        let body = feed.next().await?;
        Some((Ok::<Event, Infallible>(sse(&body)), feed))
    });
    Ok(Sse::new(events).into_response())
}

async fn stream(
    State(door): State<Door>,
    Params(query): Params<StreamQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Fault> {
    let feed = open(door, query, None).await?;
    let upgrade = upgrade.map_err(|_| Fault::UpgradeRequired)?;
    Ok(upgrade.max_message_size(LONGEST_MESSAGE).on_upgrade(|socket| talk(socket, feed)))
}

async fn open(door: Door, query: StreamQuery, last: Option<&str>) -> Result<Feed, Fault> {
    let after = query.after.as_deref().or(last).map(str::parse::<Cursor>).transpose();
    let after = after.map_err(|error| Fault::Invalid(error.to_string()))?;
    let frames = match query.frames.as_deref() {
        None | Some("none") => Frames::None,
        Some("plain") => Frames::Plain,
        Some("raw") => Frames::Raw,
        Some(_) => return Err(Fault::Invalid("frames is plain, raw or none".to_owned())),
    };
    let rate = query.rate.unwrap_or(USUAL_RATE);
    if !(1..=HIGHEST_RATE).contains(&rate) {
        return Err(Fault::Invalid(format!("rate is frames a second, 1 to {HIGHEST_RATE}")));
    }
    let Door { surface, conversation, closing, watchers, .. } = door;
    let place = watchers.try_acquire_owned().map_err(|_| Fault::TooManyWatchers)?;
    Ok(Feed::open(surface, conversation, closing, Some(place), (after, frames, rate)).await?)
}

/// Only what a reader can go on from has an id.
fn sse(body: &StreamBody) -> Event {
    let (name, id) = match body {
        StreamBody::Snapshot { epoch, seq, .. } => ("snapshot", Some((epoch, seq))),
        StreamBody::Event { epoch, seq, .. } => ("event", Some((epoch, seq))),
        StreamBody::Frame(_) => ("frame", None),
        StreamBody::Heartbeat { .. } => ("heartbeat", None),
        StreamBody::Reset { .. } => ("reset", None),
        StreamBody::Dropped { .. } => ("dropped", None),
    };
    let event = Event::default().event(name).data(text(body));
    match id {
        Some((epoch, seq)) => event.id(format!("{epoch}.{seq}")),
        None => event,
    }
}

fn text(body: &StreamBody) -> String {
    serde_json::to_string(body).unwrap_or_default()
}

async fn talk(mut socket: WebSocket, mut feed: Feed) {
    loop {
        let body = tokio::select! {
            body = feed.next() => body,
            // Pings are answered below us; anything else that a reader says is not for us, and its end is ours.
            heard = socket.recv() => match heard {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        let Some(body) = body else { break };
        // It fails when the reader is gone, or takes nothing for too long.
        if socket.send(Message::Text(text(&body).into())).await.is_err() {
            return;
        }
    }
    let close = CloseFrame { code: close_code::AWAY, reason: "the stream is over".into() };
    let _ = socket.send(Message::Close(Some(close))).await;
}
