//! When the `mcp/request` of a tool call is listed. Some agents report a call as running before they ask for permission, so
//! that it counts as started only once it has run for [`REQUEST_GRACE`] while its agent asks nothing, or has given output.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::super::item::{Body, Item, ToolStatus};
use super::super::name::{ItemId, ParticipantId};
use super::Space;

/// Time in which an agent that reports a call asks for permission, if it does.
pub(super) const REQUEST_GRACE: Duration = Duration::from_millis(500);

/// Calls that run and whose request is not listed yet: whose they are, and since when they run.
#[derive(Debug, Default)]
pub(super) struct Running(BTreeMap<ItemId, (ParticipantId, SystemTime)>);

impl Space {
    /// Takes note of a call that runs, or no longer does.
    pub(super) fn note_running(&mut self, item: &Item) {
        let Body::Tool(call) = &item.body else { return };
        if call.status == ToolStatus::Running && item.listed.is_empty() {
            let now = self.now.time;
            self.running.0.entry(item.id.clone()).or_insert_with(|| (item.from.clone(), now));
        } else {
            self.running.0.remove(&item.id);
        }
    }

    /// Puts a call that certainly runs, with its request.
    pub(super) fn put_running(&mut self, item: &Item) {
        self.running.0.remove(&item.id);
        self.publish_item(item.clone(), 1);
    }

    /// When the next request is due, if its agent asks nothing.
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
