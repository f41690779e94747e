//! Keeps a session as it lives: who it is when it is made and whenever that changes, what is said in it, and what it
//! shows. The daemon may be killed at any moment; what was written by then is what the next one goes on with.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, warn};
use wh_client::{Ending, Look, Mirror, NewSession, Session, Space, Surface};
use wh_core::session::Sight;
use wh_core::space::item::{Body, Item, Level, Progress};
use wh_core::space::{ItemId, ParticipantId, kept};
use wh_screen::render;

use super::record;
use crate::store::{Ended, KeptItem, Resume, SessionRecord, Store, StoreError, Which};

/// How often what grows or changes is written again. What is complete is written at once.
const PACE: Duration = Duration::from_millis(500);

/// Under which id the last screen of a terminal session is kept.
pub(super) const SCREEN: &str = "screen";

/// Writes down that there is this session, and waits for it. `all` are those that are known here: where one of them has
/// just let go of the name, and the store does not know it yet, it is told.
pub(super) async fn enter(
    store: &Store,
    session: &Session,
    wanted: &NewSession,
    all: &[Arc<Session>],
) -> Result<(), StoreError> {
    let record = record::of(session, wanted);
    match store.put_session(record.clone()).await {
        Err(StoreError::NameTaken { .. }) => {
            let_go(store, &record.name, &record.team, all).await?;
            store.put_session(record).await
        }
        other => other,
    }
}

/// Writes down the name that a session has.
pub(super) async fn rename(store: &Store, session: Arc<Session>, all: &[Arc<Session>]) -> Result<(), StoreError> {
    let change = || {
        let session = Arc::clone(&session);
        // Whichever of two renamings comes first: the name that it has is written.
        store.change_session(session.id.clone(), move |record| record.name = session.name())
    };
    match change().await {
        Err(StoreError::NameTaken { .. }) => {
            let_go(store, &session.name(), &session.team, all).await?;
            change().await.map(drop)
        }
        other => other.map(drop),
    }
}

/// Has the store know of those that have ended, or have another name by now.
async fn let_go(store: &Store, name: &str, team: &str, all: &[Arc<Session>]) -> Result<(), StoreError> {
    let living = store.sessions(Which { team: Some(team.to_owned()), live: true }).await?;
    for record in living.into_iter().filter(|record| record.name == name) {
        let Some(session) = all.iter().find(|one| one.id == record.id).cloned() else { continue };
        let change = move |record: &mut SessionRecord| {
            record.name = session.name();
            let ended = session.ended().filter(|(how, _)| *how != Ending::Suspended);
            record.ended = ended.map(|(how, at)| Ended { at, how });
        };
        store.change_session(record.id, change).await?;
    }
    Ok(())
}

/// What was written of a conversation in an earlier life.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Items that are over, and so are written as they are.
    pub settled: HashSet<ItemId>,
    /// The place of the next.
    pub next: u64,
}

/// What is followed.
pub(super) enum Subject {
    /// A conversation, and by what it can be gone on with.
    Conversation { space: Space, kept: watch::Receiver<BTreeMap<ParticipantId, String>>, written: Written },
    /// A terminal.
    Terminal(Surface),
}

/// Outcome of storing the end of a session; `None` until it is tried.
pub(super) type Stored = Option<Result<(), StoreError>>;

/// Time between two attempts to store the end of a session.
const RETRY_STORING: Duration = Duration::from_secs(1);

/// Follows a session that was entered, to its end. Returns the outcome of storing the end, once it is known.
pub(super) fn follow(store: Store, session: Arc<Session>, subject: Subject) -> watch::Receiver<Stored> {
    let (tell, done) = watch::channel(None);
    tokio::spawn(async move {
        let keeper = Keeper { store, session };
        match subject {
            Subject::Conversation { space, kept, written } => keeper.conversation(&space, kept, written).await,
            Subject::Terminal(surface) => keeper.terminal(&surface).await,
        }
        loop {
            let stored = keeper.end().await;
            let done = stored.is_ok();
            tell.send_replace(Some(stored));
            if done {
                return;
            }
            tokio::time::sleep(RETRY_STORING).await;
        }
    });
    done
}

