//! Server-sent events of `GET /control/events`, resumed after the last one when the connection is cut.

mod sse;

use std::fmt;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until, timeout};
use wh_wire::control::StreamBody;

use crate::answer::{Answer, MAX_ANSWER_BYTES};
use crate::client::Client;
use crate::connection::Connection;
use crate::error::Error;
use crate::request::Request;
use sse::Decoder;

/// Silence after which a connection counts as cut. The server sends a heartbeat after 15 s.
const MAX_SILENCE: Duration = Duration::from_secs(45);

/// Time for which a stream that was cut tries to resume, unless told otherwise.
const RECONNECT_FOR: Duration = Duration::from_secs(10);

/// Pause before the second attempt to resume; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Pictures of the screen among the events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Frames {
    /// None.
    #[default]
    None,
    /// The text of each new frame.
    Plain,
    /// Each new frame with its colours, as escape sequences.
    Raw,
}

/// Options of a subscription: frames, rate, the cursor to resume from, and the limit for reconnecting.
#[derive(Debug, Clone)]
pub struct Follow {
    frames: Frames,
    rate: Option<u32>,
    after: Option<String>,
    reconnect_for: Duration,
}

impl Default for Follow {
    fn default() -> Self {
        Self { frames: Frames::None, rate: None, after: None, reconnect_for: RECONNECT_FOR }
    }
}

impl Follow {
    /// Events without frames, from now on; a snapshot of the state comes first.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the screen whenever it changes.
    #[must_use]
    pub fn frames(mut self, frames: Frames) -> Self {
        self.frames = frames;
        self
    }

    /// Limits the frames per second: 1 to 60; 30 unless set.
    #[must_use]
    pub fn rate(mut self, rate: u32) -> Self {
        self.rate = Some(rate);
        self
    }

    /// Resumes after this event: a cursor of an earlier stream. If it cannot, a reset and a snapshot come first.
    #[must_use]
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.after = Some(cursor.into());
        self
    }

    /// Tries this long to resume a stream that was cut; 10 s unless set. Zero ends it at the first cut.
    #[must_use]
    pub fn reconnect_for(mut self, time: Duration) -> Self {
        self.reconnect_for = time;
        self
    }

    fn request(&self, cursor: Option<&str>) -> Request {
        let frames = match self.frames {
            Frames::None => "none",
            Frames::Plain => "plain",
            Frames::Raw => "raw",
        };
        Request::get("/control/events")
            .query("frames", frames)
            .query_if("rate", self.rate)
            .query_if("after", cursor)
            .header("Accept", "text/event-stream")
    }
}

/// The events of a run or a session, in their order, each once.
pub struct Events {
    client: Client,
    follow: Follow,
    cursor: Option<String>,
    open: Option<Open>,
    /// Since when nothing came, and how often it was tried since then; `None` before the first connection.
    cut: Option<Cut>,
    began: bool,
    over: bool,
}

struct Open {
    connection: Connection,
    body: Incoming,
    decoder: Decoder,
}

#[derive(Debug, Clone, Copy)]
struct Cut {
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
    pub(crate) fn new(client: Client, follow: Follow) -> Self {
        let cursor = follow.after.clone();
        Self { client, follow, cursor, open: None, cut: None, began: false, over: false }
    }

    /// Where the stream can be resumed: the id of the last snapshot or event.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// The next message; `None` after an error. A stream that was cut, or that the server dropped, is resumed after the last event.
    /// It ends with [`Error::Ended`] if the run has, and with the last error if it cannot be resumed in time. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<StreamBody, Error>> {
        if self.over {
            return None;
        }
        loop {
            match self.step().await {
                Ok(Some(StreamBody::Dropped { .. })) => self.lost(),
                Ok(Some(message)) => {
                    self.cut = None;
                    return Some(Ok(message));
                }
                Ok(None) => self.lost(),
                Err(error) => {
                    let tried = self.cut.is_some_and(|cut| cut.since.elapsed() >= self.follow.reconnect_for);
                    if self.began && !tried && may_pass(&error) {
                        self.lost();
                        continue;
                    }
                    self.over = true;
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Notes that the connection is gone, and when to try again: at once, then after pauses that grow.
    fn lost(&mut self) {
        self.open = None;
        let now = Instant::now();
        let cut = self.cut.get_or_insert(Cut { since: now, attempts: 0, next: now });
        let pause = match cut.attempts {
            0 => Duration::ZERO,
            attempts => FIRST_PAUSE.saturating_mul(1 << (attempts - 1).min(8)).min(LONGEST_PAUSE),
        };
        cut.next = now + pause;
        cut.attempts += 1;
    }

    /// Connects if need be, and reads one message; `None`: the connection was cut.
    async fn step(&mut self) -> Result<Option<StreamBody>, Error> {
        if self.open.is_none() {
            if let Some(cut) = self.cut {
                if self.follow.reconnect_for.is_zero() {
                    return Err(self.client.unreachable("has closed the stream of events"));
                }
                sleep_until(cut.next).await;
            }
            self.open = Some(self.connect().await?);
            self.began = true;
        }
        let Some(open) = &mut self.open else { return Ok(None) };
        let Ok(Some((id, data))) = timeout(MAX_SILENCE, open.next()).await else { return Ok(None) };
        let url = || self.client.address().url();
        let data = data.map_err(|()| Error::AnswerTooLarge { url: url(), limit: MAX_ANSWER_BYTES })?;
        let message = serde_json::from_slice(&data).map_err(|error| Error::NotOurs {
            url: url(),
            problem: format!("sends events of another form: {error}"),
        })?;
        if id.is_some() {
            self.cursor = id;
        }
        Ok(Some(message))
    }

    async fn connect(&self) -> Result<Open, Error> {
        let (mut connection, response) = self.client.begin_stream(&self.follow.request(self.cursor())).await?;
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(Open { connection, body, decoder: Decoder::default() });
        }
        let collected = http_body_util::Limited::new(body, MAX_ANSWER_BYTES).collect();
        let body = match connection.driving(collected).await {
            Ok(collected) => collected.to_bytes(),
            Err(_) => return Err(self.client.unreachable("hung up in the middle of its answer")),
        };
        let url = self.client.address().url().into();
        Err(Answer { status: head.status.as_u16(), body, headers: head.headers, url }.refused()?)
    }
}

/// True for errors that may be gone at the next attempt.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Timeout { .. } => true,
        Error::Refused(refusal) => refusal.status == 503,
        _ => false,
    }
}

impl Open {
    /// The id and the data of the next event; an error if it is too long; `None` at the end of the connection.
    async fn next(&mut self) -> Option<(Option<String>, Result<Vec<u8>, ()>)> {
        loop {
            if let Some((id, data)) = self.decoder.next() {
                return Some((id, Ok(data)));
            }
            if self.decoder.len() > MAX_ANSWER_BYTES {
                return Some((None, Err(())));
            }
            let frame = self.connection.driving(self.body.frame()).await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.decoder.feed(&data);
            }
        }
    }
}
