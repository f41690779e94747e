//! Calls to agents beside their turns: pause, compact, use a tool; closing streams, shutting down, and commands of their own.

use serde_json::json;

use super::super::command::Refusal;
use super::super::harness::{Call, Order};
use super::super::item::Body;
use super::super::name::{ParticipantId, StreamId};
use super::super::roster::Ask;
use super::commands::{Came, Outcome};
use super::managing::beside;
use super::messages::Message;
use super::{Effect, Space, Ticket};
use crate::receipt::Stage;
use crate::request::RequestId;
use crate::slash;

impl Space {
    pub(super) fn call(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        id: &RequestId,
        whom: Option<ParticipantId>,
        call: Call,
    ) -> Outcome {
        let name = slash::call_name(&call);
        let whom = match (whom, &call) {
            (None, Call::Resume) => match self.state.only_paused() {
                Some(paused) => Some(paused.clone()),
                None => return self.manage(ticket, id, None, Ask::Conversations),
            },
            (whom, _) => whom,
        };
        // Who does not take part, or cannot say it itself, is asked apart.
        if let Some(ask) = beside(&call)
            && whom.as_ref().is_some_and(|whom| !self.takes_part(whom))
        {
            return self.manage(ticket, id, whom, ask);
        }
        let whom = &self.meant(whom)?;
        let able = |calls: &[String]| calls.iter().any(|known| known == name);
        if !self.state.participants.get(whom).is_some_and(|one| able(&one.capabilities.calls)) {
            return match beside(&call) {
                Some(ask) => self.manage(ticket, id, Some(whom.clone()), ask),
                None => Err(Refusal::NotSupported(whom.clone(), name.to_owned())),
            };
        }
        self.accept(id);
        if let Some((kind, payload)) = slash::envelope_of(&call) {
            let body = Body::Act { kind: kind.to_owned(), payload, about: vec![] };
            self.whole('m', by.clone(), Some(vec![whom.clone()]), body);
        }
        let number = self.calls.open(whom.clone(), ticket, id.clone(), self.now.time);
        if call == Call::ReportStatus {
            self.calls.is_of_status(number);
        }
        if matches!(call, Call::Pause { .. }) {
            self.calls.is_pause(number, by.clone());
        }
        self.effects.push(Effect::Tell(whom.clone(), Order::Call { id: number, call }));
        self.reach(id, Stage::Delivered);
        Ok(Came::Later)
    }

    pub(super) fn close_stream(
        &mut self,
        ticket: Ticket,
        by: &ParticipantId,
        id: &RequestId,
        stream: &StreamId,
    ) -> Outcome {
        let owner = self.sessions.iter().find_map(|(owner, session)| {
            let key = session.streams.iter().find(|(_, known)| *known == stream)?.0;
            Some((owner.clone(), key.clone()))
        });
        let (owner, key) = owner.ok_or_else(|| Refusal::NoSuchStream(stream.to_string()))?;
        self.call(ticket, by, id, Some(owner), Call::CloseStream(key))
    }

    pub(super) fn shutdown(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        whom: &ParticipantId,
        reason: Option<String>,
    ) -> Outcome {
        self.agent(whom)?;
        self.accept(id);
        let body =
            Body::Act { kind: "participant/shutdown".to_owned(), payload: json!({ "reason": reason }), about: vec![] };
        self.whole('m', by.clone(), Some(vec![whom.clone()]), body);
        self.effects.push(Effect::Tell(whom.clone(), Order::End));
        self.finish(id, Vec::new())
    }

    pub(super) fn of_agent(&mut self, by: &ParticipantId, id: &RequestId, name: &str, text: String) -> Outcome {
        let agents = self.addressees(self.state.targets.effective(), by)?;
        let knows = |id: &ParticipantId| {
            let commands = self.state.participants.get(id).map(|one| &one.capabilities.commands);
            commands.is_some_and(|commands| commands.iter().any(|command| command.id == name))
        };
        let whom: Vec<ParticipantId> = agents.into_iter().filter(knows).collect();
        if whom.is_empty() {
            return Err(Refusal::UnknownCommand(name.to_owned()));
        }
        self.say(by, id, Message { text, to: Some(whom), attachments: Vec::new(), interrupt: false, literal: false })
    }
}
