//! Audit log of control messages and their results. Each entry is a line with a JSON object. The keys are short; a
//! header line in each file explains them. Files are append-only, private and rotated; several processes may write to
//! the same log.
//!
//! Recording never blocks the execution of a message: records are queued for a thread. If the queue is full or a write
//! fails, records are lost and counted; the next successful write logs the number of lost records.

mod file;
mod line;
mod read;
#[cfg(test)]
mod tests;

pub use read::{AuditFilter, FilteredRecords, LoggedRecord, read};

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use wh_wire::socket::AuditRecord;

use file::AuditLogFile;

#[derive(Debug, Clone)]
pub struct AuditOptions {
    /// Name of the writing program: `wh-daemon` or `wh`.
    pub source: String,
    /// Amount of message text to log.
    pub texts: LoggedText,
    /// File size in bytes at which the log is rotated.
    pub rotate_at: u64,
    /// Number of rotated files to retain; older files are removed.
    pub keep: usize,
    /// Maximum number of queued records; further records are dropped and counted.
    pub max_queued: usize,
}

impl AuditOptions {
    /// Creates default settings: no message texts, five rotated files of 10 MiB.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), texts: LoggedText::Omitted, rotate_at: 10 << 20, keep: 5, max_queued: 8192 }
    }
}

/// Part of a message text to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedText {
    Omitted,
    /// The beginning of the text, at most this number of bytes.
    Beginning(usize),
    Whole,
}

/// Writer of the audit log. Dropping it waits until all recorded entries are written.
#[derive(Debug)]
pub struct AuditWriter {
    queue: Arc<AuditQueue>,
    texts: LoggedText,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct AuditQueue {
    state: Mutex<AuditQueueState>,
    /// Signalled when a record is queued or the log is closed.
    more: Condvar,
    /// Signalled when records were written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct AuditQueueState {
    waiting: VecDeque<AuditRecord>,
    max_queued: usize,
    /// Total number of records queued so far.
    queued: u64,
    /// Number of queued records that the thread has processed.
    done: u64,
    /// Total number of records lost so far.
    lost: u64,
    /// Number of lost records that the log does not report yet.
    unreported: u64,
    closed: bool,
}

impl AuditQueue {
    fn lock(&self) -> MutexGuard<'_, AuditQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditWriter {
    /// Opens the log, and starts the thread that writes it.
    pub fn open(path: impl Into<PathBuf>, options: AuditOptions) -> io::Result<Self> {
        let (queue, texts) = (Arc::new(AuditQueue::default()), options.texts);
        queue.lock().max_queued = options.max_queued.max(1);
        let file = AuditLogFile::open(path.into(), options)?;
        let thread = {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new().name("wh-audit".to_owned()).spawn(move || write_queued(&queue, file))?
        };
        Ok(Self { queue, texts, thread: Some(thread) })
    }

    /// Queues a record without blocking. First truncates the message text to the part that is logged.
    pub fn record(&self, mut record: AuditRecord) {
        line::truncate_text(&mut record, self.texts);
        let mut state = self.queue.lock();
        if state.waiting.len() >= state.max_queued {
            state.lost += 1;
            state.unreported += 1;
        } else {
            state.waiting.push_back(record);
            state.queued += 1;
            self.queue.more.notify_one();
        }
    }

    /// Returns the number of records lost so far.
    pub fn lost(&self) -> u64 {
        self.queue.lock().lost
    }

    /// Waits until all earlier records are processed. Returns false if `timeout` passes first.
    pub fn flush(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.queue.lock();
        let wanted = state.queued;
        while state.done < wanted {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.queue.written.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for AuditWriter {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.more.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes queued records until the log is closed.
fn write_queued(queue: &AuditQueue, mut file: AuditLogFile) {
    loop {
        let mut state = queue.lock();
        while state.waiting.is_empty() && !state.closed {
            state = queue.more.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (records, unreported) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.unreported));
        let closed = state.closed;
        drop(state);
        if records.is_empty() && unreported == 0 {
            if closed {
                return;
            }
            continue;
        }
        let count = records.len() as u64;
        let dropped = (unreported > 0).then(|| line::dropped(unreported, SystemTime::now()));
        let result = file.append(records.iter().chain(&dropped));
        let mut state = queue.lock();
        state.done += count;
        if let Err(error) = result {
            tracing::error!(%error, lost = count, "cannot write the audit log");
            state.lost += count;
            state.unreported += count + unreported;
        }
        queue.written.notify_all();
        if closed && state.waiting.is_empty() {
            return;
        }
    }
}
