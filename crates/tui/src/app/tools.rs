//! What the tool sidebar knows: the last calls of each agent, and whether it is open. A person may say so; otherwise it is
//! there from the first call on where the screen is wide enough to leave the conversation its room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wh_client::Change;
use wh_core::slash::Visibility;
use wh_core::space::item::{Body, Item, Progress, ToolCall};
use wh_core::space::state::State;
use wh_core::space::{ItemId, ParticipantId};

/// From this width on it opens by itself: eighty columns are left for the conversation.
pub(crate) const BY_ITSELF_FROM: u16 = 120;

/// Calls of one agent that are remembered: more are on no screen.
const KEPT: usize = 100;

/// The tool sidebar's state.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    wish: Option<Visibility>,
    open: bool,
    calls: BTreeMap<ParticipantId, VecDeque<Noted>>,
}

/// A call that was seen.
#[derive(Debug)]
struct Noted {
    id: ItemId,
    at: SystemTime,
    /// How long it took; unknown while it runs, and of those whose end was not seen.
    took: Option<Duration>,
    over: bool,
}

/// A call as it is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) item: &'a Item,
    pub(crate) call: &'a ToolCall,
    pub(crate) took: Option<Duration>,
}

impl Tools {
    pub(crate) fn wish(&mut self, wish: Visibility) {
        self.wish = Some(wish);
        match wish {
            Visibility::Open => self.open = true,
            Visibility::Close => self.open = false,
            Visibility::Auto => {}
        }
    }

    /// As of the last frame.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Decides for a frame of this width.
    pub(crate) fn decide(&mut self, width: u16) {
        self.open = match self.wish {
            Some(Visibility::Open) => true,
            Some(Visibility::Close) => false,
            Some(Visibility::Auto) | None => width >= BY_ITSELF_FROM && !self.calls.is_empty(),
        };
    }

    /// Forgets what was done so far.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Follows the space.
    pub(crate) fn sync(&mut self, state: &State, change: &Change, now: SystemTime) {
        if change.reset {
            self.calls.clear();
            state.items.iter().for_each(|item| self.note(item, now));
            return;
        }
        change.items.iter().filter_map(|id| state.items.get(id)).for_each(|item| self.note(item, now));
    }

    fn note(&mut self, item: &Arc<Item>, now: SystemTime) {
        let Body::Tool(call) = &item.body else { return };
        let calls = self.calls.entry(item.from.clone()).or_default();
        let over = call.status.is_over();
        if let Some(known) = calls.iter_mut().rev().find(|known| known.id == item.id) {
            if over && !known.over {
                known.took = now.duration_since(known.at).ok();
            }
            known.over = over;
            return;
        }
        // Several that came at once come in no order of their own.
        let place = calls.partition_point(|known| known.at <= item.at);
        calls.insert(place, Noted { id: item.id.clone(), at: item.at, took: None, over });
        if calls.len() > KEPT {
            calls.pop_front();
        }
    }

    /// The calls of each agent, oldest first.
    pub(crate) fn of_agents<'a>(
        &'a self,
        state: &'a State,
    ) -> impl Iterator<Item = (&'a ParticipantId, Vec<Seen<'a>>)> {
        self.calls.iter().filter_map(|(agent, calls)| {
            let seen: Vec<Seen<'a>> = calls.iter().filter_map(|noted| noted.seen(state)).collect();
            (!seen.is_empty()).then_some((agent, seen))
        })
    }
}

impl Noted {
    fn seen<'a>(&self, state: &'a State) -> Option<Seen<'a>> {
        let item = state.items.get(&self.id).filter(|item| item.progress != Progress::Retracted)?;
        let Body::Tool(call) = &item.body else { return None };
        Some(Seen { item, call, took: self.took })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wh_core::space::event::{Event, Role};
    use wh_core::space::item::{ToolKind, ToolStatus};

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn call(id: &str, began: u64, status: ToolStatus) -> Event {
        let call = ToolCall {
            name: "Read".into(),
            title: String::new(),
            kind: ToolKind::Read,
            input: json!({}),
            status,
            output: vec![],
        };
        let progress = if status.is_over() { Progress::Done } else { Progress::Growing };
        let (from, body) = ("demo".into(), Body::Tool(call));
        Event::Item(Arc::new(Item {
            id: id.into(),
            from,
            to: None,
            turn: None,
            at: at(began),
            body,
            progress,
            extent: None,
            listed: Vec::new(),
            starts: Vec::new(),
        }))
    }

    fn happens(state: &mut State, tools: &mut Tools, now: u64, events: &[Event]) {
        let mut change = Change::default();
        for event in events {
            state.apply(event, at(now));
            if let Event::Item(item) = event {
                change.items.insert(item.id.clone());
            }
        }
        tools.sync(state, &change, at(now));
    }

    fn took(tools: &Tools, state: &State) -> Vec<(String, Option<u64>)> {
        let calls = tools.of_agents(state).flat_map(|(_, calls)| calls);
        calls.map(|seen| (seen.item.id.to_string(), seen.took.map(|took| took.as_secs()))).collect()
    }

    #[test]
    fn calls_stand_in_their_order_and_say_how_long_they_took_if_that_was_seen() {
        let (mut state, mut tools) = (State::new("test", "me".into()), Tools::default());
        state.apply(&Event::Joined("demo".into(), Role::Agent), at(0));
        let begun = [call("a", 2, ToolStatus::Running), call("b", 1, ToolStatus::Completed)];
        happens(&mut state, &mut tools, 2, &begun);
        assert_eq!(took(&tools, &state), [("b".into(), None), ("a".into(), None)]);
        happens(&mut state, &mut tools, 9, &[call("a", 2, ToolStatus::Failed)]);
        assert_eq!(took(&tools, &state), [("b".into(), None), ("a".into(), Some(7))]);
    }

    #[test]
    fn only_the_last_are_kept() {
        let (mut state, mut tools) = (State::new("test", "me".into()), Tools::default());
        for number in 0..300 {
            let one = call(&format!("c{number}"), number, ToolStatus::Completed);
            happens(&mut state, &mut tools, number, &[one]);
        }
        let kept = took(&tools, &state);
        assert_eq!((kept.len(), kept[0].0.as_str()), (KEPT, "c200"));
    }

    #[test]
    fn it_opens_by_itself_where_there_is_room_and_something_to_show() {
        let (mut state, mut tools) = (State::new("test", "me".into()), Tools::default());
        let open = |tools: &mut Tools, width| {
            tools.decide(width);
            tools.is_open()
        };
        assert!(!open(&mut tools, 200));
        happens(&mut state, &mut tools, 1, &[call("a", 1, ToolStatus::Running)]);
        assert!(open(&mut tools, BY_ITSELF_FROM) && !open(&mut tools, BY_ITSELF_FROM - 1));
        tools.wish(Visibility::Open);
        assert!(open(&mut tools, 80));
        tools.wish(Visibility::Close);
        assert!(!open(&mut tools, 200));
    }
}
