//! Recipients of a command: the named participants, the chat targets, or the only agent.

use super::super::command::{SpaceRefusal, TargetCommand};
use super::super::event::{SpaceEvent, TargetScope};
use super::super::name::ParticipantId;
use super::super::session::Lifecycle;
use super::SpaceMachine;
use super::commands::CommandOutcome;
use crate::request::RequestId;

impl SpaceMachine {
    /// Returns the agents that receive a message from `by`: those in `to`, or every present agent. Fails if one of
    /// these agents has left or has a full queue.
    pub(super) fn recipients(
        &self,
        to: Option<&[ParticipantId]>,
        by: &ParticipantId,
    ) -> Result<Vec<ParticipantId>, SpaceRefusal> {
        let agents: Vec<ParticipantId> = match to {
            Some(list) => self
                .known_participants(list)?
                .into_iter()
                .filter(|id| self.sessions.contains_key(id) && id != by)
                .collect(),
            None => {
                let there =
                    |id: &&ParticipantId| !matches!(self.sessions[*id].lifecycle, Lifecycle::Gone(_)) && *id != by;
                self.sessions.keys().filter(there).cloned().collect()
            }
        };
        for id in &agents {
            if matches!(self.sessions[id].lifecycle, Lifecycle::Gone(_)) {
                return Err(SpaceRefusal::Gone(id.clone()));
            }
            if !self.sessions[id].has_room() {
                return Err(SpaceRefusal::Busy(id.clone()));
            }
        }
        Ok(agents)
    }

    fn known_participant(&self, id: &ParticipantId) -> Result<ParticipantId, SpaceRefusal> {
        let known = self.state.participants.contains_key(id);
        if known { Ok(id.clone()) } else { Err(SpaceRefusal::NoSuchParticipant(id.to_string())) }
    }

    /// Checks that the participants exist, and removes duplicates.
    pub(super) fn known_participants(&self, named: &[ParticipantId]) -> Result<Vec<ParticipantId>, SpaceRefusal> {
        let mut known = Vec::new();
        for id in named {
            let id = self.known_participant(id)?;
            if !known.contains(&id) {
                known.push(id);
            }
        }
        Ok(known)
    }

    /// Checks that the participant is an agent that can receive orders.
    pub(super) fn agent(&self, id: &ParticipantId) -> Result<(), SpaceRefusal> {
        self.known_participant(id)?;
        let session = self.sessions.get(id).ok_or_else(|| SpaceRefusal::NotAnAgent(id.clone()))?;
        if matches!(session.lifecycle, Lifecycle::Gone(_)) { Err(SpaceRefusal::Gone(id.clone())) } else { Ok(()) }
    }

    /// Checks the named agent and returns its id. Without a name, returns the only chat target, or the only agent if
    /// there are no targets. Fails if there are several.
    pub(super) fn resolve_agent(&self, participant: Option<ParticipantId>) -> Result<ParticipantId, SpaceRefusal> {
        let id = match participant {
            Some(id) => id,
            None => {
                let agents = self.recipients(self.state.targets.effective(), &self.state.me)?;
                match &agents[..] {
                    [] => return Err(SpaceRefusal::NoSuchParticipant("agent".to_owned())),
                    [one] => one.clone(),
                    several => {
                        let names: Vec<&str> = several.iter().map(ParticipantId::as_str).collect();
                        let names = names.join(" or ");
                        return Err(SpaceRefusal::Failed(format!(
                            "there are several agents; choose one with /target: {names}"
                        )));
                    }
                }
            }
        };
        self.agent(&id)?;
        Ok(id)
    }

    pub(super) fn target(&mut self, id: &RequestId, target: TargetCommand) -> CommandOutcome {
        let change = match target {
            TargetCommand::Show => None,
            TargetCommand::Default => Some(None),
            TargetCommand::Only(list) => Some(Some(self.known_participants(&list)?)),
        };
        if let Some(chosen) = change {
            self.publish(SpaceEvent::Targets(TargetScope::Override, chosen));
        }
        let names = |list: &[ParticipantId]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let effective = self.state.targets.effective().map_or_else(|| "everybody".to_owned(), names);
        self.show_lines(id, "info", vec![format!("Chat goes to {effective}.")])
    }
}
