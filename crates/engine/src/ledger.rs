//! Stored commands of one session, and the messages queued for its agent. A command is stored before it is executed,
//! and settled afterwards: its result is stored. Conversations and terminal programs use the same ledger type.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use tracing::warn;
use wh_core::reason::Reason;
use wh_core::receipt::{CommandFailure, Receipt, ReceiptStage};
use wh_core::request::{Fingerprint, FingerprintedId, LEDGER_TTL, RequestId, RequestKey};
use wh_core::space::machine::QueuedMessage;

use crate::store::{BeginOutcome, RequestEntry, RequestState, Store, StoreError, StoreFuture};

/// Delay before a failed write to the store is retried.
const STORE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Command with the result of storing it; the result is `None` for a command that is not stored.
pub(crate) type BegunCommand<C> = (C, Option<Result<BeginOutcome, StoreError>>);

/// Commands that are being stored, in order of arrival.
pub(crate) struct BeginQueue<C>(FuturesOrdered<BoxFuture<'static, BegunCommand<C>>>);

impl<C> Default for BeginQueue<C> {
    fn default() -> Self {
        Self(FuturesOrdered::new())
    }
}

impl<C: Send + 'static> BeginQueue<C> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a command, with the future that stores the command.
    pub fn push(&mut self, command: C, begin: impl Future<Output = Result<BeginOutcome, StoreError>> + Send + 'static) {
        self.0.push_back(Box::pin(async move { (command, Some(begin.await)) }));
    }

    /// Appends a command that is not stored, to keep the order of arrival.
    pub fn push_unstored(&mut self, command: C) {
        self.0.push_back(Box::pin(std::future::ready((command, None))));
    }

    /// Polls for the next stored command; pending if the queue is empty.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<BegunCommand<C>> {
        match self.0.poll_next_unpin(context) {
            Poll::Ready(Some(begun)) => Poll::Ready(begun),
            _ => Poll::Pending,
        }
    }
}

/// Stored commands of one session. A daemon stores the commands on disk. Without a daemon, only their request ids are
/// remembered, in memory.
#[derive(Clone)]
pub struct SessionLedger(LedgerBackend);

#[derive(Clone)]
enum LedgerBackend {
    Stored(StoredSession),
    /// Fingerprint and time of each request, by request id. Expired ids are removed when new ids are added. The state
    /// machines limit the number of unexpired ids.
    InMemory(Arc<Mutex<HashMap<RequestId, (Fingerprint, Instant)>>>),
}

#[derive(Clone)]
struct StoredSession {
    store: Store,
    team: String,
    session: String,
    agent: String,
}

impl StoredSession {
    fn key(&self, id: &RequestId) -> RequestKey {
        RequestKey {
            team: self.team.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            request: id.as_str().to_owned(),
        }
    }
}

/// Number of request ids added to memory between two removals of expired ids.
const IDS_PER_SWEEP: usize = 1024;

impl SessionLedger {
    /// Creates the ledger of a daemon's session; `agent` is the agent id that clients use in their requests.
    pub fn new(store: Store, team: &str, session: &str, agent: &str) -> Self {
        let (team, session, agent) = (team.to_owned(), session.to_owned(), agent.to_owned());
        Self(LedgerBackend::Stored(StoredSession { store, team, session, agent }))
    }

    /// Creates a ledger in memory, for a conversation and its UI without a daemon.
    pub fn in_memory() -> Self {
        Self(LedgerBackend::InMemory(Arc::default()))
    }

    fn stored(&self) -> Option<&StoredSession> {
        match &self.0 {
            LedgerBackend::Stored(stored) => Some(stored),
            LedgerBackend::InMemory(_) => None,
        }
    }

    /// True if messages without a request id are stored too, so that a later daemon can deliver them.
    pub fn stores_messages(&self) -> bool {
        self.stored().is_some()
    }

    /// Returns the epoch of the store, which is incremented each time the store is opened; 0 for a ledger in memory.
    pub fn epoch(&self) -> u64 {
        self.stored().map_or(0, |stored| stored.store.opening().epoch)
    }

