//! What becomes of the sessions of a daemon that is gone. Agents that can go on do, by their own means and under the same
//! ids; what cannot is listed as lost, with all that was said in it and the last that it showed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt;
use serde_json::Value;
use tracing::{info, warn};
use wh_client::{CreateError, Daemon, Ending};
use wh_core::space::item::{Body, Item, Level, Progress};
use wh_core::space::machine::{Left, QueuedMessage};
use wh_core::space::{ParticipantId, kept};

use super::keep::{self, SCREEN, Subject, Written};
use super::{Kept, MOST_SESSIONS, Reserved, Sessions, make, record};
use crate::ledger::SessionLedger;
use crate::space::RunningSpace;
use crate::store::{Ended, KeptItem, MOST_READ, Place, SessionKind, SessionRecord, Store, StoreError, Which};

/// Sessions of earlier lives that are listed: those that ended last.
const MOST_PAST: usize = 200;

/// Agents that are started at once: each is a program that wants a processor for a second.
const AT_ONCE: usize = 4;

/// How long an agent may take before the next is started beside it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What people are told in a conversation that goes on.
const RESTARTED: &str = "The daemon was restarted. What was under way was cut off.";

/// What has become of the sessions of earlier lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restored {
    /// Those that go on.
    pub resumed: usize,
    /// Those that could not.
    pub lost: usize,
    /// Those that had ended before.
    pub past: usize,
}

/// Those that are to come back, each with its place in the list and its name, which nobody else gets meanwhile.
#[derive(Debug)]
pub struct Recalled {
    living: Vec<(u64, SessionRecord, Reserved)>,
    past: usize,
    /// The sessions that created others.
    parents: Parents,
}

/// Ids of sessions.
type Parents = HashSet<String>;

impl Sessions {
    /// Reads what earlier lives have left. To be called once, before anybody is let in: from then on everybody of an earlier life is found,
    /// here or [returning](wh_client::Daemon::is_returning).
    pub async fn recall(self: &Arc<Self>) -> Result<Recalled, StoreError> {
        let mut recalled = Recalled { living: Vec::new(), past: 0, parents: Parents::new() };
        let Some(store) = self.means.store.clone() else { return Ok(recalled) };
        let mut records = store.sessions(Which::default()).await?;
        for record in &records {
            if let Some(create) = &record.idempotency {
                self.made.remember(&record.team, create, &record.id);
            }
            recalled.parents.extend(record.creators.iter().cloned());
        }
        let mut ends: Vec<SystemTime> = records.iter().filter_map(|one| Some(one.ended.as_ref()?.at)).collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        let oldest = ends.get(MOST_PAST - 1).copied();
        records.retain(|one| one.ended.as_ref().is_none_or(|ended| oldest.is_none_or(|oldest| ended.at >= oldest)));
        let first = self.next.fetch_add(records.len() as u64, Ordering::Relaxed);
        for (number, record) in (first..).zip(records) {
            if record.ended.is_some() {
                let _ = self.keep_at(number, self.past(&store, &record, &recalled.parents).await);
                recalled.past += 1;
            } else {
                let name = self.reserve(&record.name);
                let returning = (record.name.clone(), record.team.clone());
                self.returning.send_modify(|all| drop(all.insert(record.id.clone(), returning)));
                recalled.living.push((number, record, name));
            }
        }
        Ok(recalled)
    }

    /// Brings those back that were recalled. Returns when every agent has answered, or was given up.
    pub async fn bring_back(self: &Arc<Self>, recalled: Recalled) -> Restored {
        let Recalled { living, past, parents } = recalled;
        let parents = Arc::new(parents);
        let mut restored = Restored { past, ..Restored::default() };
        let Some(store) = self.means.store.clone() else { return restored };
        let mut back = Vec::new();
        for (place, (number, record, name)) in living.into_iter().enumerate() {
            let (sessions, store, parents) = (Arc::clone(self), store.clone(), Arc::clone(&parents));
            back.push(Box::pin(async move {
                let room = place < MOST_SESSIONS;
                let lives = sessions.bring_one_back(&store, number, &record, &parents, room).await;
                drop(name);
                sessions.returning.send_modify(|returning| drop(returning.remove(&record.id)));
                lives
            }));
        }
        let outcomes: Vec<bool> = futures_util::stream::iter(back).buffer_unordered(AT_ONCE).collect().await;
        restored.resumed = outcomes.iter().filter(|lives| **lives).count();
        restored.lost = outcomes.len() - restored.resumed;
        info!(?restored, "the sessions of the daemon before are back");
        restored
    }

