//! Participants that a command is for: named, chosen with `/target`, or the only one that can be meant.

use super::super::command::{Refusal, Target};
use super::super::event::{Event, Scope};
use super::super::name::ParticipantId;
use super::super::session::Life;
use super::Space;
use super::commands::Outcome;
use crate::request::RequestId;

impl Space {
    /// The agents among those that a message is for; each of them can take it.
    pub(super) fn addressees(
        &self,
        to: Option<&[ParticipantId]>,
        by: &ParticipantId,
    ) -> Result<Vec<ParticipantId>, Refusal> {
        let agents: Vec<ParticipantId> = match to {
            Some(list) => self
                .known_participants(list)?
                .into_iter()
                .filter(|id| self.sessions.contains_key(id) && id != by)
                .collect(),
            None => {
                let there = |id: &&ParticipantId| !matches!(self.sessions[*id].life, Life::Gone(_)) && *id != by;
                self.sessions.keys().filter(there).cloned().collect()
            }
        };
        for id in &agents {
            if matches!(self.sessions[id].life, Life::Gone(_)) {
                return Err(Refusal::Gone(id.clone()));
            }
            if !self.sessions[id].has_room() {
                return Err(Refusal::Busy(id.clone()));
            }
        }
        Ok(agents)
    }

    fn known_participant(&self, id: &ParticipantId) -> Result<ParticipantId, Refusal> {
        let known = self.state.participants.contains_key(id);
        if known { Ok(id.clone()) } else { Err(Refusal::NoSuchParticipant(id.to_string())) }
    }

    /// Each of them once, however often it is named.
    pub(super) fn known_participants(&self, named: &[ParticipantId]) -> Result<Vec<ParticipantId>, Refusal> {
        let mut known = Vec::new();
        for id in named {
            let id = self.known_participant(id)?;
            if !known.contains(&id) {
                known.push(id);
            }
        }
        Ok(known)
    }

    /// An agent that can be told something.
    pub(super) fn agent(&self, id: &ParticipantId) -> Result<(), Refusal> {
        self.known_participant(id)?;
        let session = self.sessions.get(id).ok_or_else(|| Refusal::NotAnAgent(id.clone()))?;
        if matches!(session.life, Life::Gone(_)) { Err(Refusal::Gone(id.clone())) } else { Ok(()) }
    }

    /// The agent that is meant when none is named: the only target, or the only one there is.
    pub(super) fn meant(&self, whom: Option<ParticipantId>) -> Result<ParticipantId, Refusal> {
        let id = match whom {
            Some(id) => id,
            None => {
                let agents = self.addressees(self.state.targets.effective(), &self.state.me)?;
                match &agents[..] {
                    [] => return Err(Refusal::NoSuchParticipant("agent".to_owned())),
                    [one] => one.clone(),
                    several => {
                        let names: Vec<&str> = several.iter().map(ParticipantId::as_str).collect();
                        let names = names.join(" or ");
                        return Err(Refusal::Failed(format!("say whom, with /target: {names}")));
                    }
                }
            }
        };
        self.agent(&id)?;
        Ok(id)
    }

    pub(super) fn target(&mut self, id: &RequestId, target: Target) -> Outcome {
        let change = match target {
            Target::Show => None,
            Target::Default => Some(None),
            Target::Only(list) => Some(Some(self.known_participants(&list)?)),
        };
        if let Some(chosen) = change {
            self.publish(Event::Targets(Scope::Override, chosen));
        }
        let names = |list: &[ParticipantId]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let effective = self.state.targets.effective().map_or_else(|| "everybody".to_owned(), names);
        self.tell(id, "info", vec![format!("Chat goes to {effective}.")])
    }
}
