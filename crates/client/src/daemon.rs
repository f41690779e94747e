//! The handle on a daemon: its sessions, and what can be asked of one. A door holds it as [`Daemon`]; the engine is behind
//! it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use wh_core::caller::{CallerRefusal, Origin};
use wh_core::receipt::Receipt;
use wh_core::request::RequestId;
use wh_core::space::ParticipantId;
use wh_core::terminal::{Exit, Size};
use wh_wire::socket::{Capabilities, ControlAck, ControlKind, ControlProblem, ControlRequest, Credential, Failure};

use crate::session::Session;
use crate::{Opener, Space, Ui};

/// A future that can be asked for through a `dyn` port.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A conversation, whoever shows it, and as whom callers take part.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// The space.
    pub space: Space,
    /// The UI whose `ui` the state shows.
    pub ui: Ui,
    /// Who the callers are.
    pub me: ParticipantId,
    /// The name of its agents for people.
    pub title: String,
}

/// Whoever keeps sessions.
pub trait Daemon: Send + Sync {
    /// Every session, oldest first; those that have ended too.
    fn sessions(&self) -> Vec<Arc<Session>>;

    /// The one of this id or name. Names belong to the living before the dead, and to the newest of these.
    fn session(&self, id_or_name: &str) -> Option<Arc<Session>> {
        find(&self.sessions(), id_or_name)
    }

    /// The one of this id.
    fn session_by_id(&self, id: &str) -> Option<Arc<Session>> {
        self.session(id).filter(|session| session.id == id)
    }

    /// The one of this id or name among the sessions of these teams; names as for [`session`](Self::session).
    fn session_of(&self, id_or_name: &str, teams: &BTreeSet<String>) -> Option<Arc<Session>> {
        let mut all = self.sessions();
        all.retain(|one| teams.contains(&one.team));
        find(&all, id_or_name)
    }

    /// The ids and names of the sessions of these teams that were an earlier daemon's and are about to be here again.
    fn returning_of(&self, teams: &BTreeSet<String>) -> Vec<(String, String)>;

    /// The names of those that were an earlier daemon's and are about to be here again.
    fn returning(&self) -> Vec<String>;

    /// True if the one of this id or name is among them.
    fn is_returning(&self, wanted: &str) -> bool;

    /// Turns the origin of a caller inside a `--person` session into [`Origin::Outside`].
    fn resolve(&self, origin: Origin) -> Origin {
        origin.resolve(|id| self.lineage(id).is_some_and(|lineage| lineage.person))
    }

    /// Where a session comes from. Known from before anything of it runs, and so before it is listed.
    fn lineage(&self, id: &str) -> Option<Arc<Lineage>>;

    /// Makes one, or finds the one that the same wish has made before.
    fn create(&self, wanted: NewSession) -> BoxFuture<'_, Result<Created, CreateError>>;

    /// Gives one another name.
    fn rename(&self, id: &str, name: &str) -> Result<(), CreateError>;

    /// Ends one and all that it started, in steps or at once. Returns when it has ended, or when it is known what could not be
    /// ended.
    fn end(&self, id: &str, now: bool) -> BoxFuture<'_, EndOutcome>;

    /// The receipt of a command that is stored, also of a session that was lost. Newer ones are known to the session itself.
    fn receipt(&self, session: &Session, id: RequestId) -> BoxFuture<'_, Option<Receipt>>;

    /// Forgets one that has ended, with its history. False: it lives, or there is none.
    fn forget(&self, id: &str) -> BoxFuture<'_, bool>;
}

/// The session of this id or name: names belong to the living before the dead, and to the newest of these.
fn find(sessions: &[Arc<Session>], id_or_name: &str) -> Option<Arc<Session>> {
    let named = |one: &&Arc<Session>| one.name() == id_or_name;
    let by_id = sessions.iter().find(|one| one.id == id_or_name);
    by_id
        .or_else(|| sessions.iter().rev().filter(|one| one.ended().is_none()).find(named))
        .or_else(|| sessions.iter().rev().find(named))
        .cloned()
}

/// Whoever carries control messages out: authorised, once, and written down.
pub trait Controller: Send + Sync {
    /// Types to a session, interrupts it or answers its question.
    fn control(
        &self,
        request: Result<Box<ControlRequest>, Box<ControlProblem>>,
        caller: Caller,
    ) -> BoxFuture<'_, Result<ControlAck, Failure>>;

    /// Writes down that a door has let somebody or something not in, before it was known what it was about: why, in a word and in words.
    fn refused_at_the_door(&self, error: &str, detail: &str);

    /// Writes down that another interface has refused a caller of a session.
    fn refused_caller(&self, session: &Session, action: ControlKind, refusal: &CallerRefusal);

