//! How much may wait to be read.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Events that may wait for their reader. Beyond that nothing more is read from the program, unless a reply is waited for:
/// it comes behind the events, and whoever waits for it may be the one who does not read them.
const DEPTH: usize = 256;

/// The same in bytes of what was read: a few results of tools can be as large as thousands of other events.
const BYTES: usize = 16 * 1024 * 1024;

/// Counts what waits.
#[derive(Debug, Default)]
pub struct Room {
    waiting: AtomicUsize,
    bytes: AtomicUsize,
    abandoned: AtomicBool,
    changed: Notify,
}

impl Room {
    /// One more waits, that was read from so many bytes.
    pub fn put(&self, bytes: usize) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    /// What was put has been taken.
    pub fn taken(&self, bytes: usize) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.wake();
    }

    /// Nobody reads events any more: none of them waits.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether as much waits as may.
    pub fn is_full(&self) -> bool {
        let full = self.waiting.load(Ordering::Acquire) >= DEPTH || self.bytes.load(Ordering::Acquire) >= BYTES;
        full && !self.abandoned.load(Ordering::Acquire)
    }

    /// Number of events that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
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
