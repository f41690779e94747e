//! The handle on one session of a daemon. What changes is the engine's.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use wh_core::caller::Standing;
use wh_core::terminal::Size;

use crate::daemon::{BoxFuture, Conversation, Ending, Lineage, NewSession, What};
use crate::surface::Surface;

/// Handle on one session of a daemon.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The team that it belongs to.
    pub team: String,
    /// Agent or program of the session.
    pub what: What,
    /// Working directory.
    pub directory: PathBuf,
    /// Time of creation.
    pub created: SystemTime,
    /// Sessions that created it.
    pub lineage: Arc<Lineage>,
    /// Its screen, and what can be typed into. `None` once it was lost.
    pub surface: Option<Surface>,
    /// Its conversation, if an agent runs in it.
    pub conversation: Option<Conversation>,
    /// Last screen of a session that was lost.
    pub last_screen: Option<String>,
    /// It ended with an earlier life of the daemon, or before. Its conversation may sleep: whoever only lists it should not
    /// ask for it.
    pub past: bool,
    /// The part that changes, and its owner.
    pub state: Arc<dyn SessionState>,
    /// The terminals that are attached.
    pub audience: Arc<dyn Audience>,
}

/// The part of a session that changes. The engine owns it; the handle only asks.
pub trait SessionState: Debug + Send + Sync {
    /// The session's name.
    fn name(&self) -> String;

    /// Gives it another name.
    fn rename(&self, name: &str);

    /// Ending and its time; `None` while the session lives.
    fn ended(&self) -> Option<(Ending, SystemTime)>;

    /// Notes that it has ended. Only the first time counts.
    fn end(&self, ending: Ending, at: SystemTime);

    /// Waits until it has ended.
    fn until_ended(&self) -> BoxFuture<'_, ()>;

    /// Returns true once the session has created others.
    fn has_created(&self) -> bool;

    /// Records that the session has created another. Never reset.
    fn set_has_created(&self);
}

/// The terminals that are attached to a session: the smallest decides the size. The engine keeps them.
pub trait Audience: Debug + Send + Sync {
    /// Adds a terminal, whose size counts if there is one. Its number, and the size that fits all.
    fn enter(&self, size: Option<Size>) -> (u64, Option<Size>);

    /// Changes the size of a terminal. The size that fits all.
    fn resize(&self, number: u64, size: Option<Size>) -> Option<Size>;

    /// Removes a terminal. The size that fits those who stay, if any do.
    fn leave(&self, number: u64) -> Option<Size>;

    /// Number of terminals.
    fn count(&self) -> usize;

    /// Notes that this terminal was typed at.
    fn typed(&self, number: u64);

    /// Asks the terminal that was typed at last to leave.
    fn dismiss(&self);

    /// Waits until this terminal is asked to leave.
    fn dismissed(&self, number: u64) -> BoxFuture<'_, ()>;
}

impl Session {
    /// A session that lives, or one that was lost.
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
            what: wanted.what.clone(),
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

    /// Gives it another name.
    pub fn rename(&self, name: &str) {
        self.state.rename(name);
    }

    /// Ending and its time; `None` while the session lives.
    pub fn ended(&self) -> Option<(Ending, SystemTime)> {
        self.state.ended()
    }

    /// It has ended. Only the first time counts.
    pub fn end(&self, ending: Ending, at: SystemTime) {
        self.state.end(ending, at);
    }

    /// Waits until it has ended.
    pub async fn until_ended(&self) {
        self.state.until_ended().await;
    }

    /// Facts that decide who may answer its questions.
    pub fn standing(&self) -> Standing {
        Standing {
            session: Some(self.id.clone()),
            creators: self.lineage.creators.clone(),
            has_created: self.state.has_created(),
            person: self.lineage.person,
        }
    }

    /// The agent that runs in it.
    pub fn agent(&self) -> Option<&str> {
        match &self.what {
            What::Agent { agent, .. } => Some(agent),
            What::Program(_) => None,
        }
    }

    /// The id that other programs know what runs here by: `<agent>:<our id>`.
    pub fn agent_id(&self) -> String {
        format!("{}:{}", self.agent().unwrap_or("terminal"), self.id)
    }
}
