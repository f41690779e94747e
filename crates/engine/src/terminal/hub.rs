//! Journal of a session's events, with the channels that notify watchers of new events and frames.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use wh_client::{ScreenSnapshot, ScreenUseGuard, SurfaceFacts, SurfaceWatch};
use wh_core::event::{Cursor, CursorExpired, Epoch, Event, Journal, NumberedEvent};

/// Maximum number of events returned by one call. Bounds the time for which the call blocks the session's task.
const MAX_EVENTS_PER_READ: usize = 512;

pub(super) struct EventHub {
    journal: Journal,
    // Contains only the number of the newest event. A slow watcher requests the events that it missed.
    events: watch::Sender<u64>,
    frames: watch::Sender<u64>,
    /// Number of inputs that were typed.
    typed: watch::Sender<u64>,
}

impl EventHub {
    /// Creates a hub whose epoch is derived from the session's start time.
    pub fn new(started: SystemTime) -> Self {
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = Epoch::new(&format!("{:x}{:x}", since.as_nanos(), std::process::id()));
        let [events, frames, typed] = std::array::from_fn(|_| watch::Sender::new(0));
        Self { journal: Journal::new(epoch), events, frames, typed }
    }

    pub fn publish(&mut self, event: Event, at: SystemTime) {
        let weight = if let Event::Space(numbered) = &event { numbered.event.weight() } else { 0 };
        self.journal.append_sized(event, at, weight);
        self.events.send_replace(self.journal.last());
    }

    /// Publishes the number of frames drawn so far.
    pub fn frames(&self, count: u64) {
        self.frames.send_if_modified(|known| std::mem::replace(known, count) != count);
    }

    /// Counts an input that was typed.
    pub fn count_typed(&self) {
        self.typed.send_modify(|count| *count += 1);
    }

    pub fn watch(
        &self,
        facts: SurfaceFacts,
        shown: Option<ScreenSnapshot>,
        screen_use: Option<ScreenUseGuard>,
    ) -> SurfaceWatch {
        SurfaceWatch {
            end: self.journal.end(),
            facts,
            shown,
            events: self.events.subscribe(),
            frames: self.frames.subscribe(),
            typed: self.typed.subscribe(),
            screen_use,
        }
    }

    pub fn after(&self, cursor: &Cursor) -> Result<Vec<Arc<NumberedEvent>>, CursorExpired> {
        self.journal.after(cursor, MAX_EVENTS_PER_READ)
    }
}
