//! The commands of one session in the store: begun before they are carried out, settled with their result, and the messages
//! that are queued for the agent. Sessions with a conversation and terminal programs use it alike.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use tracing::warn;
use wh_core::reason::Reason;
use wh_core::receipt::{Failure, Receipt, Stage};
use wh_core::request::{Fingerprint, KEPT_FOR, Key, Request, RequestId};
use wh_core::space::machine::QueuedMessage;

use crate::store::{Begun, Durable, Entry, State, Store, StoreError};

/// Time between two attempts to store something.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// A command, and the store's answer; `None` for one that is not stored.
pub(crate) type BegunCommand<C> = (C, Option<Result<Begun, StoreError>>);

/// Commands that are being begun, in the order in which they came.
pub(crate) struct Beginning<C>(FuturesOrdered<BoxFuture<'static, BegunCommand<C>>>);

impl<C> Default for Beginning<C> {
    fn default() -> Self {
        Self(FuturesOrdered::new())
    }
}

impl<C: Send + 'static> Beginning<C> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A command that is being begun.
    pub fn push(&mut self, command: C, begin: impl Future<Output = Result<Begun, StoreError>> + Send + 'static) {
        self.0.push_back(Box::pin(async move { (command, Some(begin.await)) }));
    }

    /// A command that is not stored, and only keeps its place behind those that are.
    pub fn push_unstored(&mut self, command: C) {
        self.0.push_back(Box::pin(std::future::ready((command, None))));
    }

    /// The next command; pending if there is none.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<BegunCommand<C>> {
        match self.0.poll_next_unpin(context) {
            Poll::Ready(Some(begun)) => Poll::Ready(begun),
            _ => Poll::Pending,
        }
    }
}

/// The commands of one session: in the store of a daemon; or, of a single run, their ids in memory.
#[derive(Clone)]
pub struct SessionLedger(Backend);

#[derive(Clone)]
enum Backend {
    Stored(StoredSession),
    /// Fingerprints by id. Expired ids are removed while new ones are entered; the machines bound the rest.
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
    fn key(&self, id: &RequestId) -> Key {
        Key {
            team: self.team.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            request: id.as_str().to_owned(),
        }
    }
}

/// Ids in memory among which expired ones are looked for at a time.
const SWEEP_EVERY: usize = 1024;

impl SessionLedger {
    /// The commands of a session of a daemon; `agent` is the agent id that other programs use.
    pub fn new(store: Store, team: &str, session: &str, agent: &str) -> Self {
        let (team, session, agent) = (team.to_owned(), session.to_owned(), agent.to_owned());
        Self(Backend::Stored(StoredSession { store, team, session, agent }))
    }

    /// The ids of a single run, which its conversation and its UI share.
    pub fn in_memory() -> Self {
        Self(Backend::InMemory(Arc::default()))
    }

    fn stored(&self) -> Option<&StoredSession> {
        match &self.0 {
            Backend::Stored(stored) => Some(stored),
            Backend::InMemory(_) => None,
        }
    }

    /// True if messages are stored also without an id: there is somebody who could deliver them later.
    pub fn keeps_messages(&self) -> bool {
        self.stored().is_some()
    }

    /// Epoch of the store: one higher at each opening.
    pub fn epoch(&self) -> u64 {
        self.stored().map_or(0, |stored| stored.store.opening().epoch)
    }

