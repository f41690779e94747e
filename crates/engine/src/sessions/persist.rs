//! Persists a running session: its record, and its conversation or screen. The next daemon resumes from the stored
//! state, even if this daemon is killed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, warn};
use wh_client::{CreateSessionRequest, EndCause, Mirror, ScreenReadOptions, SessionHandle, Space, Surface};
use wh_core::session::ScreenTiming;
use wh_core::space::item::{Item, ItemBody, ItemProgress, NoticeLevel};
use wh_core::space::{ItemId, ParticipantId, stored_item};
use wh_screen::render;

use super::record;
use crate::store::{ResumeId, SessionEnd, SessionFilter, SessionRecord, Store, StoreError, StoredItem};

/// Minimum interval between two writes of content that still changes. Complete content is written immediately.
const REWRITE_INTERVAL: Duration = Duration::from_millis(500);

/// Id of the stored item with the last screen of a terminal session.
pub(super) const SCREEN_ITEM_ID: &str = "screen";

/// Stores the record of a new session. If the store refuses the name because the record of another session has it,
/// updates that record from the session's current state in `all`, and tries again.
pub(super) async fn store_new(
    store: &Store,
    session: &SessionHandle,
    wanted: &CreateSessionRequest,
    all: &[Arc<SessionHandle>],
) -> Result<(), StoreError> {
    let record = record::of(session, wanted);
    match store.put_session(record.clone()).await {
        Err(StoreError::NameTaken { .. }) => {
            release_name(store, &record.name, &record.team, all).await?;
            store.put_session(record).await
        }
        other => other,
    }
}

/// Stores the new name of a renamed session.
pub(super) async fn store_name(
    store: &Store,
    session: Arc<SessionHandle>,
    all: &[Arc<SessionHandle>],
) -> Result<(), StoreError> {
    let change = || {
        let session = Arc::clone(&session);
        // Reads the name when the change is applied, so that concurrent renames store the latest name.
        store.change_session(session.id.clone(), move |record| record.name = session.name())
    };
    match change().await {
        Err(StoreError::NameTaken { .. }) => {
            release_name(store, &session.name(), &session.team, all).await?;
            change().await.map(drop)
        }
        other => other.map(drop),
    }
}

/// Frees a name in the store: updates the outdated records of sessions that had this name and have ended or were
/// renamed.
async fn release_name(store: &Store, name: &str, team: &str, all: &[Arc<SessionHandle>]) -> Result<(), StoreError> {
    let living = store.sessions(SessionFilter { team: Some(team.to_owned()), live: true }).await?;
    for record in living.into_iter().filter(|record| record.name == name) {
        let Some(session) = all.iter().find(|one| one.id == record.id).cloned() else { continue };
        let change = move |record: &mut SessionRecord| {
            record.name = session.name();
            let ended = session.ended().filter(|(how, _)| *how != EndCause::Suspended);
            record.ended = ended.map(|(how, at)| SessionEnd { at, how });
        };
        store.change_session(record.id, change).await?;
    }
    Ok(())
}

/// Conversation items that are already stored when a session is restored.
#[derive(Debug, Default)]
pub(super) struct PersistedItems {
    /// Ids of complete items, which are not written again.
    pub settled: HashSet<ItemId>,
    /// Sequence number for the next new item.
    pub next: u64,
}

/// Content of a session to persist.
pub(super) enum PersistedContent {
    /// Conversation, with the resume ids of its agents.
    Conversation { space: Space, resume_ids: watch::Receiver<BTreeMap<ParticipantId, String>>, stored: PersistedItems },
    /// Screen of a terminal session.
    Terminal(Surface),
}

/// Outcome of storing the end of a session; `None` before the first attempt.
pub(super) type EndStoreOutcome = Option<Result<(), StoreError>>;

/// Interval between two attempts to store the end of a session.
const STORE_END_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// True if the error is permanent: a retry of storing the session's end would fail too.
fn is_permanent(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NoSuchSession(_) | StoreError::TooLarge { .. } | StoreError::Corrupt(_) | StoreError::Closed
    )
}

/// Starts a task that persists a session until the session ends. The returned channel receives the outcome of storing
/// the end.
pub(super) fn spawn_writer(
    store: Store,
    session: Arc<SessionHandle>,
    subject: PersistedContent,
) -> watch::Receiver<EndStoreOutcome> {
    let (sender, done) = watch::channel(None);
    tokio::spawn(async move {
        let writer = SessionWriter { store, session };
        match subject {
            PersistedContent::Conversation { space, resume_ids, stored } => {
                writer.conversation(&space, resume_ids, stored).await
            }
            PersistedContent::Terminal(surface) => writer.terminal(&surface).await,
        }
        loop {
            let stored = writer.end().await;
            let done = stored.as_ref().err().is_none_or(is_permanent);
            sender.send_replace(Some(stored));
            if done {
                return;
            }
            tokio::time::sleep(STORE_END_RETRY_INTERVAL).await;
        }
    });
    done
}

