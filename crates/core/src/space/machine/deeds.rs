//! Orders that a harness has not answered for yet: their commands are not done before it has.

use std::time::SystemTime;

use super::super::command::{Done, Refusal};
use super::super::harness::{Deed, Order};
use super::super::item::Level;
use super::super::name::ParticipantId;
use super::{CALL_PATIENCE, Effect, Space, Ticket};
use crate::receipt::Stage;
use crate::request::RequestId;

#[derive(Debug)]
struct Pending {
    of: ParticipantId,
    deed: Deed,
    request_id: RequestId,
    /// What people are told once it is done.
    said: Option<Said>,
    deadline: SystemTime,
}

/// What is told about a deed once it is done, and to whom.
#[derive(Debug)]
pub(super) struct Said {
    /// Who waits for that.
    pub ticket: Ticket,
    /// In words.
    pub line: String,
    /// Whether everybody is told.
    pub aloud: bool,
}

/// In the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    pending: Vec<Pending>,
    /// Commands of which some came to nothing while others are still open.
    failed: Vec<(RequestId, String)>,
}

impl Deeds {
    pub fn deadline(&self) -> Option<SystemTime> {
        self.pending.iter().map(|one| one.deadline).min()
    }

    fn take(&mut self, wanted: impl Fn(&Pending) -> bool) -> Option<Pending> {
        let place = self.pending.iter().position(wanted)?;
        Some(self.pending.remove(place))
    }
}

impl Space {
    /// Has an agent do something for a command, which is done when the agent's harness says so.
    pub(super) fn have_done(&mut self, id: &RequestId, of: ParticipantId, order: Order, said: Option<Said>) {
        let deed = match &order {
            Order::Interrupt => Deed::Interrupt,
            Order::Answer { question, .. } => Deed::Answer(question.clone()),
            Order::SetModel(model) => Deed::Model(model.clone()),
            Order::SetMode(mode) => Deed::Mode(mode.clone()),
            // Their outcome is told by the number of their turn or call, or by the end.
            Order::Prompt { .. } | Order::Call { .. } | Order::End => return,
        };
        let deadline = self.now.time + CALL_PATIENCE;
        self.deeds.pending.push(Pending { of: of.clone(), deed, request_id: id.clone(), said, deadline });
        self.effects.push(Effect::Tell(of, order));
    }

    pub(super) fn did(&mut self, of: &ParticipantId, deed: &Deed, result: Result<(), String>) {
        if let Some(done) = self.deeds.take(|one| one.of == *of && one.deed == *deed) {
            self.settle_deed(done, result);
        }
    }

    /// Nobody is left who could do it.
    pub(super) fn undone(&mut self, of: &ParticipantId, why: &str) {
        while let Some(pending) = self.deeds.take(|one| one.of == *of) {
            self.settle_deed(pending, Err(why.to_owned()));
        }
    }

    pub(super) fn overdue_deeds(&mut self) {
        let now = self.now.time;
        while let Some(pending) = self.deeds.take(|one| one.deadline <= now) {
            self.settle_deed(pending, Err("the agent did not take it in time".to_owned()));
        }
    }

    fn settle_deed(&mut self, pending: Pending, result: Result<(), String>) {
        let Pending { request_id, said, .. } = pending;
        if let Err(why) = result {
            self.deeds.failed.push((request_id.clone(), why));
        }
        if self.deeds.pending.iter().any(|one| one.request_id == request_id) {
            return;
        }
        // One agent that failed is a command that failed, whoever was last.
        let why = self.deeds.failed.iter().find(|(id, _)| *id == request_id).map(|(_, why)| why.clone());
        self.deeds.failed.retain(|(id, _)| *id != request_id);
        match (why, said) {
            (Some(why), Some(said)) => self.fail(said.ticket, &request_id, why),
            (Some(why), None) => self.reach(&request_id, Stage::Failed(why.into())),
            (None, said) => {
                self.reach(&request_id, Stage::Delivered);
                self.reach(&request_id, Stage::Finished);
                let Some(Said { ticket, line, aloud }) = said else { return };
                if aloud {
                    self.notice(Level::Info, "info", vec![line.clone()]);
                }
                let receipt = self.receipt(&request_id);
                let done = Done { receipt, lines: vec![line], duplicate: false, queued: false };
                self.remember(&request_id, Ok(done.clone()));
                self.effects.push(Effect::Answer(ticket, Ok::<_, Refusal>(done)));
            }
        }
    }
}
