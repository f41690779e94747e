//! How much may wait to be read.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Events that may wait for their reader. Beyond that nothing more is read from the program, unless a reply is waited for:
/// it comes behind the events, and whoever waits for it may be the one who does not read them.
const DEPTH: usize = 256;

/// Counts what waits.
#[derive(Debug, Default)]
pub struct Room {
    waiting: AtomicUsize,
    changed: Notify,
}

impl Room {
    /// One more waits.
    pub fn put(&self) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
    }

    /// One was taken.
    pub fn taken(&self) {
        // The end of the events is taken, too, and was never put.
        let _ = self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1));
        self.wake();
    }

    /// Whether as many wait as may.
    pub fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Acquire) >= DEPTH
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
