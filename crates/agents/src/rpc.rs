//! JSON-RPC with a program, a message a line, in both directions: our requests and the program's have ids of their own,
//! and neither waits for the other. What answers the program's requests is up to who holds the [`Peer`]; every one must
//! be answered, also those that nobody knows ([`Peer::unknown`]).

mod message;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use wh_pipe::{Closed, Launch, Line, NoReply, Pending, StartError, Talk, Waiting, Writer};

use message::Message;

/// What our requests may take, unless said otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long we wait to learn why nothing can be sent any more: the program's end is seen a little after its pipe breaks.
const AFTERMATH: Duration = Duration::from_secs(2);

/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;

/// The parameters are not as they should be.
pub const INVALID_PARAMS: i64 = -32602;

/// What comes from the program, in its order. Replies to our requests are not among it.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// It asks something and waits for an answer by this id.
    Request {
        /// The id, as it wrote it: a number or a string.
        id: Value,
        /// What it asks.
        method: String,
        /// With what.
        params: Value,
    },
    /// It says something.
    Notification {
        /// What about.
        method: String,
        /// What.
        params: Value,
    },
    /// A line was longer than may be, and was passed over.
    Skipped {
        /// How long it was.
        bytes: u64,
    },
    /// A line that is no message; what is wrong with it.
    Unreadable(String),
    /// It is gone; nothing comes after this.
    Closed(Closed),
}

/// Why a request of ours came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RpcError {
    /// The program says no.
    #[error("{message}")]
    Refused {
        /// The error's number.
        code: i64,
        /// What it said.
        message: String,
        /// More about it.
        data: Option<Value>,
    },
    /// It did not answer in time. It may still have done it.
    #[error("no answer to {method} within {after:?}")]
    Timeout {
        /// What was asked.
        method: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// It is gone.
    #[error("{0}")]
    Gone(Arc<str>),
}

impl RpcError {
    /// Whether the program does not know the method.
    pub fn is_unknown_method(&self) -> bool {
        matches!(self, Self::Refused { code: METHOD_NOT_FOUND, .. })
    }
}

/// How a peer is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Whether messages carry `"jsonrpc": "2.0"`. Codex leaves it out.
    pub version: bool,
    /// The longest line that is read.
    pub longest_line: usize,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { version: true, longest_line: wh_pipe::lines::MAX }
    }
}

/// One end of a conversation. Clones are the same end; with the last of them and its [`Events`], the program ends.
#[derive(Debug, Clone)]
pub struct Peer {
    shared: Arc<Shared>,
    _held: Arc<Held>,
}

#[derive(Debug)]
struct Shared {
    talk: Talk,
    dialect: Dialect,
    pending: Pending<u64, Result<Value, RpcError>>,
    /// Requests of the program that wait for an answer, as they are written.
    open: Mutex<HashSet<String>>,
    next: AtomicU64,
    /// How many of our requests have an end to their patience.
    hurried: AtomicUsize,
    /// Why it is gone, once it is.
    gone: watch::Sender<Option<Arc<str>>>,
}

#[derive(Debug)]
struct Held(Arc<Shared>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.talk.close();
    }
}

/// What comes from the program. Whoever holds it reads it: when too much waits, the program has to wait too.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::UnboundedReceiver<(Incoming, usize)>,
    shared: Arc<Shared>,
    _held: Arc<Held>,
}

impl Events {
    /// The next, `None` after [`Incoming::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Incoming> {
        let (incoming, bytes) = self.receiver.recv().await?;
        self.shared.talk.room.taken(bytes);
        Some(incoming)
    }

    /// The next, if it is here already. What the program said before it answered a request of ours is here when the
    /// answer is.
    pub fn waiting(&mut self) -> Option<Incoming> {
        let (incoming, bytes) = self.receiver.try_recv().ok()?;
        self.shared.talk.room.taken(bytes);
        Some(incoming)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.receiver.close();
        self.shared.talk.room.abandon();
    }
}

/// The answer to a request that was written.
#[derive(Debug)]
pub struct Reply {
    waiting: Waiting<u64, Result<Value, RpcError>>,
    method: String,
    _hurry: Option<Hurry>,
}

/// While there is one, everything is read, however much waits: an answer is behind it.
#[derive(Debug)]
struct Hurry(Arc<Shared>);