    /// Stores a command as begun, unless its request id is known.
    pub fn begin(&self, request: &FingerprintedId) -> BoxFuture<'static, Result<BeginOutcome, StoreError>> {
        let stored = match &self.0 {
            LedgerBackend::Stored(stored) => stored,
            LedgerBackend::InMemory(ids) => return Box::pin(std::future::ready(Ok(claim(ids, request)))),
        };
        let (store, key) = (stored.store.clone(), stored.key(&request.id));
        let fingerprint = request.fingerprint.as_str().to_owned();
        Box::pin(async move { store.begin(key, fingerprint, SystemTime::now()).await })
    }

    /// Returns a future that resolves when all earlier calls to the store are durable.
    pub fn barrier(&self) -> StoreFuture<()> {
        self.stored().map_or_else(|| StoreFuture::ready(()), |stored| stored.store.barrier())
    }

    /// Stores a message in its agent's queue; `first` puts the message ahead of all others.
    pub fn enqueue(&self, message: &QueuedMessage, first: bool) -> StoreFuture<()> {
        match self.stored() {
            Some(stored) => stored.store.enqueue(stored.key(&message.request_id), encoded(message), first),
            None => StoreFuture::ready(()),
        }
    }

    /// Records that a queued message is about to be delivered to the agent. A failed write is retried until it succeeds
    /// or fails permanently: an acknowledged message must neither be lost nor delivered twice.
    pub async fn handed_over(&self, id: &RequestId) -> Result<(), StoreError> {
        let Some(stored) = self.stored() else { return Ok(()) };
        retried("the delivery of a queued message", || stored.store.hand_over(stored.key(id))).await
    }

    /// Removes a refused command, which had no effect, from the ledger.
    pub fn take_back(&self, id: &RequestId) -> StoreFuture<bool> {
        match &self.0 {
            LedgerBackend::Stored(stored) => stored.store.take_back(stored.key(id)),
            LedgerBackend::InMemory(ids) => {
                let removed = ids.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                StoreFuture::ready(removed.is_some())
            }
        }
    }

    /// Waits until `first` has removed a refused command. If this attempt fails, returns its error. After a transient
    /// error, the removal is retried in the background.
    pub async fn taken_back(&self, first: StoreFuture<bool>, id: RequestId) -> Result<(), StoreError> {
        let ledger = self.clone();
        or_retried("the removal of a refused command", first, move || ledger.take_back(&id)).await.map(drop)
    }

    /// Stores the result of a command that was delivered to the agent, or that failed.
    pub fn settle(&self, receipt: &Receipt) -> StoreFuture<()> {
        let Some(stored) = self.stored() else { return StoreFuture::ready(()) };
        let (result, detail) = match &receipt.stage {
            ReceiptStage::Failed(failure) if !receipt.was_delivered() => {
                ("internal_error", Some(failure.message.clone()))
            }
            _ => ("ok", None),
        };
        let receipt_json = serde_json::to_string(receipt).ok();
        let open = receipt.turn.is_some() && !receipt.stage.is_last();
        stored.store.settle(stored.key(&receipt.request_id), result, detail, receipt_json, open, SystemTime::now())
    }

    /// Waits until `first` has stored a result. If this attempt fails, returns its error. After a transient error, the
    /// write is retried in the background.
    pub async fn settled(&self, first: StoreFuture<()>, receipt: Receipt) -> Result<(), StoreError> {
        let ledger = self.clone();
        or_retried("the result of a command", first, move || ledger.settle(&receipt)).await
    }

    /// Stores the final receipt of a settled command, without waiting for the store.
    pub fn note(&self, receipt: &Receipt) {
        if let (Some(stored), Ok(json)) = (self.stored(), serde_json::to_string(receipt)) {
            drop(stored.store.note_receipt(stored.key(&receipt.request_id), json));
        }
    }

    /// Returns the queued messages that previous daemons did not deliver, in order.
    pub async fn queued(&self) -> Result<Vec<QueuedMessage>, StoreError> {
        let Some(StoredSession { store, team, session, agent }) = self.stored() else { return Ok(Vec::new()) };
        let rows = store.queued(team, session, agent).await?;
        let mut messages = Vec::with_capacity(rows.len());
        for row in rows {
            match serde_json::from_str(&row) {
                Ok(message) => messages.push(message),
                Err(error) => warn!(%error, "cannot decode a queued message"),
            }
        }
        Ok(messages)
    }

    /// Marks queued messages as failed because they can no longer be delivered; `why` is the reason.
    pub async fn fail_queued(&self, messages: Vec<QueuedMessage>, why: &str) {
        for message in messages {
            let mut receipt = Receipt::accepted(message.request_id, message.at);
            receipt.reach(ReceiptStage::Failed(why.into()), SystemTime::now());
            let first = self.settle(&receipt);
            let _ = self.settled(first, receipt).await;
        }
    }

    /// Returns the receipt of a stored command.
    pub async fn stored_receipt(&self, id: &RequestId) -> Result<Option<Receipt>, StoreError> {
        let Some(stored) = self.stored() else { return Ok(None) };
        Ok(stored.store.lookup(stored.key(id)).await?.map(|entry| self.receipt(id, &entry)))
    }

    /// Returns the result of [`repeated`](Self::repeated) for a stored command; `None` if the command is unknown.
    pub async fn find(&self, request: &FingerprintedId) -> Result<Option<Result<Receipt, Reason>>, StoreError> {
        let Some(stored) = self.stored() else { return Ok(None) };
        Ok(stored.store.lookup(stored.key(&request.id)).await?.map(|entry| self.repeated(request, &entry)))
    }

    /// Returns the receipt of a known command if `request` is a retry of that command. Fails with
    /// [`Reason::RequestIdReused`] if the content or the sender differs.
    pub fn repeated(&self, request: &FingerprintedId, entry: &RequestEntry) -> Result<Receipt, Reason> {
        match Fingerprint::stored(entry.fingerprint.as_str()) == request.fingerprint {
            true => Ok(self.receipt(&request.id, entry)),
            false => Err(Reason::RequestIdReused),
        }
    }

    fn receipt(&self, id: &RequestId, entry: &RequestEntry) -> Receipt {
        let stored = entry.receipt.as_deref().and_then(|json| serde_json::from_str::<Receipt>(json).ok());
        let mut receipt = stored.unwrap_or_else(|| {
            let mut receipt = Receipt::accepted(id.clone(), entry.at);
            match &entry.state {
                RequestState::Done { result, at, .. } if result == "ok" => {
                    receipt.reach(ReceiptStage::Delivered, *at);
                }
                RequestState::Done { result, detail, at } => {
                    let words = detail.clone().unwrap_or_else(|| result.clone());
                    receipt.reach(ReceiptStage::Failed(words.into()), *at);
                }
                RequestState::Pending | RequestState::CutOff { .. } => {}
            }
            receipt
        });
        let over = (entry.epoch < self.epoch() && !entry.queued) || matches!(entry.state, RequestState::CutOff { .. });
        // A command without a turn is complete once it is delivered.
        let is_complete = receipt.stage.is_last() || (receipt.was_delivered() && receipt.turn.is_none());
        if over && !is_complete {
            let last = receipt.reached.last().map_or(entry.at, |(_, at)| *at);
            receipt.reach(ReceiptStage::Failed(CommandFailure::cut_off()), last);
        }
        receipt
    }
}

