//! A link to a program that speaks in lines: frames are written in their order, replies are matched with requests by id,
//! and everything else arrives as events in the order in which the program wrote it. The [`Codec`] knows what a line means.

mod events;
mod requests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tracing::debug;

use crate::lines::{Line, Lines};
use crate::pending::Pending;
use crate::process::{Launch, StartError};
use crate::tail::MarkedLines;
use crate::talk::{Closed, Heard, Talk};
use crate::writer::Writer;

pub use events::Events;
use events::Queued;
pub use requests::{Hurry, LinkReply, Outbound};

/// Time after a failed write in which the program's end is waited for: it is seen a little after its pipe breaks, and says
/// more than the broken pipe.
const END_AFTER_BROKEN_PIPE: Duration = Duration::from_secs(2);

/// A boxed future that can be sent to another task.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Reads and writes the lines of a protocol. No IO.
pub trait Codec: Sized + Send + Sync + 'static {
    /// A message to the program.
    type Frame: Send + 'static;
    /// Id of a request of ours.
    type Id: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static;
    /// Content of a reply to a request of ours.
    type Reply: Send + 'static;
    /// A message of the program that is not a reply.
    type Message: Send + 'static;

    /// Writes a frame as one line. `number` is different for each frame of a link.
    ///
    /// # Errors
    ///
    /// If the frame cannot be written as a line.
    fn encode(&self, frame: Self::Frame, number: u64) -> Result<Encoded<Self::Id>, String>;

    /// Reads one line.
    fn decode(&self, line: &[u8]) -> Decoded<Self>;
}

/// A frame as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded<I> {
    /// The line, without its end.
    pub line: String,
    /// Its part in the exchange.
    pub role: Role<I>,
}

/// The part of a frame in the exchange of requests and replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role<I> {
    /// Neither a request nor an answer.
    Message,
    /// A request of ours, which is answered under this id.
    Request(I),
    /// The answer to the program's request of this key. Written only while that request is open.
    Answer(String),
}

/// The meaning of a line.
pub enum Decoded<C: Codec> {
    /// The reply to a request of ours.
    Reply(C::Id, C::Reply),
    /// A message.
    Message(C::Message),
    /// A request of the program, open under this key until it is answered or withdrawn.
    Request(String, C::Message),
    /// The program withdraws its request of this key. The message is passed on if the request was open.
    Withdrawal(String, C::Message),
    /// A request of the program, under this key, that the future answers.
    Handled(String, BoxFuture<C::Frame>),
    /// Nothing of interest.
    Nothing,
}

/// One event of a link.
pub enum Inbound<C: Codec> {
    /// A message of the program.
    Message(C::Message),
    /// The reply to a request that was written with [`Link::write`].
    Reply(C::Id, C::Reply),
    /// A line exceeded the limit and was skipped.
    Skipped {
        /// Its length.
        bytes: u64,
    },
    /// A line of its standard error that has the launch's [marker](Launch::stderr_marker). Its place among messages is not
    /// known.
    Stderr(String),
    /// The program is gone; nothing comes after this.
    Closed(Closed),
}

impl<C: Codec> fmt::Debug for Inbound<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(_) => formatter.write_str("Message"),
            Self::Reply(id, _) => write!(formatter, "Reply({id:?})"),
            Self::Skipped { bytes } => write!(formatter, "Skipped({bytes})"),
            Self::Stderr(line) => write!(formatter, "Stderr({} bytes)", line.len()),
            Self::Closed(closed) => write!(formatter, "{closed:?}"),
        }
    }
}

/// The program is gone, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Gone(pub Arc<str>);

/// A link to a running program. Clones are the same link; with the last of them and its [`Events`], the program ends.
pub struct Link<C: Codec> {
    shared: Arc<Shared<C>>,
    _held: Arc<Held<C>>,
}

impl<C: Codec> Clone for Link<C> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), _held: Arc::clone(&self._held) }
    }
}

impl<C: Codec> fmt::Debug for Link<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Link").finish_non_exhaustive()
    }
}

type Sender<C> = mpsc::UnboundedSender<Queued<C>>;

struct Shared<C: Codec> {
    talk: Talk,
    codec: C,
    pending: Pending<C::Id, C::Reply>,
    /// Requests of ours whose reply is an event.
    inline: Mutex<HashSet<C::Id>>,
    /// Requests of the program that are open, with the task that answers where that is not the reader's.
    open: Mutex<HashMap<String, Option<AbortHandle>>>,
    next: AtomicU64,
    /// Number of [`Hurry`] values: requests of ours with a timeout, and writes. While there are any, more is read than may wait otherwise: the reply is behind it.
    hurried: AtomicUsize,
    /// Why the program is gone, once it is.
    gone: watch::Sender<Option<Arc<str>>>,
}

/// Ends the program when nobody holds the link.
struct Held<C: Codec>(Arc<Shared<C>>);

