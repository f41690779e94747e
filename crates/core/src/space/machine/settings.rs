//! Models and modes of agents: lists them, and orders an agent to use one.

use super::super::command::{Setting, SpaceRefusal};
use super::super::harness::{AgentOption, Order};
use super::super::name::ParticipantId;
use super::super::roster::AgentRequest;
use super::acks::AckResponse;
use super::commands::{CommandCompletion, CommandOutcome};
use super::{SpaceMachine, Ticket};
use crate::request::RequestId;

/// Kind of a setting: model or mode.
#[derive(Clone, Copy)]
pub(super) enum SettingKind {
    Model,
    Mode,
}

impl SpaceMachine {
    pub(super) fn choose(
        &mut self,
        ticket: Ticket,
        id: &RequestId,
        participant: Option<ParticipantId>,
        wanted: Option<String>,
        what: SettingKind,
    ) -> CommandOutcome {
        let (participant, wanted) = self.split_agent(participant, wanted);
        if let (Some(agent), None, SettingKind::Model) = (&participant, &wanted, what)
            && !self.has_joined(agent)
        {
            return self.manage(ticket, id, participant, AgentRequest::Models);
        }
        let participant = self.resolve_agent(participant)?;
        let Some(one) = self.state.participants.get(&participant) else { return Err(SpaceRefusal::Gone(participant)) };
        let (known, current, name) = match what {
            SettingKind::Model => (&one.capabilities.models, &one.capabilities.model, "model"),
            SettingKind::Mode => (&one.capabilities.modes, &one.capabilities.mode, "mode"),
        };
        if known.is_empty() {
            return match (what, wanted) {
                (SettingKind::Model, None) => self.manage(ticket, id, Some(participant), AgentRequest::Models),
                _ => Err(SpaceRefusal::NotSupported(participant, format!("change its {name}"))),
            };
        }
        let Some(wanted) = wanted else {
            let width = known.iter().map(|one| one.id.chars().count()).max().unwrap_or_default();
            let lines = known.iter().map(|one| line(one, current.as_deref() == Some(&one.id), width)).collect();
            return self.show_lines(id, "info", lines);
        };
        let setting = match what {
            SettingKind::Model => Setting::Model(wanted),
            SettingKind::Mode => Setting::Mode(wanted),
        };
        self.order(id, participant, setting, (ticket, true))
    }

    pub(super) fn set(
        &mut self,
        ticket: Ticket,
        id: &RequestId,
        participant: ParticipantId,
        setting: Setting,
    ) -> CommandOutcome {
        self.agent(&participant)?;
        self.order(id, participant, setting, (ticket, false))
    }

    /// Orders an agent to use another model or mode. The command ends when the harness has acknowledged the order.
    fn order(
        &mut self,
        id: &RequestId,
        participant: ParticipantId,
        setting: Setting,
        (ticket, announce): (Ticket, bool),
    ) -> CommandOutcome {
        let Some(one) = self.state.participants.get(&participant) else { return Err(SpaceRefusal::Gone(participant)) };
        let (known, name, wanted) = match &setting {
            Setting::Model(model) => (&one.capabilities.models, "model", model),
            Setting::Mode(mode) => (&one.capabilities.modes, "mode", mode),
        };
        if !known.iter().any(|one| one.id == *wanted) {
            let ids: Vec<&str> = known.iter().map(|one| one.id.as_str()).collect();
            return Err(SpaceRefusal::Failed(format!(
                "{participant} has no {name} {wanted:?}; choose one of {}",
                ids.join(", ")
            )));
        }
        let line = format!("{participant}: {name} {wanted}.");
        let order = match setting {
            Setting::Model(model) => Order::SetModel(model),
            Setting::Mode(mode) => Order::SetMode(mode),
        };
        self.accept(id);
        self.send_acked(id, participant, order, Some(AckResponse { ticket, line, announce }));
        Ok(CommandCompletion::Deferred)
    }
}

fn line(one: &AgentOption, current: bool, width: usize) -> String {
    format!("{} {:<width$}  {}", if current { "*" } else { " " }, one.id, one.title)
}
