//! Log of the requests to the model, and of the ends of its streamed answers.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use serde_json::Value;

/// One request to the model.
#[derive(Debug, Clone)]
pub struct Logged {
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when it was not JSON.
    pub body: Value,
    /// The user text, when the request opened a turn.
    pub prompt: Option<String>,
}

impl Logged {
    /// The header of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// A streamed answer to a request that opened a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptStream {
    /// The user text of the request.
    pub prompt: String,
    /// Arrival of the request.
    pub requested: SystemTime,
    /// The end of the stream; `None` while it runs.
    pub end: Option<StreamEnd>,
}

/// The end of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// All of the answer was written to the connection.
    Complete(SystemTime),
    /// The client closed the connection before all of the answer was written.
    Cut(SystemTime),
}

#[derive(Default)]
struct Entries {
    requests: Vec<Logged>,
    streams: Vec<PromptStream>,
}

/// The requests and streams so far. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Entries>>);

impl Log {
    pub(super) fn push(&self, logged: Logged) {
        self.lock().requests.push(logged);
    }

    pub(super) fn all(&self) -> Vec<Logged> {
        self.lock().requests.clone()
    }

    pub(super) fn prompts(&self) -> Vec<String> {
        self.lock().requests.iter().filter_map(|logged| logged.prompt.clone()).collect()
    }

    pub(super) fn discard_requests(&self) {
        self.lock().requests.clear();
    }

    pub(super) fn streams(&self, words: &str) -> Vec<PromptStream> {
        self.lock().streams.iter().filter(|stream| stream.prompt.contains(words)).cloned().collect()
    }

    /// Enters a stream, and records its end when `body` is at its end or dropped.
    pub(super) fn follow(&self, prompt: String, body: Body) -> Body {
        let mut entries = self.lock();
        let place = entries.streams.len();
        entries.streams.push(PromptStream { prompt, requested: SystemTime::now(), end: None });
        Body::new(FollowedBody { body, log: self.clone(), place })
    }

    fn end_stream(&self, place: usize, end: StreamEnd) {
        if let Some(stream) = self.lock().streams.get_mut(place) {
            stream.end.get_or_insert(end);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().expect("nobody panics while he writes the log")
    }
}

/// A response body whose end is recorded. The server drops it early when the client closes the connection.
struct FollowedBody {
    body: Body,
    log: Log,
    place: usize,
}

impl HttpBody for FollowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() {
            self.log.end_stream(self.place, StreamEnd::Complete(SystemTime::now()));
        }
        Poll::Ready(frame)
    }
}

impl Drop for FollowedBody {
    fn drop(&mut self) {
        self.log.end_stream(self.place, StreamEnd::Cut(SystemTime::now()));
    }
}
