//! Log of the requests to the model and of its streamed answers.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use serde_json::Value;

/// Request to the model, as recorded in its log.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// HTTP method in capitals.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers with lower-case names.
    pub headers: Vec<(String, String)>,
    /// Decoded JSON body; null if the body was not JSON.
    pub body: Value,
    /// User text, if the request started a turn.
    pub prompt: Option<String>,
}

impl LoggedRequest {
    /// Returns the header with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// Streamed answer to a request that started a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerStream {
    /// User text of the request.
    pub prompt: String,
    /// Time of the request.
    pub requested: SystemTime,
    /// End of the stream; `None` while the stream is open.
    pub end: Option<StreamEnd>,
}

/// End of a streamed answer: complete, or cut off by the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// The complete answer was written to the connection.
    Complete(SystemTime),
    /// The client closed the connection before the answer was complete.
    Cut(SystemTime),
}

#[derive(Default)]
struct LogEntries {
    requests: Vec<LoggedRequest>,
    streams: Vec<AnswerStream>,
}

/// Requests and answer streams logged so far. Clones share the data.
#[derive(Clone, Default)]
pub(super) struct ModelLog(Arc<Mutex<LogEntries>>);

impl ModelLog {
    pub(super) fn push(&self, logged: LoggedRequest) {
        self.lock().requests.push(logged);
    }

    pub(super) fn all(&self) -> Vec<LoggedRequest> {
        self.lock().requests.clone()
    }

    pub(super) fn prompts(&self) -> Vec<String> {
        self.lock().requests.iter().filter_map(|logged| logged.prompt.clone()).collect()
    }

    pub(super) fn discard_requests(&self) {
        self.lock().requests.clear();
    }

    pub(super) fn streams(&self, text: &str) -> Vec<AnswerStream> {
        self.lock().streams.iter().filter(|stream| stream.prompt.contains(text)).cloned().collect()
    }

    /// Adds a stream to the log and records its end when `body` ends or is dropped.
    pub(super) fn follow(&self, prompt: String, body: Body) -> Body {
        let mut entries = self.lock();
        let place = entries.streams.len();
        entries.streams.push(AnswerStream { prompt, requested: SystemTime::now(), end: None });
        Body::new(LoggedBody { body, log: self.clone(), place })
    }

    fn end_stream(&self, place: usize, end: StreamEnd) {
        if let Some(stream) = self.lock().streams.get_mut(place) {
            stream.end.get_or_insert(end);
        }
    }

    fn lock(&self) -> MutexGuard<'_, LogEntries> {
        self.0.lock().expect("no thread panics while it holds the log")
    }
}

/// Response body that records its end in the log. The server drops the body early if the client closes the connection.
struct LoggedBody {
    body: Body,
    log: ModelLog,
    place: usize,
}

impl HttpBody for LoggedBody {
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

impl Drop for LoggedBody {
    fn drop(&mut self) {
        self.log.end_stream(self.place, StreamEnd::Cut(SystemTime::now()));
    }
}
