//! Events of a link, in the order in which the program wrote them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tracing::debug;

use super::{Codec, Held, Inbound, Shared};

/// Bytes of events that are buffered during a handshake. Events beyond it are dropped.
const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Events of a link. Whoever holds it reads it: when too much waits, the program has to wait too.
pub struct Events<C: Codec> {
    receiver: mpsc::UnboundedReceiver<(Inbound<C>, usize)>,
    /// Events that were buffered during a handshake.
    buffered: VecDeque<Inbound<C>>,
    shared: Arc<Shared<C>>,
    _held: Arc<Held<C>>,
}

impl<C: Codec> fmt::Debug for Events<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").finish_non_exhaustive()
    }
}

impl<C: Codec> Events<C> {
    pub(super) fn new(
        receiver: mpsc::UnboundedReceiver<(Inbound<C>, usize)>,
        shared: Arc<Shared<C>>,
        held: Arc<Held<C>>,
    ) -> Self {
        Self { receiver, buffered: VecDeque::new(), shared, _held: held }
    }

    /// The next event, `None` after [`Inbound::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<Inbound<C>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// The next event, if it is here already.
    pub fn waiting(&mut self) -> Option<Inbound<C>> {
        if let Some(event) = self.buffered.pop_front() {
            return Some(event);
        }
        let (event, bytes) = self.receiver.try_recv().ok()?;
        self.shared.talk.room.taken(bytes);
        Some(event)
    }

    /// Polls for the next event.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Inbound<C>>> {
        if let Some(event) = self.buffered.pop_front() {
            return Poll::Ready(Some(event));
        }
        self.receiver.poll_recv(context).map(|next| {
            let (event, bytes) = next?;
            self.shared.talk.room.taken(bytes);
            Some(event)
        })
    }

    /// Runs a handshake, and buffers the events that arrive before it is done, at most 256 KiB of them: they are read
    /// afterwards, in their order.
    pub async fn buffer_during<T>(&mut self, handshake: impl Future<Output = T>) -> T {
        let (mut kept, mut room) = (VecDeque::new(), MAX_BUFFERED_BYTES);
        let mut keep = |event: Inbound<C>, bytes: usize| {
            self.shared.talk.room.taken(bytes);
            // The structure itself counts, too: a flood of tiny messages is a flood.
            let bytes = bytes + size_of::<Inbound<C>>();
            match room.checked_sub(bytes) {
                Some(rest) => {
                    room = rest;
                    kept.push_back(event);
                }
                None if matches!(event, Inbound::Closed(_)) => kept.push_back(event),
                None => debug!(bytes, "dropped: more arrives during the handshake than is buffered"),
            }
        };
        tokio::pin!(handshake);
        let done = loop {
            tokio::select! {
                event = self.receiver.recv() => match event {
                    Some((event, bytes)) => {
                        keep(event, bytes);
                        // `recv` yields after 128 events, which is fewer than the reader queues at a time; `try_recv` never does.
                        while let Ok((event, bytes)) = self.receiver.try_recv() {
                            keep(event, bytes);
                        }
                    }
                    None => break handshake.await,
                },
                done = &mut handshake => break done,
            }
        };
        while let Ok((event, bytes)) = self.receiver.try_recv() {
            keep(event, bytes);
        }
        self.buffered.append(&mut kept);
        done
    }

    /// Puts events back that were read ahead. They are read first, in their order.
    pub fn put_back(&mut self, events: impl IntoIterator<Item = Inbound<C>>) {
        let mut events: VecDeque<_> = events.into_iter().collect();
        events.append(&mut self.buffered);
        self.buffered = events;
    }
}

impl<C: Codec> Drop for Events<C> {
    fn drop(&mut self) {
        self.receiver.close();
        self.shared.talk.room.abandon();
    }
}
