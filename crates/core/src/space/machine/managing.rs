//! Requests about agents outside their conversations. The requests need IO and are slow: the engine executes them as an
//! effect and sends the result as an input.

use super::super::command::{CommandAccepted, SpaceRefusal};
use super::super::event::{SpaceEvent, TargetScope};
use super::super::harness::Call;
use super::super::item::NoticeLevel;
use super::super::name::ParticipantId;
use super::super::roster::{AgentReply, AgentRequest};
use super::super::session::Lifecycle;
use super::commands::{CommandCompletion, CommandOutcome};
use super::{SpaceEffect, SpaceMachine, Ticket, system};
use crate::receipt::{CommandFailure, ReceiptStage};
use crate::request::RequestId;

/// Returns the request that is executed instead of a call if the agent does not support the call.
pub(super) fn fallback_request(call: &Call) -> Option<AgentRequest> {
    match call {
        Call::ReportStatus => Some(AgentRequest::Status),
        Call::Other { name, parameters } if name == "mcp" => {
            let words: Vec<&str> =
                parameters["words"].as_array()?.iter().filter_map(serde_json::Value::as_str).collect();
            match words[..] {
                [] => Some(AgentRequest::Mcp),
                ["enable", server] => Some(AgentRequest::SwitchMcp { server: server.to_owned(), on: true }),
                ["disable", server] => Some(AgentRequest::SwitchMcp { server: server.to_owned(), on: false }),
                _ => None,
            }
        }
        _ => None,
    }
}

impl SpaceMachine {
    /// True if an agent with this id has joined the space and has not exited.
    pub(super) fn has_joined(&self, id: &ParticipantId) -> bool {
        self.sessions.get(id).is_some_and(|session| !matches!(session.lifecycle, Lifecycle::Gone(_)))
    }

    /// Splits a text such as `codex gpt-5` into agent and value. If the first word is not an agent, returns the whole
    /// text as the value.
    pub(super) fn split_agent(
        &self,
        participant: Option<ParticipantId>,
        wanted: Option<String>,
    ) -> (Option<ParticipantId>, Option<String>) {
        let Some(text) = wanted.as_ref().filter(|_| participant.is_none()) else { return (participant, wanted) };
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        let agent = ParticipantId::from(first);
        if !self.sessions.contains_key(&agent) {
            return (participant, wanted);
        }
        (Some(agent), Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))
    }

    pub(super) fn manage(
        &mut self,
        ticket: Ticket,
        id: &RequestId,
        participant: Option<ParticipantId>,
        ask: AgentRequest,
    ) -> CommandOutcome {
        let agent = match (participant, &ask) {
            (Some(participant), _) => Some(participant.to_string()),
            (None, AgentRequest::Agents) => None,
            (None, _) => Some(self.resolve_agent(None)?.to_string()),
        };
        self.accept(id);
        // The call belongs to the system, so that it does not fail when an agent exits.
        let number = self.calls.open(system(), ticket, id.clone(), self.now.time);
        self.effects.push(SpaceEffect::Manage { number, agent, ask });
        Ok(CommandCompletion::Deferred)
    }

    pub(super) fn managed(&mut self, number: u64, reply: Result<AgentReply, SpaceRefusal>) {
        let Some(pending) = self.calls.close(number) else { return };
        let (id, mut lines) = (pending.request_id, pending.lines);
        match reply {
            Ok(reply) => {
                lines.extend(reply.lines());
                if let AgentReply::Joined(agent) = &reply {
                    let chosen = vec![ParticipantId::from(agent.as_str())];
                    self.publish(SpaceEvent::Targets(TargetScope::Override, Some(chosen)));
                }
            }
            // The call was already answered by the agent, and its lines are sufficient.
            Err(_) if !lines.is_empty() => {}
            Err(refusal) => {
                self.reach(
                    &id,
                    ReceiptStage::Failed(CommandFailure { reason: refusal.reason(), message: refusal.to_string() }),
                );
                self.remember(&id, Err(refusal.clone()));
                return self.effects.push(SpaceEffect::Answer(pending.ticket, Err(refusal)));
            }
        }
        self.notice(NoticeLevel::Info, "agents", lines.clone());
        self.reach(&id, ReceiptStage::Finished);
        let done = CommandAccepted { receipt: self.receipt(&id), lines, duplicate: false, queued: false };
        self.remember(&id, Ok(done.clone()));
        self.effects.push(SpaceEffect::Answer(pending.ticket, Ok(done)));
    }
}
