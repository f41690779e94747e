//! The link to one running Claude Code: requests and their replies, questions and their answers, and everything else in
//! the order in which it was written.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, Stream};
use serde_json::Value;
use wh_pipe::Closed;
use wh_pipe::link::{self, Codec, Decoded, Encoded, Gone, Inbound, Link, Role};
use wh_wire::claude::{
    Answer, Ask, DecodeError, Incoming, Message, Outgoing, Refusal, Request, Response, UserInput, decode, request_id,
};

use crate::chance::random;
use crate::error::Error;
use crate::handlers::{Fate, Handlers};
use crate::options::Options;

/// What comes from Claude Code, in its order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A part of the conversation, or about it. A frame of a kind that is not known is [`Message::Unknown`].
    Message(Message),
    /// It asks something and waits for an [answer](Connection::answer). Only with
    /// [`forward_asks`](Options::forward_asks).
    Ask(Ask),
    /// It withdraws the question of this id. There is nothing to answer any more.
    Withdrawn(String),
    /// A line was longer than may be, and was passed over.
    Skipped {
        /// How long it was.
        bytes: u64,
    },
    /// A line that is no JSON.
    Unreadable(DecodeError),
    /// It is gone; nothing comes after this.
    Closed(Closed),
}

/// A message to Claude Code.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A control request; the link gives it an id.
    Request(Request),
    /// Anything else.
    Message(Outgoing),
}

impl From<UserInput> for Frame {
    fn from(input: UserInput) -> Self {
        Self::Message(Outgoing::User(Box::new(input)))
    }
}

impl Frame {
    /// Answers a question.
    pub fn answer(request_id: &str, answer: impl Into<Answer>) -> Self {
        Self::Message(Outgoing::success(request_id, answer))
    }

    /// Refuses a question with a reason.
    pub fn refusal(request_id: &str, reason: &str) -> Self {
        Self::Message(Outgoing::error(request_id, reason))
    }
}

/// The lines of Claude Code: stream-json with its control protocol.
pub struct StreamJson {
    handlers: Handlers,
    forward_asks: bool,
}

impl Codec for StreamJson {
    type Frame = Frame;
    type Id = String;
    type Reply = Result<Value, Refusal>;
    type Message = Event;

    fn encode(&self, frame: Frame, number: u64) -> Result<Encoded<String>, String> {
        let (outgoing, role) = match frame {
            Frame::Request(request) => {
                let id = request_id(number + 1, random() as u32);
                (Outgoing::request(id.clone(), request), Role::Request(id))
            }
            Frame::Message(outgoing) => {
                let role = match &outgoing {
                    Outgoing::ControlResponse {
                        response: Response::Success { request_id, .. } | Response::Error { request_id, .. },
                    } => Role::Answer(request_id.clone()),
                    _ => Role::Message,
                };
                (outgoing, role)
            }
        };
        let line = outgoing.encode().map_err(|error| error.to_string())?;
        Ok(Encoded { line: line.trim_end_matches('\n').to_owned(), role })
    }

    fn decode(&self, line: &[u8]) -> Decoded<Self> {
        match decode(line) {
            Ok(Incoming::Message(message)) => Decoded::Message(Event::Message(message)),
            Ok(Incoming::Reply(reply)) => Decoded::Reply(reply.request_id, reply.outcome),
            Ok(Incoming::Ask(ask)) => self.ask(ask),
            Ok(Incoming::Cancel { request_id }) => {
                Decoded::Withdrawal(request_id.clone(), Event::Withdrawn(request_id))
            }
            Ok(Incoming::Noise | Incoming::KeepAlive) => Decoded::Nothing,
            Err(error) => Decoded::Message(Event::Unreadable(error)),
        }
    }
}

impl StreamJson {
    fn ask(&self, ask: Ask) -> Decoded<Self> {
        let id = ask.request_id.clone();
        match self.handlers.fate(&id, &ask.kind, self.forward_asks) {
            Fate::Left => Decoded::Nothing,
            Fate::Forwarded => Decoded::Request(id, Event::Ask(ask)),
            Fate::Answered(answer) => {
                let key = id.clone();
                let answer = async move {
                    // Claude Code waits for every answer, also for that of a callback that panics.
                    let answer = AssertUnwindSafe(answer).catch_unwind().await;
                    Frame::Message(answer.unwrap_or_else(|_| Outgoing::error(&id, "the callback panicked")))
                };
                Decoded::Handled(key, Box::pin(answer))
            }
        }
    }
}