    /// Every session is to end: those that are not back yet have ended like all others.
    pub(super) async fn give_up_returning(&self) {
        let Some(store) = &self.means.store else { return };
        let ids: Vec<String> = self.returning.borrow().keys().cloned().collect();
        for id in ids.into_iter().filter(|id| self.session_by_id(id).is_none()) {
            let ended = Ended { at: SystemTime::now(), how: Ending::Gone(None) };
            let change = move |record: &mut SessionRecord| record.ended = Some(ended.clone());
            if let Err(error) = store.change_session(id.as_str(), change).await {
                warn!(id, %error, "the end of a session could not be written down");
            }
        }
    }

    /// One that ended in an earlier life. Nothing of it is read before somebody asks.
    async fn past(self: &Arc<Self>, store: &Store, record: &SessionRecord, parents: &Parents) -> Kept {
        let (mut session, wanted) = record::described(record, parents.contains(&record.id));
        self.enter_lineage(&session);
        if let Some(ended) = &record.ended {
            session.end(ended.how.clone(), ended.at);
        }
        if record.kind == SessionKind::Terminal {
            session.last_screen = last_screen(store, &record.id).await;
            return Kept::past(session);
        }
        let (store, id) = (store.clone(), record.id.clone());
        let read = async move { items(&store, &id).await.0 };
        let ledger = self.ledger(&session);
        let space = RunningSpace::asleep(&record.name, make::person(), read, ledger.clone());
        make::relic(&self.means, &mut session, &wanted, space, ledger);
        Kept::past(session)
    }

    /// One that had not ended. Whether it goes on.
    async fn bring_one_back(
        self: &Arc<Self>,
        store: &Store,
        number: u64,
        record: &SessionRecord,
        parents: &Parents,
        room: bool,
    ) -> bool {
        let described = || record::described(record, parents.contains(&record.id));
        let (mut session, wanted) = described();
        self.enter_lineage(&session);
        if record.kind == SessionKind::Terminal {
            session.last_screen = last_screen(store, &record.id).await;
            session.end(Ending::Lost, SystemTime::now());
            self.entomb(store, number, Kept::past(session)).await;
            return false;
        }
        let (mut items, mut written) = items(store, &record.id).await;
        let ledger = self.ledger(&session);
        let queued = queued(ledger.as_ref()).await;
        let epoch = store.opening().epoch;
        let resume = record.resume.as_ref().map(|resume| resume.reveal().to_owned());
        // One that is shown as queued and does not wait any more was handed over.
        let shown_queued = items.iter().filter(|item| item.progress == Progress::Queued).count();
        let said = items.iter().any(was_said) || shown_queued > queued.len();
        let anew = record.has_fresh_conversation() || !said;
        let agent = record.agent.clone().unwrap_or_default();
        let (ending, why) = if !room {
            (Ending::Lost, "there are too many sessions already".to_owned())
        } else if resume.is_none() && !anew {
            (Ending::Lost, format!("{agent} had not yet said by which name"))
        } else {
            let resumed = resume.clone().map(|name| (name, record.resume_changed));
            let started = make::harness(&self.means, &session, &wanted, resumed).await;
            match started {
                Ok(harness) => {
                    let notice = said.then_some(RESTARTED);
                    let left = Left { items, queued: queued.clone(), was_running: true, epoch };
                    let running = RunningSpace::restore(&record.name, make::person(), left, notice, ledger.clone());
                    let error =
                        match make::agent(&self.means, session, &wanted, harness, &running, ledger.clone()).await {
                            Ok(kept) => return self.go_on(store, number, kept, running, written).await,
                            Err(error) => error,
                        };
                    let _ = running.space.end(true).await;
                    warn!(id = record.id, %error, "a session could not be shown again");
                    // What it was to begin with went into the space that is over.
                    (session, (items, written)) = (described().0, self::items(store, &record.id).await);
                    self.enter_lineage(&session);
                    let why = error.to_string();
                    (Ending::Gone(Some(why.clone())), why)
                }
                Err(error) => {
                    let why = discreet(&error, resume.as_deref());
                    warn!(id = record.id, why, "a session could not be gone on with");
                    (Ending::Gone(Some(why.clone())), why)
                }
            }
        };
        let notice = format!("{RESTARTED} This conversation could not be gone on with: {why}.");
        if let Some(ledger) = &ledger {
            ledger.give_up(queued, &format!("the session could not be restored: {why}")).await;
        }
        let left = Left { items, queued: Vec::new(), was_running: true, epoch };
        let running = RunningSpace::restore(&record.name, make::person(), left, Some(&notice), ledger.clone());
        session.end(ending, SystemTime::now());
        make::relic(&self.means, &mut session, &wanted, running.space.clone(), ledger);
        let mut kept = Kept::past(session);
        let subject = Subject::Conversation { space: running.space, kept: running.kept, written };
        kept.written = Some(keep::follow(store.clone(), Arc::clone(&kept.session), subject));
        let _ = self.keep_at(number, kept);
        false
    }