    /// Begins a command, unless it is known.
    pub fn begin(&self, request: &Request) -> BoxFuture<'static, Result<Begun, StoreError>> {
        let stored = match &self.0 {
            Backend::Stored(stored) => stored,
            Backend::InMemory(ids) => return Box::pin(std::future::ready(Ok(claim(ids, request)))),
        };
        let (store, key) = (stored.store.clone(), stored.key(&request.id));
        let fingerprint = request.fingerprint.as_str().to_owned();
        Box::pin(async move { store.begin(key, fingerprint, SystemTime::now()).await })
    }

    /// Resolves when everything that was asked of the store before is durable.
    pub fn barrier(&self) -> Durable<()> {
        self.stored().map_or_else(|| Durable::ready(()), |stored| stored.store.barrier())
    }

    /// Stores a message that waits for its agent, `first` before all others.
    pub fn enqueue(&self, message: &QueuedMessage, first: bool) -> Durable<()> {
        match self.stored() {
            Some(stored) => stored.store.enqueue(stored.key(&message.request_id), encoded(message), first),
            None => Durable::ready(()),
        }
    }

    /// Stores that the agent is about to be given a message that waited. What cannot be stored now is tried again until it
    /// can: the message was acknowledged, and must neither be lost nor be given twice.
    pub async fn handed_over(&self, id: &RequestId) -> Result<(), StoreError> {
        let Some(stored) = self.stored() else { return Ok(()) };
        retried("the hand-over of a queued message", || stored.store.hand_over(stored.key(id))).await
    }

    /// Takes back a command that was refused: nothing was done.
    pub fn take_back(&self, id: &RequestId) -> Durable<bool> {
        match &self.0 {
            Backend::Stored(stored) => stored.store.take_back(stored.key(id)),
            Backend::InMemory(ids) => {
                let removed = ids.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                Durable::ready(removed.is_some())
            }
        }
    }

    /// Waits until a command is taken back. What cannot be stored now is tried again; the error is that of the first time.
    pub async fn taken_back(&self, first: Durable<bool>, id: RequestId) -> Result<(), StoreError> {
        let ledger = self.clone();
        or_retried("the withdrawal of a refused command", first, move || ledger.take_back(&id)).await.map(drop)
    }

    /// Stores what came of a command that the agent has, or that failed.
    pub fn settle(&self, receipt: &Receipt) -> Durable<()> {
        let Some(stored) = self.stored() else { return Durable::ready(()) };
        let (result, detail) = match &receipt.stage {
            Stage::Failed(failure) if !receipt.was_delivered() => ("internal_error", Some(failure.words.clone())),
            _ => ("ok", None),
        };
        let receipt_json = serde_json::to_string(receipt).ok();
        let open = receipt.turn.is_some() && !receipt.stage.is_last();
        stored.store.settle(stored.key(&receipt.request_id), result, detail, receipt_json, open, SystemTime::now())
    }

    /// Waits until a result is stored. One that could not be is tried again until it is; the error is that of the first
    /// time.
    pub async fn settled(&self, first: Durable<()>, receipt: Receipt) -> Result<(), StoreError> {
        let ledger = self.clone();
        or_retried("the result of a command", first, move || ledger.settle(&receipt)).await
    }

    /// Stores how far a command is that was settled before. Nobody waits for it.
    pub fn note(&self, receipt: &Receipt) {
        if let (Some(stored), Ok(json)) = (self.stored(), serde_json::to_string(receipt)) {
            drop(stored.store.note_receipt(stored.key(&receipt.request_id), json));
        }
    }

    /// The messages of earlier lives that no agent was given, in order.
    pub async fn queued(&self) -> Result<Vec<QueuedMessage>, StoreError> {
        let Some(StoredSession { store, team, session, agent }) = self.stored() else { return Ok(Vec::new()) };
        let rows = store.queued(team, session, agent).await?;
        let mut messages = Vec::with_capacity(rows.len());
        for row in rows {
            match serde_json::from_str(&row) {
                Ok(message) => messages.push(message),
                Err(error) => warn!(%error, "a message that waits cannot be read"),
            }
        }
        Ok(messages)
    }

    /// Gives up the messages that wait: there is no agent to give them to.
    pub async fn give_up(&self, messages: Vec<QueuedMessage>, why: &str) {
        for message in messages {
            let mut receipt = Receipt::accepted(message.request_id, message.at);
            receipt.reach(Stage::Failed(why.into()), SystemTime::now());
            let first = self.settle(&receipt);
            let _ = self.settled(first, receipt).await;
        }
    }

    /// The receipt of a command that is stored.
    pub async fn stored_receipt(&self, id: &RequestId) -> Result<Option<Receipt>, StoreError> {
        let Some(stored) = self.stored() else { return Ok(None) };
        Ok(stored.store.lookup(stored.key(id)).await?.map(|entry| self.receipt(id, &entry)))
    }

    /// The receipt of a command that is stored, as for [`repeated`](Self::repeated).
    pub async fn find(&self, request: &Request) -> Result<Option<Result<Receipt, Reason>>, StoreError> {
        let Some(stored) = self.stored() else { return Ok(None) };
        Ok(stored.store.lookup(stored.key(&request.id)).await?.map(|entry| self.repeated(request, &entry)))
    }

    /// The receipt of a command that was begun before, if this is its retry: an entry of another content or sender is
    /// [`Reason::RequestIdReused`].
    pub fn repeated(&self, request: &Request, entry: &Entry) -> Result<Receipt, Reason> {
        match Fingerprint::stored(entry.fingerprint.as_str()) == request.fingerprint {
            true => Ok(self.receipt(&request.id, entry)),
            false => Err(Reason::RequestIdReused),
        }
    }

    fn receipt(&self, id: &RequestId, entry: &Entry) -> Receipt {
        let stored = entry.receipt.as_deref().and_then(|json| serde_json::from_str::<Receipt>(json).ok());
        let mut receipt = stored.unwrap_or_else(|| {
            let mut receipt = Receipt::accepted(id.clone(), entry.at);
            match &entry.state {
                State::Done { result, at, .. } if result == "ok" => drop(receipt.reach(Stage::Delivered, *at)),
                State::Done { result, detail, at } => {
                    let words = detail.clone().unwrap_or_else(|| result.clone());
                    receipt.reach(Stage::Failed(words.into()), *at);
                }
                State::Pending | State::CutOff { .. } => {}
            }
            receipt
        });
        let over = (entry.epoch < self.epoch() && !entry.queued) || matches!(entry.state, State::CutOff { .. });
        // Without a turn nothing comes after the delivery.
        let is_complete = receipt.stage.is_last() || (receipt.was_delivered() && receipt.turn.is_none());
        if over && !is_complete {
            let last = receipt.reached.last().map_or(entry.at, |(_, at)| *at);
            receipt.reach(Stage::Failed(Failure::cut_off()), last);
        }
        receipt
    }
}

