//! Events of a link, in the order in which the program wrote them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio::task::coop::unconstrained;
use tracing::debug;

use super::{Codec, Held, Inbound, Shared};

/// Bytes of messages that are buffered during a handshake. Messages beyond it are dropped.
const MAX_BUFFERED_BYTES: usize = 256 * 1024;

/// Bytes of requests of the program, their withdrawals and replies that are buffered during a handshake. None is dropped, since
/// somebody waits for each: beyond this nothing more is taken until the handshake is over.
const MAX_BUFFERED_EXCHANGE_BYTES: usize = 256 * 1024;

/// An event in the queue of a link.
pub(super) struct Queued<C: Codec> {
    pub event: Inbound<C>,
    /// Length of the line that it was read from.
    pub bytes: usize,
    /// A request, a withdrawal or a reply, or the end: somebody waits for it.
    pub is_exchange: bool,
}

impl<C: Codec> Queued<C> {
    /// Bytes that it takes up. The structure itself counts, too: a flood of tiny messages is a flood.
    fn size(&self) -> usize {
        self.bytes + size_of::<Inbound<C>>()
    }
}

/// Buffer space that is left during a handshake.
struct Space {
    messages: usize,
    exchange: usize,
}

impl Space {
    /// True if the event may be dropped or has space.
    fn takes<C: Codec>(&self, queued: &Queued<C>) -> bool {
        !queued.is_exchange || queued.size() <= self.exchange || matches!(queued.event, Inbound::Closed(_))
    }
}

/// Events of a link. Whoever holds it reads it: when too much waits, the program has to wait too.
pub struct Events<C: Codec> {
    receiver: mpsc::UnboundedReceiver<Queued<C>>,
    /// Events that were buffered during a handshake, or put back.
    buffered: VecDeque<Inbound<C>>,
    /// An event that came after those, taken from the queue but not buffered.
    next: Option<Queued<C>>,
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
        receiver: mpsc::UnboundedReceiver<Queued<C>>,
        shared: Arc<Shared<C>>,
        held: Arc<Held<C>>,
    ) -> Self {
        Self { receiver, buffered: VecDeque::new(), next: None, shared, _held: held }
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
        let queued = self.next.take().or_else(|| self.receiver.try_recv().ok())?;
        Some(self.take(queued))
    }

    fn take(&self, queued: Queued<C>) -> Inbound<C> {
        self.shared.talk.room.taken(queued.bytes);
        queued.event
    }

    /// Polls for the next event.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Inbound<C>>> {
        if let Some(event) = self.buffered.pop_front() {
            return Poll::Ready(Some(event));
        }
        if let Some(queued) = self.next.take() {
            return Poll::Ready(Some(self.take(queued)));
        }
        self.receiver.poll_recv(context).map(|next| next.map(|queued| self.take(queued)))
    }

    /// Runs a handshake, and buffers the events that arrive before it is done: they are read afterwards, in their order. At most
    /// 256 KiB of messages are buffered, and as much of requests, their withdrawals and replies. Messages beyond that are
    /// dropped. Requests are not: beyond that nothing is taken, so the program waits, and the handshake may time out. Events
    /// that arrive after its last reply are never dropped.
    pub async fn buffer_during<T>(&mut self, handshake: impl Future<Output = T>) -> T {
        let mut space = Space { messages: MAX_BUFFERED_BYTES, exchange: MAX_BUFFERED_EXCHANGE_BYTES };
        // A reply that has come must be seen at once, see below.
        let handshake = unconstrained(handshake);
        tokio::pin!(handshake);
        std::future::poll_fn(|context| {
            loop {
                // Counted before the handshake is polled: a reply before these events would have ended it.
                let arrived = self.receiver.len();
                if let Poll::Ready(done) = handshake.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                if !self.buffer(arrived, &mut space) {
                    return Poll::Pending;
                }
                match self.receiver.poll_recv(context) {
                    Poll::Ready(Some(queued)) => self.next = Some(queued),
                    // Without a reader the handshake is told of the end, too.
                    Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Buffers or drops the next event and as many of the queue; false if one has no space and may not be dropped. Unlike
    /// `poll_recv`, `try_recv` does not yield after 128 events, which is fewer than the reader queues at a time.
    fn buffer(&mut self, arrived: usize, space: &mut Space) -> bool {
        for count in 0..=arrived {
            let queued = if count == 0 { self.next.take() } else { self.receiver.try_recv().ok() };
            let Some(queued) = queued else { continue };
            if !space.takes(&queued) {
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
                debug!(size, "dropped: more arrives during the handshake than is buffered");
            }
        }
        true
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