/// A model and a mode.
type Choice = (Option<String>, Option<String>);

struct Keeper {
    store: Store,
    session: Arc<Session>,
}

impl Keeper {
    async fn change(&self, change: impl FnMut(&mut SessionRecord) + Send + 'static) {
        if let Err(error) = self.store.change_session(self.session.id.as_str(), change).await {
            warn!(id = self.session.id, %error, "a session could not be kept as it is");
        }
    }

    /// Stores that it has ended, after all that was said.
    async fn end(&self) -> Result<(), StoreError> {
        if let Err(error) = self.store.flush().await {
            warn!(id = self.session.id, %error, "the end of a session's history could not be written");
        }
        let Some((how, at)) = self.session.ended().filter(|(how, _)| *how != Ending::Suspended) else { return Ok(()) };
        let change = move |record: &mut SessionRecord| record.ended = Some(Ended { at, how: how.clone() });
        let stored = self.store.change_session(self.session.id.as_str(), change).await.map(drop);
        stored.inspect_err(|error| warn!(id = self.session.id, %error, "the end of a session could not be stored"))
    }

    async fn conversation(
        &self,
        space: &Space,
        mut kept: watch::Receiver<BTreeMap<ParticipantId, String>>,
        written: Written,
    ) {
        let Ok(mut mirror) = space.mirror().await else { return };
        let agent = ParticipantId::from(self.session.agent().unwrap_or_default());
        let mut pen = Pen { store: &self.store, id: &self.session.id, next: written.next, growing: BTreeSet::new() };
        let known = &written.settled;
        pen.write(mirror.state().items.iter().filter(|item| !known.contains(&item.id)).map(|item| &**item)).await;
        let mut count = total(&mirror);
        let (mut named, mut chosen) = (None, Choice::default());
        self.choose(&mut chosen, &mirror, &agent).await;
        let mut due = Instant::now();
        kept.mark_changed();
        loop {
            tokio::select! {
                // What comes without end is last, so that the others have their turn.
                biased;
                () = self.session.until_ended() => break,
                Ok(()) = kept.changed() => {
                    let name = kept.borrow_and_update().get(&agent).cloned();
                    self.name(&mut named, name).await;
                }
                () = tokio::time::sleep_until(due), if !pen.growing.is_empty() => {
                    pen.write_growing(&mirror).await;
                    due = Instant::now() + PACE;
                }
                changed = mirror.changed() => {
                    if changed.is_err() || !self.catch_up(&mut mirror, &mut pen, &mut count).await {
                        break;
                    }
                    self.choose(&mut chosen, &mirror, &agent).await;
                }
            }
        }
        self.catch_up(&mut mirror, &mut pen, &mut count).await;
        pen.write_growing(&mirror).await;
        let name = kept.borrow_and_update().get(&agent).cloned();
        self.name(&mut named, name).await;
    }

    /// Writes what is new, and marks what grows. False: there is nothing more to follow.
    async fn catch_up(&self, mirror: &mut Mirror, pen: &mut Pen<'_>, count: &mut u64) -> bool {
        let Ok(change) = mirror.catch_up().await else { return false };
        let items = &mirror.state().items;
        let before = std::mem::replace(count, total(mirror));
        if change.reset {
            // So much was missed that nobody can say what: what is written twice is kept once.
            pen.write(items.iter().map(|item| &**item)).await;
            return true;
        }
        let new = usize::try_from(*count - before).unwrap_or(usize::MAX).min(items.len());
        let new: Vec<&Item> = items.iter().skip(items.len() - new).map(|item| &**item).collect();
        let is_new: HashSet<&ItemId> = new.iter().map(|item| &item.id).collect();
        let changed = change.items.iter().filter(|id| !is_new.contains(id)).filter_map(|id| items.get(id));
        let (growing, over): (Vec<_>, Vec<_>) =
            changed.map(|item| &**item).partition(|item| item.progress == Progress::Growing);
        pen.growing.extend(growing.into_iter().map(|item| item.id.clone()));
        pen.write(over.into_iter().chain(new)).await;
        true
    }

