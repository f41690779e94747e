//! Store time, the clock for the age of requests.
//!
//! Store time is the total time that the store has been open since its creation, in milliseconds. It advances with the
//! monotonic clock while the store is open, and continues from the last stored value when the store is opened again.
//! Changes of the wall clock do not affect the age of a request. Requests do not age while the store is closed. They
//! may thus be remembered for longer than needed, but never for a shorter time.

use std::time::Instant;

/// Store time in milliseconds; see the module documentation.
pub(super) type StoreTime = i64;

#[derive(Debug)]
pub(super) struct StoreClock {
    base: StoreTime,
    source: TimeSource,
}

/// Source of the time elapsed since the store was opened.
#[derive(Debug, Clone)]
pub(super) enum TimeSource {
    /// Monotonic clock of the system, with the time at which the store was opened.
    System(Instant),
    /// Manual clock for tests, in milliseconds.
    #[cfg(test)]
    Manual(std::sync::Arc<std::sync::atomic::AtomicI64>),
}

impl StoreClock {
    /// Creates a clock that continues from the last stored time.
    pub fn resume(base: StoreTime, source: TimeSource) -> Self {
        let mut clock = Self { base: 0, source };
        clock.base = base.saturating_sub(clock.elapsed()).max(0);
        clock
    }

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
