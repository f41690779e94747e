//! Handle on one session of a daemon. The engine owns its mutable state.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use wh_core::caller::SessionLineage;
use wh_core::terminal::Size;

use crate::daemon::{Conversation, DaemonFuture, Ending, Lineage, NewSession, Workload};
use crate::surface::Surface;

/// Handle on one session of a daemon.
#[derive(Debug)]
pub struct SessionHandle {
    /// Id of the session.
    pub id: String,
    /// Team that the session belongs to.
    pub team: String,
    /// Agent or program of the session.
    pub workload: Workload,
    pub directory: PathBuf,
    /// Time of creation.
    pub created: SystemTime,
    /// Sessions that created it.
    pub lineage: Arc<Lineage>,
    /// Screen of the session; `None` once it was lost.
    pub surface: Option<Surface>,
    /// Conversation, if an agent runs in it.
    pub conversation: Option<Conversation>,
    /// Last screen of a session that was lost.
    pub last_screen: Option<String>,
    /// True if it ended under a previous daemon. Its conversation is read on demand, so listing must not access it.
    pub past: bool,
    /// Mutable state, owned by the engine.
    pub state: Arc<dyn SessionState>,
    /// Terminals that are attached.
    pub audience: Arc<dyn Audience>,
}

/// Mutable state of a session, owned by the engine.
pub trait SessionState: Debug + Send + Sync {
    /// Name of the session.
    fn name(&self) -> String;

    /// Renames the session.
    fn rename(&self, name: &str);

    /// Ending and its time; `None` while the session runs.
    fn ended(&self) -> Option<(Ending, SystemTime)>;

    /// Records the end of the session. Only the first call counts.
    fn end(&self, ending: Ending, at: SystemTime);

    /// Waits until the session has ended.
    fn until_ended(&self) -> DaemonFuture<'_, ()>;

    /// Returns true once the session has created others.
    fn has_created(&self) -> bool;

    /// Records that the session has created another. Never reset.
    fn set_has_created(&self);
}

/// Terminals attached to a session; the smallest determines the size. Owned by the engine.
pub trait Audience: Debug + Send + Sync {
    /// Adds a terminal; its size counts unless `None`. Returns its number and the resulting size.
    fn enter(&self, size: Option<Size>) -> (u64, Option<Size>);

    /// Changes the size of a terminal. Returns the resulting size.
    fn resize(&self, number: u64, size: Option<Size>) -> Option<Size>;

    /// Removes a terminal. Returns the resulting size, if any terminal remains.
    fn leave(&self, number: u64) -> Option<Size>;

    /// Number of terminals.
    fn count(&self) -> usize;

    /// Records that this terminal has typed.
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
        wanted: &NewSession,
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

    /// Name of the session.
    pub fn name(&self) -> String {
        self.state.name()
    }

    /// Renames the session.
    pub fn rename(&self, name: &str) {
        self.state.rename(name);
    }

    /// Ending and its time; `None` while the session runs.
    pub fn ended(&self) -> Option<(Ending, SystemTime)> {
        self.state.ended()
    }

    /// Records the end of the session. Only the first call counts.
    pub fn end(&self, ending: Ending, at: SystemTime) {
        self.state.end(ending, at);
    }

    /// Waits until the session has ended.
    pub async fn until_ended(&self) {
        self.state.until_ended().await;
    }

    /// Facts that decide who may answer its questions.
    pub fn standing(&self) -> SessionLineage {
        SessionLineage {
            session: Some(self.id.clone()),
            creators: self.lineage.creators.clone(),
            has_created: self.state.has_created(),
            person: self.lineage.person,
        }
    }

    /// Id of its agent; `None` for a terminal program.
    pub fn agent(&self) -> Option<&str> {
        match &self.workload {
            Workload::Agent { agent, .. } => Some(agent),
            Workload::Program(_) => None,
        }
    }

    /// Agent id for other programs: `<agent>:<session id>`.
    pub fn agent_id(&self) -> String {
        format!("{}:{}", self.agent().unwrap_or("terminal"), self.id)
    }
}
