//! Subscriptions to a surface's journal. Each reader pulls unseen events from the shared journal, so that there is no
//! queue per reader, and a slow reader delays no other.

use std::sync::Arc;

use tokio::sync::watch;
use wh_core::event::{Cursor, NumberedEvent};

use crate::request::{ScreenSnapshot, ScreenUse, SurfaceFacts, SurfaceWatch};
use crate::surface::{Gone, Surface};

/// Start of a subscription.
#[derive(Debug)]
pub enum SubscriptionStart {
    /// Continues after the given cursor without a gap.
    Resumed,
    /// Begins with the current state.
    Snapshot {
        /// Facts of the session.
        facts: Box<SurfaceFacts>,
        /// Screen, if there is one.
        shown: Option<Box<ScreenSnapshot>>,
        /// True if a cursor was given but is no longer valid.
        reset: bool,
    },
}

/// Reason for the end of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionEnd {
    /// The reader was too slow: its next event has been dropped.
    #[error("too slow: the next event is no longer available")]
    TooSlow,
    /// The session has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// Reader of the journal.
#[derive(Debug)]
pub struct Subscription {
    surface: Surface,
    cursor: Cursor,
    events: watch::Receiver<u64>,
    /// Change notification for frames; only the newest value counts.
    pub frames: watch::Receiver<u64>,
    _screen_use: Option<ScreenUse>,
}

impl Subscription {
    pub(crate) async fn start(
        surface: Surface,
        after: Option<Cursor>,
        screen: bool,
    ) -> Result<(SubscriptionStart, Self), Gone> {
        let SurfaceWatch { end, facts, shown, events, frames, screen_use } = surface.watch(screen).await?;
        let asked = after.is_some();
        if let Some(cursor) = after
            && surface.events(cursor.clone()).await?.is_ok()
        {
            return Ok((SubscriptionStart::Resumed, Self { surface, cursor, events, frames, _screen_use: screen_use }));
        }
        let start = SubscriptionStart::Snapshot { facts: Box::new(facts), shown: shown.map(Box::new), reset: asked };
        Ok((start, Self { surface, cursor: end, events, frames, _screen_use: screen_use }))
    }

    /// Position of the reader.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Waits for the next events, in order, at least one. Cancel safe.
    pub async fn next(&mut self) -> Result<Vec<Arc<NumberedEvent>>, SubscriptionEnd> {
        loop {
            // Marked as seen before the query, so that events in between notify again.
            self.events.borrow_and_update();
            let events = self.surface.events(self.cursor.clone()).await?.map_err(|_| SubscriptionEnd::TooSlow)?;
            if let Some(last) = events.last() {
                self.cursor.seq = last.seq;
                return Ok(events);
            }
            self.events.changed().await.map_err(|_| Gone)?;
        }
    }
}
