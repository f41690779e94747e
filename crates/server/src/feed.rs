//! Event feed of a subscriber, independent of the transport: a snapshot, then numbered events, frames and heartbeats.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};
use wh_client::{
    Conversation, ScreenReadOptions, ScreenSnapshot, SessionGone, Subscription, SubscriptionEnd, SubscriptionStart,
    Surface,
};
use wh_core::event::{Cursor, NumberedEvent};
use wh_core::space::query::EnvelopeFilter;
use wh_core::time::iso;
use wh_wire::control::StreamBody;

use crate::bodies::{FrameFormat, client_state, event_body, frame_body, state};
use crate::closing::{ShutdownWatch, closed};

/// Interval of heartbeats on a silent connection. Proxies and browsers close silent connections.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

pub(crate) struct EventFeed {
    surface: Surface,
    conversation: Option<Conversation>,
    subscription: Subscription,
    /// Messages ready to be sent.
    ready: VecDeque<StreamBody>,
    frames: FrameFormat,
    new_frame: watch::Receiver<u64>,
    /// True if the latest frame has not been sent yet.
    frame_due: bool,
    frame_interval: Duration,
    next_frame_at: Instant,
    heartbeat_at: Instant,
    closing: ShutdownWatch,
    over: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl EventFeed {
    /// Subscribes to a surface. `permit` is held until the feed is dropped.
    pub async fn open(
        surface: Surface,
        conversation: Option<Conversation>,
        closing: ShutdownWatch,
        permit: Option<OwnedSemaphorePermit>,
        (after, frames, rate): (Option<Cursor>, FrameFormat, u32),
    ) -> Result<Self, SessionGone> {
        let (start, subscription) = surface.subscribe(after, frames != FrameFormat::None).await?;
        let now = Instant::now();
        let mut feed = Self {
            new_frame: subscription.frames.clone(),
            surface,
            conversation,
            subscription,
            ready: VecDeque::new(),
            frames,
            frame_due: false,
            frame_interval: Duration::from_secs(1) / rate,
            next_frame_at: now,
            heartbeat_at: now + HEARTBEAT_INTERVAL,
            closing,
            over: false,
            _permit: permit,
        };
        feed.start(start).await?;
        Ok(feed)
    }

    async fn start(&mut self, start: SubscriptionStart) -> Result<(), SessionGone> {
        match start {
            // Frames have no numbers, so a resumed subscriber gets the current screen.
            SubscriptionStart::Resumed => self.frame_due = self.frames != FrameFormat::None,
            SubscriptionStart::Snapshot { facts, shown, reset } => {
                if reset {
                    let reason =
                        "the cursor belongs to another run, or the event after it is no longer buffered".to_owned();
                    self.ready.push_back(StreamBody::Reset { reason });
                }
                let screen = shown
                    .filter(|_| self.frames != FrameFormat::None)
                    .map(|shown| Box::new(frame_body(&shown, self.frames)));
                let Cursor { epoch, seq } = self.subscription.cursor();
                let (epoch, seq) = (epoch.to_string(), *seq);
                let surface = client_state(&facts);
                // The state is read after the cursor, so the state may already include later events. A client can apply
                // a later event again without harm, because each event replaces a complete part of the state.
                let state = match &self.conversation {
                    Some(conversation) => Box::new(state(conversation, surface, EnvelopeFilter::default()).await?.0),
                    None => Box::new(surface),
                };
                self.ready.push_back(StreamBody::Snapshot { epoch, seq, state, screen });
            }
        }
        Ok(())
    }

    /// Returns the cursor of the last sent event.
    pub fn cursor(&self) -> (String, u64) {
        let Cursor { epoch, seq } = self.subscription.cursor();
        (epoch.to_string(), *seq)
    }

    /// Returns the next message; `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> Option<StreamBody> {
        loop {
            if let Some(body) = self.ready.pop_front() {
                self.heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
                return Some(body);
            }
            if self.over {
                return None;
            }
            let wants_frames = self.frames != FrameFormat::None;
            tokio::select! {
                events = self.subscription.next() => self.handle_events(events),
                changed = self.new_frame.changed(), if wants_frames && !self.frame_due => match changed {
                    Ok(()) => self.frame_due = true,
                    Err(_) => self.handle_events(Err(SubscriptionEnd::Gone(SessionGone))),
                },
                shown = frame(&self.surface, self.next_frame_at), if self.frame_due => {
                    self.frame_due = false;
                    self.next_frame_at = Instant::now() + self.frame_interval;
                    if let Ok(shown) = shown {
                        self.ready.push_back(StreamBody::Frame(frame_body(&shown, self.frames)));
                    }
                }
                () = closed(&mut self.closing) => self.ends("wh is shutting down"),
                () = sleep_until(self.heartbeat_at) => {
                    let Cursor { epoch, seq } = self.subscription.cursor();
                    self.ready.push_back(StreamBody::Heartbeat { epoch: epoch.to_string(), seq: *seq });
                }
            }
        }
    }

    fn handle_events(&mut self, events: Result<Vec<std::sync::Arc<NumberedEvent>>, SubscriptionEnd>) {
        match events {
            Ok(events) => {
                let epoch = self.subscription.cursor().epoch.to_string();
                self.ready.extend(events.iter().map(|event| StreamBody::Event {
                    epoch: epoch.clone(),
                    seq: event.seq,
                    at: iso(event.at),
                    event: event_body(&event.event, self.conversation.as_ref()),
                }));
            }
            Err(lost) => self.ends(&lost.to_string()),
        }
    }

    fn ends(&mut self, reason: &str) {
        self.over = true;
        self.ready.push_back(StreamBody::Dropped { reason: reason.to_owned() });
    }
}

async fn frame(surface: &Surface, not_before: Instant) -> Result<ScreenSnapshot, SessionGone> {
    sleep_until(not_before).await;
    surface.read_screen(ScreenReadOptions::default()).await
}

#[cfg(test)]
mod tests;
