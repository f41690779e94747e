//! Event stream of `GET /control/events` (server-sent events). A broken stream resumes after the last event received.

mod sse;

use std::fmt;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until, timeout};
use wh_wire::control::StreamBody;

use crate::client::Client;
use crate::connection::Connection;
use crate::error::Error;
use crate::request::HttpRequest;
use crate::response::{HttpResponse, MAX_RESPONSE_BYTES};
use sse::SseDecoder;

/// Time without data after which the connection is considered broken. The server sends a heartbeat after 15 s without
/// data.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(45);

/// Default maximum time for the attempts to resume a broken stream.
const DEFAULT_RECONNECT_DURATION: Duration = Duration::from_secs(10);

/// Delay before the second attempt to resume. The delay doubles with each further attempt.
const INITIAL_RECONNECT_DELAY: Duration = Duration::from_millis(50);

/// Maximum delay between two attempts to resume.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Screen frames in the event stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Frames {
    /// Events without screen frames.
    #[default]
    None,
    /// Text of each new frame.
    Plain,
    /// Each new frame with its colours, as escape sequences.
    Raw,
}

/// Options of an event subscription.
#[derive(Debug, Clone)]
pub struct EventOptions {
    frames: Frames,
    rate: Option<u32>,
    after: Option<String>,
    reconnect_for: Duration,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self { frames: Frames::None, rate: None, after: None, reconnect_for: DEFAULT_RECONNECT_DURATION }
    }
}

impl EventOptions {
    /// Creates default options: events from now on, preceded by a snapshot of the state, without frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the screen frames in the stream. Default: none.
    #[must_use]
    pub fn frames(mut self, frames: Frames) -> Self {
        self.frames = frames;
        self
    }

    /// Limits the frames per second, from 1 to 60. Default: 30.
    #[must_use]
    pub fn rate(mut self, rate: u32) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Resumes after the event with this cursor, which [`Events::cursor`] returned. If the server cannot resume from
    /// the cursor, the stream begins with a reset and a snapshot.
    #[must_use]
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.after = Some(cursor.into());
        self
    }

    /// Sets the maximum time for the attempts to resume a broken stream. Default: 10 s. Zero disables reconnecting.
    #[must_use]
    pub fn reconnect_for(mut self, time: Duration) -> Self {
        self.reconnect_for = time;
        self
    }

    fn request(&self, cursor: Option<&str>) -> HttpRequest {
        let frames = match self.frames {
            Frames::None => "none",
            Frames::Plain => "plain",
            Frames::Raw => "raw",
        };
        HttpRequest::get("/control/events")
            .query("frames", frames)
            .query_if("rate", self.rate)
            .query_if("after", cursor)
            .header("Accept", "text/event-stream")
    }
}

/// Event stream of a run or a session. Events are in order and without duplicates. Created by [`Client::events`].
pub struct Events {
    client: Client,
    follow: EventOptions,
    cursor: Option<String>,
    open: Option<OpenStream>,
    /// Reconnection attempts since the last message; `None` while connected and before the first connection.
    reconnect: Option<ReconnectState>,
    began: bool,
    over: bool,
}

struct OpenStream {
    connection: Connection,
    body: Incoming,
    decoder: SseDecoder,
}

#[derive(Debug, Clone, Copy)]
struct ReconnectState {
    since: Instant,
    attempts: u32,
    next: Instant,
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Events").field("cursor", &self.cursor).field("over", &self.over).finish_non_exhaustive()
    }
}

impl Events {
    pub(crate) fn new(client: Client, follow: EventOptions) -> Self {
        let cursor = follow.after.clone();
        Self { client, follow, cursor, open: None, reconnect: None, began: false, over: false }
    }

