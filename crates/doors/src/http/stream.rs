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
    let options = options(&query, last)?;
    let Door { surface, conversation, closing, watchers, .. } = door;
    let place = watchers.try_acquire_owned().map_err(|_| Fault::TooManyWatchers)?;
    Ok(Feed::open(surface, conversation, closing, Some(place), options).await?)
}

/// From where on, what of the screen, and how often. `last` is the header that browsers send when they come back.
fn options(query: &StreamQuery, last: Option<&str>) -> Result<(Option<Cursor>, Frames, u32), Fault> {
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
    Ok((after, frames, rate))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn query(after: Option<&str>, frames: Option<&str>, rate: Option<u32>) -> StreamQuery {
        StreamQuery { after: after.map(str::to_owned), frames: frames.map(str::to_owned), rate }
    }

    #[test]
    fn a_reader_says_where_it_was_in_the_query_or_in_the_header() {
        let after =
            |after, last| options(&query(after, None, None), last).map(|(after, ..)| after.map(|at| at.to_string()));
        assert_eq!(after(None, None).unwrap(), None);
        assert_eq!(after(None, Some("e1.3")).unwrap().as_deref(), Some("e1.3"));
        assert_eq!(after(Some("e2.4"), Some("e1.3")).unwrap().as_deref(), Some("e2.4"), "who asks knows better");
        for wrong in ["", "e1", "e1.", "3", "e-1.3", "e1.x"] {
            assert!(matches!(after(Some(wrong), None), Err(Fault::Invalid(_))), "{wrong}");
        }
    }

    #[test]
    fn frames_and_their_rate_have_usual_values_and_bounds() {
        let read = |frames, rate| options(&query(None, frames, rate), None).map(|(_, frames, rate)| (frames, rate));
        assert_eq!(read(None, None).unwrap(), (Frames::None, USUAL_RATE));
        assert_eq!(read(Some("plain"), Some(1)).unwrap(), (Frames::Plain, 1));
        assert_eq!(read(Some("raw"), Some(HIGHEST_RATE)).unwrap(), (Frames::Raw, HIGHEST_RATE));
        for (frames, rate) in [(None, Some(0)), (None, Some(HIGHEST_RATE + 1)), (Some("all"), None), (Some(""), None)] {
            assert!(matches!(read(frames, rate), Err(Fault::Invalid(_))), "{frames:?} {rate:?}");
        }
    }
}
