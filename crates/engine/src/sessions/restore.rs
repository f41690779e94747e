//! Restores the sessions of a previous daemon. Agents resume their conversations; sessions keep their ids. Sessions
//! that cannot be resumed are listed as lost, with their conversation or last screen.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use serde_json::Value;
use tracing::{info, warn};
use wh_client::{CreateError, EndCause, SessionManager};
use wh_core::space::item::{Item, ItemBody, ItemProgress, NoticeLevel};
use wh_core::space::machine::{QueuedMessage, RestoredSpace};
use wh_core::space::{ParticipantId, stored_item};

use super::persist::{self, PersistedContent, PersistedItems, SCREEN_ITEM_ID};
use super::{MAX_LIVE_SESSIONS, ManagedSession, ReservedName, Sessions, record, start};
use crate::ledger::SessionLedger;
use crate::space::RunningSpace;
use crate::store::{
    ItemPosition, MAX_READ_ITEMS, SessionEnd, SessionFilter, SessionKind, SessionRecord, Store, StoreError, StoredItem,
};

/// Maximum number of listed sessions that ended under previous daemons; the latest are listed.
const MAX_LISTED_PAST_SESSIONS: usize = 200;

/// Maximum number of agents that are started concurrently. Each start uses a processor for about a second.
const MAX_CONCURRENT_STARTS: usize = 4;

/// Timeout for a restored agent to become ready. After the timeout, the next agent is started.
const AGENT_RESTORE_TIMEOUT: Duration = Duration::from_secs(30);

/// Notice added to a restored conversation.
const RESTARTED_NOTICE: &str = "The daemon was restarted. Work in progress was interrupted.";

/// Number of stored sessions by outcome of the restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RestoreCounts {
    /// Sessions that were resumed.
    pub resumed: usize,
    /// Sessions that could not be resumed.
    pub lost: usize,
    /// Listed sessions that had already ended under previous daemons.
    pub past: usize,
}

/// Stored sessions that have not been restored yet. Each has its position in the list of sessions and its reserved
/// name.
#[derive(Debug)]
pub struct PendingRestore {
    living: Vec<(u64, SessionRecord, ReservedName)>,
    past: usize,
    /// Ids of sessions that created other sessions.
    parents: Parents,
}

type Parents = HashSet<String>;

impl Sessions {
    /// Reads the stored sessions. Must be called once, before clients are served. After the call, the latest ended
    /// sessions are listed, and all sessions that have not ended are [being
    /// restored](wh_client::SessionManager::is_restoring).
    pub async fn begin_restore(self: &Arc<Self>) -> Result<PendingRestore, StoreError> {
        let mut pending = PendingRestore { living: Vec::new(), past: 0, parents: Parents::new() };
        let Some(store) = self.services.store.clone() else { return Ok(pending) };
        let mut records = store.sessions(SessionFilter::default()).await?;
        for record in &records {
            if let Some(create) = &record.idempotency {
                self.create_requests.add_stored(&record.team, create, &record.id);
            }
            pending.parents.extend(record.creators.iter().cloned());
        }
        let mut ends: Vec<SystemTime> = records.iter().filter_map(|one| Some(one.ended.as_ref()?.at)).collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        let oldest = ends.get(MAX_LISTED_PAST_SESSIONS - 1).copied();
        records.retain(|one| one.ended.as_ref().is_none_or(|ended| oldest.is_none_or(|oldest| ended.at >= oldest)));
        let first = self.next.fetch_add(records.len() as u64, Ordering::Relaxed);
        for (number, record) in (first..).zip(records) {
            if record.ended.is_some() {
                let _ = self.add_at(number, self.ended_session(&store, &record, &pending.parents).await);
                pending.past += 1;
            } else {
                let name = self.reserve(&record.name);
                let returning = (record.name.clone(), record.team.clone());
                self.returning.send_modify(|all| drop(all.insert(record.id.clone(), returning)));
                pending.living.push((number, record, name));
            }
        }
        Ok(pending)
    }