    /// Returns the cursor of the last snapshot or event. Pass the cursor to [`EventOptions::after`] to resume the
    /// stream later.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Returns the next message, or `None` after an error. If the connection breaks or is closed by the server, the
    /// stream is resumed after the last event. The stream ends with [`Error::Ended`] if the run has ended, and with the
    /// last error if the stream cannot be resumed in time. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<StreamBody, Error>> {
        if self.over {
            return None;
        }
        loop {
            match self.step().await {
                Ok(Some(StreamBody::Dropped { .. })) => self.schedule_reconnect(),
                Ok(Some(message)) => {
                    self.reconnect = None;
                    return Some(Ok(message));
                }
                Ok(None) => self.schedule_reconnect(),
                Err(error) => {
                    let tried = self.reconnect.is_some_and(|cut| cut.since.elapsed() >= self.follow.reconnect_for);
                    if self.began && !tried && is_transient(&error) {
                        self.schedule_reconnect();
                        continue;
                    }
                    self.over = true;
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Drops the connection and schedules the next attempt to connect: the first attempt immediately, the others after
    /// increasing delays.
    fn schedule_reconnect(&mut self) {
        self.open = None;
        let now = Instant::now();
        let cut = self.reconnect.get_or_insert(ReconnectState { since: now, attempts: 0, next: now });
        let pause = match cut.attempts {
            0 => Duration::ZERO,
            attempts => INITIAL_RECONNECT_DELAY.saturating_mul(1 << (attempts - 1).min(8)).min(MAX_RECONNECT_DELAY),
        };
        cut.next = now + pause;
        cut.attempts += 1;
    }

    /// Connects if necessary and reads one message. Returns `None` if the connection broke.
    async fn step(&mut self) -> Result<Option<StreamBody>, Error> {
        if self.open.is_none() {
            if let Some(cut) = self.reconnect {
                if self.follow.reconnect_for.is_zero() {
                    return Err(self.client.unreachable("closed the event stream"));
                }
                sleep_until(cut.next).await;
            }
            self.open = Some(self.connect().await?);
            self.began = true;
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        let Ok(Some((id, data))) = timeout(HEARTBEAT_TIMEOUT, open.next()).await else { return Ok(None) };
        let url = || self.client.address().url();
        let data = data.map_err(|()| Error::ResponseTooLarge { url: url(), limit: MAX_RESPONSE_BYTES })?;
        let message = serde_json::from_slice(&data).map_err(|error| Error::UnexpectedServer {
            url: url(),
            problem: format!("sent an unexpected event: {error}"),
        })?;
        if id.is_some() {
            self.cursor = id;
        }
        Ok(Some(message))
    }

    async fn connect(&self) -> Result<OpenStream, Error> {
        let (mut connection, response) = self.client.begin_stream(&self.follow.request(self.cursor())).await?;
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(OpenStream { connection, body, decoder: SseDecoder::default() });
        }
        let collected = http_body_util::Limited::new(body, MAX_RESPONSE_BYTES).collect();
        let body = match connection.drive_until(collected).await {
            Ok(collected) => collected.to_bytes(),
            Err(_) => return Err(self.client.unreachable("closed the connection in the middle of its response")),
        };
        let url = self.client.address().url().into();
        Err(HttpResponse { status: head.status.as_u16(), body, headers: head.headers, url }.to_error()?)
    }
}

/// Returns true for errors that may be temporary.
fn is_transient(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Timeout { .. } => true,
        Error::Refused(refusal) => refusal.status == 503,
        _ => false,
    }
}

impl OpenStream {
    /// Reads the id and data of the next event. The data is `Err` if the event is too long. Returns `None` at the end
    /// of the connection.
    async fn next(&mut self) -> Option<(Option<String>, Result<Vec<u8>, ()>)> {
        loop {
            if let Some((id, data)) = self.decoder.next() {
                return Some((id, Ok(data)));
            }
            if self.decoder.len() > MAX_RESPONSE_BYTES {
                return Some((None, Err(())));
            }
            let frame = self.connection.drive_until(self.body.frame()).await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.decoder.feed(&data);
            }
        }
    }
}
