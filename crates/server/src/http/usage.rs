//! Records the use of a run's HTTP API. The record determines how long the API stays open after the program has exited.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Time of the last API use, and whether a client has read the program's exit.
#[derive(Debug, Clone)]
pub struct ApiUsage(Arc<UsageState>);

#[derive(Debug)]
struct UsageState {
    /// Time of the last answered request.
    answered: Mutex<Option<Instant>>,
    end_read: watch::Sender<bool>,
}

impl Default for ApiUsage {
    fn default() -> Self {
        Self(Arc::new(UsageState { answered: Mutex::default(), end_read: watch::Sender::new(false) }))
    }
}

impl ApiUsage {
    pub(super) fn answered(&self) {
        *self.0.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    pub(super) fn end_was_read(&self) {
        self.0.end_read.send_replace(true);
    }

    /// True if the last request was answered at most `time` ago.
    pub fn within(&self, time: Duration) -> bool {
        let answered = *self.0.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.is_some_and(|answered| answered.elapsed() <= time)
    }

    /// Waits until a client has read the program's exit.
    pub async fn end_read(&self) {
        let _ = self.0.end_read.subscribe().wait_for(|read| *read).await;
    }
}
