//! Store time: by what the age of a request is told.
//!
//! It is the time that a store has been open, summed up over all of its lives, in milliseconds. Within a life the steady
//! clock drives it; from one life to the next it goes on where it was last written down. The wall clock has no part in it:
//! however that is set, forwards or backwards, nothing becomes older than it is. The price is small: while no engine runs,
//! nothing ages, and a request is then remembered longer than it had to be, never shorter.

use std::time::Instant;

/// Store time, in milliseconds.
pub(super) type Stamp = i64;

/// Where store time is now.
#[derive(Debug)]
pub(super) struct Clock {
    base: Stamp,
    steady: Steady,
}

/// What drives it.
#[derive(Debug, Clone)]
pub(super) enum Steady {
    /// The system's steady clock, since this moment.
    System(Instant),
    /// A test's hand, in milliseconds.
    #[cfg(test)]
    Hand(std::sync::Arc<std::sync::atomic::AtomicI64>),
}

impl Clock {
    /// Goes on from what was written down last.
    pub fn resume(base: Stamp, steady: Steady) -> Self {
        let mut clock = Self { base: 0, steady };
        clock.base = base.saturating_sub(clock.elapsed()).max(0);
        clock
    }

    /// Now.
    pub fn now(&self) -> Stamp {
        self.base.saturating_add(self.elapsed())
    }

    fn elapsed(&self) -> Stamp {
        match &self.steady {
            Steady::System(since) => Stamp::try_from(since.elapsed().as_millis()).unwrap_or(Stamp::MAX),
            #[cfg(test)]
            Steady::Hand(now) => now.load(std::sync::atomic::Ordering::SeqCst),
        }
    }
}
