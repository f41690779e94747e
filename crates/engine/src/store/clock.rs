//! Store time, which measures the age of requests.
//!
//! Store time is the total time that the store has been open, over all openings, in milliseconds. While the store is
//! open the monotonic clock drives it; the next opening continues from the last stored value. The wall clock has no
//! influence: setting it cannot make a request older than it is. In return nothing ages while the store is closed, so
//! that requests may be remembered longer than needed, but never shorter.

use std::time::Instant;

/// Store time in milliseconds.
pub(super) type StoreTime = i64;

/// Current store time.
#[derive(Debug)]
pub(super) struct StoreClock {
    base: StoreTime,
    source: TimeSource,
}

/// Source of elapsed time.
#[derive(Debug, Clone)]
pub(super) enum TimeSource {
    /// Monotonic clock of the system, since this moment.
    System(Instant),
    /// Clock of a test, in milliseconds.
    #[cfg(test)]
    Manual(std::sync::Arc<std::sync::atomic::AtomicI64>),
}

impl StoreClock {
    /// Continues from the last stored value.
    pub fn resume(base: StoreTime, source: TimeSource) -> Self {
        let mut clock = Self { base: 0, source };
        clock.base = base.saturating_sub(clock.elapsed()).max(0);
        clock
    }

    /// Returns the current store time.
    pub fn now(&self) -> StoreTime {
        self.base.saturating_add(self.elapsed())
    }

    fn elapsed(&self) -> StoreTime {
        match &self.source {
            TimeSource::System(since) => StoreTime::try_from(since.elapsed().as_millis()).unwrap_or(StoreTime::MAX),
            #[cfg(test)]
            TimeSource::Manual(now) => now.load(std::sync::atomic::Ordering::SeqCst),
        }
    }
}
