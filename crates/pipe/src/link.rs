//! Link to a program with a line-based protocol. Frames are written in order, replies are matched with requests by id,
//! and all other messages arrive as events, in order. The [`Codec`] defines the meaning of a line.

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

use crate::io_loop::{IoLoop, ProgramExit, ProgramLine};
use crate::lines::{Line, LineReader};
use crate::peer::{Peer, PeerTask, TaskPipes};
use crate::pending::PendingReplies;
use crate::process::{Exit, LaunchError, LaunchSpec, Stdout};
use crate::tail::MarkedLines;
use crate::writer::LineWriter;

pub use events::LinkEvents;
use events::QueuedEvent;
pub use requests::{LinkReply, OutboundFrame, RaisedLimit};

/// Timeout for the exit of the program after a failed write. The exit status arrives shortly after the pipe breaks, and
/// explains more than the error of the write.
const END_REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// Boxed future of the answer to a request from the program.
pub type AnswerFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Encodes and decodes the lines of a protocol. No IO.
pub trait Codec: Sized + Send + Sync + 'static {
    /// Message to the program, encoded as one line.
    type Frame: Send + 'static;
    /// Id of a request to the program.
    type Id: Hash + Eq + Clone + fmt::Debug + Send + Sync + 'static;
    /// Content of a reply to a request to the program.
    type Reply: Send + 'static;
    /// A message from the program that is not a reply.
    type Message: Send + 'static;

    /// Encodes a frame as one line. `number` is unique for each frame of a link.
    ///
    /// # Errors
    ///
    /// If the frame cannot be encoded as a line.
    fn encode(&self, frame: Self::Frame, number: u64) -> Result<EncodedFrame<Self::Id>, String>;

    /// Decodes one line of the program's output, given without its line feed.
    fn decode(&self, line: &[u8]) -> DecodedLine<Self>;
}

/// Result of encoding a frame: one line, and the role of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFrame<I> {
    /// The line, without its line feed.
    pub line: String,
    /// Role of the frame in the exchange of requests and answers.
    pub role: FrameRole<I>,
}

/// Role of a frame in the exchange of requests and answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameRole<I> {
    /// Message that is neither a request nor an answer.
    Message,
    /// A request to the program, which replies under this id.
    Request(I),
    /// The answer to the program's request with this key. Written only while that request is open.
    Answer(String),
}

/// Decoded line of a program's output.
pub enum DecodedLine<C: Codec> {
    /// The reply to a request to the program.
    Reply(C::Id, C::Reply),
    /// A message that is neither a request nor a reply.
    Message(C::Message),
    /// A request from the program, open under this key until it is answered or withdrawn.
    Request(String, C::Message),
    /// The program withdraws its request with this key. The message is passed on if the request was open and is not
    /// [`Handled`](Self::Handled).
    Withdrawal(String, C::Message),
    /// A request from the program under this key, answered by the future.
    Handled(String, AnswerFuture<C::Frame>),
    /// A line to ignore.
    Nothing,
}

/// Event that a link delivers to its reader.
pub enum LinkEvent<C: Codec> {
    /// A message from the program.
    Message(C::Message),
    /// The reply to a request that was written with [`Link::write`].
    Reply(C::Id, C::Reply),
    /// A line exceeded the limit and was skipped.
    Skipped {
        /// Length of the line.
        bytes: u64,
    },
    /// A line of standard error that contains the launch's [marker](LaunchSpec::stderr_marker). Its position relative
    /// to messages is unknown.
    Stderr(String),
    /// The program has exited. This is the last event.
    Closed(ProgramExit),
}