    /// An agent that was started: kept, followed, and waited for.
    async fn go_on(&self, store: &Store, number: u64, mut kept: Kept, running: RunningSpace, written: Written) -> bool {
        let session = Arc::clone(&kept.session);
        let subject = Subject::Conversation { space: running.space.clone(), kept: running.kept.clone(), written };
        kept.written = Some(keep::follow(store.clone(), Arc::clone(&session), subject));
        if let Err(kept) = self.keep_at(number, kept) {
            // The daemon is stopping. The next one restores it.
            kept.session.end(Ending::Suspended, SystemTime::now());
            kept.end(true).await;
            return false;
        }
        let agent = ParticipantId::from(session.agent().unwrap_or_default());
        let ready = tokio::time::timeout(PATIENCE, make::answered(&running.space, &agent)).await;
        if ready.is_err() {
            warn!(id = session.id, "an agent takes long to come back");
        }
        info!(id = session.id, name = session.name(), "a session is back");
        session.ended().is_none()
    }

    /// One that is over, and of which nothing more is to be followed.
    async fn entomb(&self, store: &Store, number: u64, kept: Kept) {
        let id = kept.session.id.clone();
        if let Some((how, at)) = kept.session.ended() {
            let ended = Ended { at, how };
            if let Err(error) =
                store.change_session(id.as_str(), move |record| record.ended = Some(ended.clone())).await
            {
                warn!(id, %error, "the end of a session could not be written down");
            }
        }
        let _ = self.keep_at(number, kept);
    }
}

/// The messages that no agent was given in an earlier life.
async fn queued(ledger: Option<&SessionLedger>) -> Vec<QueuedMessage> {
    match ledger {
        Some(ledger) => ledger.queued().await.unwrap_or_else(|error| {
            warn!(%error, "the messages that wait for a session could not be read");
            Vec::new()
        }),
        None => Vec::new(),
    }
}

/// All that was said, in order, and what of it is written as it is.
async fn items(store: &Store, id: &str) -> (Vec<Item>, Written) {
    let (mut all, mut written, mut place) = (Vec::new(), Written::default(), Some(Place::START));
    while let Some(from) = place {
        let page = match store.items_from(id, from, MOST_READ).await {
            Ok(page) => page,
            Err(error) => {
                warn!(id, %error, "what was said in a session could not be read");
                break;
            }
        };
        place = page.next;
        for row in page.items {
            written.next = written.next.max(row.seq + 1);
            let item = kept::read(&row.json).unwrap_or_else(|error| unreadable(&row, &error.to_string()));
            if item.progress >= Progress::Done {
                written.settled.insert(item.id.clone());
            }
            all.push(item);
        }
    }
    (all, written)
}

/// What stands in the place of an item that nobody can read: its id must not be given to another.
fn unreadable(row: &KeptItem, why: &str) -> Item {
    let lines = vec![format!("this part of the conversation cannot be shown: {why}")];
    let body = Body::Notice { level: Level::Warning, topic: "unreadable".to_owned(), lines };
    Item::complete(row.id.as_str().into(), wh_core::space::machine::system(), SystemTime::UNIX_EPOCH, body)
}

/// True if it is more than what happens when somebody comes or goes, and more than a message that no agent was given.
pub(super) fn was_said(item: &Item) -> bool {
    item.progress != Progress::Queued && !matches!(item.body, Body::Notice { .. } | Body::Act { .. })
}

async fn last_screen(store: &Store, id: &str) -> Option<String> {
    let page = store.items_from(id, Place::START, 1).await.ok()?;
    let screen = page.items.into_iter().find(|row| row.id == SCREEN)?;
    let screen: Value = serde_json::from_str(&screen.json).ok()?;
    screen["text"].as_str().map(str::to_owned)
}

/// Why it could not be started, without the name that it was to go on by.
fn discreet(error: &CreateError, resume: Option<&str>) -> String {
    let text = error.told();
    match resume.filter(|name| !name.is_empty()) {
        Some(name) => text.replace(&format!("{name:?}"), "of that name").replace(name, "it"),
        None => text,
    }
}
