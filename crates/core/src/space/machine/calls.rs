//! Calls to agents that have not been answered yet.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::super::name::ParticipantId;
use super::{CALL_TIMEOUT, Ticket, system};
use crate::request::RequestId;

#[derive(Debug)]
pub(super) struct PendingCall {
    pub of: ParticipantId,
    pub ticket: Ticket,
    pub request_id: RequestId,
    /// True if the call requests a status. The answer is combined with the status card of the agent.
    pub of_status: bool,
    /// Participant that requested the pause; `None` if the call is not a pause.
    pub pause_by: Option<ParticipantId>,
    /// Lines of an earlier answer, to which the lines of this call are appended.
    pub lines: Vec<String>,
    deadline: SystemTime,
}

#[derive(Debug, Default)]
pub(super) struct PendingCalls {
    last: u64,
    pending: BTreeMap<u64, PendingCall>,
}

impl PendingCalls {
    pub fn open(&mut self, of: ParticipantId, ticket: Ticket, request_id: RequestId, now: SystemTime) -> u64 {
        self.last += 1;
        let (of_status, pause_by, lines, deadline) = (false, None, Vec::new(), now + CALL_TIMEOUT);
        self.pending.insert(self.last, PendingCall { of, ticket, request_id, of_status, pause_by, lines, deadline });
        self.last
    }

    pub fn mark_status(&mut self, id: u64) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.of_status = true;
        }
    }

    pub fn mark_pause(&mut self, id: u64, by: ParticipantId) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.pause_by = Some(by);
        }
    }

    /// Returns the participant that most recently requested a pause of this agent.
    pub fn pause_by(&self, agent: &ParticipantId) -> Option<ParticipantId> {
        let asked = self.pending.values().rev().filter(|pending| pending.of == *agent);
        asked.filter_map(|pending| pending.pause_by.clone()).next()
    }

    /// Opens a call that continues `pending`. The lines of its answer are appended to `lines`. The new call does not
    /// belong to an agent and does not fail when an agent exits.
    pub fn follow_up(&mut self, pending: PendingCall, lines: Vec<String>, now: SystemTime) -> u64 {
        let id = self.open(system(), pending.ticket, pending.request_id, now);
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.lines = lines;
        }
        id
    }

    pub fn close(&mut self, id: u64) -> Option<PendingCall> {
        self.pending.remove(&id)
    }

    pub fn deadline(&self) -> Option<SystemTime> {
        self.pending.values().map(|pending| pending.deadline).min()
    }

    pub fn overdue(&mut self, now: SystemTime) -> Vec<(Ticket, RequestId)> {
        self.take(|pending| pending.deadline <= now)
    }

    pub fn of(&mut self, agent: &ParticipantId) -> Vec<(Ticket, RequestId)> {
        self.take(|pending| pending.of == *agent)
    }

    fn take(&mut self, wanted: impl Fn(&PendingCall) -> bool) -> Vec<(Ticket, RequestId)> {
        let ids: Vec<u64> = self.pending.iter().filter(|(_, pending)| wanted(pending)).map(|(id, _)| *id).collect();
        ids.into_iter()
            .filter_map(|id| self.pending.remove(&id))
            .map(|pending| (pending.ticket, pending.request_id))
            .collect()
    }
}
