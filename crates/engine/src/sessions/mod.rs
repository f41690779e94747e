//! The sessions of a daemon: who they are, how they come to be and how they end. Each is a terminal of its own: a program's,
//! or that of wh's own UI, which shows an agent's conversation.

mod arguments;
mod keep;
mod made;
mod make;
mod name;
mod outlook;
mod record;
mod restore;
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
    BoxFuture, CreateError, Created, Daemon, EndOutcome, Ending, Lineage, NewSession, Session, SessionState, Space,
    Surface, UiPort, What,
};
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;
use wh_core::space::ParticipantId;
use wh_core::terminal::Exit;
use wh_pipe::{Left, reaper};

pub use outlook::Outlook;
pub use restore::{Recalled, Restored};

use crate::control::teams::DEFAULT_TEAM;
use crate::ledger::SessionLedger;
use crate::space::RunningSpace;
use crate::store::Store;
use crate::terminal::{Host, ScreenSpec};
use keep::{Subject, Written};
use made::Made;

/// Sessions that may live at once.
pub const MOST_SESSIONS: usize = 1024;

/// Sessions that have ended and are still listed. Beyond that the oldest go.
const MOST_ENDED: usize = 1024;

/// Longest wait for a session to report its end. Terminal programs and agents are killed well before.
const LONGEST_END: Duration = Duration::from_secs(20);

/// Limit for storing the end of a session and its last screen.
const LAST_WORDS: Duration = Duration::from_secs(6);

/// A space to be shown on a terminal of ours.
#[derive(Debug)]
pub struct UiSpec {
    /// The terminal.
    pub host: Host,
    /// The space.
    pub space: Space,
    /// Where the UI hears from outside.
    pub port: UiPort,
    /// To whom it is shown.
    pub me: ParticipantId,
    /// What the agent is called by people.
    pub title: String,
    /// Where `@` looks for files.
    pub directory: PathBuf,
    /// Where it says that the person wants to leave. The UI stays.
    pub leave: mpsc::Sender<()>,
}

/// Shows a space: the UI is another room's, and is handed in.
pub type ShowUi = dyn Fn(UiSpec) -> JoinHandle<()> + Send + Sync;

/// Which agents there are for who works in a directory, as of now; or why that cannot be said.
pub type KnownAgents = dyn Fn(&Path) -> Result<Catalog, String> + Send + Sync;

/// What sessions are made with.
pub struct Means {
    /// The agents that there are.
    pub catalog: Box<KnownAgents>,
    /// Who shows conversations.
    pub show: Box<ShowUi>,
    /// Time after the last use of its screen at which the UI of an agent's session is ended.
    pub unused_ui_after: Duration,
    /// How much of a screen is kept.
    pub screen: ScreenSpec,
    /// Variables that no session may see.
    pub withheld: Vec<std::ffi::OsString>,
    /// Where sessions are kept beyond the daemon's life; without it they end with it.
    pub store: Option<Store>,
    /// Whether there is a team of this name.
    pub is_team: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

/// The sessions of a daemon.
pub struct Sessions {
    /// For what goes on when whoever asked for it is gone.
    me: Weak<Self>,
    means: Arc<Means>,
    /// Names of those that are being made, or are to come back.
    reserved: Arc<Mutex<Vec<String>>>,
    all: RwLock<BTreeMap<u64, Arc<Kept>>>,
    next: std::sync::atomic::AtomicU64,
    stopping: AtomicBool,
    /// Sessions of an earlier daemon that are not here yet: names and teams by ids.
    returning: watch::Sender<HashMap<String, (String, String)>>,
    /// Which wish has made which.
    made: Made,
    /// Where each session comes from, listed or not.
    lineages: Mutex<HashMap<String, Relative>>,
}

/// Origin and state of a session, listed or not.
struct Relative {
    lineage: Weak<Lineage>,
    state: Weak<dyn SessionState>,
}

/// A session, and what is needed in order to end it.
struct Kept {
    session: Arc<Session>,
    live: Option<Live>,
    /// Outcome of storing its end; `None` if it is not kept in a store.
    written: Option<watch::Receiver<keep::Stored>>,
}

/// While there is one, nobody else gets the name.
#[derive(Debug)]
struct Reserved(Arc<Mutex<Vec<String>>>, String);

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut reserved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = reserved.iter().position(|name| *name == self.1) {
            reserved.swap_remove(place);
        }
    }
}

enum Live {
    Program { surface: Surface },
    Agent { space: Space },
}

impl Kept {
    /// One that is over.
    fn past(session: Session) -> Self {
        Self { session: Arc::new(session), live: None, written: None }
    }

