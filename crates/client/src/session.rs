//! Handle on one session of a daemon, and traits for the mutable state of a session. The engine owns that state.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use wh_core::caller::SessionLineage;
use wh_core::terminal::Size;

use crate::daemon::{Conversation, CreateSessionRequest, DaemonFuture, EndCause, Lineage, Workload};
use crate::surface::Surface;

/// Handle on one session of a daemon, running or ended.
#[derive(Debug)]
pub struct SessionHandle {
    pub id: String,
    pub team: String,
    /// Agent or program of the session.
    pub workload: Workload,
    pub directory: PathBuf,
    pub created: SystemTime,
    /// Creators of the session, and its `--person` flag.
    pub lineage: Arc<Lineage>,
    /// Screen of the session; `None` if the session could not be resumed ([`EndCause::Lost`]).
    pub surface: Option<Surface>,
    /// Conversation of an agent session; `None` for a terminal program.
    pub conversation: Option<Conversation>,
    /// Stored last screen of a session that could not be resumed.
    pub last_screen: Option<String>,
    /// True if the session ended under a previous daemon. Its conversation is loaded on first access, so do not access
    /// it to list sessions.
    pub past: bool,
    /// Mutable state, owned by the engine.
    pub state: Arc<dyn SessionState>,
    /// Terminals that are attached to the session.
    pub audience: Arc<dyn Audience>,
}

/// Mutable state of a session, owned by the engine.
pub trait SessionState: Debug + Send + Sync {
    fn name(&self) -> String;

    fn rename(&self, name: &str);

    /// Returns the cause and the time of the end; `None` while the session runs.
    fn ended(&self) -> Option<(EndCause, SystemTime)>;

    /// Records the end of the session. Only the first call counts.
    fn end(&self, ending: EndCause, at: SystemTime);

    fn until_ended(&self) -> DaemonFuture<'_, ()>;

    /// True if the session has created another session.
    fn has_created(&self) -> bool;

    /// Records that the session has created another session. Never reset.
    fn set_has_created(&self);
}

/// Terminals attached to a session; the smallest determines the size. Owned by the engine.
pub trait Audience: Debug + Send + Sync {
    /// Adds a terminal. A terminal without a size does not affect the size of the session. Returns the terminal's
    /// number and the resulting size of the session.
    fn enter(&self, size: Option<Size>) -> (u64, Option<Size>);

    /// Changes the size of a terminal. Returns the resulting size of the session.
    fn resize(&self, number: u64, size: Option<Size>) -> Option<Size>;

    /// Removes a terminal. Returns the resulting size of the session, if any terminal remains.
    fn leave(&self, number: u64) -> Option<Size>;

    /// Returns the number of attached terminals.
    fn count(&self) -> usize;

    /// Records that the user of this terminal has typed.
    fn typed(&self, number: u64);

    /// Asks the terminal that typed last to detach.
    fn dismiss(&self);

    /// Waits until this terminal is asked to detach.
    fn dismissed(&self, number: u64) -> DaemonFuture<'_, ()>;
}

impl SessionHandle {
    /// Creates the handle of a new or restored session.
    pub fn new(
        id: String,
        wanted: &CreateSessionRequest,
        team: String,
        created: SystemTime,
        (state, audience): (Arc<dyn SessionState>, Arc<dyn Audience>),
    ) -> Self {
        Self {
            id,
            team,
            workload: wanted.workload.clone(),
            directory: wanted.directory.clone(),
            created,
            lineage: Arc::new(Lineage { creators: wanted.creators.clone(), person: wanted.person }),
            surface: None,
            conversation: None,
            last_screen: None,
            past: false,
            state,
            audience,
        }
    }

    pub fn name(&self) -> String {
        self.state.name()
    }

    pub fn rename(&self, name: &str) {
        self.state.rename(name);
    }

    /// Returns the cause and the time of the end; `None` while the session runs.
    pub fn ended(&self) -> Option<(EndCause, SystemTime)> {
        self.state.ended()
    }

    /// Records the end of the session. Only the first call counts.
    pub fn end(&self, ending: EndCause, at: SystemTime) {
        self.state.end(ending, at);
    }

    pub async fn until_ended(&self) {
        self.state.until_ended().await;
    }

    /// Returns the facts that determine which callers may answer the session's questions.
    pub fn standing(&self) -> SessionLineage {
        SessionLineage {
            session: Some(self.id.clone()),
            creators: self.lineage.creators.clone(),
            has_created: self.state.has_created(),
            person: self.lineage.person,
        }
    }

    /// Returns the id of the session's agent; `None` for a terminal program.
    pub fn agent(&self) -> Option<&str> {
        match &self.workload {
            Workload::Agent { agent, .. } => Some(agent),
            Workload::Program(_) => None,
        }
    }

    /// Returns the agent id that other programs see: `<agent>:<session id>`, or `terminal:<session id>` for a terminal
    /// program.
    pub fn agent_id(&self) -> String {
        format!("{}:{}", self.agent().unwrap_or("terminal"), self.id)
    }
}
