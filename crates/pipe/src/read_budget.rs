//! Read budget: limits the lines that were read from a program and have not been processed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Maximum number of unread events, and of unanswered requests from the program. At the limit, reading stops unless a
/// caller awaits a reply. The reply is queued behind these events, and the caller may be the consumer of the events.
const SOFT_LIMIT_LINES: usize = 256;

/// Maximum total bytes of unread events and unanswered requests; a soft limit like [`SOFT_LIMIT_LINES`]. A few tool
/// results can be as large as thousands of other events.
const SOFT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Hard limit on the number of unread events and unanswered requests. It also applies while a reply is awaited. A reply
/// beyond the limit is not read, so its request times out.
pub const HARD_LIMIT_LINES: usize = 65_536;

/// Hard limit on the total bytes of unread events and unanswered requests.
const HARD_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Number and bytes of unprocessed lines.
#[derive(Debug, Default)]
struct UnprocessedLoad {
    lines: AtomicUsize,
    bytes: AtomicUsize,
}

impl UnprocessedLoad {
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

/// Counts unread events, and requests from the program that are being answered.
#[derive(Debug, Default)]
pub struct ReadBudget {
    events: UnprocessedLoad,
    answers: UnprocessedLoad,
    reader_is_gone: AtomicBool,
    changed: Notify,
}

impl ReadBudget {
    /// Counts an event that was read from a line of this length.
    pub fn add_event(&self, bytes: usize) {
        self.events.add(bytes);
    }

    /// Removes an event that was delivered to the reader of events.
    pub fn remove_event(&self, bytes: usize) {
        self.events.remove(bytes);
        self.wake();
    }

    /// Counts a request from the program until its answer is written or dropped.
    pub fn begin_answer(&self, bytes: usize) {
        self.answers.add(bytes);
    }

    /// Removes a request that was answered or withdrawn.
    pub fn end_answer(&self, bytes: usize) {
        self.answers.remove(bytes);
        self.wake();
    }

    /// Records that the reader of events was dropped: events no longer count.
    pub fn reader_gone(&self) {
        self.reader_is_gone.store(true, Ordering::Release);
        self.wake();
    }

    /// True if the soft limit is reached.
    pub fn is_full(&self) -> bool {
        self.reaches(SOFT_LIMIT_LINES, SOFT_LIMIT_BYTES)
    }

    /// True if the hard limit is reached. Nothing is read until the budget is below it.
    pub fn is_exhausted(&self) -> bool {
        self.reaches(HARD_LIMIT_LINES, HARD_LIMIT_BYTES)
    }

    fn reaches(&self, lines: usize, bytes: usize) -> bool {
        let events = self.events.reaches(lines, bytes) && !self.reader_is_gone.load(Ordering::Acquire);
        events || self.answers.reaches(lines, bytes)
    }

    /// Returns the number of unread events.
    #[cfg(test)]
    pub fn unread_events(&self) -> usize {
        self.events.lines.load(Ordering::Acquire)
    }

    /// Makes the task that reads the program's output check the budget again.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    /// Waits until [`wake`](Self::wake) is called.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
