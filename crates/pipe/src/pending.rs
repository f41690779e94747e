//! Matches replies with pending requests by key. The requester holds a future; there is no task per request, and the
//! number of entries is bounded by the number of futures.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Sleep;

/// Reason why a request has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// No reply arrived within the timeout.
    #[error("no reply within {0:?}")]
    Timeout(Duration),
    /// The other side has disconnected, for this reason.
    #[error("no reply: {0}")]
    Disconnected(Arc<str>),
    /// Another request with the same key is pending.
    #[error("a request with the same id is already pending")]
    DuplicateKey,
}

/// Pending requests, by key. Clones share the same requests.
#[derive(Debug)]
pub struct PendingReplies<K, T>(Arc<Mutex<PendingState<K, T>>>);

#[derive(Debug)]
struct PendingState<K, T> {
    open: HashMap<K, OpenRequest<T>>,
    /// Number of requests opened so far. Distinguishes a request from an older one with the same key.
    opened: u64,
    closed: Option<Arc<str>>,
}

#[derive(Debug)]
struct OpenRequest<T> {
    number: u64,
    reply: oneshot::Sender<Result<T, NoReply>>,
}

impl<K, T> Clone for PendingReplies<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> Default for PendingReplies<K, T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(PendingState { open: HashMap::new(), opened: 0, closed: None })))
    }
}

impl<K: Hash + Eq + Clone, T> PendingReplies<K, T> {
    /// Creates an empty set of requests.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a request before it is sent. The timeout starts now; without a timeout the request may wait forever.
    /// Dropping the future cancels the request.
    pub fn open(&self, key: K, timeout: Option<Duration>) -> ReplyFuture<K, T> {
        let (reply, receive) = oneshot::channel();
        let mut inner = lock(&self.0);
        inner.opened += 1;
        let number = inner.opened;
        let refused = if let Some(why) = &inner.closed {
            Some(NoReply::Disconnected(Arc::clone(why)))
        } else if let Entry::Vacant(entry) = inner.open.entry(key.clone()) {
            entry.insert(OpenRequest { number, reply });
            None
        } else {
            Some(NoReply::DuplicateKey)
        };
        drop(inner);
        let deadline = timeout.map(|timeout| (timeout, Box::pin(tokio::time::sleep(timeout))));
        ReplyFuture { pending: self.clone(), key, number, receive, deadline, refused }
    }

    /// Delivers a reply to the request with this key. Returns false if no such request is pending.
    pub fn resolve<Q>(&self, key: &Q, value: T) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let open = lock(&self.0).open.remove(key);
        open.is_some_and(|open| open.reply.send(Ok(value)).is_ok())
    }

    /// Fails all pending requests. New requests may be opened.
    pub fn fail_all(&self, reason: &str) {
        let open = std::mem::take(&mut lock(&self.0).open);
        fail(open, &reason.into());
    }

    /// Fails all pending and all later requests. If called again, the first reason is retained.
    pub fn close(&self, reason: &str) {
        let (open, reason) = {
            let mut inner = lock(&self.0);
            let reason = Arc::clone(inner.closed.get_or_insert_with(|| reason.into()));
            (std::mem::take(&mut inner.open), reason)
        };
        fail(open, &reason);
    }

    /// Returns the number of pending requests.
    pub fn len(&self) -> usize {
        lock(&self.0).open.len()
    }

    /// True if no request is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn fail<K, T>(open: HashMap<K, OpenRequest<T>>, reason: &Arc<str>) {
    for open in open.into_values() {
        let _ = open.reply.send(Err(NoReply::Disconnected(Arc::clone(reason))));
    }
}

fn lock<K, T>(inner: &Mutex<PendingState<K, T>>) -> MutexGuard<'_, PendingState<K, T>> {
    // Only the hash and the comparison of the key can panic under the lock. Both leave the map consistent.
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Future of the reply to one request.
#[derive(Debug)]
#[must_use = "dropping this future cancels the request"]
pub struct ReplyFuture<K: Hash + Eq, T> {
    pending: PendingReplies<K, T>,
    key: K,
    number: u64,
    receive: oneshot::Receiver<Result<T, NoReply>>,
    deadline: Option<(Duration, Pin<Box<Sleep>>)>,
    refused: Option<NoReply>,
}

