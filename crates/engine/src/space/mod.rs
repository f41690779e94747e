//! A space: started here, run by a task of its own; each of its agents is another task behind a harness.

mod growth;
mod task;
#[cfg(test)]
mod tests;

use tokio::sync::mpsc;
use wh_agents::port::Harness;
use wh_client::Space;
use wh_core::space::ParticipantId;

/// Agents that may wait to be taken in. Beyond that whoever brings one waits.
const ARRIVALS: usize = 8;

/// A space that runs.
#[derive(Debug, Clone)]
pub struct RunningSpace {
    /// The handle on it.
    pub space: Space,
    arrivals: mpsc::Sender<(ParticipantId, Harness)>,
}

impl RunningSpace {
    /// Starts an empty space of this name, shown to this person. Must be called within a runtime.
    pub fn start(name: &str, me: ParticipantId) -> Self {
        let (space, requests) = Space::new();
        let (arrivals, arriving) = mpsc::channel(ARRIVALS);
        tokio::spawn(task::Task::new(name, me, requests, arriving).run());
        Self { space, arrivals }
    }

    /// An agent takes part from now on, under this name.
    pub async fn enrol(&self, id: ParticipantId, harness: Harness) {
        // A space that is gone needs no more agents: the harness ends when it is dropped.
        let _ = self.arrivals.send((id, harness)).await;
    }
}