impl<C: Codec> fmt::Debug for LinkEvent<C> {
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

/// Error of a link, with its reason: the program has exited, or the frame cannot be encoded as a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LinkError(pub Arc<str>);

/// A link to a running program. Clones share the same link. The program is ended once the last clone and the
/// [`LinkEvents`] are dropped.
pub struct Link<C: Codec> {
    shared: Arc<LinkShared<C>>,
    _held: Arc<CloseOnDrop<C>>,
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

type EventSender<C> = mpsc::UnboundedSender<QueuedEvent<C>>;

struct LinkShared<C: Codec> {
    io: IoLoop,
    codec: C,
    pending: PendingReplies<C::Id, C::Reply>,
    /// Ids of requests to the program. Their replies are delivered as events.
    inline: Mutex<HashSet<C::Id>>,
    /// Open requests from the program, with the answering task if the codec handles them.
    open: Mutex<HashMap<String, Option<AbortHandle>>>,
    next: AtomicU64,
    /// Number of live [`RaisedLimit`] values, held by requests with a timeout and by writes. While the number is not 0,
    /// reading continues up to the hard limit, since a reply is queued behind other events.
    raised_limits: AtomicUsize,
    /// Reason why the program has exited; `None` while it runs.
    gone: watch::Sender<Option<Arc<str>>>,
}

/// Ends the program when the last holder of the link is dropped.
struct CloseOnDrop<C: Codec>(Arc<LinkShared<C>>);

impl<C: Codec> Drop for CloseOnDrop<C> {
    fn drop(&mut self) {
        self.0.io.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Codec> Link<C> {
    /// Starts a program and reads its output. Lines of more than `longest_line` bytes are skipped.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub async fn start(
        launch: &LaunchSpec,
        codec: C,
        longest_line: usize,
    ) -> Result<(Self, LinkEvents<C>), LaunchError> {
        let mut child = launch.start().await?;
        let broken = || LaunchError::Other {
            program: launch.program.clone(),
            source: std::io::Error::other("the program's pipes were already taken"),
        };
        let writer = LineWriter::new(child.stdin.take().ok_or_else(broken)?);
        let stdout = LineReader::new(child.stdout.take().ok_or_else(broken)?, longest_line);
        let stderr = launch.stderr_marker.clone().map(|marker| MarkedLines::new(child.stderr.clone(), marker));
        Ok(Self::open(Peer::Program(child), (writer, stdout, stderr), codec))
    }

    /// Starts a task of this process as the peer of a link, in place of a program. The task receives the frames of the
    /// link as lines, and its lines are decoded like the output of a program. Its exit status ends the link. If the task
    /// does not return soon after its input has ended, it is aborted.
    ///
    /// # Errors
    ///
    /// If the pipes cannot be created.
    pub fn with_task<F>(
        codec: C,
        longest_line: usize,
        run: impl FnOnce(TaskPipes) -> F,
    ) -> std::io::Result<(Self, LinkEvents<C>)>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let (task, input, output) = PeerTask::spawn(run)?;
        let pipes = (LineWriter::new(input), LineReader::new(output, longest_line), None);
        Ok(Self::open(Peer::Task(task), pipes, codec))
    }

    fn open(
        peer: Peer,
        pipes: (LineWriter, LineReader<Stdout>, Option<MarkedLines>),
        codec: C,
    ) -> (Self, LinkEvents<C>) {
        let (writer, stdout, stderr) = pipes;
        let shared = Arc::new(LinkShared {
            io: IoLoop::new(writer),
            codec,
            pending: PendingReplies::new(),
            inline: Mutex::default(),
            open: Mutex::default(),
            next: AtomicU64::new(0),
            raised_limits: AtomicUsize::new(0),
            gone: watch::Sender::new(None),
        });
        // Unbounded: the read budget bounds the number of queued events.
        let (sender, receiver) = mpsc::unbounded_channel();
        let held = Arc::new(CloseOnDrop(Arc::clone(&shared)));
        let events = LinkEvents::new(receiver, Arc::clone(&shared), Arc::clone(&held));
        let reader = Arc::clone(&shared);
        tokio::spawn(async move {
            let urgent = || reader.raised_limits.load(Ordering::Acquire) > 0;
            let handle = |program_line: ProgramLine<'_>| match program_line {
                ProgramLine::Stdout(line) => reader.handle_line(line, &sender),
                ProgramLine::Stderr(line) => {
                    let bytes = line.len();
                    reader.queue_message(LinkEvent::Stderr(line), bytes, &sender);
                }
            };
            let closed = reader.io.run(peer, (stdout, stderr), urgent, handle).await;
            let reason = closed.reason();
            reader.gone.send_replace(Some(reason.as_str().into()));
            reader.pending.close(&reason);
            for (_, task) in lock(&reader.open).drain() {
                task.inspect(AbortHandle::abort);
            }
            reader.queue_exchange(LinkEvent::Closed(closed), 0, &sender);
        });
        (Self { shared, _held: held }, events)
    }

    /// Closes the program's input, and ends the program if it does not exit by itself. [`LinkEvent::Closed`] reports
    /// the exit.
    pub fn close(&self) {
        self.shared.io.close();
    }