    /// Restores the sessions. Returns when every agent is ready, has failed, or has reached its timeout.
    pub async fn finish_restore(self: &Arc<Self>, pending: PendingRestore) -> RestoreCounts {
        let PendingRestore { living, past, parents } = pending;
        let parents = Arc::new(parents);
        let mut restored = RestoreCounts { past, ..RestoreCounts::default() };
        let Some(store) = self.services.store.clone() else { return restored };
        let mut back = Vec::new();
        for (place, (number, record, name)) in living.into_iter().enumerate() {
            let (sessions, store, parents) = (Arc::clone(self), store.clone(), Arc::clone(&parents));
            back.push(Box::pin(async move {
                let has_capacity = place < MAX_LIVE_SESSIONS;
                let lives = sessions.restore_session(&store, number, &record, &parents, has_capacity).await;
                drop(name);
                sessions.returning.send_modify(|returning| drop(returning.remove(&record.id)));
                lives
            }));
        }
        let outcomes: Vec<bool> =
            futures_util::stream::iter(back).buffer_unordered(MAX_CONCURRENT_STARTS).collect().await;
        restored.resumed = outcomes.iter().filter(|lives| **lives).count();
        restored.lost = outcomes.len() - restored.resumed;
        info!(?restored, "restored the sessions of the previous daemon");
        restored
    }

    /// Stores the end of the sessions that are not restored yet. Called when the daemon stops with `end_sessions`.
    pub(super) async fn end_unrestored(&self) {
        let Some(store) = &self.services.store else { return };
        let ids: Vec<String> = self.returning.borrow().keys().cloned().collect();
        for id in ids.into_iter().filter(|id| self.session_by_id(id).is_none()) {
            let ended = SessionEnd { at: SystemTime::now(), how: EndCause::Gone(None) };
            let change = move |record: &mut SessionRecord| record.ended = Some(ended.clone());
            if let Err(error) = store.change_session(id.as_str(), change).await {
                warn!(id, %error, "cannot store the end of a session");
            }
        }
    }

    /// Creates the entry of a session that ended under a previous daemon. Its conversation is read on the first
    /// request.
    async fn ended_session(
        self: &Arc<Self>,
        store: &Store,
        record: &SessionRecord,
        parents: &Parents,
    ) -> ManagedSession {
        let (mut session, wanted) = record::described(record, parents.contains(&record.id));
        self.enter_lineage(&session);
        if let Some(ended) = &record.ended {
            session.end(ended.how.clone(), ended.at);
        }
        if record.kind == SessionKind::Terminal {
            session.last_screen = last_screen(store, &record.id).await;
            return ManagedSession::ended(session);
        }
        let (store, id) = (store.clone(), record.id.clone());
        let read = async move { items(&store, &id).await.0 };
        let ledger = self.ledger(&session);
        let space = RunningSpace::archived(&record.name, start::user(), read, ledger.clone());
        start::attach_archived_conversation(&self.services, &mut session, &wanted, space, ledger);
        ManagedSession::ended(session)
    }

