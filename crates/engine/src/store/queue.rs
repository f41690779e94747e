//! Queue of the store's thread: jobs with a waiting caller, and buffered history.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};

use super::database::Database;
use super::error::StoreError;
use super::write_buffer::WriteBuffer;

/// Maximum number of jobs queued by [`StoreQueue::run`]; further callers wait for room.
const MAX_QUEUED_JOBS: usize = 1024;

/// Maximum number of jobs committed together, which bounds the time that the first job waits.
const MAX_BATCH_JOBS: usize = 256;

/// Time to wait for further jobs after a commit. Callers that were answered together usually call again together.
/// Without this window, the first of their jobs would be committed alone. The window is much shorter than a sync.
const GATHER_WINDOW: Duration = Duration::from_micros(150);

/// Delay before a failed write of buffered history is retried. A call that needs the history retries the write
/// immediately.
const DRAIN_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Job for the store's thread. It may run more than once before the caller is answered, because its transaction may be
/// rolled back.
pub(super) trait StoreJob: Send {
    /// Runs the job within the transaction of its batch.
    fn run(&mut self, database: &mut Database) -> Result<(), StoreError>;

    /// Answers the caller. Called once, after the commit or after the final failure.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Returns the use of buffered history by the job.
    fn history_access(&self) -> HistoryAccess;
}

/// Use of buffered history by a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryAccess {
    /// The job does not use history.
    Nothing,
    /// The job writes the buffered history.
    Drains,
    /// The job reads history. The buffer is written first; if this fails, the job reads only the stored history.
    Reads,
    /// The job depends on the buffered history. The buffer is written first; if this fails, the job fails too.
    Follows,
}

/// Job with the channel to its waiting caller.
struct QueuedJob<T, F> {
    work: F,
    history_access: HistoryAccess,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> StoreJob for QueuedJob<T, F>
where
    T: Send,
    F: FnMut(&mut Database) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, database: &mut Database) -> Result<(), StoreError> {
        // A panic, for example in a closure of the caller, is rolled back like an error.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(database)));
        let failed = |_| Err(StoreError::Failed("the job panicked".to_owned()));
        self.done = Some(outcome.unwrap_or_else(failed)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { done, reply, .. } = *self;
        let _ = reply.send(outcome.and_then(|()| done.ok_or(StoreError::Closed)));
    }

    fn history_access(&self) -> HistoryAccess {
        self.history_access
    }
}

/// Job that writes the buffered history.
struct BufferDrain {
    buffer: WriteBuffer,
    queue: Arc<StoreQueue>,
}

impl StoreJob for BufferDrain {
    fn run(&mut self, database: &mut Database) -> Result<(), StoreError> {
        self.buffer.write(database)
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, "cannot write history yet; retrying");
            let Self { buffer, queue } = *self;
            queue.lock().buffer.put_back(buffer, Instant::now() + DRAIN_RETRY_DELAY);
        }
    }

    fn history_access(&self) -> HistoryAccess {
        HistoryAccess::Drains
    }
}

/// Queue between the callers and the store's thread.
pub(super) struct StoreQueue {
    state: Mutex<QueueState>,
    wake: Condvar,
    permits: Semaphore,
}

/// Future of a call to the store. Resolves when the effect of the call is durable. The call completes even if the
/// future is dropped.
#[derive(Debug)]
#[must_use = "reports failures of the store"]
pub struct StoreFuture<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> StoreFuture<T> {
    /// Creates a resolved future, for a call that needs no store.
    pub(crate) fn ready(value: T) -> Self {
        let (reply, answer) = oneshot::channel();
        let _ = reply.send(Ok(value));
        Self(answer)
    }
}

impl<T> Future for StoreFuture<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

struct QueueState {
    /// Queued jobs, each with a flag that is true if the job holds a permit.
    jobs: VecDeque<(Box<dyn StoreJob>, bool)>,
    buffer: WriteBuffer,
    closed: bool,
    /// Number of jobs in the last batch.
    last: usize,
}

/// Next action of the store's thread.
pub(super) enum QueueEvent {
    /// Run these jobs in one batch.
    Jobs(Vec<Box<dyn StoreJob>>),
    /// Run the periodic chores, such as removing expired requests.
    Chores,
    /// Stop: the queue is closed and empty.
    End,
}