impl<C: Codec> Drop for Held<C> {
    fn drop(&mut self) {
        self.0.talk.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Codec> Link<C> {
    /// Starts a program and reads what it writes.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub async fn start(launch: &Launch, codec: C, longest_line: usize) -> Result<(Self, Events<C>), StartError> {
        let mut child = launch.start().await?;
        let broken = || StartError::Other {
            program: launch.program.clone(),
            source: std::io::Error::other("its pipes are gone"),
        };
        let writer = Writer::new(child.stdin.take().ok_or_else(broken)?);
        let stdout = Lines::new(child.stdout.take().ok_or_else(broken)?, longest_line);
        let stderr = launch.stderr_marker.clone().map(|marker| MarkedLines::new(child.stderr.clone(), marker));
        let shared = Arc::new(Shared {
            talk: Talk::new(writer),
            codec,
            pending: Pending::new(),
            inline: Mutex::default(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            hurried: AtomicUsize::new(0),
            gone: watch::Sender::new(None),
        });
        // Bounded by the room of the talk: beyond that nothing is read.
        let (sender, receiver) = mpsc::unbounded_channel();
        let held = Arc::new(Held(Arc::clone(&shared)));
        let events = Events::new(receiver, Arc::clone(&shared), Arc::clone(&held));
        let reader = Arc::clone(&shared);
        tokio::spawn(async move {
            let urgent = || reader.hurried.load(Ordering::Acquire) > 0;
            let hear = |heard: Heard<'_>| match heard {
                Heard::Stdout(line) => reader.hear(line, &sender),
                Heard::Stderr(line) => {
                    let bytes = line.len();
                    reader.tell(Inbound::Stderr(line), bytes, &sender);
                }
            };
            let closed = reader.talk.listen(child, (stdout, stderr), urgent, hear).await;
            let reason = closed.reason();
            reader.gone.send_replace(Some(reason.as_str().into()));
            reader.pending.close(&reason);
            for (_, task) in lock(&reader.open).drain() {
                task.inspect(AbortHandle::abort);
            }
            reader.tell_exchange(Inbound::Closed(closed), 0, &sender);
        });
        Ok((Self { shared, _held: held }, events))
    }

    /// Lets the program end: its input is closed, and a program that does not end by itself is ended.
    /// [`Inbound::Closed`] tells when.
    pub fn close(&self) {
        self.shared.talk.close();
    }

    /// The reason of the program's end, or `seen` if that is not known in time.
    pub async fn why_gone(&self, seen: &str) -> Gone {
        self.shared.why(seen).await
    }
}

impl<C: Codec> Shared<C> {
    fn hear(self: &Arc<Self>, line: Line<'_>, sender: &Sender<C>) {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong { bytes } => return self.tell(Inbound::Skipped { bytes }, 0, sender),
        };
        match self.codec.decode(line) {
            Decoded::Nothing => {}
            Decoded::Reply(id, reply) => {
                if lock(&self.inline).remove(&id) {
                    self.tell_exchange(Inbound::Reply(id, reply), line.len(), sender);
                } else if !self.pending.resolve(&id, reply) {
                    debug!(?id, "a reply that nobody waits for");
                }
            }
            Decoded::Message(message) => self.tell(Inbound::Message(message), line.len(), sender),
            Decoded::Request(key, message) => {
                lock(&self.open).insert(key, None);
                self.tell_exchange(Inbound::Message(message), line.len(), sender);
            }
            Decoded::Withdrawal(key, message) => {
                let open = lock(&self.open).remove(&key);
                match open {
                    Some(Some(task)) => task.abort(),
                    Some(None) => self.tell_exchange(Inbound::Message(message), line.len(), sender),
                    None => debug!("a request was withdrawn that is not open"),
                }
            }
            Decoded::Handled(key, answer) => self.handle(key, answer, line.len()),
        }
    }

    fn handle(self: &Arc<Self>, key: String, answer: BoxFuture<C::Frame>, bytes: usize) {
        let mut open = lock(&self.open);
        let counted = CountedAnswer::new(self, bytes);
        let task = tokio::spawn(async move {
            let shared = &counted.shared;
            let frame = answer.await;
            let outcome = match shared.encode(frame) {
                Ok(outbound) => shared.write(outbound).await,
                Err(gone) => Err(gone),
            };
            if let Err(error) = outcome {
                debug!(%error, "an answer was not sent");
            }
        });
        // The lock is held until the task is known, so the task cannot have answered before.
        open.insert(key, Some(task.abort_handle()));
    }

    fn tell(&self, event: Inbound<C>, bytes: usize, sender: &Sender<C>) {
        self.queue(Queued { event, bytes, is_exchange: false }, sender);
    }

    /// The same for an event that somebody waits for.
    fn tell_exchange(&self, event: Inbound<C>, bytes: usize, sender: &Sender<C>) {
        self.queue(Queued { event, bytes, is_exchange: true }, sender);
    }

    fn queue(&self, queued: Queued<C>, sender: &Sender<C>) {
        self.talk.room.put(queued.bytes);
        // Without a reader nobody misses it.
        let _ = sender.send(queued);
    }

    async fn line(&self, line: String) -> Result<(), Gone> {
        match self.talk.writer.line(line).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.why(&error.to_string()).await),
        }
    }

    async fn why(&self, seen: &str) -> Gone {
        let mut gone = self.gone.subscribe();
        let reason = timeout(END_AFTER_BROKEN_PIPE, gone.wait_for(Option::is_some)).await;
        let reason = reason.ok().and_then(|known| known.ok()?.clone());
        Gone(reason.unwrap_or_else(|| seen.into()))
    }
}

/// Counts a request of the program in the room while a task answers it, also if the task is aborted.
struct CountedAnswer<C: Codec> {
    shared: Arc<Shared<C>>,
    bytes: usize,
}

impl<C: Codec> CountedAnswer<C> {
    fn new(shared: &Arc<Shared<C>>, bytes: usize) -> Self {
        shared.talk.room.begin_answer(bytes);
        Self { shared: Arc::clone(shared), bytes }
    }
}

impl<C: Codec> Drop for CountedAnswer<C> {
    fn drop(&mut self) {
        self.shared.talk.room.end_answer(self.bytes);
    }
}

#[cfg(test)]
mod tests;
