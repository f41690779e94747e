//! Calls that an agent has not answered yet.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::super::name::ParticipantId;
use super::{CALL_PATIENCE, Ticket, system};
use crate::request::RequestId;

#[derive(Debug)]
pub(super) struct Pending {
    pub of: ParticipantId,
    pub ticket: Ticket,
    pub request_id: RequestId,
    /// What is asked of an agent is how it is: that is joined with what is known of it otherwise.
    pub of_status: bool,
    /// Who asks it to pause, if that is what is asked.
    pub pause_by: Option<ParticipantId>,
    /// What the agent itself has said already.
    pub said: Vec<String>,
    deadline: SystemTime,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    pending: BTreeMap<u64, Pending>,
}

impl Calls {
    pub fn open(&mut self, of: ParticipantId, ticket: Ticket, request_id: RequestId, now: SystemTime) -> u64 {
        self.last += 1;
        let (of_status, pause_by, said, deadline) = (false, None, Vec::new(), now + CALL_PATIENCE);
        self.pending.insert(self.last, Pending { of, ticket, request_id, of_status, pause_by, said, deadline });
        self.last
    }

    /// The call of this number asks an agent how it is.
    pub fn is_of_status(&mut self, id: u64) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.of_status = true;
        }
    }

    /// The call of this number asks an agent to pause, for this participant.
    pub fn is_pause(&mut self, id: u64, by: ParticipantId) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.pause_by = Some(by);
        }
    }

    /// Who has asked this agent to pause, most recently.
    pub fn pause_by(&self, agent: &ParticipantId) -> Option<ParticipantId> {
        let asked = self.pending.values().rev().filter(|pending| pending.of == *agent);
        asked.filter_map(|pending| pending.pause_by.clone()).next()
    }

    /// Asks further: of nobody who takes part, for the same caller, who is told what was said so far as well.
    pub fn go_on(&mut self, pending: Pending, said: Vec<String>, now: SystemTime) -> u64 {
        let id = self.open(system(), pending.ticket, pending.request_id, now);
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.said = said;
        }
        id
    }

    pub fn close(&mut self, id: u64) -> Option<Pending> {
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

    fn take(&mut self, wanted: impl Fn(&Pending) -> bool) -> Vec<(Ticket, RequestId)> {
        let ids: Vec<u64> = self.pending.iter().filter(|(_, pending)| wanted(pending)).map(|(id, _)| *id).collect();
        ids.into_iter()
            .filter_map(|id| self.pending.remove(&id))
            .map(|pending| (pending.ticket, pending.request_id))
            .collect()
    }
}
