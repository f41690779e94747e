//! What is asked about agents beside their conversations. It is slow and needs the world, so it is an effect, and its
//! answer comes as an input.

use super::super::command::{Done, Refusal};
use super::super::event::{Event, Scope};
use super::super::harness::Call;
use super::super::item::Level;
use super::super::name::ParticipantId;
use super::super::roster::{Ask, Told};
use super::super::session::Life;
use super::commands::{Came, Outcome};
use super::{Effect, Space, Ticket, system};
use crate::receipt::{Failure, Stage};
use crate::request::RequestId;

/// What can be asked in the place of a call that an agent does not have.
pub(super) fn beside(call: &Call) -> Option<Ask> {
    match call {
        Call::ReportStatus => Some(Ask::Status),
        Call::Other { name, parameters } if name == "mcp" => {
            let words: Vec<&str> =
                parameters["words"].as_array()?.iter().filter_map(serde_json::Value::as_str).collect();
            match words[..] {
                [] => Some(Ask::Mcp),
                ["enable", server] => Some(Ask::SwitchMcp { server: server.to_owned(), on: true }),
                ["disable", server] => Some(Ask::SwitchMcp { server: server.to_owned(), on: false }),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Space {
    /// Whether an agent of this name takes part now.
    pub(super) fn takes_part(&self, id: &ParticipantId) -> bool {
        self.sessions.get(id).is_some_and(|session| !matches!(session.life, Life::Gone(_)))
    }

    /// The agent that the first word names, and what follows it; a word that names nobody is what was wanted.
    pub(super) fn addressed(
        &self,
        whom: Option<ParticipantId>,
        wanted: Option<String>,
    ) -> (Option<ParticipantId>, Option<String>) {
        let Some(text) = wanted.as_ref().filter(|_| whom.is_none()) else { return (whom, wanted) };
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        let agent = ParticipantId::from(first);
        if !self.sessions.contains_key(&agent) {
            return (whom, wanted);
        }
        (Some(agent), Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))
    }

    pub(super) fn manage(&mut self, ticket: Ticket, id: &RequestId, whom: Option<ParticipantId>, ask: Ask) -> Outcome {
        let agent = match (whom, &ask) {
            (Some(whom), _) => Some(whom.to_string()),
            (None, Ask::Agents) => None,
            (None, _) => Some(self.meant(None)?.to_string()),
        };
        self.accept(id);
        // Of nobody who takes part: it does not end with one.
        let number = self.calls.open(system(), ticket, id.clone(), self.now.time);
        self.effects.push(Effect::Manage { number, agent, ask });
        Ok(Came::Later)
    }

    pub(super) fn managed(&mut self, number: u64, told: Result<Told, Refusal>) {
        let Some(pending) = self.calls.close(number) else { return };
        let (id, mut lines) = (pending.request_id, pending.said);
        match told {
            Ok(told) => {
                lines.extend(told.lines());
                if let Told::TakesPart(agent) = &told {
                    let chosen = vec![ParticipantId::from(agent.as_str())];
                    self.publish(Event::Targets(Scope::Override, Some(chosen)));
                }
            }
            // What the agent has said itself is an answer.
            Err(_) if !lines.is_empty() => {}
            Err(refusal) => {
                self.reach(&id, Stage::Failed(Failure { reason: refusal.reason(), words: refusal.to_string() }));
                self.remember(&id, Err(refusal.clone()));
                return self.effects.push(Effect::Answer(pending.ticket, Err(refusal)));
            }
        }
        self.notice(Level::Info, "agents", lines.clone());
        self.reach(&id, Stage::Finished);
        let done = Done { receipt: self.receipt(&id), lines, duplicate: false, queued: false };
        self.remember(&id, Ok(done.clone()));
        self.effects.push(Effect::Answer(pending.ticket, Ok(done)));
    }
}
