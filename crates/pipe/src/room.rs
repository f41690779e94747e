//! Limits on what was read from a program and is not dealt with yet.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Events that may wait for their reader, and requests of the program for their answer. Beyond that nothing more is read from the program, unless a reply is waited for:
/// it comes behind the events, and whoever waits for it may be the one who does not read them.
const DEPTH: usize = 256;

/// The same in bytes of what was read: a few results of tools can be as large as thousands of other events.
const BYTES: usize = 16 * 1024 * 1024;

/// Limit that holds even then. A reply that is behind it does not come, and its request times out.
pub const MAX_WAITING_LINES: usize = 65_536;

/// The same in bytes.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// Number and bytes of the lines that wait.
#[derive(Debug, Default)]
struct Load {
    lines: AtomicUsize,
    bytes: AtomicUsize,
}

impl Load {
    fn add(&self, bytes: usize) {
        self.lines.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    fn remove(&self, bytes: usize) {
        self.lines.fetch_sub(1, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    fn reaches(&self, lines: usize, bytes: usize) -> bool {
        self.lines.load(Ordering::Acquire) >= lines || self.bytes.load(Ordering::Acquire) >= bytes
    }
}

/// Counts what waits: events for their reader, and requests of the program for the tasks that answer them.
#[derive(Debug, Default)]
pub struct Room {
    events: Load,
    answers: Load,
    abandoned: AtomicBool,
    changed: Notify,
}

impl Room {
    /// Counts an event that was read from a line of this length.
    pub fn put(&self, bytes: usize) {
        self.events.add(bytes);
    }

    /// Removes an event that has been taken.
    pub fn taken(&self, bytes: usize) {
        self.events.remove(bytes);
        self.wake();
    }

    /// Counts a request of the program until its answer is written or given up.
    pub fn begin_answer(&self, bytes: usize) {
        self.answers.add(bytes);
    }

    /// Removes a request that was answered or withdrawn.
    pub fn end_answer(&self, bytes: usize) {
        self.answers.remove(bytes);
        self.wake();
    }

    /// Nobody reads events any more: none of them waits.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether as much waits as may.
    pub fn is_full(&self) -> bool {
        self.reaches(DEPTH, BYTES)
    }

    /// True when so much waits that nothing more is read, whoever waits for a reply.
    pub fn is_exhausted(&self) -> bool {
        self.reaches(MAX_WAITING_LINES, MAX_WAITING_BYTES)
    }

    fn reaches(&self, lines: usize, bytes: usize) -> bool {
        let events = self.events.reaches(lines, bytes) && !self.abandoned.load(Ordering::Acquire);
        events || self.answers.reaches(lines, bytes)
    }

    /// Number of events that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.events.lines.load(Ordering::Acquire)
    }

    /// Has whoever waits look again.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits until it is worth looking again.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