    /// By what it can be gone on with from now on.
    async fn name(&self, known: &mut Option<String>, name: Option<String>) {
        if *known == name {
            return;
        }
        *known = name.clone();
        let now = SystemTime::now();
        self.change(move |record| {
            let resume = name.as_deref().map(Resume::new);
            if record.resume == resume {
                return;
            }
            record.resume = resume;
            record.resume_changed = Some(now);
        })
        .await;
    }

    /// The model and the mode that it has are what it goes on with; what it calls the default it chooses itself.
    async fn choose(&self, known: &mut Choice, mirror: &Mirror, agent: &ParticipantId) {
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
            if !self.show(surface, &mut seen).await {
                return;
            }
            let more = async {
                let more = frames.changed().await;
                tokio::time::sleep(PACE).await;
                more
            };
            tokio::select! {
                more = more => if more.is_err() { return },
                () = self.session.until_ended() => break,
            }
        }
        self.show(surface, &mut seen).await;
    }

    /// Writes down what the screen shows, and what was written to it since. False: nobody shows it any more.
    async fn show(&self, surface: &Surface, seen: &mut Option<u64>) -> bool {
        let Ok(shown) = surface.look(Look { history: true, sight: Sight::Now }).await else { return false };
        let raw = shown.history.unwrap_or_default();
        let text = json!({ "text": render::plain(&shown.frame) }).to_string();
        let screen = KeptItem { id: SCREEN.to_owned(), seq: 0, json: text };
        let new = seen.and_then(|seen| usize::try_from(shown.output_bytes.checked_sub(seen)?).ok());
        let written = match new.and_then(|new| raw.len().checked_sub(new)) {
            Some(start) => self.store.add_output_later(&self.session.id, &raw[start..]),
            None => self.store.set_screen_later(&self.session.id, &raw),
        };
        match written.and_then(|()| self.store.append_later(&self.session.id, vec![screen])) {
            Ok(()) => *seen = Some(shown.output_bytes),
            Err(StoreError::Closed) => return false,
            // The next writing is of the whole.
            Err(error) => {
                debug!(id = self.session.id, %error, "a screen could not be kept");
                *seen = None;
            }
        }
        true
    }
}

/// How many items there have been.
fn total(mirror: &Mirror) -> u64 {
    mirror.state().items.dropped() + mirror.state().items.len() as u64
}

/// Writes the items of one session.
struct Pen<'a> {
    store: &'a Store,
    id: &'a str,
    /// The place of the next item. One that has a place keeps it.
    next: u64,
    /// Items that have grown since they were written.
    growing: BTreeSet<ItemId>,
}

impl Pen<'_> {
    async fn write_growing(&mut self, mirror: &Mirror) {
        let growing = std::mem::take(&mut self.growing);
        self.write(growing.iter().filter_map(|id| mirror.state().items.get(id)).map(|item| &**item)).await;
    }

    async fn write<'b>(&mut self, items: impl Iterator<Item = &'b Item>) {
        for item in items {
            let kept = KeptItem { id: item.id.to_string(), seq: self.next, json: written(item) };
            self.next += 1;
            let mut outcome = self.store.append_later(self.id, vec![kept.clone()]);
            if let Err(StoreError::Behind { .. }) = outcome {
                outcome = match self.store.flush().await {
                    Ok(()) => self.store.append_later(self.id, vec![kept]),
                    Err(error) => Err(error),
                };
            } else if let Err(StoreError::TooLarge { .. }) = outcome {
                let kept = KeptItem { json: written(&too_large(item)), ..kept };
                outcome = self.store.append_later(self.id, vec![kept]);
            }
            if let Err(error) = outcome {
                warn!(id = self.id, item = %item.id, %error, "a part of a conversation is not kept");
            }
        }
    }
}

fn written(item: &Item) -> String {
    kept::write(item).or_else(|_| kept::write(&too_large(item))).unwrap_or_default()
}

/// What stands in the place of an item that is not kept.
fn too_large(item: &Item) -> Item {
    let lines = vec!["this part of the conversation was too large to be kept".to_owned()];
    let body = Body::Notice { level: Level::Warning, topic: "too_large".to_owned(), lines };
    Item { body, ..item.clone() }
}
