//! Calls to agents outside their turns, closing of streams, shutdown, and slash commands of agents.

use serde_json::json;

use super::super::command::SpaceRefusal;
use super::super::harness::{Call, Order};
use super::super::item::ItemBody;
use super::super::name::{ParticipantId, StreamId};
use super::super::roster::AgentRequest;
use super::commands::{CommandCompletion, CommandOutcome};
use super::managing::fallback_request;
use super::messages::OutgoingMessage;
use super::{SpaceEffect, SpaceMachine, Ticket};
use crate::receipt::ReceiptStage;
use crate::request::RequestId;
use crate::slash;

impl SpaceMachine {
    pub(super) fn call(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        id: &RequestId,
        participant: Option<ParticipantId>,
        call: Call,
    ) -> CommandOutcome {
        let name = slash::call_name(&call);
        let participant = match (participant, &call) {
            (None, Call::Resume) => match self.state.only_paused() {
                Some(paused) => Some(paused.clone()),
                None => return self.manage(ticket, id, None, AgentRequest::Conversations),
            },
            (participant, _) => participant,
        };
        // For an agent that has not joined, the engine executes the request outside the conversation.
        if let Some(ask) = fallback_request(&call)
            && participant.as_ref().is_some_and(|participant| !self.has_joined(participant))
        {
            return self.manage(ticket, id, participant, ask);
        }
        let participant = &self.resolve_agent(participant)?;
        let able = |calls: &[String]| calls.iter().any(|known| known == name);
        if !self.state.participants.get(participant).is_some_and(|one| able(&one.capabilities.calls)) {
            return match fallback_request(&call) {
                Some(ask) => self.manage(ticket, id, Some(participant.clone()), ask),
                None => Err(SpaceRefusal::NotSupported(participant.clone(), format!("run the command {name:?}"))),
            };
        }
        self.accept(id);
        if let Some((kind, payload)) = slash::envelope_of(&call) {
            let body = ItemBody::Act { kind: kind.to_owned(), payload, about: vec![] };
            self.put_complete('m', by.clone(), Some(vec![participant.clone()]), body);
        }
        let number = self.calls.open(participant.clone(), ticket, id.clone(), self.now.time);
        if call == Call::ReportStatus {
            self.calls.mark_status(number);
        }
        if matches!(call, Call::Pause { .. }) {
            self.calls.mark_pause(number, by.clone());
        }
        self.effects.push(SpaceEffect::SendOrder(participant.clone(), Order::Call { id: number, call }));
        self.reach(id, ReceiptStage::Delivered);
        Ok(CommandCompletion::Deferred)
    }

    pub(super) fn close_stream(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        id: &RequestId,
        stream: &StreamId,
    ) -> CommandOutcome {
        let owner = self.sessions.iter().find_map(|(owner, session)| {
            let key = session.streams.iter().find(|(_, known)| *known == stream)?.0;
            Some((owner.clone(), key.clone()))
        });
        let (owner, key) = owner.ok_or_else(|| SpaceRefusal::NoSuchStream(stream.to_string()))?;
        self.call(ticket, by, id, Some(owner), Call::CloseStream(key))
    }

    pub(super) fn shutdown(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        participant: &ParticipantId,
        reason: Option<String>,
    ) -> CommandOutcome {
        self.agent(participant)?;
        self.accept(id);
        let body = ItemBody::Act {
            kind: "participant/shutdown".to_owned(),
            payload: json!({ "reason": reason }),
            about: vec![],
        };
        self.put_complete('m', by.clone(), Some(vec![participant.clone()]), body);
        self.effects.push(SpaceEffect::SendOrder(participant.clone(), Order::End));
        self.finish(id, Vec::new())
    }

    pub(super) fn agent_command(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        name: &str,
        text: String,
    ) -> CommandOutcome {
        let agents = self.recipients(self.state.targets.effective(), by)?;
        let knows = |id: &ParticipantId| {
            let commands = self.state.participants.get(id).map(|one| &one.capabilities.commands);
            commands.is_some_and(|commands| commands.iter().any(|command| command.id == name))
        };
        let participant: Vec<ParticipantId> = agents.into_iter().filter(knows).collect();
        if participant.is_empty() {
            return Err(SpaceRefusal::UnknownCommand(name.to_owned()));
        }
        self.say(
            by,
            id,
            OutgoingMessage { text, to: Some(participant), attachments: Vec::new(), interrupt: false, literal: false },
        )
    }
}
