//! Connection to one Claude Code process: requests with replies, questions with answers, and all other messages in
//! order.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt, Stream};
use serde_json::Value;
use wh_pipe::ProgramExit;
use wh_pipe::link::{self, Codec, DecodedLine, EncodedFrame, FrameRole, Link, LinkError, LinkEvent};
use wh_wire::claude::{
    Answer, ClaudeMessage, ClientRequest, ClientResponse, DecodeError, Incoming, IncomingRequest, Outgoing, ReplyError,
    UserInput, decode, request_id,
};

use crate::error::Error;
use crate::handlers::{Handlers, QuestionRoute};
use crate::options::Options;
use crate::random_id::random;

/// Event from Claude Code. Events are delivered in the order in which Claude Code wrote them.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Message of the conversation, or a notification about it. Frames of unknown kinds are [`ClaudeMessage::Unknown`].
    Message(ClaudeMessage),
    /// Question that waits for an [answer](Connection::answer). Only sent with [`forward_asks`](Options::forward_asks).
    Ask(IncomingRequest),
    /// The question with this id was withdrawn and cannot be answered any more.
    Withdrawn(String),
    /// A line exceeded the limit of [`longest_line`](Options::longest_line) and was skipped.
    Skipped {
        /// Length of the line.
        bytes: u64,
    },
    /// Line that is not valid JSON.
    Unreadable(DecodeError),
    /// Claude Code has exited. This is the last event.
    Closed(ProgramExit),
}

/// Message to Claude Code.
#[derive(Debug, Clone, PartialEq)]
pub enum ClaudeFrame {
    /// Control request. The link assigns the request id.
    Request(ClientRequest),
    /// Message that is not a control request.
    Message(Outgoing),
}

impl From<UserInput> for ClaudeFrame {
    fn from(input: UserInput) -> Self {
        Self::Message(Outgoing::User(Box::new(input)))
    }
}

impl ClaudeFrame {
    /// Creates the frame that answers a question.
    pub fn answer(request_id: &str, answer: impl Into<Answer>) -> Self {
        Self::Message(Outgoing::success(request_id, answer))
    }

    /// Creates the frame that refuses a question with a reason.
    pub fn refusal(request_id: &str, reason: &str) -> Self {
        Self::Message(Outgoing::error(request_id, reason))
    }
}

/// Codec for stream-json with Claude Code's control protocol.
pub struct StreamJson {
    handlers: Handlers,
    forward_asks: bool,
}

impl Codec for StreamJson {
    type Frame = ClaudeFrame;
    type Id = String;
    type Reply = Result<Value, ReplyError>;
    type Message = Event;

    fn encode(&self, frame: ClaudeFrame, number: u64) -> Result<EncodedFrame<String>, String> {
        let (outgoing, role) = match frame {
            ClaudeFrame::Request(request) => {
                let id = request_id(number + 1, random() as u32);
                (Outgoing::request(id.clone(), request), FrameRole::Request(id))
            }
            ClaudeFrame::Message(outgoing) => {
                let role = match &outgoing {
                    Outgoing::ControlResponse {
                        response: ClientResponse::Success { request_id, .. } | ClientResponse::Error { request_id, .. },
                    } => FrameRole::Answer(request_id.clone()),
                    _ => FrameRole::Message,
                };
                (outgoing, role)
            }
        };
        let line = outgoing.encode().map_err(|error| error.to_string())?;
        Ok(EncodedFrame { line: line.trim_end_matches('\n').to_owned(), role })
    }

    fn decode(&self, line: &[u8]) -> DecodedLine<Self> {
        match decode(line) {
            Ok(Incoming::Message(message)) => DecodedLine::Message(Event::Message(message)),
            Ok(Incoming::Reply(reply)) => DecodedLine::Reply(reply.request_id, reply.outcome),
            Ok(Incoming::Ask(ask)) => self.ask(ask),
            Ok(Incoming::Cancel { request_id }) => {
                DecodedLine::Withdrawal(request_id.clone(), Event::Withdrawn(request_id))
            }
            Ok(Incoming::Noise | Incoming::KeepAlive) => DecodedLine::Nothing,
            Err(error) => DecodedLine::Message(Event::Unreadable(error)),
        }
    }
}

impl StreamJson {
    fn ask(&self, ask: IncomingRequest) -> DecodedLine<Self> {
        let id = ask.request_id.clone();
        match self.handlers.route(&id, &ask.kind, self.forward_asks) {
            QuestionRoute::Ignored => DecodedLine::Nothing,
            QuestionRoute::Forwarded => DecodedLine::Request(id, Event::Ask(ask)),
            QuestionRoute::Answered(answer) => {
                let key = id.clone();
                let answer = async move {
                    // Claude Code waits for every answer, so an answer is sent even if the callback panics.
                    let answer = AssertUnwindSafe(answer).catch_unwind().await;
                    ClaudeFrame::Message(answer.unwrap_or_else(|_| Outgoing::error(&id, "the callback panicked")))
                };
                DecodedLine::Handled(key, Box::pin(answer))
            }
        }
    }
}

