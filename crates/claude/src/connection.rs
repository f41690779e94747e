//! The line to one running Claude Code: requests and their replies, questions and their answers, and everything else in
//! the order in which it came.

mod reader;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use wh_pipe::{Closed, Pending, Talk, Writer};
use wh_wire::claude::{Answer, Ask, DecodeError, Message, Outgoing, Refusal, Request, Unknown, UserInput, request_id};

use crate::chance::random;
use crate::error::Error;
use crate::options::Options;

/// How long we wait to learn why nothing can be sent any more: the program's end is seen a little after its pipe breaks.
const AFTERMATH: Duration = Duration::from_secs(2);

/// What comes from Claude Code, in its order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A part of the conversation, or about it.
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
    /// A frame that this version of ours does not know.
    Unknown(Unknown),
    /// It is gone; nothing comes after this.
    Closed(Closed),
}

/// A line to a running Claude Code. Clones are the same line; with the last of them, and its [`Events`], the program ends.
#[derive(Debug, Clone)]
pub struct Connection {
    shared: Arc<Shared>,
    _held: Arc<Held>,
}

/// What the connection and its reader both know.
#[derive(Debug)]
struct Shared {
    talk: Talk,
    pending: Pending<String, Result<Value, Refusal>>,
    /// The questions that are open, with the task that answers where it is one of ours.
    asks: Mutex<HashMap<String, Option<AbortHandle>>>,
    /// Why it is gone, once it is.
    gone: watch::Sender<Option<Arc<str>>>,
    counter: AtomicU64,
    timeout: Duration,
}

/// Ends the program when nobody holds the connection any more.
#[derive(Debug)]
struct Held(Arc<Shared>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.talk.close();
    }
}

/// What comes from Claude Code. Whoever holds it reads it: when too much waits, Claude Code has to wait too.
#[derive(Debug)]
pub struct Events {
    /// With the length of the line that it was: the room counts it. Bounded by that room.
    receiver: mpsc::UnboundedReceiver<(Event, usize)>,
    shared: Arc<Shared>,
    _held: Arc<Held>,
}

impl Events {
    /// The next, `None` after [`Event::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        let (event, bytes) = self.receiver.recv().await?;
        self.shared.talk.room.taken(bytes);
        Some(event)
    }

    /// What has come already; `None` when nothing waits.
    pub(crate) fn ready(&mut self) -> Option<Event> {
        let (event, bytes) = self.receiver.try_recv().ok()?;
        self.shared.talk.room.taken(bytes);
        Some(event)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.receiver.close();
        self.shared.talk.room.abandon();
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.receiver.poll_recv(context).map(|next| {
            let (event, bytes) = next?;
            self.shared.talk.room.taken(bytes);
            Some(event)
        })
    }
}

impl Connection {
    /// Starts Claude Code and shakes hands. What it answers to that is the second value.
    ///
    /// # Errors
    ///
    /// If it cannot be started, ends at once, refuses, or does not answer in time.
    pub async fn start(options: &Options) -> Result<(Self, Events, Value), Error> {
        let (connection, events) = Self::open(options).await?;
        let hello = Request::Initialize(Box::new(options.initialize.clone()));
        let reply = connection.ask("initialize", hello, options.initialize_timeout).await?;
        Ok((connection, events, reply))
    }

    async fn open(options: &Options) -> Result<(Self, Events), Error> {
        let mut child = options.launch().start().await?;
        let gone = || Error::Disconnected("its pipes are gone".into());
        let writer = Writer::new(child.stdin.take().ok_or_else(gone)?);
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let shared = Arc::new(Shared {
            talk: Talk::new(writer),
            pending: Pending::new(),
            asks: Mutex::default(),
            gone: watch::Sender::new(None),
            counter: AtomicU64::new(0),
            timeout: options.control_timeout,
        });
        let (sender, receiver) = mpsc::unbounded_channel();
        let held = Arc::new(Held(Arc::clone(&shared)));
        tokio::spawn(reader::read(child, stdout, Arc::clone(&shared), sender, options.clone()));
        let events = Events { receiver, shared: Arc::clone(&shared), _held: Arc::clone(&held) };
        Ok((Self { shared, _held: held }, events))
    }

