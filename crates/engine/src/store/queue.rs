//! What waits for the store's thread: jobs that somebody waits for, and history that nobody does.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};

use super::desk::Desk;
use super::error::StoreError;
use super::later::Later;

/// How many jobs may wait. When there are as many, the next asker waits to be let in.
const DEPTH: usize = 1024;

/// How many jobs are committed together at most, so that the first of them does not wait for too many others.
const MOST_TOGETHER: usize = 256;

/// How long is waited for the rest of those who were answered together, who mostly ask again together: a fraction of a
/// sync. Without it the first of them would be committed alone while all the others wait for the next commit.
const GATHER: Duration = Duration::from_micros(150);

/// How long after a drain that failed the next one is tried, unless somebody asks for it.
const REST: Duration = Duration::from_secs(1);

/// One thing for the thread to do. It may be done more than once before it is answered: what was rolled back is.
pub(super) trait Job: Send {
    /// Does it, within a transaction.
    fn run(&mut self, desk: &mut Desk) -> Result<(), StoreError>;

    /// Answers whoever waits. Called once, after the commit or when it is certain that there is none.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);

    /// What it has to do with the history that waits.
    fn touches(&self) -> Touches;
}

/// What a job has to do with the history that waits to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touches {
    /// Nothing.
    Nothing,
    /// It writes it.
    Drains,
    /// It wants to see it, if it can be had.
    Reads,
    /// It must not be done before it.
    Follows,
}

/// A job that somebody waits for.
struct Task<T, F> {
    work: F,
    touches: Touches,
    done: Option<T>,
    back: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnMut(&mut Desk) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, desk: &mut Desk) -> Result<(), StoreError> {
        // A job may hold a caller's own function. Its panic is rolled back like any failure, and the thread goes on.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(desk)));
        let failed = |_| Err(StoreError::Failed("the job panicked".to_owned()));
        self.done = Some(outcome.unwrap_or_else(failed)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { done, back, .. } = *self;
        let _ = back.send(outcome.and_then(|()| done.ok_or(StoreError::Closed)));
    }

    fn touches(&self) -> Touches {
        self.touches
    }
}

/// The history that waited, on its way to the disk.
struct Drain {
    later: Later,
    queue: Arc<Queue>,
}

impl Job for Drain {
    fn run(&mut self, desk: &mut Desk) -> Result<(), StoreError> {
        self.later.write(desk)
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, "history could not be written yet");
            let Self { later, queue } = *self;
            queue.lock().later.put_back(later, Instant::now() + REST);
        }
    }

    fn touches(&self) -> Touches {
        Touches::Drains
    }
}

/// Between those who ask and the thread that does.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    room: Semaphore,
}

/// Tells when something that was asked of the store is durable. It is done whether or not somebody waits for it.
#[derive(Debug)]
#[must_use = "what cannot be stored is told here"]
pub struct Durable<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Durable<T> {
    /// Something that needs no store.
    pub(crate) fn ready(value: T) -> Self {
        let (back, answer) = oneshot::channel();
        let _ = back.send(Ok(value));
        Self(answer)
    }
}

impl<T> Future for Durable<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

struct Waiting {
    /// Each with whether it has taken a place of the room.
    jobs: VecDeque<(Box<dyn Job>, bool)>,
    later: Later,
    closed: bool,
    /// How many were taken the last time.
    last: usize,
}

/// What the thread is to do next.
pub(super) enum Next {
    /// These, together.
    Jobs(Vec<Box<dyn Job>>),
    /// It is time for the chores.
    Chores,
    /// Nothing ever again.
    End,
}

impl Queue {
    /// An empty queue.
    pub fn new(later: Later) -> Self {
        let waiting = Waiting { jobs: VecDeque::new(), later, closed: false, last: 0 };
        Self { waiting: Mutex::new(waiting), wake: Condvar::new(), room: Semaphore::new(DEPTH) }
    }