/// Connection to a running Claude Code. Clones share the connection. The process is ended when the last clone and its
/// [`Events`] are dropped.
#[derive(Debug, Clone)]
pub struct Connection {
    link: Link<StreamJson>,
    timeout: Duration,
}

/// Stream of events from Claude Code. Events must be read: if the buffer is full, Claude Code blocks.
#[derive(Debug)]
pub struct Events(link::LinkEvents<StreamJson>);

impl Events {
    /// Waits for the next event. `None` after [`Event::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// Returns the next event if it has already arrived, without waiting.
    pub(crate) fn try_next(&mut self) -> Option<Event> {
        while let Some(inbound) = self.0.try_next() {
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

    /// Converts this stream into the event stream of the underlying link.
    pub fn into_link(self) -> link::LinkEvents<StreamJson> {
        self.0
    }
}

/// Converts a link event. Returns `None` for lines of standard error, and for replies, which the link delivers to the
/// callers of the requests.
fn event(inbound: LinkEvent<StreamJson>) -> Option<Event> {
    Some(match inbound {
        LinkEvent::Message(event) => event,
        LinkEvent::Reply(..) | LinkEvent::Stderr(_) => return None,
        LinkEvent::Skipped { bytes } => Event::Skipped { bytes },
        LinkEvent::Closed(closed) => Event::Closed(closed),
    })
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.poll(context)
    }
}

impl Connection {
    /// Starts Claude Code and performs the handshake. Returns the connection, its events, and the reply to the
    /// initialize request. Messages that arrive before that reply are buffered, up to 256 KiB.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code cannot be started, exits at once, refuses the handshake, or does not answer in time.
    pub async fn start(options: &Options) -> Result<(Self, Events, Value), Error> {
        let codec = StreamJson { handlers: options.handlers.clone(), forward_asks: options.forward_asks };
        let (link, mut events) = Link::start(&options.launch(), codec, options.longest_line).await?;
        let connection = Self { link, timeout: options.control_timeout };
        let hello = ClientRequest::Initialize(Box::new(options.initialize.clone()));
        let reply = connection.ask("initialize", hello, options.initialize_timeout);
        let reply = events.buffer_during(reply).await?;
        Ok((connection, Events(events), reply))
    }

    /// Sends a request and waits for the reply.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code does not know the request, refuses the request, does not answer in time, or exits.
    pub async fn request(&self, request: ClientRequest) -> Result<Value, Error> {
        let name = subtype(&request);
        self.ask(&name, request, self.timeout).await
    }

    async fn ask(&self, name: &str, request: ClientRequest, timeout: Duration) -> Result<Value, Error> {
        let failed = |error| Error::no_reply(name, error);
        let reply = self.link.request(ClaudeFrame::Request(request), Some(timeout)).await.map_err(failed)?;
        reply.await.map_err(failed)?.map_err(|refusal| Error::refused(name, refusal))
    }

    /// Sends input. Completes when the operating system has accepted the input.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code has exited.
    pub async fn send(&self, input: UserInput) -> Result<(), Error> {
        self.write(input.into()).await.map(drop)
    }

    /// Answers a question. Returns false and sends nothing if the question is no longer open.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code has exited.
    pub async fn answer(&self, request_id: &str, answer: impl Into<Answer>) -> Result<bool, Error> {
        self.write(ClaudeFrame::answer(request_id, answer)).await
    }

    /// Refuses a question with a reason. Returns false if the question is no longer open.
    ///
    /// # Errors
    ///
    /// Fails if Claude Code has exited.
    pub async fn refuse(&self, request_id: &str, reason: &str) -> Result<bool, Error> {
        self.write(ClaudeFrame::refusal(request_id, reason)).await
    }

    /// Writes a frame. Raises the buffer limit during the write to prevent a deadlock: Claude Code reads no input while
    /// its output is not read, and the caller may be the task that reads the output.
    async fn write(&self, frame: ClaudeFrame) -> Result<bool, Error> {
        let _raised_limit = self.link.raise_limit();
        self.link.send(frame).await.map_err(gone)
    }

    /// Returns the error for calls after the process has exited.
    pub(crate) async fn exit_error(&self) -> Error {
        gone(self.link.end_reason("the process has already exited").await)
    }

    /// Ends Claude Code: closes its input, and kills it if it does not exit. [`Event::Closed`] reports the exit.
    pub fn close(&self) {
        self.link.close();
    }

    /// Returns the underlying link, for programs that control the order of frames themselves.
    pub fn link(&self) -> &Link<StreamJson> {
        &self.link
    }
}

fn gone(gone: LinkError) -> Error {
    Error::Disconnected(gone.0)
}

/// Returns the subtype of a request in the protocol.
pub(crate) fn subtype(request: &ClientRequest) -> String {
    let value = serde_json::to_value(request).unwrap_or_default();
    value["subtype"].as_str().unwrap_or("a request").to_owned()
}
