//! Requests that wait for a reply. Whoever asks holds a future; whoever reads replies finds it by its key. There is no
//! task for a request, and no more entries than there are futures.

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

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// It took too long.
    #[error("no reply within {0:?}")]
    Timeout(Duration),
    /// There will be none: the other side is gone.
    #[error("no reply: {0}")]
    Disconnected(Arc<str>),
    /// A request with the same key waits already.
    #[error("a request with the same id waits for its reply already")]
    Taken,
}

/// The requests that wait, by key. It may be cloned: all clones are one.
#[derive(Debug)]
pub struct Pending<K, T>(Arc<Mutex<Inner<K, T>>>);

#[derive(Debug)]
struct Inner<K, T> {
    open: HashMap<K, Open<T>>,
    /// Tells a request from an older one with the same key.
    opened: u64,
    closed: Option<Arc<str>>,
}

#[derive(Debug)]
struct Open<T> {
    number: u64,
    reply: oneshot::Sender<Result<T, NoReply>>,
}

impl<K, T> Clone for Pending<K, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, T> Default for Pending<K, T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Inner { open: HashMap::new(), opened: 0, closed: None })))
    }
}

impl<K: Hash + Eq + Clone, T> Pending<K, T> {
    /// Nothing waits yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of a request before it is sent. Its time begins now; without a timeout it may wait for ever. Dropping
    /// the future forgets the request.
    pub fn open(&self, key: K, timeout: Option<Duration>) -> Waiting<K, T> {
        let (reply, receive) = oneshot::channel();
        let mut inner = lock(&self.0);
        inner.opened += 1;
        let number = inner.opened;
        let refused = if let Some(why) = &inner.closed {
            Some(NoReply::Disconnected(Arc::clone(why)))
        } else if let Entry::Vacant(entry) = inner.open.entry(key.clone()) {
            entry.insert(Open { number, reply });
            None
        } else {
            Some(NoReply::Taken)
        };
        drop(inner);
        let deadline = timeout.map(|timeout| (timeout, Box::pin(tokio::time::sleep(timeout))));
        Waiting { pending: self.clone(), key, number, receive, deadline, refused }
    }

    /// Hands a reply to whoever waits for it; false when nobody does.
    pub fn resolve<Q>(&self, key: &Q, value: T) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let open = lock(&self.0).open.remove(key);
        open.is_some_and(|open| open.reply.send(Ok(value)).is_ok())
    }

    /// Tells everybody who waits that there will be no reply. New requests may come.
    pub fn fail_all(&self, reason: &str) {
        let open = std::mem::take(&mut lock(&self.0).open);
        fail(open, &reason.into());
    }

    /// The same, and whoever comes later is told at once. The first reason stays.
    pub fn close(&self, reason: &str) {
        let (open, reason) = {
            let mut inner = lock(&self.0);
            let reason = Arc::clone(inner.closed.get_or_insert_with(|| reason.into()));
            (std::mem::take(&mut inner.open), reason)
        };
        fail(open, &reason);
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        lock(&self.0).open.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn fail<K, T>(open: HashMap<K, Open<T>>, reason: &Arc<str>) {
    for open in open.into_values() {
        let _ = open.reply.send(Err(NoReply::Disconnected(Arc::clone(reason))));
    }
}

fn lock<K, T>(inner: &Mutex<Inner<K, T>>) -> MutexGuard<'_, Inner<K, T>> {
    // Nothing that can panic runs under the lock but the key's own hash and comparison, which leave the map whole.
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request's reply, to be awaited.
#[derive(Debug)]
#[must_use = "a request whose reply nobody awaits is forgotten"]
pub struct Waiting<K: Hash + Eq, T> {
    pending: Pending<K, T>,
    key: K,
    number: u64,
    receive: oneshot::Receiver<Result<T, NoReply>>,
    deadline: Option<(Duration, Pin<Box<Sleep>>)>,
    refused: Option<NoReply>,
}

/// Nothing in it is pinned in its place.
impl<K: Hash + Eq, T> Unpin for Waiting<K, T> {}

impl<K: Hash + Eq, T> Future for Waiting<K, T> {
    type Output = Result<T, NoReply>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(refused) = self.refused.clone() {
            return Poll::Ready(Err(refused));
        }
        // A reply that comes at the last moment has come.
        if let Poll::Ready(reply) = Pin::new(&mut self.receive).poll(context) {
            return Poll::Ready(reply.unwrap_or_else(|_| Err(NoReply::Disconnected("nobody reads replies".into()))));
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

impl<K: Hash + Eq, T> Drop for Waiting<K, T> {
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
    async fn a_reply_goes_to_whoever_asked_and_only_once() {
        let pending: Pending<String, u8> = Pending::new();
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
        let pending: Pending<u32, u8> = Pending::new();
        let begin = Instant::now();
        let request = pending.open(1, MINUTE);
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!(request.await, Err(NoReply::Timeout(Duration::from_secs(60))));
        assert_eq!(begin.elapsed().as_secs(), 60);
        assert!(!pending.resolve(&1, 0), "a reply that comes too late finds nobody");
        assert!(pending.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_at_the_last_moment_counts() {
        let pending: Pending<u32, u8> = Pending::new();
        let request = pending.open(1, MINUTE);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(pending.resolve(&1, 7));
        assert_eq!(request.await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_other_side_is_gone_everybody_is_told_at_once() {
        let pending: Pending<u32, u8> = Pending::new();
        let requests: Vec<_> = (0..100).map(|key| tokio::spawn(pending.open(key, MINUTE))).collect();
        let begin = Instant::now();
        pending.fail_all("it exited with 1");
        for request in requests {
            assert_eq!(request.await.unwrap(), Err(gone("it exited with 1")));
        }
        let again = pending.open(1, MINUTE);
        assert!(pending.resolve(&1, 1), "it may have come back");
        assert_eq!(again.await, Ok(1));
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_close_nobody_waits() {
        let pending: Pending<u32, u8> = Pending::new();
        let before = pending.open(1, None);
        pending.close("it was ended");
        pending.close("again");
        assert_eq!(before.await, Err(gone("it was ended")));
        assert_eq!(pending.open(2, None).await, Err(gone("it was ended")));
        assert!(pending.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_stops_waiting_is_forgotten() {
        let pending: Pending<u32, u8> = Pending::new();
        let request = pending.open(1, MINUTE);
        assert_eq!(pending.len(), 1);
        drop(request);
        assert!(pending.is_empty());
        assert!(!pending.resolve(&1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_waits_already_is_refused_and_the_first_stays() {
        let pending: Pending<u32, u8> = Pending::new();
        let first = pending.open(1, MINUTE);
        assert_eq!(pending.open(1, MINUTE).await, Err(NoReply::Taken));
        assert!(pending.resolve(&1, 5));
        assert_eq!(pending.len(), 0);
        let again = pending.open(1, MINUTE);
        assert_eq!(first.await, Ok(5));
        assert_eq!(pending.len(), 1, "the one before takes nothing of the one after away");
        drop(again);
    }
}
