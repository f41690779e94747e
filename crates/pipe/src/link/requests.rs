//! Writing frames, and waiting for the replies to requests.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use super::{Codec, Encoded, Gone, Link, Role, Shared, lock};
use crate::pending::{NoReply, Waiting};

/// A frame that is ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbound<I> {
    encoded: Encoded<I>,
}

impl<I> Outbound<I> {
    /// The id of the request that it is, if it is one.
    pub fn id(&self) -> Option<&I> {
        match &self.encoded.role {
            Role::Request(id) => Some(id),
            Role::Message | Role::Answer(_) => None,
        }
    }
}

impl<C: Codec> Link<C> {
    /// Encodes a frame and gives it an id.
    ///
    /// # Errors
    ///
    /// If the frame cannot be written as a line.
    pub fn encode(&self, frame: C::Frame) -> Result<Outbound<C::Id>, Gone> {
        self.shared.encode(frame)
    }

    /// Writes a frame, and is done when the system has taken all of it. The reply to a request is an event,
    /// [`Inbound::Reply`](super::Inbound::Reply). False: it answers a request that is not open any more, and was not
    /// written.
    ///
    /// # Errors
    ///
    /// If the program is gone.
    pub fn write(&self, outbound: Outbound<C::Id>) -> impl Future<Output = Result<bool, Gone>> + Send + use<C> {
        let shared = Arc::clone(&self.shared);
        async move { shared.write(outbound).await }
    }

    /// The same for a frame that has not been encoded.
    ///
    /// # Errors
    ///
    /// If the program is gone, or the frame cannot be written as a line.
    pub async fn send(&self, frame: C::Frame) -> Result<bool, Gone> {
        self.write(self.encode(frame)?).await
    }

    /// Raises the limit on events that wait for their reader until the result is dropped. For writes of a caller that does
    /// not read events meanwhile: a program that waits for its output to be read may read no input.
    pub fn hurry(&self) -> Hurry<C> {
        Hurry::new(&self.shared)
    }

    /// Writes a request; the future that comes back is its reply. A request with a timeout is read for even while
    /// events wait for their reader.
    ///
    /// # Errors
    ///
    /// If the program is gone, or does not read it within the timeout.
    pub async fn request(&self, frame: C::Frame, timeout: Option<Duration>) -> Result<LinkReply<C>, NoReply> {
        let failed = |gone: Gone| NoReply::Disconnected(gone.0);
        let Encoded { line, role } = self.shared.encode(frame).map_err(failed)?.encoded;
        let Role::Request(id) = role else {
            return Err(NoReply::Disconnected("the frame is not a request".into()));
        };
        let hurry = timeout.map(|_| Hurry::new(&self.shared));
        let mut waiting = self.shared.pending.open(id, timeout);
        let reply = tokio::select! {
            biased;
            sent = self.shared.line(line) => {
                sent.map_err(failed)?;
                None
            }
            // The time runs, and the program can go, also while it does not read.
            reply = &mut waiting => Some(reply?),
        };
        Ok(LinkReply { waiting, reply, _hurry: hurry })
    }
}

impl<C: Codec> Shared<C> {
    pub(super) fn encode(&self, frame: C::Frame) -> Result<Outbound<C::Id>, Gone> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let encoded = self.codec.encode(frame, number).map_err(|error| Gone(error.into()))?;
        Ok(Outbound { encoded })
    }

    pub(super) async fn write(&self, outbound: Outbound<C::Id>) -> Result<bool, Gone> {
        let Encoded { line, role } = outbound.encoded;
        match role {
            Role::Message => {}
            Role::Request(id) => drop(lock(&self.inline).insert(id)),
            Role::Answer(key) => {
                if lock(&self.open).remove(&key).is_none() {
                    return Ok(false);
                }
            }
        }
        self.line(line).await.map(|()| true)
    }
}

/// The reply to a request that was written.
#[must_use = "a request whose reply nobody awaits is forgotten"]
pub struct LinkReply<C: Codec> {
    waiting: Waiting<C::Id, C::Reply>,
    /// One that came before the request was written to its end.
    reply: Option<C::Reply>,
    _hurry: Option<Hurry<C>>,
}

/// Nothing in it is pinned in its place.
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

/// Raises the limit on events that wait for their reader while it exists: a reply is queued behind them.
#[must_use = "the limit is raised only while this exists"]
pub struct Hurry<C: Codec>(Arc<Shared<C>>);

impl<C: Codec> fmt::Debug for Hurry<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hurry").finish_non_exhaustive()
    }
}

impl<C: Codec> Hurry<C> {
    fn new(shared: &Arc<Shared<C>>) -> Self {
        shared.hurried.fetch_add(1, Ordering::AcqRel);
        shared.talk.room.wake();
        Self(Arc::clone(shared))
    }
}

impl<C: Codec> Drop for Hurry<C> {
    fn drop(&mut self) {
        self.0.hurried.fetch_sub(1, Ordering::AcqRel);
    }
}
