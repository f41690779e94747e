//! The audit log: who sent what to which session, and what became of it. One JSON object a line with short keys; a header line says what the
//! keys mean. Files are only appended to, ours alone, and put aside when they have grown; senders and receivers may share one.
//!
//! Writing must not hold up control, and nothing may be lost in silence: entries go through a queue to a thread, and what finds the queue
//! full, or the disk, is counted, and the count is entered when writing succeeds again.

mod file;
mod line;
mod read;
#[cfg(test)]
mod tests;

pub use read::{Filter, Reading, Record, read};

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use wh_wire::socket::AuditRecord;

use file::LogFile;

/// How the log is kept.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who writes: `wh-daemon`, `wh`.
    pub source: String,
    /// How much of the texts is logged.
    pub texts: Texts,
    /// Bytes after which a file is put aside.
    pub rotate_at: u64,
    /// Files put aside that are kept; the oldest go.
    pub keep: usize,
    /// Entries that may wait. Beyond that they are counted and dropped.
    pub depth: usize,
}

impl Options {
    /// As usual: no texts, five files of 10 MiB.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), texts: Texts::Omitted, rotate_at: 10 << 20, keep: 5, depth: 8192 }
    }
}

/// How much of the texts is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// Nothing.
    Omitted,
    /// The first so many bytes.
    Beginning(usize),
    /// All.
    Whole,
}

/// The log, to be written to. Dropping it waits until what was recorded is written.
#[derive(Debug)]
pub struct Audit {
    queue: Arc<Queue>,
    texts: Texts,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    /// Something waits, or the log is to be closed.
    more: Condvar,
    /// Something was written.
    less: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<AuditRecord>,
    depth: usize,
    /// Entries that were queued, and entries that the thread is done with.
    queued: u64,
    done: u64,
    /// Entries lost, in all, and those of which the log does not know yet.
    lost: u64,
    untold: u64,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audit {
    /// Opens the log, and starts its thread.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> io::Result<Self> {
        let (queue, texts) = (Arc::new(Queue::default()), options.texts);
        queue.lock().depth = options.depth.max(1);
        let file = LogFile::open(path.into(), options)?;
        let thread = {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name("wh-audit".to_owned()).spawn(move || keep(&queue, file))?
        };
        Ok(Self { queue, texts, thread: Some(thread) })
    }

    /// Enters a record. Never waits for the disk, and keeps no more of the text than is logged.
    pub fn record(&self, mut record: AuditRecord) {
        line::truncate_text(&mut record, self.texts);
        let mut state = self.queue.lock();
        if state.waiting.len() >= state.depth {
            state.lost += 1;
            state.untold += 1;
        } else {
            state.waiting.push_back(record);
            state.queued += 1;
            self.queue.more.notify_one();
        }
    }

    /// Entries that could not be written so far.
    pub fn lost(&self) -> u64 {
        self.queue.lock().lost
    }

    /// Waits until everything recorded before is written, at most so long. Whether it is.
    pub fn flush(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.queue.lock();
        let wanted = state.queued;
        while state.done < wanted {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.queue.less.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes what waits until the log is closed.
fn keep(queue: &Queue, mut file: LogFile) {
    loop {
        let mut state = queue.lock();
        while state.waiting.is_empty() && !state.closed {
            state = queue.more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (records, untold) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.untold));
        let closed = state.closed;
        drop(state);
        if records.is_empty() && untold == 0 {
            if closed {
                return;
            }
            continue;
        }
        let count = records.len() as u64;
        let dropped = (untold > 0).then(|| line::dropped(untold, SystemTime::now()));
        let written = file.append(records.iter().chain(&dropped));
        let mut state = queue.lock();
        state.done += count;
        if let Err(error) = written {
            tracing::error!(%error, lost = count, "the audit log cannot be written");
            state.lost += count;
            state.untold += count + untold;
        }
        queue.less.notify_all();
        if closed && state.waiting.is_empty() {
            return;
        }
    }
}
