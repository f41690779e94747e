//! Subscriptions to a surface's journal. Each reader pulls unseen events from the shared journal. There is no queue per
//! reader, and a slow reader does not delay other readers.

use std::sync::Arc;

use tokio::sync::watch;
use wh_core::event::{Cursor, NumberedEvent};

use crate::request::{ScreenSnapshot, ScreenUseGuard, SurfaceFacts, SurfaceWatch};
use crate::surface::{SessionGone, Surface};

/// Position at which a subscription starts.
#[derive(Debug)]
pub enum SubscriptionStart {
    /// Continues after the given cursor without a gap.
    Resumed,
    /// Begins with the current state.
    Snapshot {
        facts: Box<SurfaceFacts>,
        /// Current screen, if there is one.
        shown: Option<Box<ScreenSnapshot>>,
        /// True if a cursor was given but the events after it are no longer available.
        reset: bool,
    },
}

/// Reason for the end of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionEnd {
    /// The reader was too slow: the next event has been dropped from the journal.
    #[error("the reader was too slow; the next event is no longer available")]
    TooSlow,
    /// The session has ended.
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Reads the events of a surface's journal that follow a cursor.
#[derive(Debug)]
pub struct Subscription {
    surface: Surface,
    cursor: Cursor,
    events: watch::Receiver<u64>,
    /// Watch channel with the number of the newest frame.
    pub frames: watch::Receiver<u64>,
    _screen_use: Option<ScreenUseGuard>,
}

impl Subscription {
    pub(crate) async fn start(
        surface: Surface,
        after: Option<Cursor>,
        screen: bool,
    ) -> Result<(SubscriptionStart, Self), SessionGone> {
        let SurfaceWatch { end, facts, shown, events, frames, screen_use, .. } = surface.watch(screen).await?;
        let asked = after.is_some();
        if let Some(cursor) = after
            && surface.events(cursor.clone()).await?.is_ok()
        {
            return Ok((SubscriptionStart::Resumed, Self { surface, cursor, events, frames, _screen_use: screen_use }));
        }
        let start = SubscriptionStart::Snapshot { facts: Box::new(facts), shown: shown.map(Box::new), reset: asked };
        Ok((start, Self { surface, cursor: end, events, frames, _screen_use: screen_use }))
    }

    /// Returns the cursor of the last event that was read.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Waits for the next events. Returns at least one, in order. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<Arc<NumberedEvent>>, SubscriptionEnd> {
        loop {
            // The notification is marked as seen before the query, so that a new event during the query notifies again.
            self.events.borrow_and_update();
            let events = self.surface.events(self.cursor.clone()).await?.map_err(|_| SubscriptionEnd::TooSlow)?;
            if let Some(last) = events.last() {
                self.cursor.seq = last.seq;
                return Ok(events);
            }
            self.events.changed().await.map_err(|_| SessionGone)?;
        }
    }
}
