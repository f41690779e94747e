//! Acknowledgements: giving those that others wait for, and dropping those that one waits for oneself.

use serde_json::json;

use super::super::command::{Refusal, Selector};
use super::super::event::{Acknowledgement, Event};
use super::super::name::{ItemId, ParticipantId};
use super::Space;
use super::commands::Outcome;
use crate::request::RequestId;

impl Space {
    fn chosen(&self, by: &ParticipantId, selector: &Selector, mine: bool) -> Result<Vec<ItemId>, Refusal> {
        let waiting =
            self.state.acknowledgements.iter().filter(|one| if mine { one.from == *by } else { one.to == *by });
        let waiting: Vec<&Acknowledgement> = waiting.collect();
        let items: Vec<ItemId> = match selector {
            Selector::All => waiting.iter().map(|one| one.item.clone()).collect(),
            Selector::Named(name) => {
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
        let said = match (selector, mine) {
            (Selector::All, false) => "your acknowledgement".to_owned(),
            (Selector::All, true) => {
                "being cancelled: nobody reasons, and all that you sent is acknowledged".to_owned()
            }
            (Selector::Named(name), false) => format!("your acknowledgement that {name:?} names"),
            (Selector::Named(name), true) => format!("an acknowledgement that {name:?} names"),
        };
        if items.is_empty() { Err(Refusal::NothingChosen(said)) } else { Ok(items) }
    }

    pub(super) fn acknowledge(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        selector: &Selector,
        status: Option<String>,
    ) -> Outcome {
        let items = self.chosen(by, selector, false)?;
        self.accept(id);
        let status = status.unwrap_or_else(|| "received".to_owned());
        let lines = vec![format!("Acknowledged {} as {status}.", counted(items.len(), "message"))];
        for item in items {
            self.publish(Event::Acknowledged { item: item.clone(), by: by.clone(), granted: true });
            self.act(by.clone(), "chat/acknowledge", json!({ "status": status }), vec![item]);
        }
        self.finish(id, lines)
    }

    pub(super) fn cancel(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        selector: &Selector,
        reason: Option<String>,
    ) -> Outcome {
        if let (Selector::All, Some(thought)) = (selector, self.state.reasoning()) {
            let whom = thought.from.clone();
            return self.interrupt(id, Some(whom));
        }
        let items = self.chosen(by, selector, true)?;
        self.accept(id);
        let lines = vec![format!("No longer waiting for {}.", counted(items.len(), "acknowledgement"))];
        for item in items {
            self.publish(Event::AcknowledgementDropped(item.clone()));
            self.act(by.clone(), "chat/cancel", json!({ "reason": reason }), vec![item]);
        }
        self.finish(id, lines)
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
