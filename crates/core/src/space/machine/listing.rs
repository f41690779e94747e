//! Time at which the `mcp/request` of a tool call is listed. Some agents report a call as running before they ask for
//! permission. A call therefore counts as started only after it has run for [`REQUEST_GRACE`] without a question of its
//! agent, or has produced output.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::super::item::{Body, Item, ToolStatus};
use super::super::name::{ItemId, ParticipantId};
use super::Space;

/// Time within which an agent that reports a call asks for permission, if it does.
pub(super) const REQUEST_GRACE: Duration = Duration::from_millis(500);

/// Running calls whose request is not listed yet: the agent and the start time.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(BTreeMap<ItemId, (ParticipantId, SystemTime)>);

impl Space {
    /// Tracks whether a call runs.
    pub(super) fn note_running(&mut self, item: &Item) {
        let Body::Tool(call) = &item.body else { return };
        if call.status == ToolStatus::Running && item.listed.is_empty() {
            let now = self.now.time;
            self.running.0.entry(item.id.clone()).or_insert_with(|| (item.from.clone(), now));
        } else {
            self.running.0.remove(&item.id);
        }
    }

    /// Publishes a call that certainly runs, with its request.
    pub(super) fn put_running(&mut self, item: &Item) {
        self.running.0.remove(&item.id);
        self.publish_item(item.clone(), 1);
    }

    /// Returns the time at which the next request is due if its agent asks nothing.
    pub(super) fn listing_deadline(&self) -> Option<SystemTime> {
        let waiting = self.running.0.values().filter(|(agent, _)| !self.asks(agent));
        waiting.map(|(_, since)| *since + REQUEST_GRACE).min()
    }

    /// Lists the requests of calls that have run long enough.
    pub(super) fn list_running(&mut self) {
        let now = self.now.time;
        let due = |agent: &ParticipantId, since: SystemTime| since + REQUEST_GRACE <= now && !self.asks(agent);
        let due: Vec<ItemId> =
            self.running.0.iter().filter(|(_, (agent, since))| due(agent, *since)).map(|(id, _)| id.clone()).collect();
        for id in due {
            self.running.0.remove(&id);
            if let Some(item) = self.state.items.get(&id).cloned() {
                self.publish_item((*item).clone(), 1);
            }
        }
    }

    fn asks(&self, agent: &ParticipantId) -> bool {
        self.state.questions().any(|item| item.from == *agent)
    }
}
