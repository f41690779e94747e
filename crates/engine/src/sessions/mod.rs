//! Sessions of a daemon: creating, listing, renaming, ending and restoring them. Each session has a terminal, which
//! runs the session's program or wh's UI for the agent's conversation.

mod arguments;
mod create_requests;
mod name;
mod persist;
mod record;
mod restore;
mod restore_preview;
mod start;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{info, warn};
use wh_agents::Catalog;
use wh_client::{
    CreateError, CreateOutcome, CreateSessionRequest, DaemonFuture, EndCause, EndOutcome, Lineage, SessionHandle,
    SessionManager, SessionState, Space, Surface, UiPort, Workload,
};
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;
use wh_core::space::ParticipantId;
use wh_core::terminal::Exit;
use wh_pipe::{Survivors, reaper};

pub use restore::{PendingRestore, RestoreCounts};
pub use restore_preview::RestorePreview;

use crate::control::teams::DEFAULT_TEAM;
use crate::ledger::SessionLedger;
use crate::space::RunningSpace;
use crate::store::Store;
use crate::terminal::{ScreenSpec, UiTerminalEnd};
use create_requests::CreateRequests;
use persist::{PersistedContent, PersistedItems};

/// Maximum number of sessions that run at the same time.
pub const MAX_LIVE_SESSIONS: usize = 1024;

/// Maximum number of ended sessions that are listed; the oldest are dropped.
const MAX_LISTED_ENDED_SESSIONS: usize = 1024;

/// Timeout for a session to report its end. Terminal programs and agents that do not end are killed well before this
/// timeout.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for storing the end of a session and its last screen.
const STORE_END_TIMEOUT: Duration = Duration::from_secs(6);

/// Describes the UI of an agent's session, and the terminal that the UI runs on.
#[derive(Debug)]
pub struct UiSpec {
    /// Side of the terminal that the UI reads from and draws on.
    pub host: UiTerminalEnd,
    /// Space that the UI shows.
    pub space: Space,
    /// Port through which the UI receives commands and reports facts.
    pub port: UiPort,
    /// Participant id of the user of the UI.
    pub me: ParticipantId,
    /// Title of the agent, shown in the UI.
    pub title: String,
    /// Directory in which `@` completes file names.
    pub directory: PathBuf,
    /// Sends the user's requests to detach, which do not end the UI.
    pub leave: mpsc::Sender<()>,
}

/// Function that starts the UI of a space. The caller provides the function, because the UI is implemented in another
/// crate.
pub type ShowUiFn = dyn Fn(UiSpec) -> JoinHandle<()> + Send + Sync;

/// Function that returns the agents available in a directory, or an error message if they cannot be listed.
pub type AgentCatalogSource = dyn Fn(&Path) -> Result<Catalog, String> + Send + Sync;

/// Functions, settings and the store that sessions need.
pub struct SessionServices {
    pub catalog: Box<AgentCatalogSource>,
    pub show: Box<ShowUiFn>,
    /// Idle timeout: time from the last use of the screen until the UI of an agent's session is ended.
    pub unused_ui_after: Duration,
    /// Amount of screen state to retain per session.
    pub screen: ScreenSpec,
    /// Environment variables that no session receives.
    pub withheld: Vec<std::ffi::OsString>,
    /// Store of the sessions; without a store, sessions end with the daemon.
    pub store: Option<Store>,
    /// Function that returns true if the team exists.
    pub is_team: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Manager of a daemon's sessions.
pub struct Sessions {
    /// Reference to the manager, for tasks that outlive their caller.
    me: Weak<Self>,
    services: Arc<SessionServices>,
    /// Names reserved for sessions that are being created or restored.
    reserved: Arc<Mutex<Vec<String>>>,
    all: RwLock<BTreeMap<u64, Arc<ManagedSession>>>,
    next: std::sync::atomic::AtomicU64,
    stopping: AtomicBool,
    /// Stored sessions that are not restored yet: name and team by session id.
    returning: watch::Sender<HashMap<String, (String, String)>>,
    create_requests: CreateRequests,
    /// Lineage of every session by id, including sessions that are no longer listed but still referenced.
    lineages: Mutex<HashMap<String, LineageEntry>>,
}

struct LineageEntry {
    lineage: Weak<Lineage>,
    state: Weak<dyn SessionState>,
}

/// Session with the backend that ends the session. `live` is `None` if the session had already ended when it was added.
struct ManagedSession {
    session: Arc<SessionHandle>,
    live: Option<LiveBackend>,
    /// Outcome of storing the session's end; `None` without a store.
    written: Option<watch::Receiver<persist::EndStoreOutcome>>,
}

/// Name that is reserved until this value is dropped.
#[derive(Debug)]
struct ReservedName(Arc<Mutex<Vec<String>>>, String);

impl Drop for ReservedName {
    fn drop(&mut self) {
        let mut reserved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = reserved.iter().position(|name| *name == self.1) {
            reserved.swap_remove(place);
        }
    }
}

enum LiveBackend {
    Program { surface: Surface },
    Agent { space: Space },
}

impl ManagedSession {
    /// Creates the entry of a session that has already ended.
    fn ended(session: SessionHandle) -> Self {
        Self { session: Arc::new(session), live: None, written: None }
    }