    /// Ends it, in steps or at once; returns when nothing of it is left, or what could not be ended.
    async fn end(&self, now: bool) -> Left {
        let Some(live) = &self.live else { return Left::default() };
        let ordered = async {
            match live {
                Live::Program { surface } => drop(surface.end(now).await),
                Live::Agent { space } => {
                    if matches!(self.session.ended(), Some((Ending::Suspended, _))) {
                        space.suspend().await;
                    }
                    let _ = space.end(now).await;
                }
            }
            self.session.until_ended().await;
        };
        let ended = tokio::time::timeout(LONGEST_END, ordered).await.is_ok();
        // Also what could not be ended by then, or was left when the session ended: it may be gone by now.
        let left = reaper::end_session(&self.session.id).await;
        if !ended {
            warn!(id = self.session.id, "a session did not report that it has ended");
            let ending = if left.is_empty() { Ending::Exited(Exit::Unknown) } else { Ending::Left(left.0.clone()) };
            self.session.end(ending, SystemTime::now());
        }
        left
    }

    /// Waits until the end of the session is in the store. The error says why it is not.
    async fn until_stored(&self) -> Result<(), String> {
        let Some(mut written) = self.written.clone() else { return Ok(()) };
        match tokio::time::timeout(LAST_WORDS, written.wait_for(Option::is_some)).await {
            Ok(Ok(written)) => match &*written {
                Some(Err(error)) => Err(error.to_string()),
                _ => Ok(()),
            },
            Ok(Err(_)) => Err("the task that stores it has failed".to_owned()),
            Err(_) => Err("the store does not answer".to_owned()),
        }
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sessions").field("count", &self.sessions().len()).finish_non_exhaustive()
    }
}

