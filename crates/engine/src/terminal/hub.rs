//! Where a session's events are numbered and told: one journal, and two bells that ring for whoever watches.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use wh_client::{Facts, ScreenUse, Shown, Watch};
use wh_core::event::{Cursor, Epoch, Event, FellOut, Journal, Numbered};

/// Events handed out at once: enough to catch up quickly, few enough not to keep the session waiting.
const AT_ONCE: usize = 512;

pub(super) struct Hub {
    journal: Journal,
    // Latest wins: who was busy hears only of the newest, and asks for the rest.
    events: watch::Sender<u64>,
    frames: watch::Sender<u64>,
}

impl Hub {
    /// A hub whose numbers are of the run that started at this time.
    pub fn new(started: SystemTime) -> Self {
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let epoch = Epoch::new(&format!("{:x}{:x}", since.as_nanos(), std::process::id()));
        Self { journal: Journal::new(epoch), events: watch::Sender::new(0), frames: watch::Sender::new(0) }
    }

    pub fn publish(&mut self, event: Event, at: SystemTime) {
        let weight = if let Event::Space(numbered) = &event { numbered.event.weight() } else { 0 };
        self.journal.enter_heavy(event, at, weight);
        self.events.send_replace(self.journal.last());
    }

    /// There are so many frames now.
    pub fn frames(&self, count: u64) {
        self.frames.send_if_modified(|known| std::mem::replace(known, count) != count);
    }

    pub fn watch(&self, facts: Facts, shown: Option<Shown>, screen_use: Option<ScreenUse>) -> Watch {
        Watch {
            end: self.journal.end(),
            facts,
            shown,
            events: self.events.subscribe(),
            frames: self.frames.subscribe(),
            screen_use,
        }
    }

    pub fn after(&self, cursor: &Cursor) -> Result<Vec<Arc<Numbered>>, FellOut> {
        self.journal.after(cursor, AT_ONCE)
    }
}