    /// Returns the reason why the program has exited, or `seen` if the program does not exit within two seconds.
    pub async fn end_reason(&self, seen: &str) -> LinkError {
        self.shared.end_reason(seen).await
    }
}

impl<C: Codec> LinkShared<C> {
    fn handle_line(self: &Arc<Self>, line: Line<'_>, sender: &EventSender<C>) {
        let line = match line {
            Line::Complete(line) => line,
            Line::TooLong { bytes } => return self.queue_message(LinkEvent::Skipped { bytes }, 0, sender),
        };
        match self.codec.decode(line) {
            DecodedLine::Nothing => {}
            DecodedLine::Reply(id, reply) => {
                if lock(&self.inline).remove(&id) {
                    self.queue_exchange(LinkEvent::Reply(id, reply), line.len(), sender);
                } else if !self.pending.resolve(&id, reply) {
                    debug!(?id, "ignoring a reply to an unknown request");
                }
            }
            DecodedLine::Message(message) => self.queue_message(LinkEvent::Message(message), line.len(), sender),
            DecodedLine::Request(key, message) => {
                lock(&self.open).insert(key, None);
                self.queue_exchange(LinkEvent::Message(message), line.len(), sender);
            }
            DecodedLine::Withdrawal(key, message) => {
                let open = lock(&self.open).remove(&key);
                match open {
                    Some(Some(task)) => task.abort(),
                    Some(None) => self.queue_exchange(LinkEvent::Message(message), line.len(), sender),
                    None => debug!("ignoring the withdrawal of an unknown request"),
                }
            }
            DecodedLine::Handled(key, answer) => self.spawn_answer(key, answer, line.len()),
        }
    }

    fn spawn_answer(self: &Arc<Self>, key: String, answer: AnswerFuture<C::Frame>, bytes: usize) {
        let mut open = lock(&self.open);
        let counted = CountedRequest::new(self, bytes);
        let task = tokio::spawn(async move {
            let shared = &counted.shared;
            let frame = answer.await;
            let outcome = match shared.encode(frame) {
                Ok(outbound) => shared.write(outbound).await,
                Err(gone) => Err(gone),
            };
            if let Err(error) = outcome {
                debug!(%error, "could not send an answer");
            }
        });
        // The lock is held until the task is recorded, so the task cannot write its answer before that.
        open.insert(key, Some(task.abort_handle()));
    }

    fn queue_message(&self, event: LinkEvent<C>, bytes: usize, sender: &EventSender<C>) {
        self.queue(QueuedEvent { event, bytes, is_exchange: false }, sender);
    }

    /// Queues an event that must not be dropped: a request, the withdrawal of a request, a reply, or the end of the
    /// link.
    fn queue_exchange(&self, event: LinkEvent<C>, bytes: usize, sender: &EventSender<C>) {
        self.queue(QueuedEvent { event, bytes, is_exchange: true }, sender);
    }

    fn queue(&self, queued: QueuedEvent<C>, sender: &EventSender<C>) {
        self.io.budget.add_event(queued.bytes);
        // The reader may have been dropped.
        let _ = sender.send(queued);
    }

    async fn write_line(&self, line: String) -> Result<(), LinkError> {
        match self.io.writer.line(line).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.end_reason(&error.to_string()).await),
        }
    }

    async fn end_reason(&self, seen: &str) -> LinkError {
        let mut gone = self.gone.subscribe();
        let reason = timeout(END_REASON_TIMEOUT, gone.wait_for(Option::is_some)).await;
        let reason = reason.ok().and_then(|known| known.ok()?.clone());
        LinkError(reason.unwrap_or_else(|| seen.into()))
    }
}

/// Counts a request from the program in the read budget while a task answers it. Dropped with the task, even if the
/// task is aborted.
struct CountedRequest<C: Codec> {
    shared: Arc<LinkShared<C>>,
    bytes: usize,
}

impl<C: Codec> CountedRequest<C> {
    fn new(shared: &Arc<LinkShared<C>>, bytes: usize) -> Self {
        shared.io.budget.begin_answer(bytes);
        Self { shared: Arc::clone(shared), bytes }
    }
}

impl<C: Codec> Drop for CountedRequest<C> {
    fn drop(&mut self) {
        self.shared.io.budget.end_answer(self.bytes);
    }
}

#[cfg(test)]
mod tests;
