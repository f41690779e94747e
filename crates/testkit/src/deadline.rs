//! Waiting for a condition, with an end. Tests do not sleep; the one pause they share is in here.

use std::time::{Duration, Instant};

/// How long a test waits for what must happen. Generous, because machines are shared: it is spent only on failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(10);

/// Asks until there is an answer, and panics with `what` was awaited when [`PATIENCE`] is at its end.
#[track_caller]
pub fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, what, ask)
}

/// As [`eventually`], with a patience of its own.
#[track_caller]
pub fn eventually_within<T>(patience: Duration, what: &str, ask: impl FnMut() -> Option<T>) -> T {
    let Some(answer) = before(patience, ask) else {
        panic!("waited {patience:?} in vain: {what}");
    };
    answer
}

/// Asks until there is an answer or `patience` is at its end. The condition is asked at least once, and once more after
/// the last pause, so that a slow machine is not a failure.
pub fn before<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let late = start.elapsed() >= patience;
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if late {
            return None;
        }
        std::thread::sleep(PAUSE);
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
    #[should_panic(expected = "in vain: the cows come home")]
    fn a_condition_that_never_holds_is_named() {
        eventually_within(Duration::from_millis(20), "the cows come home", || None::<()>);
    }

    #[test]
    fn without_patience_the_condition_is_asked_once() {
        assert_eq!(before(Duration::ZERO, || Some(1)), Some(1));
        assert_eq!(before(Duration::ZERO, || None::<u8>), None);
    }
}