/// A link to a running Claude Code. Clones are the same link; with the last of them, and its [`Events`], the program ends.
#[derive(Debug, Clone)]
pub struct Connection {
    link: Link<StreamJson>,
    timeout: Duration,
}

/// What comes from Claude Code. Whoever holds it reads it: when too much waits, Claude Code has to wait too.
#[derive(Debug)]
pub struct Events(link::Events<StreamJson>);

impl Events {
    /// The next, `None` after [`Event::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// What has come already; `None` when nothing waits.
    pub(crate) fn ready(&mut self) -> Option<Event> {
        while let Some(inbound) = self.0.waiting() {
            if let Some(event) = event(inbound) {
                return Some(event);
            }
        }
        None
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            match self.0.poll(context) {
                Poll::Ready(Some(inbound)) => {
                    if let Some(event) = event(inbound) {
                        return Poll::Ready(Some(event));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// The events as the link has them.
    pub fn into_link(self) -> link::Events<StreamJson> {
        self.0
    }
}

/// `None` for replies, since those to requests of a [`Connection`] do not come this way, and for lines of standard error.
fn event(inbound: Inbound<StreamJson>) -> Option<Event> {
    Some(match inbound {
        Inbound::Message(event) => event,
        Inbound::Reply(..) | Inbound::Stderr(_) => return None,
        Inbound::Skipped { bytes } => Event::Skipped { bytes },
        Inbound::Closed(closed) => Event::Closed(closed),
    })
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll(context)
    }
}

impl Connection {
    /// Starts Claude Code and shakes hands. What it answers to that is the second value. Of what it says before that answer
    /// 256 KiB are kept.
    ///
    /// # Errors
    ///
    /// If it cannot be started, ends at once, refuses, or does not answer in time.
    pub async fn start(options: &Options) -> Result<(Self, Events, Value), Error> {
        let codec = StreamJson { handlers: options.handlers.clone(), forward_asks: options.forward_asks };
        let (link, mut events) = Link::start(&options.launch(), codec, options.longest_line).await?;
        let connection = Self { link, timeout: options.control_timeout };
        let hello = Request::Initialize(Box::new(options.initialize.clone()));
        let reply = connection.ask("initialize", hello, options.initialize_timeout);
        let reply = events.buffer_during(reply).await?;
        Ok((connection, Events(events), reply))
    }

    /// Asks for something, and waits for the reply.
    ///
    /// # Errors
    ///
    /// If the running version does not know the request, refuses it, does not answer in time, or is gone.
    pub async fn request(&self, request: Request) -> Result<Value, Error> {
        let name = subtype(&request);
        self.ask(&name, request, self.timeout).await
    }

    async fn ask(&self, name: &str, request: Request, timeout: Duration) -> Result<Value, Error> {
        let failed = |error| Error::no_reply(name, error);
        let reply = self.link.request(Frame::Request(request), Some(timeout)).await.map_err(failed)?;
        reply.await.map_err(failed)?.map_err(|refusal| Error::refused(name, refusal))
    }

    /// Says something to it. Done when the system has taken it.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn send(&self, input: UserInput) -> Result<(), Error> {
        self.write(input.into()).await.map(drop)
    }

    /// Answers a question; false if it is not open any more, and then nothing is sent.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn answer(&self, request_id: &str, answer: impl Into<Answer>) -> Result<bool, Error> {
        self.write(Frame::answer(request_id, answer)).await
    }

    /// Refuses a question with a reason; false if it is not open any more.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn refuse(&self, request_id: &str, reason: &str) -> Result<bool, Error> {
        self.write(Frame::refusal(request_id, reason)).await
    }

    /// Writes a frame. Claude Code reads no input while it waits for its output to be read, and the caller may be the one who
    /// reads it.
    async fn write(&self, frame: Frame) -> Result<bool, Error> {
        let _hurry = self.link.hurry();
        self.link.send(frame).await.map_err(gone)
    }

    /// What to say to whoever comes after its end.
    pub(crate) async fn why_gone(&self) -> Error {
        gone(self.link.why_gone("it has ended before").await)
    }

    /// Lets it end: its input is closed, and what does not end by itself is ended. [`Event::Closed`] tells when.
    pub fn close(&self) {
        self.link.close();
    }

    /// The link itself, for programs that write frames in an order of their own.
    pub fn link(&self) -> &Link<StreamJson> {
        &self.link
    }
}

fn gone(gone: Gone) -> Error {
    Error::Disconnected(gone.0)
}

/// The request's name on the wire.
pub(crate) fn subtype(request: &Request) -> String {
    let value = serde_json::to_value(request).unwrap_or_default();
    value["subtype"].as_str().unwrap_or("a request").to_owned()
}