impl StoreQueue {
    pub fn new(buffer: WriteBuffer) -> Self {
        let state = QueueState { jobs: VecDeque::new(), buffer, closed: false, last: 0 };
        Self { state: Mutex::new(state), wake: Condvar::new(), permits: Semaphore::new(MAX_QUEUED_JOBS) }
    }

    /// Runs a job and waits until the effect of the job is durable.
    pub async fn run<T: Send + 'static>(
        &self,
        history_access: HistoryAccess,
        work: impl FnMut(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // The thread returns the permit when it takes the job.
        self.permits.acquire().await.map_err(|_| StoreError::Closed)?.forget();
        self.push(history_access, work, true).await
    }

    /// Queues a job in call order, without waiting for room: callers limit the number of their jobs themselves. The
    /// returned future resolves when the effect of the job is durable, and may be dropped.
    pub fn submit<T: Send + 'static>(
        &self,
        history_access: HistoryAccess,
        work: impl FnMut(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<T> {
        self.push(history_access, work, false)
    }

    fn push<T: Send + 'static>(
        &self,
        history_access: HistoryAccess,
        work: impl FnMut(&mut Database) -> Result<T, StoreError> + Send + 'static,
        has_permit: bool,
    ) -> StoreFuture<T> {
        let (reply, answer) = oneshot::channel();
        let mut state = self.lock();
        // If the queue is closed, the job is dropped, and the caller gets [`StoreError::Closed`].
        if !state.closed {
            state.jobs.push_back((Box::new(QueuedJob { work, history_access, done: None, reply }), has_permit));
        }
        drop(state);
        self.wake.notify_one();
        StoreFuture(answer)
    }

    /// Adds history to the buffer, without waiting until the history is written.
    pub fn buffer(&self, put: impl FnOnce(&mut WriteBuffer) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Closed);
        }
        let first = state.buffer.is_empty();
        put(&mut state.buffer)?;
        drop(state);
        if first {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Refuses new jobs. Jobs in the queue still run.
    pub fn close(&self) {
        self.lock().closed = true;
        self.permits.close();
        self.wake.notify_one();
    }

    /// True if new jobs are refused.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Waits for the next action of the thread; `chores` is the time of the next chores.
    pub fn next(self: &Arc<Self>, chores: Option<Instant>) -> QueueEvent {
        let mut state = self.lock();
        // The window begins now, because the thread has just answered the last batch.
        let gathered = Instant::now() + GATHER_WINDOW;
        loop {
            let (now, due) = (Instant::now(), state.buffer.due());
            let drain = due.is_some_and(|due| due <= now) || (state.closed && !state.buffer.is_empty());
            let several = !state.jobs.is_empty() && state.jobs.len() < state.last && !state.closed;
            if several && now < gathered {
                let timeout = gathered.saturating_duration_since(now);
                state = self.wake.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if drain || !state.jobs.is_empty() {
                return QueueEvent::Jobs(self.take_batch(state, drain));
            }
            if state.closed {
                return QueueEvent::End;
            }
            if chores.is_some_and(|chores| chores <= now) {
                return QueueEvent::Chores;
            }
            let until = [due, chores].into_iter().flatten().min();
            state = match until {
                Some(until) => {
                    let timeout = until.saturating_duration_since(now);
                    self.wake.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn take_batch(self: &Arc<Self>, mut state: MutexGuard<'_, QueueState>, drain: bool) -> Vec<Box<dyn StoreJob>> {
        let many = state.jobs.len().min(MAX_BATCH_JOBS);
        state.last = many;
        let (jobs, permits): (Vec<Box<dyn StoreJob>>, Vec<bool>) = state.jobs.drain(..many).unzip();
        let drain = drain || jobs.iter().any(|job| job.history_access() != HistoryAccess::Nothing);
        let buffer = (drain && !state.buffer.is_empty()).then(|| state.buffer.take());
        drop(state);
        self.permits.add_permits(permits.into_iter().filter(|permit| *permit).count());
        let drain = buffer.map(|buffer| Box::new(BufferDrain { buffer, queue: Arc::clone(self) }) as Box<dyn StoreJob>);
        drain.into_iter().chain(jobs).collect()
    }

    /// Closes the queue and drops its jobs. Returns true if buffered history is lost.
    pub fn abandon(&self) -> bool {
        let mut state = self.lock();
        state.closed = true;
        // The caller of a dropped job gets [`StoreError::Closed`].
        state.jobs.clear();
        !state.buffer.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