    /// Has something done, and waits until it is durable.
    pub async fn ask<T: Send + 'static>(
        &self,
        touches: Touches,
        work: impl FnMut(&mut Desk) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // The thread gives the room back when it takes the job.
        self.room.acquire().await.map_err(|_| StoreError::Closed)?.forget();
        self.push(touches, work, true).await
    }

    /// Has something done, in the order of the calls. The asker does not wait for room: whoever calls this is bounded by
    /// other means. The future tells when it is durable, and may be dropped.
    pub fn submit<T: Send + 'static>(
        &self,
        touches: Touches,
        work: impl FnMut(&mut Desk) -> Result<T, StoreError> + Send + 'static,
    ) -> Durable<T> {
        self.push(touches, work, false)
    }

    fn push<T: Send + 'static>(
        &self,
        touches: Touches,
        work: impl FnMut(&mut Desk) -> Result<T, StoreError> + Send + 'static,
        has_room: bool,
    ) -> Durable<T> {
        let (back, answer) = oneshot::channel();
        let mut waiting = self.lock();
        // When it is closed the job is dropped, and the asker hears of that.
        if !waiting.closed {
            waiting.jobs.push_back((Box::new(Task { work, touches, done: None, back }), has_room));
        }
        drop(waiting);
        self.wake.notify_one();
        Durable(answer)
    }

    /// Leaves something in the history that waits. Nobody waits for it.
    pub fn leave(&self, put: impl FnOnce(&mut Later) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        let first = waiting.later.is_empty();
        put(&mut waiting.later)?;
        drop(waiting);
        if first {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Lets nothing more in. What is in is still done.
    pub fn close(&self) {
        self.lock().closed = true;
        self.room.close();
        self.wake.notify_one();
    }

    /// Whether nothing more is let in.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Waits for something to do; for the chores not beyond `chores`.
    pub fn next(self: &Arc<Self>, chores: Option<Instant>) -> Next {
        let mut waiting = self.lock();
        // Counted from here, where the last have just been answered: who comes later finds nobody to wait for.
        let gathered = Instant::now() + GATHER;
        loop {
            let (now, due) = (Instant::now(), waiting.later.due());
            let drain = due.is_some_and(|due| due <= now) || (waiting.closed && !waiting.later.is_empty());
            let several = !waiting.jobs.is_empty() && waiting.jobs.len() < waiting.last && !waiting.closed;
            if several && now < gathered {
                let patience = gathered.saturating_duration_since(now);
                waiting = self.wake.wait_timeout(waiting, patience).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if drain || !waiting.jobs.is_empty() {
                return Next::Jobs(self.take(waiting, drain));
            }
            if waiting.closed {
                return Next::End;
            }
            if chores.is_some_and(|chores| chores <= now) {
                return Next::Chores;
            }
            let until = [due, chores].into_iter().flatten().min();
            waiting = match until {
                Some(until) => {
                    let patience = until.saturating_duration_since(now);
                    self.wake.wait_timeout(waiting, patience).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn take(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>, drain: bool) -> Vec<Box<dyn Job>> {
        let many = waiting.jobs.len().min(MOST_TOGETHER);
        waiting.last = many;
        let (jobs, places): (Vec<Box<dyn Job>>, Vec<bool>) = waiting.jobs.drain(..many).unzip();
        let drain = drain || jobs.iter().any(|job| job.touches() != Touches::Nothing);
        let later = (drain && !waiting.later.is_empty()).then(|| waiting.later.take());
        drop(waiting);
        self.room.add_permits(places.into_iter().filter(|place| *place).count());
        let drain = later.map(|later| Box::new(Drain { later, queue: Arc::clone(self) }) as Box<dyn Job>);
        drain.into_iter().chain(jobs).collect()
    }

    /// What could not be written when the store was closed.
    pub fn abandon(&self) -> bool {
        let mut waiting = self.lock();
        waiting.closed = true;
        // Whoever still waits hears that the store is closed when their job is dropped.
        waiting.jobs.clear();
        !waiting.later.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
