//! The end of a replay. No clock: the time is given.

use std::time::Duration;

use tokio::time::Instant;

/// Silence after which an agent has repeated an earlier conversation, if nothing is missing.
const REPLAY_QUIET: Duration = Duration::from_millis(250);

/// Silence after which messages that were not repeated are missing.
const REPLAY_DOUBT_QUIET: Duration = Duration::from_secs(2);

/// Limit for all of it, if nothing is missing.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(10);

/// The same, if something is missing.
const REPLAY_DOUBT_TIMEOUT: Duration = Duration::from_secs(30);

/// Decides when an agent has repeated a conversation. Nothing tells the end of it, so silence has to; where something is
/// missing, a longer one.
pub(super) struct ReplayWait {
    begun: Instant,
    /// Something was missing after the shorter silence.
    doubts: bool,
    timeout: Duration,
}

impl ReplayWait {
    pub fn new(begun: Instant) -> Self {
        Self { begun, doubts: false, timeout: REPLAY_TIMEOUT }
    }

    /// Something was repeated.
    pub fn heard(&mut self) {
        self.doubts = false;
    }

    /// The time up to which the next message is waited for.
    pub fn deadline(&self, now: Instant) -> Instant {
        let quiet = if self.doubts { REPLAY_DOUBT_QUIET } else { REPLAY_QUIET };
        (now + quiet).min(self.begun + self.timeout)
    }

    /// True if the deadline that has passed was the last. `complete`: nothing is missing.
    pub fn is_over(&mut self, now: Instant, complete: bool) -> bool {
        let is_late = now >= self.begun + self.timeout;
        let was_last = if is_late { self.timeout == REPLAY_DOUBT_TIMEOUT } else { self.doubts };
        (self.doubts, self.timeout) = (true, REPLAY_DOUBT_TIMEOUT);
        complete || was_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_in_a_replay_is_its_end_only_where_nothing_is_missing() {
        let begun = Instant::now();
        let mut wait = ReplayWait::new(begun);
        let now = wait.deadline(begun);
        assert_eq!(now, begun + REPLAY_QUIET);
        assert!(ReplayWait::new(begun).is_over(now, true));
        assert!(!wait.is_over(now, false));
        assert_eq!(wait.deadline(now), now + REPLAY_DOUBT_QUIET);
        wait.heard();
        assert_eq!(wait.deadline(now), now + REPLAY_QUIET);
        assert!(!wait.is_over(now, false), "it has repeated more");
        assert!(wait.is_over(wait.deadline(now), false), "and then nothing for long");
    }

    #[test]
    fn a_replay_that_never_rests_ends_all_the_same() {
        let begun = Instant::now();
        let mut wait = ReplayWait::new(begun);
        let now = begun + REPLAY_TIMEOUT;
        assert_eq!(wait.deadline(now), now);
        assert!(ReplayWait::new(begun).is_over(now, true));
        assert!(!wait.is_over(now, false));
        wait.heard();
        assert!(wait.is_over(begun + REPLAY_DOUBT_TIMEOUT, false));
    }
}