    /// The teams that these credentials are of, and the default team.
    fn teams_shown(&self, credentials: Vec<Credential>) -> BoxFuture<'_, BTreeSet<String>>;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Entries of the audit log that could not be written.
    fn audit_lost(&self) -> u64;
}

/// Who asks at the socket.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// What proves who it is.
    pub credential: Option<Credential>,
    /// Its process.
    pub opener: Opener,
}

/// What is asked for when a session is made.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// What runs in it.
    pub what: What,
    /// What people call it; wh finds a name when absent.
    pub name: Option<String>,
    /// The team that it belongs to; `default` when absent.
    pub team: Option<String>,
    /// Where it works.
    pub directory: PathBuf,
    /// The size of its screen.
    pub size: Size,
    /// All of its environment; the daemon's own when absent.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// The caller's name for this wish: under the same name no second session is made, also by a later daemon that still knows the first.
    pub wish: Option<String>,
    /// The sessions that create it, the nearest first; empty if the caller is outside every session.
    pub creators: Vec<String>,
    /// Everything inside counts as outside. For terminal programs only.
    pub person: bool,
}

/// What a wish for a session came to.
#[derive(Debug, Clone)]
pub struct Created {
    /// The session.
    pub session: Arc<Session>,
    /// It was there before: the wish was made under this name already.
    pub duplicate: bool,
}

/// What runs in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An agent, by its id.
    Agent {
        /// Which.
        agent: String,
        /// The model that it begins with.
        model: Option<String>,
        /// The mode that it begins in.
        mode: Option<String>,
        /// Modes that skip permissions may be entered.
        may_skip_permissions: bool,
        /// What its command line has beside what wh puts there.
        arguments: Vec<OsString>,
    },
    /// A terminal program with its arguments; not empty.
    Program(Vec<OsString>),
}

/// Why there is no such session, or none of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// The name cannot be one.
    #[error(
        "{0:?} cannot be a session's name: use letters, digits, '-', '_' and '.', at most 64, beginning with a letter or digit"
    )]
    BadName(String),
    /// The name of the wish cannot be one.
    #[error("{0}")]
    BadWish(String),
    /// The name of the wish was another wish's.
    #[error("request_id {0:?} was used for another session; use another id")]
    WishReused(String),
    /// The caller may not create it.
    #[error(transparent)]
    Refused(#[from] CallerRefusal),
    /// An agent cannot count as a person.
    #[error("only a terminal program can have --person; an agent's session cannot")]
    PersonIsAgent,
    /// There is no such team.
    #[error("there is no team {0:?}; wh team add makes one")]
    NoSuchTeam(String),
    /// It was an earlier daemon's, and is not back yet.
    #[error("session {0:?} is coming back; ask again")]
    Returning(String),
    /// A session that lives has it.
    #[error("a session called {0:?} lives already")]
    NameTaken(String),
    /// There is no such session.
    #[error("there is no session {0:?}")]
    NoSuchSession(String),
    /// The agent is not known.
    #[error("there is no agent {agent:?}; there are {}", known.join(", "))]
    NoSuchAgent {
        /// What was asked for.
        agent: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is nothing to run.
    #[error("name an agent or a program")]
    Nothing,
    /// The command line or the environment cannot be given to a program.
    #[error("{0}")]
    Arguments(String),
    /// It could not be started.
    #[error("{message}")]
    Failed {
        /// Why.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// There are enough.
    #[error("{0} sessions live already, and that is the most")]
    TooMany(usize),
    /// It could not be written down.
    #[error("the session could not be kept: {0}")]
    Store(String),
    /// The daemon is about to end.
    #[error("the daemon is stopping")]
    Stopping,
}

impl CreateError {
    /// In words, with what to do about it where that is known.
    pub fn told(&self) -> String {
        match self {
            Self::Failed { message, hint: Some(hint) } => format!("{message}; {hint}"),
            other => other.to_string(),
        }
    }
}

/// Result of [`Daemon::end`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndOutcome {
    /// Nothing of the session runs any more.
    Ended,
    /// The processes with these pids could not be ended.
    Left(Vec<i32>),
    /// Nothing of it runs any more, but that is not stored, for this reason: the next daemon may restore it.
    NotStored(String),
    /// There is no such session.
    NoSuchSession,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Its program did.
    Exited(Exit),
    /// Its agent did; why, if nobody asked for it.
    Gone(Option<String>),
    /// The daemon was gone before it, and it could not be gone on with.
    Lost,
    /// It cannot be used any more, but its processes with these pids could not be ended.
    Left(Vec<i32>),
    /// The daemon is stopping. The session is not over: the next daemon restores it.
    Suspended,
}

/// Where a session comes from.
#[derive(Debug, Default)]
pub struct Lineage {
    /// The sessions that created it, the nearest first.
    pub creators: Vec<String>,
    /// Everything inside counts as outside.
    pub person: bool,
}