    /// Ends the session gracefully, or kills it immediately if `now` is set. Returns the processes that could not be
    /// ended.
    async fn end(&self, now: bool) -> Survivors {
        let Some(live) = &self.live else { return Survivors::default() };
        let ordered = async {
            match live {
                LiveBackend::Program { surface } => drop(surface.end(now).await),
                LiveBackend::Agent { space } => {
                    if matches!(self.session.ended(), Some((EndCause::Suspended, _))) {
                        space.suspend().await;
                    }
                    let _ = space.end(now).await;
                }
            }
            self.session.until_ended().await;
        };
        let ended = tokio::time::timeout(SESSION_END_TIMEOUT, ordered).await.is_ok();
        // Processes that survived an earlier attempt to end the session may have exited since then, so they are checked
        // again.
        let left = reaper::end_session(&self.session.id).await;
        if !ended {
            warn!(id = self.session.id, "a session did not report its end in time");
            let ending = if left.is_empty() { EndCause::Exited(Exit::Unknown) } else { EndCause::Left(left.0.clone()) };
            self.session.end(ending, SystemTime::now());
        }
        left
    }

    /// Waits until the session's end is stored. The error is the reason why the end is not stored.
    async fn until_stored(&self) -> Result<(), String> {
        let Some(mut written) = self.written.clone() else { return Ok(()) };
        match tokio::time::timeout(STORE_END_TIMEOUT, written.wait_for(Option::is_some)).await {
            Ok(Ok(written)) => match &*written {
                Some(Err(error)) => Err(error.to_string()),
                _ => Ok(()),
            },
            Ok(Err(_)) => Err("the task that writes to the store failed".to_owned()),
            Err(_) => Err("the store did not respond in time".to_owned()),
        }
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sessions").field("count", &self.sessions().len()).finish_non_exhaustive()
    }
}

impl Sessions {
    pub fn new(services: SessionServices) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            services: Arc::new(services),
            reserved: Arc::default(),
            all: RwLock::default(),
            next: std::sync::atomic::AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            returning: watch::Sender::default(),
            create_requests: CreateRequests::default(),
            lineages: Mutex::default(),
        })
    }

    /// Returns the ledger of a session's commands; `None` without a store.
    fn ledger(&self, session: &SessionHandle) -> Option<SessionLedger> {
        let store = self.services.store.clone()?;
        Some(SessionLedger::new(store, &session.team, &session.id, &session.agent_id()))
    }

    fn entries(&self) -> Vec<Arc<ManagedSession>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Adds a session. If the daemon is stopping, returns the session as an error, and the caller must end it.
    fn add(&self, entry: ManagedSession) -> Result<Arc<SessionHandle>, ManagedSession> {
        self.add_at(self.next.fetch_add(1, Ordering::Relaxed), entry)
    }

    fn add_at(&self, number: u64, entry: ManagedSession) -> Result<Arc<SessionHandle>, ManagedSession> {
        let session = Arc::clone(&entry.session);
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        // The flag is checked under the lock: `stop` sets the flag before it lists the sessions, and thus ends every
        // session that was added before.
        if self.stopping.load(Ordering::Acquire) {
            return Err(entry);
        }
        all.insert(number, Arc::new(entry));
        let ended: Vec<u64> =
            all.iter().filter(|(_, entry)| entry.session.ended().is_some()).map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(MAX_LISTED_ENDED_SESSIONS)) {
            all.remove(number);
        }
        Ok(session)
    }

    /// Adds the lineage of a session, and records for each creator that it has created a session. Must be called before
    /// the session starts: as soon as it runs it may ask a question, and then a message to a creator can be an
    /// instruction to answer this question.
    fn enter_lineage(&self, session: &SessionHandle) {
        let mut lineages = self.lineages.lock().unwrap_or_else(PoisonError::into_inner);
        lineages.retain(|_, entry| entry.lineage.strong_count() > 0);
        for creator in session.lineage.creators.iter().filter_map(|id| lineages.get(id)?.state.upgrade()) {
            creator.set_has_created();
        }
        let entry = LineageEntry { lineage: Arc::downgrade(&session.lineage), state: Arc::downgrade(&session.state) };
        lineages.insert(session.id.clone(), entry);
    }

    /// Reserves a name that no running session has: the requested name, or a name derived from the program or agent.
    /// Fails if the requested name is invalid or taken.
    fn name(&self, wanted: &CreateSessionRequest) -> Result<ReservedName, CreateError> {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken: Vec<String> =
            self.sessions().iter().filter(|one| one.ended().is_none()).map(|one| one.name()).collect();
        taken.extend(reserved.iter().cloned());
        let name = match &wanted.name {
            Some(name) if !name::is_valid(name) => return Err(CreateError::BadName(name.clone())),
            Some(name) if taken.contains(name) => return Err(CreateError::NameTaken(name.clone())),
            Some(name) => name.clone(),
            None => name::find(&wanted.workload, &taken),
        };
        reserved.push(name.clone());
        Ok(ReservedName(Arc::clone(&self.reserved), name))
    }

    /// Reserves a name, without a check that the name is free.
    fn reserve(&self, name: &str) -> ReservedName {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        ReservedName(Arc::clone(&self.reserved), name.to_owned())
    }

    /// Starts a session and stores its record. The caller adds the session to the list.
    async fn start_and_store(
        &self,
        session: SessionHandle,
        wanted: &CreateSessionRequest,
    ) -> Result<ManagedSession, CreateError> {
        let (mut entry, running) = match &wanted.workload {
            Workload::Program(_) => {
                let ledger = self.ledger(&session);
                (start::start_program(&self.services, session, wanted, ledger).await?, None)
            }
            Workload::Agent { .. } => {
                let harness = start::start_agent(&self.services, &session, wanted, None).await?;
                let (name, person) = (session.name(), start::user());
                let ledger = self.ledger(&session);
                let running = match ledger.clone() {
                    Some(ledger) => RunningSpace::stored(&name, person, ledger),
                    None => RunningSpace::start(&name, person),
                };
                (start::attach_agent(&self.services, session, wanted, harness, &running, ledger).await?, Some(running))
            }
        };
        if let Some(store) = &self.services.store {
            if let Err(error) = persist::store_new(store, &entry.session, wanted, &self.sessions()).await {
                entry.end(true).await;
                return Err(CreateError::Store(error.to_string()));
            }
            let subject = match running {
                Some(RunningSpace { space, resume_ids, .. }) => {
                    Some(PersistedContent::Conversation { space, resume_ids, stored: PersistedItems::default() })
                }
                None => entry.session.surface.clone().map(PersistedContent::Terminal),
            };
            entry.written =
                subject.map(|subject| persist::spawn_writer(store.clone(), Arc::clone(&entry.session), subject));
        }
        Ok(entry)
    }

    /// Creates a session without checking the idempotency key.
    async fn create_new(&self, wanted: CreateSessionRequest) -> Result<Arc<SessionHandle>, CreateError> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(CreateError::Stopping);
        }
        arguments::check(&wanted).map_err(CreateError::Arguments)?;
        let living = self.sessions().iter().filter(|one| one.ended().is_none()).count();
        if living >= MAX_LIVE_SESSIONS {
            return Err(CreateError::TooMany(living));
        }
        let name = self.name(&wanted)?;
        let team = team(&wanted).to_owned();
        if !(self.services.is_team)(&team) {
            return Err(CreateError::NoSuchTeam(team));
        }
        let session = SessionHandle::new(name::id(), &wanted, team, SystemTime::now(), state::new(name.1.clone()));
        self.enter_lineage(&session);
        let entry = self.start_and_store(session, &wanted).await?;
        let session = match self.add(entry) {
            Ok(session) => session,
            Err(entry) => {
                entry.end(true).await;
                return Err(CreateError::Stopping);
            }
        };
        info!(id = session.id, name = session.name(), "session created");
        Ok(session)
    }

    /// Returns the session with this id. Waits if the session is being restored.
    async fn wait_until_restored(&self, id: &str) -> Option<Arc<SessionHandle>> {
        let _ = self.returning.subscribe().wait_for(|returning| !returning.contains_key(id)).await;
        self.session_by_id(id)
    }

    async fn create_once(&self, wanted: CreateSessionRequest) -> Result<CreateOutcome, CreateError> {
        let Some(key) = wanted.idempotency_key.clone() else {
            return Ok(CreateOutcome { session: self.create_new(wanted).await?, duplicate: false });
        };
        RequestId::new(key.as_str()).map_err(|error| CreateError::InvalidIdempotencyKey(error.to_string()))?;
        let cell = self.create_requests.cell(team(&wanted), &key, &create_requests::terms(&wanted))?;
        let mut duplicate = true;
        let making = async {
            duplicate = false;
            self.create_new(wanted).await.map(|session| session.id.clone())
        };
        let id = cell.get_or_try_init(|| making).await?;
        let session = self.wait_until_restored(id).await.ok_or_else(|| CreateError::NoSuchSession(id.clone()))?;
        Ok(CreateOutcome { session, duplicate })
    }

    /// Ends all processes, and refuses new sessions. Terminal sessions end permanently. Agent sessions stay in the
    /// store for the next daemon to restore; if `end_sessions` is set, they end permanently too.
    pub async fn stop(&self, end_sessions: bool) {
        self.stopping.store(true, Ordering::Release);
        let all = self.entries();
        let live: Vec<&Arc<ManagedSession>> = all.iter().filter(|one| one.session.ended().is_none()).collect();
        if !end_sessions && self.services.store.is_some() {
            let now = SystemTime::now();
            // Agent sessions are marked as suspended before their agents end, because reports of an ending agent must
            // not be stored in the conversation.
            live.iter()
                .filter(|one| one.session.agent().is_some())
                .for_each(|one| one.session.end(EndCause::Suspended, now));
        }
        futures_util::future::join_all(live.iter().map(|one| one.end(false))).await;
        if end_sessions {
            self.end_unrestored().await;
        }
        let stored = futures_util::future::join_all(all.iter().map(|one| one.until_stored())).await;
        if stored.iter().any(Result::is_err) {
            warn!("the end of some sessions was not stored");
        }
    }
}