    /// Restores a session that was running when the previous daemon stopped. Returns true if the session was resumed;
    /// otherwise it is listed as ended.
    async fn restore_session(
        self: &Arc<Self>,
        store: &Store,
        number: u64,
        record: &SessionRecord,
        parents: &Parents,
        has_capacity: bool,
    ) -> bool {
        let described = || record::described(record, parents.contains(&record.id));
        let (mut session, wanted) = described();
        self.enter_lineage(&session);
        if record.kind == SessionKind::Terminal {
            session.last_screen = last_screen(store, &record.id).await;
            session.end(EndCause::Lost, SystemTime::now());
            self.add_lost(store, number, ManagedSession::ended(session)).await;
            return false;
        }
        let (mut items, mut written) = items(store, &record.id).await;
        let ledger = self.ledger(&session);
        let queued = queued(ledger.as_ref()).await;
        let epoch = store.opening().epoch;
        let resume = record.resume.as_ref().map(|resume| resume.reveal().to_owned());
        // If the conversation shows more queued messages than the queue contains, some were delivered to the agent.
        let shown_queued = items.iter().filter(|item| item.progress == ItemProgress::Queued).count();
        let said = items.iter().any(is_content) || shown_queued > queued.len();
        let starts_fresh = record.has_fresh_conversation() || !said;
        let agent = record.agent.clone().unwrap_or_default();
        let (ending, why) = if !has_capacity {
            (EndCause::Lost, "there are too many sessions".to_owned())
        } else if resume.is_none() && !starts_fresh {
            (EndCause::Lost, format!("{agent} had not reported a resume id"))
        } else {
            let resumed = resume.clone().map(|name| (name, record.resume_changed));
            let started = start::start_agent(&self.services, &session, &wanted, resumed).await;
            match started {
                Ok(harness) => {
                    let notice = said.then_some(RESTARTED_NOTICE);
                    let left = RestoredSpace { items, queued: queued.clone(), was_running: true, epoch };
                    let running = RunningSpace::restore(&record.name, start::user(), left, notice, ledger.clone());
                    let error =
                        match start::attach_agent(&self.services, session, &wanted, harness, &running, ledger.clone())
                            .await
                        {
                            Ok(kept) => return self.follow_resumed(store, number, kept, running, written).await,
                            Err(error) => error,
                        };
                    let _ = running.space.end(true).await;
                    warn!(id = record.id, %error, "cannot show a restored session");
                    // The items are read again, because they were moved into the space that has just ended.
                    (session, (items, written)) = (described().0, self::items(store, &record.id).await);
                    self.enter_lineage(&session);
                    let why = error.to_string();
                    (EndCause::Gone(Some(why.clone())), why)
                }
                Err(error) => {
                    let why = redact_resume_id(&error, resume.as_deref());
                    warn!(id = record.id, why, "cannot resume a session");
                    (EndCause::Gone(Some(why.clone())), why)
                }
            }
        };
        let notice = format!("{RESTARTED_NOTICE} This conversation cannot be resumed: {why}.");
        if let Some(ledger) = &ledger {
            ledger.fail_queued(queued, &format!("the session could not be restored: {why}")).await;
        }
        let left = RestoredSpace { items, queued: Vec::new(), was_running: true, epoch };
        let running = RunningSpace::restore(&record.name, start::user(), left, Some(&notice), ledger.clone());
        session.end(ending, SystemTime::now());
        start::attach_archived_conversation(&self.services, &mut session, &wanted, running.space.clone(), ledger);
        let mut kept = ManagedSession::ended(session);
        let subject =
            PersistedContent::Conversation { space: running.space, resume_ids: running.resume_ids, stored: written };
        kept.written = Some(persist::spawn_writer(store.clone(), Arc::clone(&kept.session), subject));
        let _ = self.add_at(number, kept);
        false
    }

    /// Adds the session of a started agent, starts to persist it, and waits until the agent is ready or
    /// [`AGENT_RESTORE_TIMEOUT`] has passed. Returns true if the session runs.
    async fn follow_resumed(
        &self,
        store: &Store,
        number: u64,
        mut kept: ManagedSession,
        running: RunningSpace,
        written: PersistedItems,
    ) -> bool {
        let session = Arc::clone(&kept.session);
        let subject = PersistedContent::Conversation {
            space: running.space.clone(),
            resume_ids: running.resume_ids.clone(),
            stored: written,
        };
        kept.written = Some(persist::spawn_writer(store.clone(), Arc::clone(&session), subject));
        if let Err(kept) = self.add_at(number, kept) {
            // The daemon is stopping. The next daemon restores the session.
            kept.session.end(EndCause::Suspended, SystemTime::now());
            kept.end(true).await;
            return false;
        }
        let agent = ParticipantId::from(session.agent().unwrap_or_default());
        let ready = tokio::time::timeout(AGENT_RESTORE_TIMEOUT, start::until_started(&running.space, &agent)).await;
        if ready.is_err() {
            warn!(id = session.id, "a restored agent is not ready yet; restoring the next session");
        }
        info!(id = session.id, name = session.name(), "session restored");
        session.ended().is_none()
    }

