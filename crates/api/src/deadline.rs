//! The time that an answer may take, with a notice while it is awaited.

use std::time::Duration;

/// Limit for an answer, unless the client is told otherwise.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that an answer may take: that of the request itself, and that of the server beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    duration: Duration,
    timeout: Duration,
}

/// No answer within the deadline, which was this long in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(pub Duration);

impl Deadline {
    /// For a request that is answered at once.
    pub fn of(timeout: Duration) -> Self {
        Self { duration: Duration::ZERO, timeout }
    }

    /// For a request that may itself take this long: a wait for a condition, the start of an agent.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self { duration, ..self }
    }

    /// The time beyond that of the request. A connection must be made within it, too.
    pub fn timeout(self) -> Duration {
        self.timeout
    }

    /// The whole time.
    pub fn total(self) -> Duration {
        self.duration.saturating_add(self.timeout)
    }

    /// Waits for an answer. Calls `notice` once if none is there when the server has had `notice_after` to give it.
    pub async fn answered<T>(
        self,
        notice_after: Duration,
        notice: impl FnOnce(),
        answer: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
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
        Err(Elapsed(self.total()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    #[test]
    fn a_late_answer_has_one_notice_and_a_missing_one_fails() {
        let notices = std::cell::Cell::new(0);
        let deadline = Deadline::of(Duration::from_millis(40));
        let notice = || notices.set(notices.get() + 1);
        let millisecond = Duration::from_millis(1);
        let missing = deadline.answered(millisecond, notice, std::future::pending::<()>());
        assert_eq!(runtime().block_on(missing), Err(Elapsed(Duration::from_millis(40))));
        assert_eq!(notices.get(), 1);
        assert_eq!(runtime().block_on(deadline.answered(millisecond, notice, async { 7 })), Ok(7));
        assert_eq!(notices.get(), 1);
    }

    #[test]
    fn no_notice_comes_at_or_after_the_deadline() {
        let deadline = Deadline::of(Duration::from_millis(5)).after(Duration::from_millis(5));
        let missing = deadline.answered(Duration::from_secs(1), || panic!("a notice"), std::future::pending::<()>());
        assert_eq!(runtime().block_on(missing), Err(Elapsed(Duration::from_millis(10))));
    }
}