/// Returns the requested team, or the default team.
fn team(wanted: &CreateSessionRequest) -> &str {
    wanted.team.as_deref().unwrap_or(DEFAULT_TEAM)
}

impl SessionManager for Sessions {
    fn sessions(&self) -> Vec<Arc<SessionHandle>> {
        self.entries().into_iter().map(|entry| Arc::clone(&entry.session)).collect()
    }

    fn restoring(&self) -> Vec<String> {
        let mut names: Vec<String> = self.returning.borrow().values().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    fn is_restoring(&self, wanted: &str) -> bool {
        self.returning.borrow().iter().any(|(id, (name, _))| id == wanted || name == wanted)
    }

    fn restoring_of(&self, teams: &BTreeSet<String>) -> Vec<(String, String)> {
        let returning = self.returning.borrow();
        let own = returning.iter().filter(|(_, (_, team))| teams.contains(team));
        own.map(|(id, (name, _))| (id.clone(), name.clone())).collect()
    }

    fn lineage(&self, id: &str) -> Option<Arc<Lineage>> {
        self.lineages.lock().unwrap_or_else(PoisonError::into_inner).get(id)?.lineage.upgrade()
    }

    fn create(&self, wanted: CreateSessionRequest) -> DaemonFuture<'_, Result<CreateOutcome, CreateError>> {
        let me = self.me.upgrade();
        Box::pin(async move {
            let me = me.ok_or(CreateError::Stopping)?;
            // Runs to completion even if the caller gives up, so that a started session is always listed.
            let making = tokio::spawn(async move { me.create_once(wanted).await });
            let failed = |error| CreateError::Failed {
                message: format!("internal error while creating the session: {error}"),
                hint: None,
            };
            making.await.unwrap_or_else(|error| Err(failed(error)))
        })
    }