    /// Asks for something, and waits for the reply.
    ///
    /// # Errors
    ///
    /// If the running version does not know the request, refuses it, does not answer in time, or is gone.
    pub async fn request(&self, request: Request) -> Result<Value, Error> {
        let name = subtype(&request);
        self.ask(&name, request, self.shared.timeout).await
    }

    async fn ask(&self, name: &str, request: Request, timeout: Duration) -> Result<Value, Error> {
        let counter = self.shared.counter.fetch_add(1, Ordering::Relaxed) + 1;
        let id = request_id(counter, random() as u32);
        let reply = self.shared.pending.open(id.clone(), Some(timeout));
        // Its reply is behind everything that waits to be read.
        self.shared.talk.room.wake();
        let outgoing = Outgoing::request(id, request);
        let send = self.shared.send(&outgoing);
        tokio::pin!(reply, send);
        let reply = tokio::select! {
            biased;
            // The time runs, and the program can go, also while it does not read.
            reply = &mut reply => reply,
            sent = &mut send => {
                sent?;
                reply.await
            }
        };
        match reply {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(refusal)) => Err(Error::refused(name, refusal)),
            Err(error) => Err(Error::no_reply(name, error)),
        }
    }

    /// Says something to it. Done when the system has taken it.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn send(&self, input: UserInput) -> Result<(), Error> {
        self.shared.send(&Outgoing::User(Box::new(input))).await
    }

    /// Answers a question; false if it is not open any more, and then nothing is sent.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn answer(&self, request_id: &str, answer: impl Into<Answer>) -> Result<bool, Error> {
        if !self.shared.close_ask(request_id) {
            return Ok(false);
        }
        self.shared.send(&Outgoing::success(request_id, answer)).await?;
        Ok(true)
    }

    /// Refuses a question with a reason; false if it is not open any more.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub async fn refuse(&self, request_id: &str, reason: &str) -> Result<bool, Error> {
        if !self.shared.close_ask(request_id) {
            return Ok(false);
        }
        self.shared.send(&Outgoing::error(request_id, reason)).await?;
        Ok(true)
    }

    /// What to say to whoever comes after its end.
    pub(crate) async fn why_gone(&self) -> Error {
        self.shared.why("it has ended before").await
    }

    /// Lets it end: its input is closed, and what does not end by itself is ended. [`Event::Closed`] tells when.
    pub fn close(&self) {
        self.shared.talk.close();
    }
}

impl Shared {
    async fn send(&self, outgoing: &Outgoing) -> Result<(), Error> {
        let line = outgoing.encode().map_err(|error| Error::Disconnected(error.to_string().into()))?;
        match self.talk.writer.line(line.trim_end_matches('\n')).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.why(&error.to_string()).await),
        }
    }

    /// Why it is gone, as its own end tells; otherwise what we have seen of it.
    async fn why(&self, seen: &str) -> Error {
        let mut gone = self.gone.subscribe();
        let reason = match timeout(AFTERMATH, gone.wait_for(Option::is_some)).await {
            Ok(Ok(reason)) => reason.clone(),
            _ => None,
        };
        Error::Disconnected(reason.unwrap_or_else(|| seen.into()))
    }

    /// Whether the question was open; it no longer is.
    fn close_ask(&self, request_id: &str) -> bool {
        let open = self.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(request_id);
        open.is_some()
    }
}

/// The request's name on the wire.
fn subtype(request: &Request) -> String {
    let value = serde_json::to_value(request).unwrap_or_default();
    value["subtype"].as_str().unwrap_or("a request").to_owned()
}
