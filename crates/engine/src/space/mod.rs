//! A space: started here, run by a task of its own; each of its agents is another task behind a harness.

mod growth;
mod roster;
mod task;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use wh_agents::Catalog;
use wh_agents::port::{Harness, Start};
use wh_client::Space;
use wh_core::space::ParticipantId;

pub use roster::Roster;
use roster::{Arrival, Desk};

/// Agents that may wait to be taken in. Beyond that whoever brings one waits.
const ARRIVALS: usize = 8;

/// A space that runs.
#[derive(Debug, Clone)]
pub struct RunningSpace {
    /// The handle on it.
    pub space: Space,
    arrivals: mpsc::Sender<Arrival>,
}

impl RunningSpace {
    /// Starts an empty space of this name, shown to this person, in which nobody can be invited. Must be called within a
    /// runtime.
    pub fn start(name: &str, me: ParticipantId) -> Self {
        Self::with_roster(name, me, Roster { catalog: Catalog::default(), start: Start::new(PathBuf::from(".")) })
    }

    /// The same, with agents that can be invited.
    pub fn with_roster(name: &str, me: ParticipantId, roster: Roster) -> Self {
        let (space, requests) = Space::new();
        let (arrivals, arriving) = mpsc::channel(ARRIVALS);
        let desk = Arc::new(Desk::new(roster));
        tokio::spawn(task::Task::new(name, me, requests, (arrivals.clone(), arriving), desk).run());
        Self { space, arrivals }
    }

    /// An agent takes part from now on, under this name.
    pub async fn enrol(&self, id: ParticipantId, harness: Harness) {
        // A space that is gone needs no more agents: the harness ends when it is dropped.
        let _ = self.arrivals.send(Arrival::Enrol(id, harness, None)).await;
    }
}
