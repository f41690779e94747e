//! Server-sent events, each at its time.

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

/// Events that wait for the client. When it is full the script waits: it is the client's reading that sets the pace.
const DEPTH: usize = 16;

const EVENT_STREAM: &str = "text/event-stream";

/// True for the response that a [`Stream`] becomes.
pub(super) fn is_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|value| value == EVENT_STREAM)
}

/// A stream of events, written down before it is played.
#[derive(Default)]
pub(super) struct Stream(Vec<Step>);

enum Step {
    Send(String),
    Pause(Duration),
}

impl Stream {
    /// Adds an event that carries its name in `type`, as Anthropic and OpenAI have it.
    pub(super) fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.0.push(Step::Send(format!("event: {name}\ndata: {data}\n\n")));
    }

    /// Adds an event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.0.push(Step::Send(format!("data: {data}\n\n")));
    }

    pub(super) fn pause(&mut self, pause: Duration) {
        if !pause.is_zero() {
            self.0.push(Step::Pause(pause));
        }
    }

    async fn play(self, events: mpsc::Sender<Bytes>) {
        for step in self.0 {
            match step {
                Step::Pause(pause) => tokio::time::sleep(pause).await,
                Step::Send(event) => {
                    if events.send(event.into()).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl IntoResponse for Stream {
    fn into_response(self) -> Response {
        let (events, receiver) = mpsc::channel(DEPTH);
        tokio::spawn(self.play(events));
        let headers = [(CONTENT_TYPE, EVENT_STREAM), (CONNECTION, "close")];
        (headers, Body::new(Events(receiver))).into_response()
    }
}

struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
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