    /// Adds a lost session (one that cannot be resumed) to the list, and stores its end.
    async fn add_lost(&self, store: &Store, number: u64, kept: ManagedSession) {
        let id = kept.session.id.clone();
        if let Some((how, at)) = kept.session.ended() {
            let ended = SessionEnd { at, how };
            if let Err(error) =
                store.change_session(id.as_str(), move |record| record.ended = Some(ended.clone())).await
            {
                warn!(id, %error, "cannot store the end of a session");
            }
        }
        let _ = self.add_at(number, kept);
    }
}

/// Returns the queued messages that previous daemons did not deliver.
async fn queued(ledger: Option<&SessionLedger>) -> Vec<QueuedMessage> {
    match ledger {
        Some(ledger) => ledger.queued().await.unwrap_or_else(|error| {
            warn!(%error, "cannot read the queued messages of a session");
            Vec::new()
        }),
        None => Vec::new(),
    }
}

/// Reads the items of a conversation in order, and the ids of its complete items.
async fn items(store: &Store, id: &str) -> (Vec<Item>, PersistedItems) {
    let (mut all, mut written, mut place) = (Vec::new(), PersistedItems::default(), Some(ItemPosition::START));
    while let Some(from) = place {
        let page = match store.items_from(id, from, MAX_READ_ITEMS).await {
            Ok(page) => page,
            Err(error) => {
                warn!(id, %error, "cannot read the items of a session");
                break;
            }
        };
        place = page.next;
        for row in page.items {
            written.next = written.next.max(row.seq + 1);
            let item = stored_item::read(&row.json).unwrap_or_else(|error| unreadable(&row, &error.to_string()));
            if item.progress >= ItemProgress::Done {
                written.settled.insert(item.id.clone());
            }
            all.push(item);
        }
    }
    (all, written)
}

/// Creates the replacement for an item that cannot be read. The replacement has the same id, so that no new item gets
/// this id.
fn unreadable(row: &StoredItem, why: &str) -> Item {
    let lines = vec![format!("this part of the conversation cannot be shown: {why}")];
    let body = ItemBody::Notice { level: NoticeLevel::Warning, topic: "unreadable".to_owned(), lines };
    Item::complete(row.id.as_str().into(), wh_core::space::machine::system(), SystemTime::UNIX_EPOCH, body)
}

/// True if the item is content of the conversation; false for notices, presence changes and queued messages.
pub(super) fn is_content(item: &Item) -> bool {
    item.progress != ItemProgress::Queued && !matches!(item.body, ItemBody::Notice { .. } | ItemBody::Act { .. })
}

async fn last_screen(store: &Store, id: &str) -> Option<String> {
    let page = store.items_from(id, ItemPosition::START, 1).await.ok()?;
    let screen = page.items.into_iter().find(|row| row.id == SCREEN_ITEM_ID)?;
    let screen: Value = serde_json::from_str(&screen.json).ok()?;
    screen["text"].as_str().map(str::to_owned)
}

/// Returns the text of an error with the resume id replaced by a placeholder.
fn redact_resume_id(error: &CreateError, resume: Option<&str>) -> String {
    let text = error.message_with_hint();
    match resume.filter(|name| !name.is_empty()) {
        Some(name) => text.replace(&format!("{name:?}"), "(id hidden)").replace(name, "(id hidden)"),
        None => text,
    }
}
