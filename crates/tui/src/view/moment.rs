//! Clock of a frame. Content that depends on the time registers the time of its next change, and the next frame is
//! drawn at the earliest of these times.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

/// Time between two steps of the spinner.
const SPINNER_INTERVAL: Duration = Duration::from_millis(120);

const SPINNER_FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Time of a frame, and the time until the next frame must be drawn.
#[derive(Debug)]
pub(crate) struct FrameClock {
    now: SystemTime,
    wake: Cell<Option<Duration>>,
}

impl FrameClock {
    pub(crate) fn new(now: SystemTime) -> Self {
        Self { now, wake: Cell::new(None) }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.now
    }

    /// Returns the time until the next change of registered content; `None` if no content depends on the time.
    pub(crate) fn wake(&self) -> Option<Duration> {
        self.wake.get()
    }

    pub(crate) fn wake_in(&self, time: Duration) {
        self.wake.set(Some(self.wake.get().map_or(time, |sooner| sooner.min(time))));
    }

    pub(crate) fn spinner(&self) -> &'static str {
        let millis = self.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        let into = (millis % SPINNER_INTERVAL.as_millis()) as u64;
        self.wake_in(SPINNER_INTERVAL - Duration::from_millis(into));
        SPINNER_FRAMES[(millis / SPINNER_INTERVAL.as_millis()) as usize % SPINNER_FRAMES.len()]
    }

    /// Formats the time since `since` to the second: `3s`, `1m 05s` or `2h 03m`.
    pub(crate) fn elapsed(&self, since: SystemTime) -> String {
        let elapsed = self.since(since);
        self.wake_at_next(elapsed, 1);
        precise(elapsed.as_secs())
    }

    /// Formats the time since `since` in its largest unit: `3s`, `5m` or `2h`.
    pub(crate) fn ago(&self, since: SystemTime) -> String {
        let elapsed = self.since(since);
        let (unit, name) = match elapsed.as_secs() {
            0..60 => (1, 's'),
            60..3600 => (60, 'm'),
            _ => (3600, 'h'),
        };
        self.wake_at_next(elapsed, unit);
        format!("{}{name}", elapsed.as_secs() / unit)
    }

    /// Formats the time until `until`, rounded up to a second.
    pub(crate) fn left(&self, until: SystemTime) -> String {
        let left = until.duration_since(self.now).unwrap_or_default();
        if !left.is_zero() {
            let part = Duration::from_nanos(left.subsec_nanos().into());
            self.wake_in(if part.is_zero() { Duration::from_secs(1) } else { part });
        }
        precise(left.as_secs() + u64::from(left.subsec_nanos() > 0))
    }

    /// Returns true if at least `time` has passed since `since`. If not, registers the time at which the result becomes
    /// true.
    pub(crate) fn lasts(&self, since: SystemTime, time: Duration) -> bool {
        match time.checked_sub(self.since(since)).filter(|left| !left.is_zero()) {
            Some(left) => {
                self.wake_in(left);
                false
            }
            None => true,
        }
    }

    fn since(&self, then: SystemTime) -> Duration {
        self.now.duration_since(then).unwrap_or_default()
    }

    fn wake_at_next(&self, elapsed: Duration, unit: u64) {
        let into = Duration::new(elapsed.as_secs() % unit, elapsed.subsec_nanos());
        self.wake_in(Duration::from_secs(unit) - into);
    }
}

/// Formats a duration: `3s`, `1m 05s` or `2h 03m`.
pub(crate) fn precise(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn the_next_frame_is_scheduled_for_the_next_change() {
        let moment = FrameClock::new(at(3_250));
        assert_eq!(moment.wake(), None);
        assert_eq!(moment.elapsed(at(0)), "3s");
        assert_eq!(moment.wake(), Some(Duration::from_millis(750)));
        moment.spinner();
        assert_eq!(moment.wake(), Some(Duration::from_millis(110)));
    }

    #[test]
    fn times_are_short() {
        let moment = FrameClock::new(at(7_500_000));
        assert_eq!(moment.elapsed(at(7_435_000)), "1m 05s");
        assert_eq!(moment.elapsed(at(0)), "2h 05m");
        assert_eq!(moment.ago(at(7_300_000)), "3m");
        assert_eq!(moment.left(at(7_558_400)), "59s");
        assert_eq!(moment.left(at(0)), "0s");
    }

    #[test]
    fn old_times_are_redrawn_rarely() {
        let moment = FrameClock::new(at(7_500_000));
        moment.ago(at(0));
        assert_eq!(moment.wake(), Some(Duration::from_secs(3600 - 300)));
    }
}
