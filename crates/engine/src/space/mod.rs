//! Conversations ("spaces"). One task owns a space. Each agent of the space runs in another task behind a [`Harness`].

mod durable;
mod growth;
mod login;
mod roster;
mod supervisor;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tracing::{Instrument, info_span};
use wh_agents::Catalog;
use wh_agents::interface::{Harness, StartOptions};
use wh_client::Space;
use wh_core::space::ParticipantId;
use wh_core::space::item::Item;
use wh_core::space::machine::{Now, RestoredSpace, SpaceEffect, SpaceMachine};
use wh_core::space::state::TargetsByScope;

use crate::ledger::SessionLedger;
use durable::StoredSpaceCommands;
pub use roster::Roster;
use roster::{AgentRoster, RosterMessage};

/// Maximum number of queued roster messages; further senders wait.
const MAX_QUEUED_ROSTER_MESSAGES: usize = 8;

/// Returns a roster without agents.
pub(crate) fn no_agents() -> Roster {
    Roster { catalog: Catalog::default(), start: StartOptions::new(PathBuf::from(".")) }
}

/// Running space, with the resume ids for the session store.
#[derive(Clone)]
pub struct RunningSpace {
    /// Handle through which clients use the space.
    pub space: Space,
    /// Resume ids of the agents' conversations. They are confidential: only the session store gets them, and they are
    /// never logged or shown.
    pub resume_ids: watch::Receiver<BTreeMap<ParticipantId, String>>,
    arrivals: mpsc::Sender<RosterMessage>,
}

impl RunningSpace {
    /// Starts an empty space for the user `me`, without agents to invite. Must be called within a Tokio runtime.
    pub fn start(name: &str, me: ParticipantId) -> Self {
        Self::with_roster(name, me, no_agents())
    }

    /// Starts an empty space into which the agents of the roster can be invited.
    pub fn with_roster(name: &str, me: ParticipantId, roster: Roster) -> Self {
        Self::with_targets(name, me, roster, TargetsByScope::default(), None)
    }

    /// Starts an empty space with default chat targets. [`TargetsByScope::chosen`] is ignored, because users choose
    /// their targets later.
    pub fn with_targets(
        name: &str,
        me: ParticipantId,
        roster: Roster,
        targets: TargetsByScope,
        ledger: Option<SessionLedger>,
    ) -> Self {
        let now = task::now();
        let (mut machine, mut effects) = SpaceMachine::new(name, me, now);
        effects.extend(machine.default_targets(targets.participant, targets.global));
        Self::run((machine, effects), now, roster, ledger.map(StoredSpaceCommands::new))
    }

    /// Starts an empty space that stores its commands. The space has no agents to invite.
    pub fn stored(name: &str, me: ParticipantId, ledger: SessionLedger) -> Self {
        let left = RestoredSpace { epoch: ledger.epoch(), ..RestoredSpace::default() };
        Self::restore(name, me, left, None, Some(ledger))
    }

    /// Starts a space with the items of a previous daemon. These items no longer change, see [`SpaceMachine::restore`].
    /// `notice` is shown to users.
    pub fn restore(
        name: &str,
        me: ParticipantId,
        left: RestoredSpace,
        notice: Option<&str>,
        ledger: Option<SessionLedger>,
    ) -> Self {
        let now = task::now();
        let mut stored = ledger.map(StoredSpaceCommands::new);
        stored.iter_mut().for_each(|stored| stored.requeued(&left.queued));
        Self::run(SpaceMachine::restore(name, me, left, notice, now), now, no_agents(), stored)
    }

    fn run(
        made: (SpaceMachine, Vec<SpaceEffect>),
        now: Now,
        roster: Roster,
        stored: Option<StoredSpaceCommands>,
    ) -> Self {
        let (space, requests) = Space::new();
        let (arrivals, roster_messages) = mpsc::channel(MAX_QUEUED_ROSTER_MESSAGES);
        let agents = Arc::new(AgentRoster::new(roster));
        let (resume_ids_sender, resume_ids) = watch::channel(BTreeMap::new());
        let task = task::SpaceTask::new(
            made,
            now,
            requests,
            (arrivals.clone(), roster_messages),
            agents,
            resume_ids_sender,
            stored,
        );
        tokio::spawn(task.run().instrument(info_span!("space")));
        Self { space, resume_ids, arrivals }
    }

    /// Creates the space of a conversation that has ended. Its items are read on the first request, so that an unused
    /// space needs little memory. It has no agents, and none can be invited.
    pub fn archived(
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
            let made =
                SpaceMachine::restore(&name, me, RestoredSpace { items, epoch, ..RestoredSpace::default() }, None, now);
            let agents = Arc::new(AgentRoster::new(no_agents()));
            let (arrivals, resume_ids) = (mpsc::channel(MAX_QUEUED_ROSTER_MESSAGES), watch::Sender::default());
            let mut task = task::SpaceTask::new(
                made,
                now,
                requests,
                arrivals,
                agents,
                resume_ids,
                ledger.map(StoredSpaceCommands::new),
            );
            task.serve(first);
            task.run().await;
        });
        space
    }

    /// Adds an agent under this name. The agent can receive messages when the call returns.
    pub async fn enrol(&self, id: ParticipantId, harness: Harness) {
        let (reply, enrolled) = oneshot::channel();
        // If the space has ended, the harness is dropped and ends.
        let _ = self.arrivals.send(RosterMessage::Enrol(id, harness, reply)).await;
        let _ = enrolled.await;
    }
}

impl fmt::Debug for RunningSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RunningSpace").finish_non_exhaustive()
    }
}