/// Enters an id, unless it is known.
fn claim(ids: &Mutex<HashMap<RequestId, (Fingerprint, Instant)>>, request: &Request) -> Begun {
    let now = Instant::now();
    let mut ids = ids.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((fingerprint, at)) = ids.get(&request.id).filter(|(_, at)| now < *at + KEPT_FOR) {
        let at = SystemTime::now() - now.saturating_duration_since(*at);
        let fingerprint = fingerprint.as_str().to_owned();
        return Begun::Known(Entry { fingerprint, at, epoch: 0, state: State::Pending, receipt: None, queued: false });
    }
    if ids.len() % SWEEP_EVERY == SWEEP_EVERY - 1 {
        ids.retain(|_, (_, at)| now < *at + KEPT_FOR);
    }
    ids.insert(request.id.clone(), (request.fingerprint.clone(), now));
    Begun::New
}

fn encoded(message: &QueuedMessage) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// Attempts to store something until it is stored, or cannot be.
async fn retried<T>(what: &str, attempt: impl Fn() -> Durable<T>) -> Result<T, StoreError> {
    loop {
        match attempt().await {
            Err(error) if may_pass(&error) => warn!(%error, what, "not stored yet; retrying"),
            outcome => return outcome,
        }
        tokio::time::sleep(STORE_RETRY).await;
    }
}

/// Returns the outcome of the `first` attempt. If it failed and may succeed later, the attempt is retried in the background.
async fn or_retried<T: Send + 'static>(
    what: &'static str,
    first: Durable<T>,
    attempt: impl Fn() -> Durable<T> + Send + Sync + 'static,
) -> Result<T, StoreError> {
    let outcome = first.await;
    if let Err(error) = &outcome
        && may_pass(error)
    {
        warn!(%error, what, "not stored yet; retrying");
        tokio::spawn(async move {
            tokio::time::sleep(STORE_RETRY).await;
            if let Err(error) = retried(what, attempt).await {
                warn!(%error, what, "not stored");
            }
        });
    }
    outcome
}

/// True if a retry may succeed.
fn may_pass(error: &StoreError) -> bool {
    !matches!(error, StoreError::Settled { .. } | StoreError::NoSuchRequest(_) | StoreError::Closed)
}
