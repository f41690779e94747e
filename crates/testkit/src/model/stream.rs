//! Composes server-sent events with delays between them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;

/// Capacity of the queue of events to the client. When the queue is full, the script waits until the client reads.
const EVENT_QUEUE_CAPACITY: usize = 16;

const EVENT_STREAM: &str = "text/event-stream";

/// Returns true if the response is an [`EventScript`].
pub(super) fn is_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|value| value == EVENT_STREAM)
}

/// Sequence of server-sent events and delays, composed before the first event is sent.
#[derive(Default)]
pub(super) struct EventScript(Vec<EventScriptStep>);

enum EventScriptStep {
    Send(String),
    Pause(Duration),
}

impl EventScript {
    /// Adds an event that is named by its `type`, as in the APIs of Anthropic and OpenAI.
    pub(super) fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.0.push(EventScriptStep::Send(format!("event: {name}\ndata: {data}\n\n")));
    }

    /// Adds an event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.0.push(EventScriptStep::Send(format!("data: {data}\n\n")));
    }

    pub(super) fn pause(&mut self, pause: Duration) {
        if !pause.is_zero() {
            self.0.push(EventScriptStep::Pause(pause));
        }
    }

    async fn play(self, events: mpsc::Sender<Bytes>) {
        for step in self.0 {
            match step {
                EventScriptStep::Pause(pause) => tokio::time::sleep(pause).await,
                EventScriptStep::Send(event) => {
                    if events.send(event.into()).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl IntoResponse for EventScript {
    fn into_response(self) -> Response {
        let (events, receiver) = mpsc::channel(EVENT_QUEUE_CAPACITY);
        tokio::spawn(self.play(events));
        let headers = [(CONTENT_TYPE, EVENT_STREAM), (CONNECTION, "close")];
        (headers, Body::new(EventQueueBody(receiver))).into_response()
    }
}

struct EventQueueBody(mpsc::Receiver<Bytes>);

impl HttpBody for EventQueueBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = ready!(self.0.poll_recv(context));
        Poll::Ready(event.map(|bytes| Ok(Frame::data(bytes))))
    }
}
