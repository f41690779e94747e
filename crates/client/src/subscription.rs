//! Following a surface's journal. Each reader pulls what it has not seen, at its own pace, from the one journal: there is
//! no queue of its own to fill, and who is slow holds nobody up.

use std::sync::Arc;

use tokio::sync::watch;
use wh_core::event::{Cursor, Numbered};

use crate::request::{Facts, ScreenUse, Shown, Watch};
use crate::surface::{Gone, Surface};

/// How a subscription begins.
#[derive(Debug)]
pub enum Start {
    /// Where the reader left off: nothing was missed.
    Resumed,
    /// With the state of this moment.
    Snapshot {
        /// What is known.
        facts: Box<Facts>,
        /// The screen, if one is kept.
        shown: Option<Box<Shown>>,
        /// The reader came with a cursor that is of no use any more.
        reset: bool,
    },
}

/// Why a subscription is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The reader was so slow that its next event is no longer kept.
    #[error("too slow: the next event is no longer kept")]
    TooSlow,
    /// Nobody publishes any more.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// A reader of the journal.
#[derive(Debug)]
pub struct Subscription {
    surface: Surface,
    cursor: Cursor,
    events: watch::Receiver<u64>,
    /// Rings for every frame; only the newest counts.
    pub frames: watch::Receiver<u64>,
    _screen_use: Option<ScreenUse>,
}

impl Subscription {
    pub(crate) async fn start(surface: Surface, after: Option<Cursor>, screen: bool) -> Result<(Start, Self), Gone> {
        let Watch { end, facts, shown, events, frames, screen_use } = surface.watch(screen).await?;
        let asked = after.is_some();
        if let Some(cursor) = after
            && surface.events(cursor.clone()).await?.is_ok()
        {
            return Ok((Start::Resumed, Self { surface, cursor, events, frames, _screen_use: screen_use }));
        }
        let start = Start::Snapshot { facts: Box::new(facts), shown: shown.map(Box::new), reset: asked };
        Ok((start, Self { surface, cursor: end, events, frames, _screen_use: screen_use }))
    }

    /// How far the reader has seen.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Waits for what comes next: some events, in order, at least one. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<Arc<Numbered>>, Lost> {
        loop {
            // Marked as seen before it is asked for, so that what comes in between rings again.
            self.events.borrow_and_update();
            let events = self.surface.events(self.cursor.clone()).await?.map_err(|_| Lost::TooSlow)?;
            if let Some(last) = events.last() {
                self.cursor.seq = last.seq;
                return Ok(events);
            }
            self.events.changed().await.map_err(|_| Gone)?;
        }
    }
}