impl Sessions {
    /// No sessions yet.
    pub fn new(means: Means) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            means: Arc::new(means),
            reserved: Arc::default(),
            all: RwLock::default(),
            next: std::sync::atomic::AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            returning: watch::Sender::default(),
            made: Made::default(),
            lineages: Mutex::default(),
        })
    }

    /// Where the commands of a session are stored, if anything is.
    fn ledger(&self, session: &Session) -> Option<SessionLedger> {
        let store = self.means.store.clone()?;
        Some(SessionLedger::new(store, &session.team, &session.id, &session.agent_id()))
    }

    fn kept(&self) -> Vec<Arc<Kept>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Keeps one, unless the daemon is about to end: then it is given back, to be ended.
    fn keep(&self, kept: Kept) -> Result<Arc<Session>, Kept> {
        self.keep_at(self.next.fetch_add(1, Ordering::Relaxed), kept)
    }

    fn keep_at(&self, number: u64, kept: Kept) -> Result<Arc<Session>, Kept> {
        let session = Arc::clone(&kept.session);
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: whoever stops says so first, and then looks who is here.
        if self.stopping.load(Ordering::Acquire) {
            return Err(kept);
        }
        all.insert(number, Arc::new(kept));
        let ended: Vec<u64> =
            all.iter().filter(|(_, kept)| kept.session.ended().is_some()).map(|(number, _)| *number).collect();
        for number in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            all.remove(number);
        }
        Ok(session)
    }

    /// Enters a session's lineage and marks its creators. Called before anything of the session runs: from then on a message to a creator may be
    /// an order to answer for it.
    fn enter_lineage(&self, session: &Session) {
        let mut lineages = self.lineages.lock().unwrap_or_else(PoisonError::into_inner);
        lineages.retain(|_, relative| relative.lineage.strong_count() > 0);
        for creator in session.lineage.creators.iter().filter_map(|id| lineages.get(id)?.state.upgrade()) {
            creator.set_has_created();
        }
        let relative = Relative { lineage: Arc::downgrade(&session.lineage), state: Arc::downgrade(&session.state) };
        lineages.insert(session.id.clone(), relative);
    }

    /// A name that nobody who lives has: the wanted one, or one made from what runs. Nobody else gets it meanwhile.
    fn name(&self, wanted: &NewSession) -> Result<Reserved, CreateError> {
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken: Vec<String> =
            self.sessions().iter().filter(|one| one.ended().is_none()).map(|one| one.name()).collect();
        taken.extend(reserved.iter().cloned());
        let name = match &wanted.name {
            Some(name) if !name::is_valid(name) => return Err(CreateError::BadName(name.clone())),
            Some(name) if taken.contains(name) => return Err(CreateError::NameTaken(name.clone())),
            Some(name) => name.clone(),
            None => name::find(&wanted.what, &taken),
        };
        reserved.push(name.clone());
        Ok(Reserved(Arc::clone(&self.reserved), name))
    }

    /// Reserves a name that is known to be free.
    fn reserve(&self, name: &str) -> Reserved {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        Reserved(Arc::clone(&self.reserved), name.to_owned())
    }

    /// Starts what is wanted, and writes down that it is there.
    async fn make(&self, session: Session, wanted: &NewSession) -> Result<Kept, CreateError> {
        let (mut kept, running) = match &wanted.what {
            What::Program(_) => {
                let ledger = self.ledger(&session);
                (make::program(&self.means, session, wanted, ledger).await?, None)
            }
            What::Agent { .. } => {
                let harness = make::harness(&self.means, &session, wanted, None).await?;
                let (name, person) = (session.name(), make::person());
                let ledger = self.ledger(&session);
                let running = match ledger.clone() {
                    Some(ledger) => RunningSpace::stored(&name, person, ledger),
                    None => RunningSpace::start(&name, person),
                };
                (make::agent(&self.means, session, wanted, harness, &running, ledger).await?, Some(running))
            }
        };
        if let Some(store) = &self.means.store {
            if let Err(error) = keep::enter(store, &kept.session, wanted, &self.sessions()).await {
                kept.end(true).await;
                return Err(CreateError::Store(error.to_string()));
            }
            let subject = match running {
                Some(RunningSpace { space, kept, .. }) => {
                    Some(Subject::Conversation { space, kept, written: Written::default() })
                }
                None => kept.session.surface.clone().map(Subject::Terminal),
            };
            kept.written = subject.map(|subject| keep::follow(store.clone(), Arc::clone(&kept.session), subject));
        }
        Ok(kept)
    }

    /// Makes one, whatever was made before.
    async fn create_anew(&self, wanted: NewSession) -> Result<Arc<Session>, CreateError> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(CreateError::Stopping);
        }
        arguments::check(&wanted).map_err(CreateError::Arguments)?;
        let living = self.sessions().iter().filter(|one| one.ended().is_none()).count();
        if living >= MOST_SESSIONS {
            return Err(CreateError::TooMany(living));
        }
        let name = self.name(&wanted)?;
        let team = team(&wanted).to_owned();
        if !(self.means.is_team)(&team) {
            return Err(CreateError::NoSuchTeam(team));
        }
        let session = Session::new(name::id(), &wanted, team, SystemTime::now(), state::new(name.1.clone()));
        self.enter_lineage(&session);
        let kept = self.make(session, &wanted).await?;
        let session = match self.keep(kept) {
            Ok(session) => session,
            Err(kept) => {
                kept.end(true).await;
                return Err(CreateError::Stopping);
            }
        };
        info!(id = session.id, name = session.name(), "a session was made");
        Ok(session)
    }

    /// The one of this id; one that is to come back is waited for.
    async fn back(&self, id: &str) -> Option<Arc<Session>> {
        let _ = self.returning.subscribe().wait_for(|returning| !returning.contains_key(id)).await;
        self.session_by_id(id)
    }

    async fn create_once(&self, wanted: NewSession) -> Result<Created, CreateError> {
        let Some(wish) = wanted.wish.clone() else {
            return Ok(Created { session: self.create_anew(wanted).await?, duplicate: false });
        };
        RequestId::new(wish.as_str()).map_err(|error| CreateError::BadWish(error.to_string()))?;
        let place = self.made.place(team(&wanted), &wish, &made::terms(&wanted))?;
        let mut duplicate = true;
        let making = async {
            duplicate = false;
            self.create_anew(wanted).await.map(|session| session.id.clone())
        };
        let id = place.get_or_try_init(|| making).await?;
        let session = self.back(id).await.ok_or_else(|| CreateError::NoSuchSession(id.clone()))?;
        Ok(Created { session, duplicate })
    }

    /// Ends every process, and makes no more sessions. Terminal programs end for good. Sessions of agents stay in the
    /// store as they are, to be restored by the next daemon; with `end_sessions` they end, too.
    pub async fn stop(&self, end_sessions: bool) {
        self.stopping.store(true, Ordering::Release);
        let kept = self.kept();
        let live: Vec<&Arc<Kept>> = kept.iter().filter(|one| one.session.ended().is_none()).collect();
        if !end_sessions && self.means.store.is_some() {
            let now = SystemTime::now();
            // First of all: what an agent says while it is ended is not part of the conversation.
            live.iter()
                .filter(|one| one.session.agent().is_some())
                .for_each(|one| one.session.end(Ending::Suspended, now));
        }
        futures_util::future::join_all(live.iter().map(|one| one.end(false))).await;
        if end_sessions {
            self.give_up_returning().await;
        }
        let stored = futures_util::future::join_all(kept.iter().map(|one| one.until_stored())).await;
        if stored.iter().any(Result::is_err) {
            warn!("the end of some sessions is not written down");
        }
    }
}

