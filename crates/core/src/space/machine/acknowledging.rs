//! Acknowledges messages, and cancels requested acknowledgements.

use serde_json::json;

use super::super::command::{MessageSelector, SpaceRefusal};
use super::super::event::{Acknowledgement, SpaceEvent};
use super::super::name::{ItemId, ParticipantId};
use super::SpaceMachine;
use super::commands::CommandOutcome;
use crate::request::RequestId;

impl SpaceMachine {
    fn select(&self, by: &ParticipantId, selector: &MessageSelector, mine: bool) -> Result<Vec<ItemId>, SpaceRefusal> {
        let waiting =
            self.state.acknowledgements.iter().filter(|one| if mine { one.from == *by } else { one.to == *by });
        let waiting: Vec<&Acknowledgement> = waiting.collect();
        let items: Vec<ItemId> = match selector {
            MessageSelector::All => waiting.iter().map(|one| one.item.clone()).collect(),
            MessageSelector::Named(name) => {
                let place = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                match place.and_then(|place| waiting.get(place)) {
                    Some(one) => vec![one.item.clone()],
                    None => waiting
                        .iter()
                        .filter(|one| one.item.as_str().starts_with(name) || one.from.as_str().contains(name))
                        .map(|one| one.item.clone())
                        .collect(),
                }
            }
        };
        let description = match (selector, mine) {
            (MessageSelector::All, false) => "your acknowledgement".to_owned(),
            (MessageSelector::All, true) => {
                "an acknowledgement that you requested, and no agent is reasoning".to_owned()
            }
            (MessageSelector::Named(name), false) => format!("your acknowledgement and matches {name:?}"),
            (MessageSelector::Named(name), true) => format!("an acknowledgement and matches {name:?}"),
        };
        if items.is_empty() { Err(SpaceRefusal::NothingSelected(description)) } else { Ok(items) }
    }

    pub(super) fn acknowledge(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        selector: &MessageSelector,
        status: Option<String>,
    ) -> CommandOutcome {
        let items = self.select(by, selector, false)?;
        self.accept(id);
        let status = status.unwrap_or_else(|| "received".to_owned());
        let lines = vec![format!("Acknowledged {} as {status}.", plural(items.len(), "message"))];
        for item in items {
            self.publish(SpaceEvent::Acknowledged { item: item.clone(), by: by.clone(), granted: true });
            self.act(by.clone(), "chat/acknowledge", json!({ "status": status }), vec![item]);
        }
        self.finish(id, lines)
    }

    pub(super) fn cancel(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        selector: &MessageSelector,
        reason: Option<String>,
    ) -> CommandOutcome {
        if let (MessageSelector::All, Some(thought)) = (selector, self.state.reasoning()) {
            let participant = thought.from.clone();
            return self.interrupt(id, Some(participant));
        }
        let items = self.select(by, selector, true)?;
        self.accept(id);
        let lines = vec![format!("No longer waiting for {}.", plural(items.len(), "acknowledgement"))];
        for item in items {
            self.publish(SpaceEvent::AcknowledgementDropped(item.clone()));
            self.act(by.clone(), "chat/cancel", json!({ "reason": reason }), vec![item]);
        }
        self.finish(id, lines)
    }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