    fn rename(&self, id: &str, name: &str) -> Result<(), CreateError> {
        if !name::is_valid(name) {
            return Err(CreateError::BadName(name.to_owned()));
        }
        let session = self.session(id).ok_or_else(|| CreateError::NoSuchSession(id.to_owned()))?;
        let another = |one: &Arc<SessionHandle>| one.id != session.id && one.ended().is_none() && one.name() == name;
        {
            // The lock is held until the session has the new name, so that no other session gets the name.
            let reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
            if reserved.iter().any(|one| one == name) || self.sessions().iter().any(another) {
                return Err(CreateError::NameTaken(name.to_owned()));
            }
            session.rename(name);
        }
        if let Some(store) = self.services.store.clone() {
            let all = self.sessions();
            tokio::spawn(async move {
                if let Err(error) = persist::store_name(&store, Arc::clone(&session), &all).await {
                    warn!(id = session.id, %error, "cannot store the name of a session");
                }
            });
        }
        Ok(())
    }

    fn end(&self, id: &str, now: bool) -> DaemonFuture<'_, EndOutcome> {
        let entry =
            self.session(id).and_then(|one| self.entries().into_iter().find(|entry| entry.session.id == one.id));
        Box::pin(async move {
            let Some(entry) = entry else { return EndOutcome::NoSuchSession };
            let left = entry.end(now).await;
            if !left.is_empty() {
                return EndOutcome::Left(left.0);
            }
            // The end is stored before the answer: if the daemon is killed after the answer, the next daemon must not
            // restore the session.
            match entry.until_stored().await {
                Ok(()) => EndOutcome::Ended,
                Err(why) => EndOutcome::NotStored(why),
            }
        })
    }

    fn receipt(&self, session: &SessionHandle, id: RequestId) -> DaemonFuture<'_, Option<Receipt>> {
        let ledger = self.ledger(session);
        Box::pin(async move { ledger?.stored_receipt(&id).await.ok().flatten() })
    }

    fn forget(&self, id: &str) -> DaemonFuture<'_, bool> {
        let found = self.session(id).filter(|one| one.ended().is_some());
        Box::pin(async move {
            let Some(found) = found else { return false };
            let gone = {
                let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
                let number = all.iter().find(|(_, entry)| entry.session.id == found.id).map(|(number, _)| *number);
                number.and_then(|number| all.remove(&number))
            };
            if let Some(store) = &self.services.store {
                // The session is removed only after its end is stored; otherwise the attempts to store the end would
                // fail and be repeated.
                if let Some(gone) = gone {
                    let _ = gone.until_stored().await;
                }
                if let Err(error) = store.remove_session(found.id.as_str()).await {
                    warn!(id = found.id, %error, "cannot remove a session from the store");
                }
            }
            true
        })
    }
}