/// Adds a request id to the ids in memory, unless it is known.
fn claim(ids: &Mutex<HashMap<RequestId, (Fingerprint, Instant)>>, request: &FingerprintedId) -> BeginOutcome {
    let now = Instant::now();
    let mut ids = ids.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((fingerprint, at)) = ids.get(&request.id).filter(|(_, at)| now < *at + LEDGER_TTL) {
        let at = SystemTime::now() - now.saturating_duration_since(*at);
        let fingerprint = fingerprint.as_str().to_owned();
        return BeginOutcome::Known(RequestEntry {
            fingerprint,
            at,
            epoch: 0,
            state: RequestState::Pending,
            receipt: None,
            queued: false,
        });
    }
    if ids.len() % IDS_PER_SWEEP == IDS_PER_SWEEP - 1 {
        ids.retain(|_, (_, at)| now < *at + LEDGER_TTL);
    }
    ids.insert(request.id.clone(), (request.fingerprint.clone(), now));
    BeginOutcome::New
}

fn encoded(message: &QueuedMessage) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// Repeats a write until it succeeds or fails permanently.
async fn retried<T>(what: &str, attempt: impl Fn() -> StoreFuture<T>) -> Result<T, StoreError> {
    loop {
        match attempt().await {
            Err(error) if is_transient(&error) => warn!(%error, what, "not stored yet; retrying"),
            outcome => return outcome,
        }
        tokio::time::sleep(STORE_RETRY_DELAY).await;
    }
}

/// Returns the outcome of the `first` attempt. After a transient error the write is retried in the background.
async fn or_retried<T: Send + 'static>(
    what: &'static str,
    first: StoreFuture<T>,
    attempt: impl Fn() -> StoreFuture<T> + Send + Sync + 'static,
) -> Result<T, StoreError> {
    let outcome = first.await;
    if let Err(error) = &outcome
        && is_transient(error)
    {
        warn!(%error, what, "not stored yet; retrying");
        tokio::spawn(async move {
            tokio::time::sleep(STORE_RETRY_DELAY).await;
            if let Err(error) = retried(what, attempt).await {
                warn!(%error, what, "not stored");
            }
        });
    }
    outcome
}

/// True if a retry of the write may succeed.
fn is_transient(error: &StoreError) -> bool {
    !matches!(error, StoreError::Settled { .. } | StoreError::NoSuchRequest(_) | StoreError::Closed)
}
