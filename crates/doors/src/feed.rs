//! What somebody who watches is sent, whatever the transport: the start, then events in order, frames as they come, a
//! heartbeat when nothing does.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};
use wh_client::{Conversation, Gone, Look, Lost, Shown, Start, Subscription, Surface};
use wh_core::event::{Cursor, Numbered};
use wh_core::space::query::EnvelopeFilter;
use wh_core::time::iso;
use wh_wire::control::StreamBody;

use crate::bodies::{Frames, client_state, event_body, frame_body, state};
use crate::closing::{Closing, closed};

/// A quiet connection is given a sign of life this often: proxies and browsers give up on silence.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) struct Feed {
    surface: Surface,
    conversation: Option<Conversation>,
    subscription: Subscription,
    /// What is ready to be sent.
    ready: VecDeque<StreamBody>,
    frames: Frames,
    new_frame: watch::Receiver<u64>,
    /// A frame has come that was not sent yet.
    frame_due: bool,
    frame_interval: Duration,
    next_frame_at: Instant,
    heartbeat_at: Instant,
    closing: Closing,
    over: bool,
    _place: Option<OwnedSemaphorePermit>,
}

impl Feed {
    /// Subscribes to a surface. `place` is one among those who watch, where these are counted.
    pub async fn open(
        surface: Surface,
        conversation: Option<Conversation>,
        closing: Closing,
        place: Option<OwnedSemaphorePermit>,
        (after, frames, rate): (Option<Cursor>, Frames, u32),
    ) -> Result<Self, Gone> {
        let (start, subscription) = surface.subscribe(after, frames != Frames::None).await?;
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
            heartbeat_at: now + HEARTBEAT,
            closing,
            over: false,
            _place: place,
        };
        feed.start(start).await?;
        Ok(feed)
    }

    async fn start(&mut self, start: Start) -> Result<(), Gone> {
        match start {
            // Frames have no numbers: who comes back is shown the screen as it is.
            Start::Resumed => self.frame_due = self.frames != Frames::None,
            Start::Snapshot { facts, shown, reset } => {
                if reset {
                    let reason = "the cursor is of another run, or its next event is no longer kept".to_owned();
                    self.ready.push_back(StreamBody::Reset { reason });
                }
                let screen = shown
                    .filter(|_| self.frames != Frames::None)
                    .map(|shown| Box::new(frame_body(&shown, self.frames)));
                let Cursor { epoch, seq } = self.subscription.cursor();
                let (epoch, seq) = (epoch.to_string(), *seq);
                let surface = client_state(&facts);
                // Taken a moment later: it may hold what the next events tell, and those are told as a whole.
                let state = match &self.conversation {
                    Some(conversation) => Box::new(state(conversation, surface, EnvelopeFilter::default()).await?.0),
                    None => Box::new(surface),
                };
                self.ready.push_back(StreamBody::Snapshot { epoch, seq, state, screen });
            }
        }
        Ok(())
    }

    /// Where the reader stands.
    pub fn cursor(&self) -> (String, u64) {
        let Cursor { epoch, seq } = self.subscription.cursor();
        (epoch.to_string(), *seq)
    }

    /// What is sent next; nothing when it is over. Cancel safe.
    pub async fn next(&mut self) -> Option<StreamBody> {
        loop {
            if let Some(body) = self.ready.pop_front() {
                self.heartbeat_at = Instant::now() + HEARTBEAT;
                return Some(body);
            }
            if self.over {
                return None;
            }
            let wants_frames = self.frames != Frames::None;
            tokio::select! {
                events = self.subscription.next() => self.happened(events),
                changed = self.new_frame.changed(), if wants_frames && !self.frame_due => match changed {
                    Ok(()) => self.frame_due = true,
                    Err(_) => self.happened(Err(Lost::Gone(Gone))),
                },
                shown = frame(&self.surface, self.next_frame_at), if self.frame_due => {
                    self.frame_due = false;
                    self.next_frame_at = Instant::now() + self.frame_interval;
                    if let Ok(shown) = shown {
                        self.ready.push_back(StreamBody::Frame(frame_body(&shown, self.frames)));
                    }
                }
                () = closed(&mut self.closing) => self.ends("wh is leaving"),
                () = sleep_until(self.heartbeat_at) => {
                    let Cursor { epoch, seq } = self.subscription.cursor();
                    self.ready.push_back(StreamBody::Heartbeat { epoch: epoch.to_string(), seq: *seq });
                }
            }
        }
    }

    fn happened(&mut self, events: Result<Vec<std::sync::Arc<Numbered>>, Lost>) {
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

async fn frame(surface: &Surface, not_before: Instant) -> Result<Shown, Gone> {
    sleep_until(not_before).await;
    surface.look(Look::default()).await
}

#[cfg(test)]
mod tests;
