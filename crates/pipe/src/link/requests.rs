//! Writes frames, and awaits the replies to requests.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use super::{Codec, EncodedFrame, FrameRole, Link, LinkError, LinkShared, lock};
use crate::pending::{NoReply, ReplyFuture};

/// An encoded frame, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundFrame<I> {
    encoded: EncodedFrame<I>,
}

impl<I> OutboundFrame<I> {
    /// Returns the id if the frame is a request.
    pub fn id(&self) -> Option<&I> {
        match &self.encoded.role {
            FrameRole::Request(id) => Some(id),
            FrameRole::Message | FrameRole::Answer(_) => None,
        }
    }
}

impl<C: Codec> Link<C> {
    /// Encodes a frame with the next frame number of this link.
    ///
    /// # Errors
    ///
    /// If the frame cannot be encoded as a line.
    pub fn encode(&self, frame: C::Frame) -> Result<OutboundFrame<C::Id>, LinkError> {
        self.shared.encode(frame)
    }

    /// Writes a frame, and completes once the system has accepted all of it. The reply to a request arrives as an
    /// event, [`LinkEvent::Reply`](super::LinkEvent::Reply). Returns false if the frame was not written, because it
    /// answers a request that is no longer open.
    ///
    /// # Errors
    ///
    /// If the program is gone.
    pub fn write(
        &self,
        outbound: OutboundFrame<C::Id>,
    ) -> impl Future<Output = Result<bool, LinkError>> + Send + use<C> {
        let shared = Arc::clone(&self.shared);
        async move { shared.write(outbound).await }
    }

    /// Encodes and writes a frame.
    ///
    /// # Errors
    ///
    /// If the program is gone, or the frame cannot be encoded as a line.
    pub async fn send(&self, frame: C::Frame) -> Result<bool, LinkError> {
        self.write(self.encode(frame)?).await
    }

    /// Raises the limit on unread events until the result is dropped. For callers that do not read events while they
    /// write: a program that blocks on its output may not read its input.
    pub fn raise_limit(&self) -> RaisedLimit<C> {
        RaisedLimit::new(&self.shared)
    }

    /// Writes a request and returns a future of its reply. A request with a timeout raises the limit on unread events.
    ///
    /// # Errors
    ///
    /// If the program is gone, or does not read the request within the timeout; if the frame is not a request, or
    /// cannot be encoded as a line; if another request with the same id is pending.
    pub async fn request(&self, frame: C::Frame, timeout: Option<Duration>) -> Result<LinkReply<C>, NoReply> {
        let failed = |gone: LinkError| NoReply::Disconnected(gone.0);
        let EncodedFrame { line, role } = self.shared.encode(frame).map_err(failed)?.encoded;
        let FrameRole::Request(id) = role else {
            return Err(NoReply::Disconnected("the frame is not a request".into()));
        };
        let raised = timeout.map(|_| RaisedLimit::new(&self.shared));
        let mut waiting = self.shared.pending.open(id, timeout);
        let reply = tokio::select! {
            biased;
            sent = self.shared.write_line(line) => {
                sent.map_err(failed)?;
                None
            }
            // The request also fails if the timeout expires or the program exits during the write.
            reply = &mut waiting => Some(reply?),
        };
        Ok(LinkReply { waiting, reply, _raised: raised })
    }
}

impl<C: Codec> LinkShared<C> {
    pub(super) fn encode(&self, frame: C::Frame) -> Result<OutboundFrame<C::Id>, LinkError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let encoded = self.codec.encode(frame, number).map_err(|error| LinkError(error.into()))?;
        Ok(OutboundFrame { encoded })
    }

    pub(super) async fn write(&self, outbound: OutboundFrame<C::Id>) -> Result<bool, LinkError> {
        let EncodedFrame { line, role } = outbound.encoded;
        match role {
            FrameRole::Message => {}
            FrameRole::Request(id) => drop(lock(&self.inline).insert(id)),
            FrameRole::Answer(key) => {
                if lock(&self.open).remove(&key).is_none() {
                    return Ok(false);
                }
            }
        }
        self.write_line(line).await.map(|()| true)
    }
}

/// Future of the reply to a request that was written.
#[must_use = "dropping this future cancels the request"]
pub struct LinkReply<C: Codec> {
    waiting: ReplyFuture<C::Id, C::Reply>,
    /// Reply that arrived before the request was written completely.
    reply: Option<C::Reply>,
    _raised: Option<RaisedLimit<C>>,
}

/// No field is structurally pinned.
impl<C: Codec> Unpin for LinkReply<C> {}

impl<C: Codec> Future for LinkReply<C> {
    type Output = Result<C::Reply, NoReply>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.reply.take() {
            Some(reply) => Poll::Ready(Ok(reply)),
            None => Pin::new(&mut self.waiting).poll(context),
        }
    }
}

/// Raises the limit on unread events while this value exists, since a reply is queued behind other events.
#[must_use = "the limit is raised only while this value exists"]
pub struct RaisedLimit<C: Codec>(Arc<LinkShared<C>>);

impl<C: Codec> fmt::Debug for RaisedLimit<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RaisedLimit").finish_non_exhaustive()
    }
}

impl<C: Codec> RaisedLimit<C> {
    fn new(shared: &Arc<LinkShared<C>>) -> Self {
        shared.raised_limits.fetch_add(1, Ordering::AcqRel);
        shared.io.budget.wake();
        Self(Arc::clone(shared))
    }
}

impl<C: Codec> Drop for RaisedLimit<C> {
    fn drop(&mut self) {
        self.0.raised_limits.fetch_sub(1, Ordering::AcqRel);
    }
}
