//! Listing of the `mcp/request` envelope of a tool call. Some agents report a call as running before they ask for
//! permission. The envelope is therefore listed only when the call has produced output, or has run for
//! [`REQUEST_GRACE`] while its agent asks no question.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::super::item::{Item, ItemBody, ToolStatus};
use super::super::name::{ItemId, ParticipantId};
use super::SpaceMachine;

/// Time within which an agent may still ask for permission for a call that it has reported as running.
pub(super) const REQUEST_GRACE: Duration = Duration::from_millis(500);

/// Running calls whose `mcp/request` is not listed yet, with the agent and the start time.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(BTreeMap<ItemId, (ParticipantId, SystemTime)>);

impl SpaceMachine {
    /// Adds a tool call to the running calls, or removes it, depending on the status of the call.
    pub(super) fn note_running(&mut self, item: &Item) {
        let ItemBody::Tool(call) = &item.body else { return };
        if call.status == ToolStatus::Running && item.listed.is_empty() {
            let now = self.now.time;
            self.running.0.entry(item.id.clone()).or_insert_with(|| (item.from.clone(), now));
        } else {
            self.running.0.remove(&item.id);
        }
    }

    /// Publishes a call that has produced output, and lists its `mcp/request`.
    pub(super) fn put_running(&mut self, item: &Item) {
        self.running.0.remove(&item.id);
        self.publish_item(item.clone(), 1);
    }

    /// Returns the time at which the next `mcp/request` must be listed if its agent asks no question.
    pub(super) fn listing_deadline(&self) -> Option<SystemTime> {
        let waiting = self.running.0.values().filter(|(agent, _)| !self.asks(agent));
        waiting.map(|(_, since)| *since + REQUEST_GRACE).min()
    }

    /// Lists the `mcp/request` of each call that has run for [`REQUEST_GRACE`] and whose agent asks no question.
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
