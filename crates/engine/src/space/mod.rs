//! A space: started here, run by a task of its own; each of its agents is another task behind a harness.

mod durable;
mod growth;
mod login;
mod roster;
mod task;
#[cfg(test)]
mod tests;
mod warden;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tracing::{Instrument, info_span};
use wh_agents::Catalog;
use wh_agents::port::{Harness, Start};
use wh_client::Space;
use wh_core::space::ParticipantId;
use wh_core::space::item::Item;
use wh_core::space::machine::{Effect, Left, Now, Space as Machine};
use wh_core::space::state::Targets;

use crate::ledger::SessionLedger;
use durable::Stored;
pub use roster::Roster;
use roster::{Arrival, Desk};

/// Agents that may wait to be taken in. Beyond that whoever brings one waits.
const ARRIVALS: usize = 8;

/// No agents to invite.
pub(crate) fn nobody() -> Roster {
    Roster { catalog: Catalog::default(), start: Start::new(PathBuf::from(".")) }
}

/// A space that runs.
#[derive(Clone)]
pub struct RunningSpace {
    /// The handle on it.
    pub space: Space,
    /// By what the conversation of each agent can be gone on with: the agent's own name for it. For whoever keeps sessions
    /// only; it is not written into logs, and shown to nobody.
    pub kept: watch::Receiver<BTreeMap<ParticipantId, String>>,
    arrivals: mpsc::Sender<Arrival>,
}

impl RunningSpace {
    /// Starts an empty space of this name, shown to this person, in which nobody can be invited. Must be called within a
    /// runtime.
    pub fn start(name: &str, me: ParticipantId) -> Self {
        Self::with_roster(name, me, nobody())
    }

    /// The same, with agents that can be invited.
    pub fn with_roster(name: &str, me: ParticipantId, roster: Roster) -> Self {
        Self::with_targets(name, me, roster, Targets::default(), None)
    }

    /// The same, with default chat targets. [`Targets::chosen`] is not used: a person chooses later.
    pub fn with_targets(
        name: &str,
        me: ParticipantId,
        roster: Roster,
        targets: Targets,
        ledger: Option<SessionLedger>,
    ) -> Self {
        let now = task::now();
        let (mut machine, mut effects) = Machine::new(name, me, now);
        effects.extend(machine.default_targets(targets.participant, targets.global));
        Self::run((machine, effects), now, roster, ledger.map(Stored::new))
    }

    /// A space in which nobody can be invited, whose commands are stored here.
    pub fn stored(name: &str, me: ParticipantId, ledger: SessionLedger) -> Self {
        let left = Left { epoch: ledger.epoch(), ..Left::default() };
        Self::restore(name, me, left, None, Some(ledger))
    }

    /// A space that begins with what was said in an earlier life: all of it over, see [`Machine::restore`]. `notice` is what
    /// people are told about that.
    pub fn restore(
        name: &str,
        me: ParticipantId,
        left: Left,
        notice: Option<&str>,
        ledger: Option<SessionLedger>,
    ) -> Self {
        let now = task::now();
        let mut stored = ledger.map(Stored::new);
        stored.iter_mut().for_each(|stored| stored.requeued(&left.queued));
        Self::run(Machine::restore(name, me, left, notice, now), now, nobody(), stored)
    }

    fn run(made: (Machine, Vec<Effect>), now: Now, roster: Roster, stored: Option<Stored>) -> Self {
        let (space, requests) = Space::new();
        let (arrivals, arriving) = mpsc::channel(ARRIVALS);
        let desk = Arc::new(Desk::new(roster));
        let (keeps, kept) = watch::channel(BTreeMap::new());
        let task = task::Task::new(made, now, requests, (arrivals.clone(), arriving), desk, keeps, stored);
        tokio::spawn(task.run().instrument(info_span!("space")));
        Self { space, kept, arrivals }
    }

    /// A conversation that is over, and that costs next to nothing until somebody asks for it: only then it is read.
    /// Nobody takes part in it, and nobody can be invited.
    pub fn asleep(
        name: &str,
        me: ParticipantId,
        read: impl Future<Output = Vec<Item>> + Send + 'static,
        ledger: Option<SessionLedger>,
    ) -> Space {
        let (space, mut requests) = Space::new();
        let name = name.to_owned();
        tokio::spawn(async move {
            let Some(first) = requests.recv().await else { return };
            let items = read.await;
            let now = task::now();
            let epoch = ledger.as_ref().map_or(0, SessionLedger::epoch);
            let made = Machine::restore(&name, me, Left { items, epoch, ..Left::default() }, None, now);
            let desk = Arc::new(Desk::new(nobody()));
            let (arrivals, keeps) = (mpsc::channel(ARRIVALS), watch::Sender::default());
            let mut task = task::Task::new(made, now, requests, arrivals, desk, keeps, ledger.map(Stored::new));
            task.serve(first);
            task.run().await;
        });
        space
    }

    /// An agent takes part from now on, under this name: when this returns, it can be spoken to.
    pub async fn enrol(&self, id: ParticipantId, harness: Harness) {
        let (reply, enrolled) = oneshot::channel();
        // A space that is gone needs no more agents: the harness ends when it is dropped.
        let _ = self.arrivals.send(Arrival::Enrol(id, harness, reply)).await;
        let _ = enrolled.await;
    }
}

impl fmt::Debug for RunningSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunningSpace").finish_non_exhaustive()
    }
}
