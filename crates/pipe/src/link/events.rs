//! Event queue of a link. Events are delivered in the order in which the program wrote them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio::task::coop::unconstrained;
use tracing::debug;

use super::{CloseOnDrop, Codec, LinkEvent, LinkShared};

/// Maximum bytes of messages buffered during a handshake. Messages beyond the limit are dropped.
const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Maximum bytes of requests, their withdrawals and replies buffered during a handshake. These events are never
/// dropped, since the program or a caller waits for them. At the limit no more events are read until the handshake is
/// over.
const MAX_BUFFERED_EXCHANGE_BYTES: usize = 256 * 1024;

/// An event in the queue of a link.
pub(super) struct QueuedEvent<C: Codec> {
    pub event: LinkEvent<C>,
    /// Length of the line that the event was read from.
    pub bytes: usize,
    /// True for an event that must not be dropped: a request, the withdrawal of a request, a reply, or the end of the
    /// link.
    pub is_exchange: bool,
}

impl<C: Codec> QueuedEvent<C> {
    /// Returns the memory size of the event, including the structure itself, so that a flood of tiny messages is
    /// bounded too.
    fn size(&self) -> usize {
        self.bytes + size_of::<LinkEvent<C>>()
    }
}

/// Remaining buffer space during a handshake.
struct HandshakeBudget {
    messages: usize,
    exchange: usize,
}

impl HandshakeBudget {
    /// True if the event fits into the remaining space, or may be dropped.
    fn accepts<C: Codec>(&self, queued: &QueuedEvent<C>) -> bool {
        !queued.is_exchange || queued.size() <= self.exchange || matches!(queued.event, LinkEvent::Closed(_))
    }
}

/// Receives the events of a link. The owner must read them: the program blocks when too many events are unread.
pub struct LinkEvents<C: Codec> {
    receiver: mpsc::UnboundedReceiver<QueuedEvent<C>>,
    /// Events buffered during a handshake, or put back.
    buffered: VecDeque<LinkEvent<C>>,
    /// Event that was taken from the queue but not buffered. Delivered after the buffered events.
    next: Option<QueuedEvent<C>>,
    shared: Arc<LinkShared<C>>,
    _held: Arc<CloseOnDrop<C>>,
}

impl<C: Codec> fmt::Debug for LinkEvents<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").finish_non_exhaustive()
    }
}

impl<C: Codec> LinkEvents<C> {
    pub(super) fn new(
        receiver: mpsc::UnboundedReceiver<QueuedEvent<C>>,
        shared: Arc<LinkShared<C>>,
        held: Arc<CloseOnDrop<C>>,
    ) -> Self {
        Self { receiver, buffered: VecDeque::new(), next: None, shared, _held: held }
    }

    /// Returns the next event; `None` after [`LinkEvent::Closed`]. Cancel safe.
    pub async fn next(&mut self) -> Option<LinkEvent<C>> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// Returns the next event if one is queued.
    pub fn try_next(&mut self) -> Option<LinkEvent<C>> {
        if let Some(event) = self.buffered.pop_front() {
            return Some(event);
        }
        let queued = self.next.take().or_else(|| self.receiver.try_recv().ok())?;
        Some(self.take(queued))
    }

    fn take(&self, queued: QueuedEvent<C>) -> LinkEvent<C> {
        self.shared.io.budget.remove_event(queued.bytes);
        queued.event
    }

    /// Polls for the next event, as `next` does.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<LinkEvent<C>>> {
        if let Some(event) = self.buffered.pop_front() {
            return Poll::Ready(Some(event));
        }
        if let Some(queued) = self.next.take() {
            return Poll::Ready(Some(self.take(queued)));
        }
        self.receiver.poll_recv(context).map(|next| next.map(|queued| self.take(queued)))
    }

    /// Runs a handshake, and buffers the events that arrive before the handshake completes. These events are delivered
    /// afterwards, in order. The limit is 256 KiB of messages, and another 256 KiB of requests, their withdrawals and
    /// replies. Messages beyond the limit are dropped. Requests are not dropped: beyond the limit no event is read, so
    /// the program blocks and the handshake may time out. Events that arrive after the last reply of the handshake are
    /// never dropped.
    pub async fn buffer_during<T>(&mut self, handshake: impl Future<Output = T>) -> T {
        let mut space = HandshakeBudget { messages: MAX_BUFFERED_BYTES, exchange: MAX_BUFFERED_EXCHANGE_BYTES };
        // Not subject to tokio's cooperative budget, so that a reply is seen as soon as it arrives.
        let handshake = unconstrained(handshake);
        tokio::pin!(handshake);
        std::future::poll_fn(|context| {
            loop {
                // Counted before the handshake is polled. If a reply had arrived before these events, that poll would
                // complete the handshake.
                let arrived = self.receiver.len();
                if let Poll::Ready(done) = handshake.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                if !self.buffer(arrived, &mut space) {
                    return Poll::Pending;
                }
                match self.receiver.poll_recv(context) {
                    Poll::Ready(Some(queued)) => self.next = Some(queued),
                    // If the reader is gone, the handshake fails as well.
                    Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Buffers or drops the next event and up to `arrived` events of the queue. Returns false if an event does not fit
    /// and must not be dropped. Unlike `poll_recv`, `try_recv` does not yield after 128 events; the reader queues more
    /// than that at a time.
    fn buffer(&mut self, arrived: usize, space: &mut HandshakeBudget) -> bool {
        for count in 0..=arrived {
            let queued = if count == 0 { self.next.take() } else { self.receiver.try_recv().ok() };
            let Some(queued) = queued else { continue };
            if !space.accepts(&queued) {
                self.next = Some(queued);
                return false;
            }
            let size = queued.size();
            let left = if queued.is_exchange { &mut space.exchange } else { &mut space.messages };
            let fits = size <= *left;
            let keep = fits || queued.is_exchange;
            *left = if fits { *left - size } else { *left };
            let event = self.take(queued);
            if keep {
                self.buffered.push_back(event);
            } else {
                debug!(size, "dropped a message: the handshake buffer is full");
            }
        }
        true
    }

    /// Puts back events that were read ahead. They are delivered next, in order.
    pub fn put_back(&mut self, events: impl IntoIterator<Item = LinkEvent<C>>) {
        let mut events: VecDeque<_> = events.into_iter().collect();
        events.append(&mut self.buffered);
        self.buffered = events;
    }
}

impl<C: Codec> Drop for LinkEvents<C> {
    fn drop(&mut self) {
        self.receiver.close();
        self.shared.io.budget.reader_gone();
    }
}
