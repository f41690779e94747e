//! Counts the requests to a run's API as far as they decide how long it stays open after the program's end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// When the API of a run was last used, and whether a client has read that the program has ended.
#[derive(Debug, Clone)]
pub struct Usage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// When the last admitted request was answered.
    answered: Mutex<Option<Instant>>,
    end_read: watch::Sender<bool>,
}

impl Default for Usage {
    fn default() -> Self {
        Self(Arc::new(Inner { answered: Mutex::default(), end_read: watch::Sender::new(false) }))
    }
}

impl Usage {
    pub(super) fn answered(&self) {
        *self.0.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    pub(super) fn end_was_read(&self) {
        self.0.end_read.send_replace(true);
    }

    /// True if a request was answered within this time.
    pub fn within(&self, time: Duration) -> bool {
        let answered = *self.0.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.is_some_and(|answered| answered.elapsed() <= time)
    }

    /// Waits until a client has read that the program has ended.
    pub async fn end_read(&self) {
        let _ = self.0.end_read.subscribe().wait_for(|read| *read).await;
    }
}