/// No field is structurally pinned.
impl<K: Hash + Eq, T> Unpin for ReplyFuture<K, T> {}

impl<K: Hash + Eq, T> Future for ReplyFuture<K, T> {
    type Output = Result<T, NoReply>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(refused) = self.refused.clone() {
            return Poll::Ready(Err(refused));
        }
        // A reply takes precedence over a timeout that expires at the same moment.
        if let Poll::Ready(reply) = Pin::new(&mut self.receive).poll(context) {
            return Poll::Ready(
                reply.unwrap_or_else(|_| Err(NoReply::Disconnected("replies are no longer read".into()))),
            );
        }
        match &mut self.deadline {
            Some((timeout, sleep)) => match sleep.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Err(NoReply::Timeout(*timeout))),
                Poll::Pending => Poll::Pending,
            },
            None => Poll::Pending,
        }
    }
}

impl<K: Hash + Eq, T> Drop for ReplyFuture<K, T> {
    fn drop(&mut self) {
        let mut inner = lock(&self.pending.0);
        if inner.open.get(&self.key).is_some_and(|open| open.number == self.number) {
            inner.open.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

    fn gone(reason: &str) -> NoReply {
        NoReply::Disconnected(reason.into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_is_delivered_to_its_request_and_only_once() {
        let pending: PendingReplies<String, u8> = PendingReplies::new();
        let (one, two) = (pending.open("1".to_owned(), MINUTE), pending.open("2".to_owned(), None));
        assert!(pending.resolve("2", 20));
        assert!(pending.resolve("1", 10));
        assert!(!pending.resolve("1", 11));
        assert!(!pending.resolve("3", 30));
        assert_eq!((one.await, two.await), (Ok(10), Ok(20)));
        assert!(pending.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn time_begins_when_the_request_is_opened() {
        let pending: PendingReplies<u32, u8> = PendingReplies::new();
        let begin = Instant::now();
        let request = pending.open(1, MINUTE);
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!(request.await, Err(NoReply::Timeout(Duration::from_secs(60))));
        assert_eq!(begin.elapsed().as_secs(), 60);
        assert!(!pending.resolve(&1, 0), "a late reply is not delivered");
        assert!(pending.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_at_the_last_moment_counts() {
        let pending: PendingReplies<u32, u8> = PendingReplies::new();
        let request = pending.open(1, MINUTE);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(pending.resolve(&1, 7));
        assert_eq!(request.await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_other_side_is_gone_all_requests_fail_at_once() {
        let pending: PendingReplies<u32, u8> = PendingReplies::new();
        let requests: Vec<_> = (0..100).map(|key| tokio::spawn(pending.open(key, MINUTE))).collect();
        let begin = Instant::now();
        pending.fail_all("it exited with 1");
        for request in requests {
            assert_eq!(request.await.unwrap(), Err(gone("it exited with 1")));
        }
        let again = pending.open(1, MINUTE);
        assert!(pending.resolve(&1, 1), "new requests work after `fail_all`");
        assert_eq!(again.await, Ok(1));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_close_all_requests_fail() {
        let pending: PendingReplies<u32, u8> = PendingReplies::new();
        let before = pending.open(1, None);
        pending.close("it was ended");
        pending.close("again");
        assert_eq!(before.await, Err(gone("it was ended")));
        assert_eq!(pending.open(2, None).await, Err(gone("it was ended")));
        assert!(pending.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_future_cancels_the_request() {
        let pending: PendingReplies<u32, u8> = PendingReplies::new();
        let request = pending.open(1, MINUTE);
        assert_eq!(pending.len(), 1);
        drop(request);
        assert!(pending.is_empty());
        assert!(!pending.resolve(&1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pending_key_is_refused_and_the_first_request_stays() {
        let pending: PendingReplies<u32, u8> = PendingReplies::new();
        let first = pending.open(1, MINUTE);
        assert_eq!(pending.open(1, MINUTE).await, Err(NoReply::DuplicateKey));
        assert!(pending.resolve(&1, 5));
        assert_eq!(pending.len(), 0);
        let again = pending.open(1, MINUTE);
        assert_eq!(first.await, Ok(5));
        assert_eq!(pending.len(), 1, "dropping the first does not cancel the second");
        drop(again);
    }
}