/// The team that a session is to belong to.
fn team(wanted: &NewSession) -> &str {
    wanted.team.as_deref().unwrap_or(DEFAULT_TEAM)
}

impl Daemon for Sessions {
    fn sessions(&self) -> Vec<Arc<Session>> {
        self.kept().into_iter().map(|kept| Arc::clone(&kept.session)).collect()
    }

    fn returning(&self) -> Vec<String> {
        let mut names: Vec<String> = self.returning.borrow().values().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    fn is_returning(&self, wanted: &str) -> bool {
        self.returning.borrow().iter().any(|(id, (name, _))| id == wanted || name == wanted)
    }

    fn returning_of(&self, teams: &BTreeSet<String>) -> Vec<(String, String)> {
        let returning = self.returning.borrow();
        let own = returning.iter().filter(|(_, (_, team))| teams.contains(team));
        own.map(|(id, (name, _))| (id.clone(), name.clone())).collect()
    }

    fn lineage(&self, id: &str) -> Option<Arc<Lineage>> {
        self.lineages.lock().unwrap_or_else(PoisonError::into_inner).get(id)?.lineage.upgrade()
    }

    fn create(&self, wanted: NewSession) -> BoxFuture<'_, Result<Created, CreateError>> {
        let me = self.me.upgrade();
        Box::pin(async move {
            let me = me.ok_or(CreateError::Stopping)?;
            // Once it is under way it goes on, whether or not the caller still waits: what runs must be known.
            let making = tokio::spawn(async move { me.create_once(wanted).await });
            let failed = |error| CreateError::Failed { message: format!("wh failed: {error}"), hint: None };
            making.await.unwrap_or_else(|error| Err(failed(error)))
        })
    }

    fn rename(&self, id: &str, name: &str) -> Result<(), CreateError> {
        if !name::is_valid(name) {
            return Err(CreateError::BadName(name.to_owned()));
        }
        let session = self.session(id).ok_or_else(|| CreateError::NoSuchSession(id.to_owned()))?;
        let another = |one: &Arc<Session>| one.id != session.id && one.ended().is_none() && one.name() == name;
        {
            // Held until it has the name: nobody else gets it meanwhile.
            let reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
            if reserved.iter().any(|one| one == name) || self.sessions().iter().any(another) {
                return Err(CreateError::NameTaken(name.to_owned()));
            }
            session.rename(name);
        }
        if let Some(store) = self.means.store.clone() {
            let all = self.sessions();
            tokio::spawn(async move {
                if let Err(error) = keep::rename(&store, Arc::clone(&session), &all).await {
                    warn!(id = session.id, %error, "a session's name could not be kept");
                }
            });
        }
        Ok(())
    }

    fn end(&self, id: &str, now: bool) -> BoxFuture<'_, EndOutcome> {
        let kept = self.session(id).and_then(|one| self.kept().into_iter().find(|kept| kept.session.id == one.id));
        Box::pin(async move {
            let Some(kept) = kept else { return EndOutcome::NoSuchSession };
            let left = kept.end(now).await;
            if !left.is_empty() {
                return EndOutcome::Left(left.0);
            }
            // A daemon that is killed right after the answer must not restore the session.
            match kept.until_stored().await {
                Ok(()) => EndOutcome::Ended,
                Err(why) => EndOutcome::NotStored(why),
            }
        })
    }

    fn receipt(&self, session: &Session, id: RequestId) -> BoxFuture<'_, Option<Receipt>> {
        let ledger = self.ledger(session);
        Box::pin(async move { ledger?.stored_receipt(&id).await.ok().flatten() })
    }

    fn forget(&self, id: &str) -> BoxFuture<'_, bool> {
        let found = self.session(id).filter(|one| one.ended().is_some());
        Box::pin(async move {
            let Some(found) = found else { return false };
            let gone = {
                let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
                let number = all.iter().find(|(_, kept)| kept.session.id == found.id).map(|(number, _)| *number);
                number.and_then(|number| all.remove(&number))
            };
            if let Some(store) = &self.means.store {
                // After its last words, which would be written again otherwise.
                if let Some(gone) = gone {
                    let _ = gone.until_stored().await;
                }
                if let Err(error) = store.remove_session(found.id.as_str()).await {
                    warn!(id = found.id, %error, "a session could not be forgotten for good");
                }
            }
            true
        })
    }
}
