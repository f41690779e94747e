//! Detects the end of a replay. Pure: the caller passes the current time.

use std::time::Duration;

use tokio::time::Instant;

/// Time without messages after which a replay is over, if all prompts that wh has recorded were replayed.
const REPLAY_QUIET_PERIOD: Duration = Duration::from_millis(250);

/// Time without messages after which a replay is over, if recorded prompts are missing.
const REPLAY_DOUBT_QUIET_PERIOD: Duration = Duration::from_secs(2);

/// Maximum duration of a replay, if all prompts that wh has recorded were replayed.
const REPLAY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum duration of a replay, if recorded prompts are missing.
const REPLAY_DOUBT_TIMEOUT: Duration = Duration::from_secs(30);

/// Detects that an agent has finished replaying a conversation. The protocol has no end marker, so the replay is over
/// after a period without messages. The period is longer if prompts that wh has recorded are missing.
pub(super) struct ReplayEndDetector {
    begun: Instant,
    /// True if recorded prompts were missing after the shorter period.
    doubts: bool,
    timeout: Duration,
}

impl ReplayEndDetector {
    pub fn new(begun: Instant) -> Self {
        Self { begun, doubts: false, timeout: REPLAY_TIMEOUT }
    }

    /// Handles a replayed message: restores the shorter period.
    pub fn message_replayed(&mut self) {
        self.doubts = false;
    }

    /// Returns the time at which [`is_over`](Self::is_over) must be called.
    pub fn deadline(&self, now: Instant) -> Instant {
        let quiet = if self.doubts { REPLAY_DOUBT_QUIET_PERIOD } else { REPLAY_QUIET_PERIOD };
        (now + quiet).min(self.begun + self.timeout)
    }

    /// Returns true if the replay is over; otherwise selects the longer period and timeout. Called when the deadline
    /// has passed. `complete` is true if no recorded prompt is missing.
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
        let mut wait = ReplayEndDetector::new(begun);
        let now = wait.deadline(begun);
        assert_eq!(now, begun + REPLAY_QUIET_PERIOD);
        assert!(ReplayEndDetector::new(begun).is_over(now, true));
        assert!(!wait.is_over(now, false));
        assert_eq!(wait.deadline(now), now + REPLAY_DOUBT_QUIET_PERIOD);
        wait.message_replayed();
        assert_eq!(wait.deadline(now), now + REPLAY_QUIET_PERIOD);
        assert!(!wait.is_over(now, false), "it has repeated more");
        assert!(wait.is_over(wait.deadline(now), false), "and then nothing for long");
    }

    #[test]
    fn a_replay_that_never_rests_ends_all_the_same() {
        let begun = Instant::now();
        let mut wait = ReplayEndDetector::new(begun);
        let now = begun + REPLAY_TIMEOUT;
        assert_eq!(wait.deadline(now), now);
        assert!(ReplayEndDetector::new(begun).is_over(now, true));
        assert!(!wait.is_over(now, false));
        wait.message_replayed();
        assert!(wait.is_over(begun + REPLAY_DOUBT_TIMEOUT, false));
    }
}
