//! The event feed over server-sent events (`GET /control/events`) and WebSocket (`GET /control/stream`).

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

use super::ApiState;
use super::fault::Fault;
use super::openapi::OperationBuilder;
use super::query::QueryParams;
use super::route::{Route, RouteMethod};
use crate::bodies::FrameFormat;
use crate::feed::EventFeed;

/// Default number of frames per second.
const DEFAULT_FRAME_RATE: u32 = 30;
/// Maximum number of frames per second.
const MAX_FRAME_RATE: u32 = 60;
/// Maximum size of a WebSocket message from a client.
const MAX_WEBSOCKET_MESSAGE_BYTES: usize = 4096;

pub(super) fn routes() -> Vec<Route<ApiState>> {
    vec![
        Route::new(
            RouteMethod::Get,
            "/control/events",
            events,
            "events",
            "Subscribe to events over server-sent events; each `data` is a StreamBody.",
            |it| {
                stream_responses(it.text(
                    200,
                    "text/event-stream",
                    "The stream. The header `Last-Event-ID` works like `after`.",
                ))
            },
        ),
        Route::new(
            RouteMethod::Get,
            "/control/stream",
            stream,
            "stream",
            "Subscribe to events over WebSocket; each text message is a StreamBody.",
            |it| {
                stream_responses(
                    it.returns_empty(101, "The stream.").fails(426, "The request is not a WebSocket upgrade."),
                )
            },
        ),
    ]
}

fn stream_responses(it: OperationBuilder<'_>) -> OperationBuilder<'_> {
    it.includes_schema::<StreamBody>()
        .query(
            "after",
            json!({"type": "string"}),
            "Cursor of the last event received, in the form EPOCH.SEQ. The stream resumes after this event.",
        )
        .query(
            "frames",
            json!({"enum": ["none", "plain", "raw"]}),
            "Format of the screen frames to send. Default: none.",
        )
        .query(
            "rate",
            json!({"type": "integer", "minimum": 1, "maximum": 60}),
            "Maximum frames per second. Default: 30.",
        )
        .fails(400, "The query is invalid.")
        .fails(503, "Too many open streams, or the session has ended.")
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamQuery {
    after: Option<String>,
    frames: Option<String>,
    rate: Option<u32>,
}

async fn events(
    State(api): State<ApiState>,
    QueryParams(query): QueryParams<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    let feed = open(api, query, last).await?;
    let events = stream::unfold(feed, |mut feed| async move {
        let body = feed.next().await?;
        Some((Ok::<Event, Infallible>(sse(&body)), feed))
    });
    Ok(Sse::new(events).into_response())
}

async fn stream(
    State(api): State<ApiState>,
    QueryParams(query): QueryParams<StreamQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Fault> {
    let feed = open(api, query, None).await?;
    let upgrade = upgrade.map_err(|_| Fault::UpgradeRequired)?;
    Ok(upgrade.max_message_size(MAX_WEBSOCKET_MESSAGE_BYTES).on_upgrade(|socket| serve_websocket(socket, feed)))
}

async fn open(api: ApiState, query: StreamQuery, last: Option<&str>) -> Result<EventFeed, Fault> {
    let options = options(&query, last)?;
    let ApiState { surface, conversation, closing, stream_permits, .. } = api;
    let permit = stream_permits.try_acquire_owned().map_err(|_| Fault::TooManyWatchers)?;
    Ok(EventFeed::open(surface, conversation, closing, Some(permit), options).await?)
}

/// Parses the cursor, frame format and frame rate. `last` is the value of the header `Last-Event-ID`, which browsers
/// send when they reconnect.
fn options(query: &StreamQuery, last: Option<&str>) -> Result<(Option<Cursor>, FrameFormat, u32), Fault> {
    let after = query.after.as_deref().or(last).map(str::parse::<Cursor>).transpose();
    let after = after.map_err(|error| Fault::Invalid(error.to_string()))?;
    let frames = match query.frames.as_deref() {
        None | Some("none") => FrameFormat::None,
        Some("plain") => FrameFormat::Plain,
        Some("raw") => FrameFormat::Raw,
        Some(_) => return Err(Fault::Invalid("frames must be plain, raw or none".to_owned())),
    };
    let rate = query.rate.unwrap_or(DEFAULT_FRAME_RATE);
    if !(1..=MAX_FRAME_RATE).contains(&rate) {
        return Err(Fault::Invalid(format!("rate must be 1 to {MAX_FRAME_RATE} frames per second")));
    }
    Ok((after, frames, rate))
}

/// Formats a message as a server-sent event. The event has an id only if a client can resume after this message.
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

async fn serve_websocket(mut socket: WebSocket, mut feed: EventFeed) {
    loop {
        let body = tokio::select! {
            body = feed.next() => body,
            // The library answers pings. Other messages are ignored, and the stream ends with the connection.
            heard = socket.recv() => match heard {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        let Some(body) = body else { break };
        // Fails if the client has disconnected or accepts no data for too long.
        if socket.send(Message::Text(text(&body).into())).await.is_err() {
            return;
        }
    }
    let close = CloseFrame { code: close_code::AWAY, reason: "the stream has ended".into() };
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
        assert_eq!(read(None, None).unwrap(), (FrameFormat::None, DEFAULT_FRAME_RATE));
        assert_eq!(read(Some("plain"), Some(1)).unwrap(), (FrameFormat::Plain, 1));
        assert_eq!(read(Some("raw"), Some(MAX_FRAME_RATE)).unwrap(), (FrameFormat::Raw, MAX_FRAME_RATE));
        for (frames, rate) in [(None, Some(0)), (None, Some(MAX_FRAME_RATE + 1)), (Some("all"), None), (Some(""), None)]
        {
            assert!(matches!(read(frames, rate), Err(Fault::Invalid(_))), "{frames:?} {rate:?}");
        }
    }
}
