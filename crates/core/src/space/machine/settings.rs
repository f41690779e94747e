//! Models and modes of agents: listing them, and choosing one.

use super::super::command::{Refusal, Setting};
use super::super::harness::{Named, Order};
use super::super::name::ParticipantId;
use super::super::roster::Ask;
use super::commands::{Came, Outcome};
use super::deeds::Said;
use super::{Space, Ticket};
use crate::request::RequestId;

/// A setting that can be listed and chosen.
#[derive(Clone, Copy)]
pub(super) enum Chosen {
    Model,
    Mode,
}

impl Space {
    pub(super) fn choose(
        &mut self,
        ticket: Ticket,
        id: &RequestId,
        whom: Option<ParticipantId>,
        wanted: Option<String>,
        what: Chosen,
    ) -> Outcome {
        let (whom, wanted) = self.addressed(whom, wanted);
        if let (Some(agent), None, Chosen::Model) = (&whom, &wanted, what)
            && !self.takes_part(agent)
        {
            return self.manage(ticket, id, whom, Ask::Models);
        }
        let whom = self.meant(whom)?;
        let Some(one) = self.state.participants.get(&whom) else { return Err(Refusal::Gone(whom)) };
        let (known, current, name) = match what {
            Chosen::Model => (&one.capabilities.models, &one.capabilities.model, "model"),
            Chosen::Mode => (&one.capabilities.modes, &one.capabilities.mode, "mode"),
        };
        if known.is_empty() {
            return match (what, wanted) {
                (Chosen::Model, None) => self.manage(ticket, id, Some(whom), Ask::Models),
                _ => Err(Refusal::NotSupported(whom, format!("change its {name}"))),
            };
        }
        let Some(wanted) = wanted else {
            let width = known.iter().map(|one| one.id.chars().count()).max().unwrap_or_default();
            let lines = known.iter().map(|one| line(one, current.as_deref() == Some(&one.id), width)).collect();
            return self.tell(id, "info", lines);
        };
        let setting = match what {
            Chosen::Model => Setting::Model(wanted),
            Chosen::Mode => Setting::Mode(wanted),
        };
        self.order(id, whom, setting, (ticket, true))
    }

    pub(super) fn set(&mut self, ticket: Ticket, id: &RequestId, whom: ParticipantId, setting: Setting) -> Outcome {
        self.agent(&whom)?;
        self.order(id, whom, setting, (ticket, false))
    }

    /// Tells an agent to use another model or mode, if it has it. Done once the agent has agreed.
    fn order(
        &mut self,
        id: &RequestId,
        whom: ParticipantId,
        setting: Setting,
        (ticket, aloud): (Ticket, bool),
    ) -> Outcome {
        let Some(one) = self.state.participants.get(&whom) else { return Err(Refusal::Gone(whom)) };
        let (known, name, wanted) = match &setting {
            Setting::Model(model) => (&one.capabilities.models, "model", model),
            Setting::Mode(mode) => (&one.capabilities.modes, "mode", mode),
        };
        if !known.iter().any(|one| one.id == *wanted) {
            let ids: Vec<&str> = known.iter().map(|one| one.id.as_str()).collect();
            return Err(Refusal::Failed(format!("{whom} has no {name} {wanted:?}; it has {}", ids.join(", "))));
        }
        let line = format!("{whom}: {name} {wanted}.");
        let order = match setting {
            Setting::Model(model) => Order::SetModel(model),
            Setting::Mode(mode) => Order::SetMode(mode),
        };
        self.accept(id);
        self.have_done(id, whom, order, Some(Said { ticket, line, aloud }));
        Ok(Came::Later)
    }
}

fn line(one: &Named, current: bool, width: usize) -> String {
    format!("{} {:<width$}  {}", if current { "*" } else { " " }, one.id, one.title)
}
