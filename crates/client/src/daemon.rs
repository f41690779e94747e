//! Interface of a daemon to its HTTP and socket servers. [`SessionManager`] manages sessions, and [`ControlHandler`]
//! executes control messages. The engine implements both traits.

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

use crate::session::SessionHandle;
use crate::{ConnectionOpener, Space, Ui};

/// Boxed future, for methods of `dyn` traits.
pub type DaemonFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Conversation of an agent session, with its UI. All callers act as the same participant.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Space that holds the conversation.
    pub space: Space,
    /// UI of the session. Its state is reported together with the conversation.
    pub ui: Ui,
    /// Participant that callers act as.
    pub me: ParticipantId,
    /// Display name of the agent.
    pub title: String,
    /// True if messages are refused until the agent is ready: the agent starts in its own terminal UI.
    pub refuses_until_ready: bool,
}

/// Lists, creates, finds and ends the sessions of a daemon.
pub trait SessionManager: Send + Sync {
    /// Lists all sessions, oldest first, including ended ones.
    fn sessions(&self) -> Vec<Arc<SessionHandle>>;

    /// Finds a session by id or name. If several sessions have the same name, prefers a running session, then the
    /// newest.
    fn session(&self, id_or_name: &str) -> Option<Arc<SessionHandle>> {
        find(&self.sessions(), id_or_name)
    }

    fn session_by_id(&self, id: &str) -> Option<Arc<SessionHandle>> {
        self.session(id).filter(|session| session.id == id)
    }

    /// Finds a session by id or name, like [`session`](Self::session), but only among the sessions of these teams.
    fn session_of(&self, id_or_name: &str, teams: &BTreeSet<String>) -> Option<Arc<SessionHandle>> {
        let mut all = self.sessions();
        all.retain(|one| teams.contains(&one.team));
        find(&all, id_or_name)
    }

    /// Returns the id and name of each session of these teams that is being restored from the store.
    fn restoring_of(&self, teams: &BTreeSet<String>) -> Vec<(String, String)>;

    /// Returns the names of all sessions that are being restored from the store.
    fn restoring(&self) -> Vec<String>;

    /// True if the session with this id or name is being restored.
    fn is_restoring(&self, wanted: &str) -> bool;

    /// Returns [`Origin::Outside`] for a caller inside a `--person` session, and `origin` for any other caller.
    fn resolve(&self, origin: Origin) -> Origin {
        origin.resolve(|id| self.lineage(id).is_some_and(|lineage| lineage.person))
    }

    /// Returns the creators of a session and its `--person` flag, even before the session has started or is listed.
    fn lineage(&self, id: &str) -> Option<Arc<Lineage>>;

    /// Creates a session, or returns the session that was created earlier with the same idempotency key.
    fn create(&self, wanted: CreateSessionRequest) -> DaemonFuture<'_, Result<CreateOutcome, CreateError>>;

    fn rename(&self, id: &str, name: &str) -> Result<(), CreateError>;

    /// Ends a session and all of its processes. If `now` is true, kills the processes at once; otherwise asks them to
    /// exit first. Returns when all processes have exited, or when some could not be killed.
    fn end(&self, id: &str, now: bool) -> DaemonFuture<'_, EndOutcome>;

    /// Returns the stored receipt of a command, even if the session could not be resumed ([`EndCause::Lost`]). A
    /// running session may have a newer receipt.
    fn receipt(&self, session: &SessionHandle, id: RequestId) -> DaemonFuture<'_, Option<Receipt>>;

    /// Removes an ended session and its history. Returns false if the session is running or unknown.
    fn forget(&self, id: &str) -> DaemonFuture<'_, bool>;
}

/// Finds a session by id or name. If several sessions have the same name, prefers a running session, then the newest.
fn find(sessions: &[Arc<SessionHandle>], id_or_name: &str) -> Option<Arc<SessionHandle>> {
    let named = |one: &&Arc<SessionHandle>| one.name() == id_or_name;
    let by_id = sessions.iter().find(|one| one.id == id_or_name);
    by_id
        .or_else(|| sessions.iter().rev().filter(|one| one.ended().is_none()).find(named))
        .or_else(|| sessions.iter().rev().find(named))
        .cloned()
}

/// Authorises, executes and audits control messages.
pub trait ControlHandler: Send + Sync {
    /// Executes a control message, which sends input to a session, interrupts the session or answers its question.
    fn control(
        &self,
        request: Result<Box<ControlRequest>, Box<ControlProblem>>,
        caller: Caller,
    ) -> DaemonFuture<'_, Result<ControlAck, Failure>>;

    /// Records in the audit log that a connection or request was rejected before its target was known.
    fn audit_rejected(&self, error: &str, detail: &str);

    /// Records in the audit log that a session refused a caller of the HTTP API or of `attach`. Refused control
    /// messages are audited by [`control`](Self::control).
    fn audit_refused_caller(&self, session: &SessionHandle, action: ControlKind, refusal: &CallerRefusal);

    /// Returns the teams that these credentials give access to. The default team is always included.
    fn visible_teams(&self, credentials: Vec<Credential>) -> DaemonFuture<'_, BTreeSet<String>>;