/// Model and mode of an agent; `None` for the agent's default.
type ModelAndMode = (Option<String>, Option<String>);

struct SessionWriter {
    store: Store,
    session: Arc<SessionHandle>,
}

impl SessionWriter {
    async fn change(&self, change: impl FnMut(&mut SessionRecord) + Send + 'static) {
        if let Err(error) = self.store.change_session(self.session.id.as_str(), change).await {
            warn!(id = self.session.id, %error, "cannot store a change of a session");
        }
    }

    /// Stores the last items of the session, and then its end. The end of a suspended session is not stored.
    async fn end(&self) -> Result<(), StoreError> {
        if let Err(error) = self.store.flush().await {
            warn!(id = self.session.id, %error, "cannot store the last items of a session");
        }
        let Some((how, at)) = self.session.ended().filter(|(how, _)| *how != EndCause::Suspended) else {
            return Ok(());
        };
        let change = move |record: &mut SessionRecord| record.ended = Some(SessionEnd { at, how: how.clone() });
        let stored = self.store.change_session(self.session.id.as_str(), change).await.map(drop);
        stored.inspect_err(|error| warn!(id = self.session.id, %error, "cannot store the end of a session"))
    }

    async fn conversation(
        &self,
        space: &Space,
        mut resume_ids: watch::Receiver<BTreeMap<ParticipantId, String>>,
        stored_items: PersistedItems,
    ) {
        let Ok(mut mirror) = space.mirror().await else { return };
        let agent = ParticipantId::from(self.session.agent().unwrap_or_default());
        let mut items =
            ItemWriter { store: &self.store, id: &self.session.id, next: stored_items.next, growing: BTreeSet::new() };
        let known = &stored_items.settled;
        items.write(mirror.state().items.iter().filter(|item| !known.contains(&item.id)).map(|item| &**item)).await;
        let mut count = total_items(&mirror);
        let (mut stored_id, mut chosen) = (None, ModelAndMode::default());
        self.store_model_and_mode(&mut chosen, &mirror, &agent).await;
        let mut due = Instant::now();
        resume_ids.mark_changed();
        loop {
            tokio::select! {
                // The branches are polled in this order. The last branch may always be ready, and would otherwise
                // starve the others.
                biased;
                () = self.session.until_ended() => break,
                Ok(()) = resume_ids.changed() => {
                    let resume_id = resume_ids.borrow_and_update().get(&agent).cloned();
                    self.store_resume_id(&mut stored_id, resume_id).await;
                }
                () = tokio::time::sleep_until(due), if !items.growing.is_empty() => {
                    items.write_growing(&mirror).await;
                    due = Instant::now() + REWRITE_INTERVAL;
                }
                changed = mirror.changed() => {
                    if changed.is_err() || !self.catch_up(&mut mirror, &mut items, &mut count).await {
                        break;
                    }
                    self.store_model_and_mode(&mut chosen, &mirror, &agent).await;
                }
            }
        }
        self.catch_up(&mut mirror, &mut items, &mut count).await;
        items.write_growing(&mirror).await;
        let resume_id = resume_ids.borrow_and_update().get(&agent).cloned();
        self.store_resume_id(&mut stored_id, resume_id).await;
    }

    /// Writes new and completed items, and remembers changed growing items for the next write. Returns false if the
    /// conversation has ended.
    async fn catch_up(&self, mirror: &mut Mirror, items: &mut ItemWriter<'_>, count: &mut u64) -> bool {
        let Ok(change) = mirror.catch_up().await else { return false };
        let all = &mirror.state().items;
        let before = std::mem::replace(count, total_items(mirror));
        if change.reset {
            // The mirror has missed changes, so all items are written. Items that are already stored are replaced.
            items.write(all.iter().map(|item| &**item)).await;
            return true;
        }
        let new = usize::try_from(*count - before).unwrap_or(usize::MAX).min(all.len());
        let new: Vec<&Item> = all.iter().skip(all.len() - new).map(|item| &**item).collect();
        let is_new: HashSet<&ItemId> = new.iter().map(|item| &item.id).collect();
        let changed = change.items.iter().filter(|id| !is_new.contains(id)).filter_map(|id| all.get(id));
        let (growing, over): (Vec<_>, Vec<_>) =
            changed.map(|item| &**item).partition(|item| item.progress == ItemProgress::Growing);
        items.growing.extend(growing.into_iter().map(|item| item.id.clone()));
        items.write(over.into_iter().chain(new)).await;
        true
    }

    /// Stores the resume id if it differs from `known`.
    async fn store_resume_id(&self, known: &mut Option<String>, resume_id: Option<String>) {
        if *known == resume_id {
            return;
        }
        *known = resume_id.clone();
        let now = SystemTime::now();
        self.change(move |record| {
            let resume = resume_id.as_deref().map(ResumeId::new);
            if record.resume == resume {
                return;
            }
            record.resume = resume;
            record.resume_changed = Some(now);
        })
        .await;
    }