impl Hurry {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.hurried.fetch_add(1, Ordering::AcqRel);
        shared.talk.room.wake();
        Self(Arc::clone(shared))
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.hurried.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Reply {
    /// Waits for it.
    pub async fn wait(self) -> Result<Value, RpcError> {
        match self.waiting.await {
            Ok(outcome) => outcome,
            Err(NoReply::Timeout(after)) => Err(RpcError::Timeout { method: self.method, after }),
            Err(NoReply::Disconnected(reason)) => Err(RpcError::Gone(reason)),
            Err(NoReply::Taken) => Err(RpcError::Gone("its id is taken".into())),
        }
    }
}

impl Peer {
    /// Starts a program and listens to it.
    pub async fn start(launch: &Launch, dialect: Dialect) -> Result<(Self, Events), StartError> {
        let mut child = launch.start().await?;
        let broken = || StartError::Other {
            program: launch.program.clone(),
            source: std::io::Error::other("its pipes are gone"),
        };
        let writer = Writer::new(child.stdin.take().ok_or_else(broken)?);
        let stdout = child.stdout.take().ok_or_else(broken)?;
        let shared = Arc::new(Shared {
            talk: Talk::new(writer),
            dialect,
            pending: Pending::new(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            hurried: AtomicUsize::new(0),
            gone: watch::Sender::new(None),
        });
        let (sender, receiver) = mpsc::unbounded_channel();
        let held = Arc::new(Held(Arc::clone(&shared)));
        let events = Events { receiver, shared: Arc::clone(&shared), _held: Arc::clone(&held) };
        let reader = Arc::clone(&shared);
        tokio::spawn(async move {
            let urgent = || reader.hurried.load(Ordering::Acquire) > 0;
            let hear = |line: Line<'_>| reader.hear(line, &sender);
            let closed = reader.talk.listen(child, stdout, dialect.longest_line, urgent, hear).await;
            let reason = closed.reason();
            reader.gone.send_replace(Some(reason.as_str().into()));
            reader.pending.close(&reason);
            reader.tell(Incoming::Closed(closed), 0, &sender);
        });
        Ok((Self { shared, _held: held }, events))
    }

    /// Asks something and waits for the answer, as long as [`PATIENCE`].
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.request_within(method, params, Some(PATIENCE)).await
    }

    /// Asks something and waits for the answer: so long, or for ever. Whoever waits for ever reads the [`Events`]
    /// meanwhile: when too many wait, the answer does too.
    pub async fn request_within(
        &self,
        method: &str,
        params: Value,
        patience: Option<Duration>,
    ) -> Result<Value, RpcError> {
        self.begin(method, params, patience).await?.wait().await
    }

    /// Asks something, and is done once that is written. The answer is waited for apart.
    pub async fn begin(&self, method: &str, params: Value, patience: Option<Duration>) -> Result<Reply, RpcError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let waiting = self.shared.pending.open(id, patience);
        let hurry = patience.map(|_| Hurry::new(&self.shared));
        self.send(json!({ "id": id, "method": method, "params": params })).await?;
        Ok(Reply { waiting, method: method.to_owned(), _hurry: hurry })
    }

    /// Says something that has no answer.
    pub async fn notify(&self, method: &str, params: Value) -> Result<(), RpcError> {
        self.send(json!({ "method": method, "params": params })).await
    }

    /// Answers a request of the program's; false if it is not open any more, and then nothing is sent.
    pub async fn answer(&self, id: &Value, result: Value) -> Result<bool, RpcError> {
        if !self.shared.close(id) {
            return Ok(false);
        }
        self.send(json!({ "id": id, "result": result })).await?;
        Ok(true)
    }

    /// Refuses a request of the program's; false if it is not open any more.
    pub async fn refuse(&self, id: &Value, code: i64, message: &str) -> Result<bool, RpcError> {
        if !self.shared.close(id) {
            return Ok(false);
        }
        self.send(json!({ "id": id, "error": { "code": code, "message": message } })).await?;
        Ok(true)
    }

    /// Answers a request that nobody here knows.
    pub async fn unknown(&self, id: &Value, method: &str) -> Result<bool, RpcError> {
        self.refuse(id, METHOD_NOT_FOUND, &format!("there is no method {method:?}")).await
    }

    /// Lets the program end. [`Incoming::Closed`] tells when.
    pub fn close(&self) {
        self.shared.talk.close();
    }

    async fn send(&self, mut message: Value) -> Result<(), RpcError> {
        if self.shared.dialect.version {
            message["jsonrpc"] = json!("2.0");
        }
        let Err(error) = self.shared.talk.writer.line(message.to_string()).await else { return Ok(()) };
        // Why the program has gone says more than that its pipe is broken.
        let mut gone = self.shared.gone.subscribe();
        let reason = timeout(AFTERMATH, gone.wait_for(Option::is_some)).await;
        let reason = reason.ok().and_then(|known| known.ok()?.clone());
        Err(RpcError::Gone(reason.unwrap_or_else(|| error.to_string().into())))
    }
}

impl Shared {
    fn hear(&self, line: Line<'_>, sender: &mpsc::UnboundedSender<(Incoming, usize)>) {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong { bytes } => return self.tell(Incoming::Skipped { bytes }, 0, sender),
        };
        match Message::read(line) {
            Ok(None) => {}
            Ok(Some(Message::Request { id, method, params })) => {
                self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_string());
                self.tell(Incoming::Request { id, method, params }, line.len(), sender);
            }
            Ok(Some(Message::Notification { method, params })) => {
                self.tell(Incoming::Notification { method, params }, line.len(), sender);
            }
            Ok(Some(Message::Reply { id, outcome })) => {
                let waits = id.as_u64().is_some_and(|id| self.pending.resolve(&id, outcome));
                if !waits {
                    tracing::debug!(%id, "a reply that nobody waits for");
                }
            }
            Err(reason) => self.tell(Incoming::Unreadable(reason), 0, sender),
        }
    }

    fn tell(&self, incoming: Incoming, bytes: usize, sender: &mpsc::UnboundedSender<(Incoming, usize)>) {
        self.talk.room.put(bytes);
        // Nobody listens any more: then nobody misses it.
        let _ = sender.send((incoming, bytes));
    }

    fn close(&self, id: &Value) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string())
    }
}

#[cfg(test)]
mod tests;