    /// Returns the protocol versions, actions and limits that the daemon supports.
    fn capabilities(&self) -> Capabilities;

    /// Returns the number of audit records that could not be written.
    fn audit_lost(&self) -> u64;
}

/// Client that sends a request over a daemon's socket.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Credential that proves the caller's identity, if any.
    pub credential: Option<Credential>,
    /// Process that opened the connection.
    pub opener: ConnectionOpener,
}

/// Request to create a session.
#[derive(Debug, Clone)]
pub struct CreateSessionRequest {
    /// Agent or program to run.
    pub workload: Workload,
    /// Name of the session; derived from the agent or program if absent.
    pub name: Option<String>,
    /// Team of the session; `default` if absent.
    pub team: Option<String>,
    pub directory: PathBuf,
    /// Size of the screen.
    pub size: Size,
    /// Complete environment of the program; the daemon's environment if absent.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Idempotency key. A request with a key that the daemon remembers creates no second session. Keys survive a
    /// restart of the daemon.
    pub idempotency_key: Option<String>,
    /// Chain of creators, nearest first: the session that the caller runs inside, the creator of that session, and so
    /// on. Empty if the caller is outside every session.
    pub creators: Vec<String>,
    /// True if the session is a person's own shell. Callers inside the session are treated as if they were outside of
    /// all sessions. Allowed for terminal programs only.
    pub person: bool,
}

/// Result of a create request.
#[derive(Debug, Clone)]
pub struct CreateOutcome {
    /// New session, or the existing session with the same idempotency key.
    pub session: Arc<SessionHandle>,
    /// True if the session was created earlier with the same idempotency key.
    pub duplicate: bool,
}

/// Agent or program of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// Agent, with its settings.
    Agent {
        /// Id of the agent.
        agent: String,
        model: Option<String>,
        mode: Option<String>,
        /// True if the agent may enter modes that skip permission requests.
        may_skip_permissions: bool,
        /// Additional command-line arguments of the agent.
        arguments: Vec<OsString>,
    },
    /// Terminal program, followed by its arguments. Never empty.
    Program(Vec<OsString>),
}

/// Reason why a session cannot be created or renamed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    #[error(
        "{0:?} is not a valid session name: use at most 64 letters, digits, '-', '_' and '.', and begin with a letter or digit"
    )]
    BadName(String),
    #[error("{0}")]
    InvalidIdempotencyKey(String),
    /// The idempotency key was used for a different request.
    #[error("request_id {0:?} was used for another session; use another id")]
    IdempotencyKeyReused(String),
    /// The caller may not create this session.
    #[error(transparent)]
    Refused(#[from] CallerRefusal),
    /// `person` is not available for agents.
    #[error("--person is for terminal programs only; omit it to start an agent")]
    PersonIsAgent,
    #[error("there is no team {0:?}; create it with wh team add")]
    NoSuchTeam(String),
    /// The session is still being restored.
    #[error("session {0:?} is being restored; retry soon")]
    Returning(String),
    /// A running session has this name.
    #[error("a session named {0:?} is already running")]
    NameTaken(String),
    #[error("there is no session {0:?}")]
    NoSuchSession(String),
    #[error("there is no agent {agent:?}; the known agents are {}", known.join(", "))]
    NoSuchAgent { agent: String, known: Vec<String> },
    #[error("the command line is empty; give an agent or a program")]
    Nothing,
    /// The command line or the environment is invalid.
    #[error("{0}")]
    Arguments(String),
    /// The agent or program could not be started.
    #[error("{message}")]
    Failed { message: String, hint: Option<String> },
    #[error("the limit of {0} running sessions is reached; end a session first")]
    TooMany(usize),
    /// The session could not be stored.
    #[error("cannot store the session: {0}")]
    Store(String),
    #[error("the daemon is stopping")]
    Stopping,
}

impl CreateError {
    /// Returns the error message, with the suggested action if there is one.
    pub fn message_with_hint(&self) -> String {
        match self {
            Self::Failed { message, hint: Some(hint) } => format!("{message}; {hint}"),
            other => other.to_string(),
        }
    }
}

/// Result of [`SessionManager::end`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndOutcome {
    /// All processes of the session have exited.
    Ended,
    /// The processes with these pids could not be killed.
    Left(Vec<i32>),
    /// All processes have exited, but the end of the session could not be stored. Contains the reason. The next daemon
    /// may restore the session.
    NotStored(String),
    NoSuchSession,
}

/// Cause of a session's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndCause {
    /// The program exited.
    Exited(Exit),
    /// The agent exited. Contains the reason if the exit was not requested.
    Gone(Option<String>),
    /// The daemon exited before the session ended, and the next daemon could not resume the session.
    Lost,
    /// The session has ended, but the processes with these pids could not be killed.
    Left(Vec<i32>),
    /// The daemon is stopping. The session has not ended: the next daemon restores it.
    Suspended,
}

/// Creators of a session, and its `--person` flag.
#[derive(Debug, Default)]
pub struct Lineage {
    /// Chain of creators, nearest first: the session that created this one, the creator of that session, and so on.
    pub creators: Vec<String>,
    /// True if the session is a person's own shell. Callers inside the session are treated as if they were outside of
    /// all sessions.
    pub person: bool,
}
