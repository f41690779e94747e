//! Orders that a harness must acknowledge. The command that caused an order ends when the order is acknowledged.

use std::time::SystemTime;

use super::super::command::{CommandAccepted, SpaceRefusal};
use super::super::harness::{AckedOrder, Order};
use super::super::item::NoticeLevel;
use super::super::name::ParticipantId;
use super::{CALL_TIMEOUT, SpaceEffect, SpaceMachine, Ticket};
use crate::receipt::ReceiptStage;
use crate::request::RequestId;

#[derive(Debug)]
struct PendingAck {
    of: ParticipantId,
    order: AckedOrder,
    request_id: RequestId,
    /// Answer to send when the order is acknowledged; `None` if the command was already answered.
    response: Option<AckResponse>,
    deadline: SystemTime,
}

/// Answer to the caller of a command that waits for an acknowledgement.
#[derive(Debug)]
pub(super) struct AckResponse {
    /// Ticket of the caller that waits.
    pub ticket: Ticket,
    pub line: String,
    /// True if the conversation also shows the line.
    pub announce: bool,
}

/// Orders that were not acknowledged yet, in the order of sending.
#[derive(Debug, Default)]
pub(super) struct PendingAcks {
    pending: Vec<PendingAck>,
    /// Failures of commands that still wait for the acknowledgement of other orders.
    failed: Vec<(RequestId, String)>,
}

impl PendingAcks {
    pub fn deadline(&self) -> Option<SystemTime> {
        self.pending.iter().map(|one| one.deadline).min()
    }

    fn take(&mut self, wanted: impl Fn(&PendingAck) -> bool) -> Option<PendingAck> {
        let place = self.pending.iter().position(wanted)?;
        Some(self.pending.remove(place))
    }
}

impl SpaceMachine {
    /// Sends an order that the command `id` has caused. The command ends when the harness acknowledges the order.
    pub(super) fn send_acked(
        &mut self,
        id: &RequestId,
        of: ParticipantId,
        order: Order,
        response: Option<AckResponse>,
    ) {
        let order_kind = match &order {
            Order::Interrupt => AckedOrder::Interrupt,
            Order::Answer { question, .. } => AckedOrder::Answer(question.clone()),
            Order::SetModel(model) => AckedOrder::Model(model.clone()),
            Order::SetMode(mode) => AckedOrder::Mode(mode.clone()),
            // These orders are not acknowledged. Reports about the turn, the call or the end of the agent follow
            // instead.
            Order::Prompt { .. } | Order::Call { .. } | Order::End => return,
        };
        let deadline = self.now.time + CALL_TIMEOUT;
        self.acks.pending.push(PendingAck {
            of: of.clone(),
            order: order_kind,
            request_id: id.clone(),
            response,
            deadline,
        });
        self.effects.push(SpaceEffect::SendOrder(of, order));
    }

    pub(super) fn acked(&mut self, of: &ParticipantId, order_kind: &AckedOrder, result: Result<(), String>) {
        if let Some(done) = self.acks.take(|one| one.of == *of && one.order == *order_kind) {
            self.settle_ack(done, result);
        }
    }

    /// Fails the unacknowledged orders of an agent that has exited.
    pub(super) fn fail_acks(&mut self, of: &ParticipantId, why: &str) {
        while let Some(pending) = self.acks.take(|one| one.of == *of) {
            self.settle_ack(pending, Err(why.to_owned()));
        }
    }

    pub(super) fn fail_overdue_acks(&mut self) {
        let now = self.now.time;
        while let Some(pending) = self.acks.take(|one| one.deadline <= now) {
            self.settle_ack(pending, Err("the agent did not acknowledge the command in time".to_owned()));
        }
    }

    fn settle_ack(&mut self, pending: PendingAck, result: Result<(), String>) {
        let PendingAck { request_id, response, .. } = pending;
        if let Err(why) = result {
            self.acks.failed.push((request_id.clone(), why));
        }
        if self.acks.pending.iter().any(|one| one.request_id == request_id) {
            return;
        }
        // A command has failed if any of its agents has failed.
        let why = self.acks.failed.iter().find(|(id, _)| *id == request_id).map(|(_, why)| why.clone());
        self.acks.failed.retain(|(id, _)| *id != request_id);
        match (why, response) {
            (Some(why), Some(response)) => self.fail(response.ticket, &request_id, why),
            (Some(why), None) => self.reach(&request_id, ReceiptStage::Failed(why.into())),
            (None, response) => {
                self.reach(&request_id, ReceiptStage::Delivered);
                self.reach(&request_id, ReceiptStage::Finished);
                let Some(AckResponse { ticket, line, announce }) = response else { return };
                if announce {
                    self.notice(NoticeLevel::Info, "info", vec![line.clone()]);
                }
                let receipt = self.receipt(&request_id);
                let done = CommandAccepted { receipt, lines: vec![line], duplicate: false, queued: false };
                self.remember(&request_id, Ok(done.clone()));
                self.effects.push(SpaceEffect::Answer(ticket, Ok::<_, SpaceRefusal>(done)));
            }
        }
    }
}
