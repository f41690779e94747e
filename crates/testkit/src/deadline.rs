//! Waits for conditions with a timeout. Tests call these functions instead of sleeping.

use std::time::{Duration, Instant};

/// Timeout for conditions that must become true. Long, because test machines are shared, and only a failing test waits
/// until the timeout.
pub const CONDITION_TIMEOUT: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Polls until `ask` returns a value. After [`CONDITION_TIMEOUT`], panics with a message that contains `what`.
#[track_caller]
pub fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    eventually_within(CONDITION_TIMEOUT, what, ask)
}

/// Polls like [`eventually`], but with the given timeout.
#[track_caller]
pub fn eventually_within<T>(timeout: Duration, what: &str, ask: impl FnMut() -> Option<T>) -> T {
    let Some(answer) = wait_until(timeout, ask) else {
        panic!("timed out after {timeout:?} while waiting for: {what}");
    };
    answer
}

/// Polls until `ask` returns a value or `timeout` has passed. Polls at least once, and once more after the timeout, so
/// that a slow machine does not cause a failure.
pub fn wait_until<T>(timeout: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let late = start.elapsed() >= timeout;
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if late {
            return None;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_asked_until_it_holds() {
        let mut asked = 0;
        let answer = eventually("the third time", || {
            asked += 1;
            (asked == 3).then_some(asked)
        });
        assert_eq!(answer, 3);
    }

    #[test]
    #[should_panic(expected = ": the cows come home")]
    fn a_condition_that_never_holds_is_named() {
        eventually_within(Duration::from_millis(20), "the cows come home", || None::<()>);
    }

    #[test]
    fn without_a_timeout_the_condition_is_checked_once() {
        assert_eq!(wait_until(Duration::ZERO, || Some(1)), Some(1));
        assert_eq!(wait_until(Duration::ZERO, || None::<u8>), None);
    }
}