    /// Stores the current model and mode for a restart of the agent. The value "default" is stored as `None`: the
    /// restarted agent then uses its own default.
    async fn store_model_and_mode(&self, known: &mut ModelAndMode, mirror: &Mirror, agent: &ParticipantId) {
        let Some(participant) = mirror.state().participants.get(agent) else { return };
        let can = &participant.capabilities;
        let now = (can.model.clone(), can.mode.clone());
        if now == (None, None) || *known == now {
            return;
        }
        known.clone_from(&now);
        let chosen = |now: &Option<String>, before: Option<String>| match now.as_deref() {
            Some("default") => None,
            Some(now) => Some(now.to_owned()),
            None => before,
        };
        self.change(move |record| {
            record.model = chosen(&now.0, record.model.take());
            record.mode = chosen(&now.1, record.mode.take());
        })
        .await;
    }

    async fn terminal(&self, surface: &Surface) {
        let Ok(watched) = surface.watch(false).await else { return };
        let mut frames = watched.frames;
        let mut seen = None;
        loop {
            frames.borrow_and_update();
            if !self.store_screen(surface, &mut seen).await {
                return;
            }
            let more = async {
                let more = frames.changed().await;
                tokio::time::sleep(REWRITE_INTERVAL).await;
                more
            };
            tokio::select! {
                more = more => if more.is_err() { return },
                () = self.session.until_ended() => break,
            }
        }
        self.store_screen(surface, &mut seen).await;
    }

    /// Stores the screen, and the raw output since the last call. Returns false if the terminal or the store is closed.
    async fn store_screen(&self, surface: &Surface, seen: &mut Option<u64>) -> bool {
        let Ok(shown) = surface.read_screen(ScreenReadOptions { history: true, timing: ScreenTiming::Now }).await
        else {
            return false;
        };
        let raw = shown.history.unwrap_or_default();
        let text = json!({ "text": render::plain(&shown.frame) }).to_string();
        let screen = StoredItem { id: SCREEN_ITEM_ID.to_owned(), seq: 0, json: text };
        let new = seen.and_then(|seen| usize::try_from(shown.output_bytes.checked_sub(seen)?).ok());
        let written = match new.and_then(|new| raw.len().checked_sub(new)) {
            Some(start) => self.store.add_output_later(&self.session.id, &raw[start..]),
            None => self.store.set_screen_later(&self.session.id, &raw),
        };
        match written.and_then(|()| self.store.append_later(&self.session.id, vec![screen])) {
            Ok(()) => *seen = Some(shown.output_bytes),
            Err(StoreError::Closed) => return false,
            // `None` makes the next call store the whole output again.
            Err(error) => {
                debug!(id = self.session.id, %error, "cannot store a screen");
                *seen = None;
            }
        }
        true
    }
}

/// Returns the total number of items added to the conversation since its creation.
fn total_items(mirror: &Mirror) -> u64 {
    mirror.state().items.dropped() + mirror.state().items.len() as u64
}

/// Writes the conversation items of one session.
struct ItemWriter<'a> {
    store: &'a Store,
    id: &'a str,
    /// Sequence number of the next new item. Items that were stored before keep their number.
    next: u64,
    /// Unfinished items that have changed since they were last written.
    growing: BTreeSet<ItemId>,
}

impl ItemWriter<'_> {
    async fn write_growing(&mut self, mirror: &Mirror) {
        let growing = std::mem::take(&mut self.growing);
        self.write(growing.iter().filter_map(|id| mirror.state().items.get(id)).map(|item| &**item)).await;
    }

    async fn write<'b>(&mut self, items: impl Iterator<Item = &'b Item>) {
        for item in items {
            let kept = StoredItem { id: item.id.to_string(), seq: self.next, json: written(item) };
            self.next += 1;
            let mut outcome = self.store.append_later(self.id, vec![kept.clone()]);
            if let Err(StoreError::Behind { .. }) = outcome {
                outcome = match self.store.flush().await {
                    Ok(()) => self.store.append_later(self.id, vec![kept]),
                    Err(error) => Err(error),
                };
            } else if let Err(StoreError::TooLarge { .. }) = outcome {
                let kept = StoredItem { json: written(&too_large(item)), ..kept };
                outcome = self.store.append_later(self.id, vec![kept]);
            }
            if let Err(error) = outcome {
                warn!(id = self.id, item = %item.id, %error, "cannot store an item of a conversation");
            }
        }
    }
}

fn written(item: &Item) -> String {
    stored_item::write(item).or_else(|_| stored_item::write(&too_large(item))).unwrap_or_default()
}

/// Creates the replacement for an item that is too large to store.
fn too_large(item: &Item) -> Item {
    let lines = vec!["this part of the conversation was too large to be stored".to_owned()];
    let body = ItemBody::Notice { level: NoticeLevel::Warning, topic: "too_large".to_owned(), lines };
    Item { body, ..item.clone() }
}
