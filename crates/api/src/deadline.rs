//! Timeout for a response, with a callback for slow responses.

use std::time::Duration;

/// Default timeout for a response.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for a response: the time that the server needs to execute the request, plus the client's timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    duration: Duration,
    timeout: Duration,
}

/// Error for a response that did not arrive before the deadline. Contains the total timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadlineElapsed(pub Duration);

impl Deadline {
    /// Creates the deadline of a request that the server answers immediately.
    pub fn of(timeout: Duration) -> Self {
        Self { duration: Duration::ZERO, timeout }
    }

    /// Sets the time that the server needs to execute the request, for example a wait or the start of an agent.
    #[must_use]
    pub fn with_duration(self, duration: Duration) -> Self {
        Self { duration, ..self }
    }

    /// Returns the client's timeout, without the duration of the request. Also used as the timeout for connecting.
    pub fn timeout(self) -> Duration {
        self.timeout
    }

    /// Returns the total timeout: the duration of the request plus the client's timeout.
    pub fn total(self) -> Duration {
        self.duration.saturating_add(self.timeout)
    }

    /// Awaits a response. Calls `notice` once if the response has not arrived within the duration of the request plus
    /// `notice_after`.
    pub async fn await_response<T>(
        self,
        notice_after: Duration,
        notice: impl FnOnce(),
        answer: impl Future<Output = T>,
    ) -> Result<T, DeadlineElapsed> {
        tokio::pin!(answer);
        let quiet = self.duration.saturating_add(self.timeout.min(notice_after));
        if let Ok(answer) = tokio::time::timeout(quiet, &mut answer).await {
            return Ok(answer);
        }
        let rest = self.timeout.saturating_sub(notice_after);
        if !rest.is_zero() {
            notice();
            if let Ok(answer) = tokio::time::timeout(rest, answer).await {
                return Ok(answer);
            }
        }
        Err(DeadlineElapsed(self.total()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_missing_response_causes_one_notice_and_fails() {
        let notices = std::cell::Cell::new(0);
        let deadline = Deadline::of(Duration::from_millis(40));
        let notice = || notices.set(notices.get() + 1);
        let millisecond = Duration::from_millis(1);
        let missing = deadline.await_response(millisecond, notice, std::future::pending::<()>());
        assert_eq!(runtime().block_on(missing), Err(DeadlineElapsed(Duration::from_millis(40))));
        assert_eq!(notices.get(), 1);
        assert_eq!(runtime().block_on(deadline.await_response(millisecond, notice, async { 7 })), Ok(7));
        assert_eq!(notices.get(), 1);
    }

    #[test]
    fn no_notice_comes_at_or_after_the_deadline() {
        let deadline = Deadline::of(Duration::from_millis(5)).with_duration(Duration::from_millis(5));
        let missing =
            deadline.await_response(Duration::from_secs(1), || panic!("a notice"), std::future::pending::<()>());
        assert_eq!(runtime().block_on(missing), Err(DeadlineElapsed(Duration::from_millis(10))));
    }
}
