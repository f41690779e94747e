//! State of the tool sidebar: the recent calls of each agent, and the visibility of the sidebar. Unless the user has
//! set the visibility, the sidebar opens with the first call if the screen is wide enough.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wh_client::MirrorChange;
use wh_core::slash::Visibility;
use wh_core::space::item::{Item, ItemBody, ItemProgress, ToolCall};
use wh_core::space::state::SpaceState;
use wh_core::space::{ItemId, ParticipantId};

/// Minimum screen width at which the sidebar opens automatically. Leaves 80 columns for the conversation.
pub(crate) const AUTO_OPEN_WIDTH: u16 = 120;

/// Maximum number of calls that are retained for each agent.
const MAX_CALLS_PER_AGENT: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct SidebarState {
    requested: Option<Visibility>,
    open: bool,
    calls: BTreeMap<ParticipantId, VecDeque<SidebarCall>>,
}

/// Tool call in the sidebar, with its times.
#[derive(Debug)]
struct SidebarCall {
    id: ItemId,
    at: SystemTime,
    /// Duration of the call; `None` if the call is running or its end was not observed.
    took: Option<Duration>,
    over: bool,
}

/// Tool call in the sidebar, with the item to draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SidebarCallView<'a> {
    pub(crate) item: &'a Item,
    pub(crate) call: &'a ToolCall,
    pub(crate) took: Option<Duration>,
}

impl SidebarState {
    pub(crate) fn set_visibility(&mut self, visibility: Visibility) {
        self.requested = Some(visibility);
        match visibility {
            Visibility::Open => self.open = true,
            Visibility::Close => self.open = false,
            Visibility::Auto => {}
        }
    }

    /// Returns true if the sidebar was open in the last frame.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Decides whether the sidebar is open in a frame of this width.
    pub(crate) fn decide(&mut self, width: u16) {
        self.open = match self.requested {
            Some(Visibility::Open) => true,
            Some(Visibility::Close) => false,
            Some(Visibility::Auto) | None => width >= AUTO_OPEN_WIDTH && !self.calls.is_empty(),
        };
    }

    /// Removes all calls from the sidebar.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Records the tool calls that changed in the space.
    pub(crate) fn sync(&mut self, state: &SpaceState, change: &MirrorChange, now: SystemTime) {
        if change.reset {
            self.calls.clear();
            state.items.iter().for_each(|item| self.note(item, now));
            return;
        }
        change.items.iter().filter_map(|id| state.items.get(id)).for_each(|item| self.note(item, now));
    }

    fn note(&mut self, item: &Arc<Item>, now: SystemTime) {
        let ItemBody::Tool(call) = &item.body else { return };
        let calls = self.calls.entry(item.from.clone()).or_default();
        let over = call.status.is_over();
        if let Some(known) = calls.iter_mut().rev().find(|known| known.id == item.id) {
            if over && !known.over {
                known.took = now.duration_since(known.at).ok();
            }
            known.over = over;
            return;
        }
        // Items of one change are unordered, so calls are sorted by their time.
        let place = calls.partition_point(|known| known.at <= item.at);
        calls.insert(place, SidebarCall { id: item.id.clone(), at: item.at, took: None, over });
        if calls.len() > MAX_CALLS_PER_AGENT {
            calls.pop_front();
        }
    }

    /// Returns the calls of each agent, oldest first.
    pub(crate) fn of_agents<'a>(
        &'a self,
        state: &'a SpaceState,
    ) -> impl Iterator<Item = (&'a ParticipantId, Vec<SidebarCallView<'a>>)> {
        self.calls.iter().filter_map(|(agent, calls)| {
            let seen: Vec<SidebarCallView<'a>> = calls.iter().filter_map(|noted| noted.seen(state)).collect();
            (!seen.is_empty()).then_some((agent, seen))
        })
    }
}

impl SidebarCall {
    fn seen<'a>(&self, state: &'a SpaceState) -> Option<SidebarCallView<'a>> {
        let item = state.items.get(&self.id).filter(|item| item.progress != ItemProgress::Retracted)?;
        let ItemBody::Tool(call) = &item.body else { return None };
        Some(SidebarCallView { item, call, took: self.took })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wh_core::space::event::{ParticipantRole, SpaceEvent};
    use wh_core::space::item::{ToolKind, ToolStatus};

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn call(id: &str, began: u64, status: ToolStatus) -> SpaceEvent {
        let call = ToolCall {
            name: "Read".into(),
            title: String::new(),
            kind: ToolKind::Read,
            input: json!({}),
            status,
            output: vec![],
        };
        let progress = if status.is_over() { ItemProgress::Done } else { ItemProgress::Growing };
        let (from, body) = ("demo".into(), ItemBody::Tool(call));
        SpaceEvent::Item(Arc::new(Item {
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

    fn happens(state: &mut SpaceState, tools: &mut SidebarState, now: u64, events: &[SpaceEvent]) {
        let mut change = MirrorChange::default();
        for event in events {
            state.apply(event, at(now));
            if let SpaceEvent::Item(item) = event {
                change.items.insert(item.id.clone());
            }
        }
        tools.sync(state, &change, at(now));
    }

    fn took(tools: &SidebarState, state: &SpaceState) -> Vec<(String, Option<u64>)> {
        let calls = tools.of_agents(state).flat_map(|(_, calls)| calls);
        calls.map(|seen| (seen.item.id.to_string(), seen.took.map(|took| took.as_secs()))).collect()
    }

    #[test]
    fn calls_are_in_order_and_have_a_duration_if_their_end_was_observed() {
        let (mut state, mut tools) = (SpaceState::new("test", "me".into()), SidebarState::default());
        state.apply(&SpaceEvent::Joined("demo".into(), ParticipantRole::Agent), at(0));
        let begun = [call("a", 2, ToolStatus::Running), call("b", 1, ToolStatus::Completed)];
        happens(&mut state, &mut tools, 2, &begun);
        assert_eq!(took(&tools, &state), [("b".into(), None), ("a".into(), None)]);
        happens(&mut state, &mut tools, 9, &[call("a", 2, ToolStatus::Failed)]);
        assert_eq!(took(&tools, &state), [("b".into(), None), ("a".into(), Some(7))]);
    }

    #[test]
    fn only_the_latest_calls_are_stored() {
        let (mut state, mut tools) = (SpaceState::new("test", "me".into()), SidebarState::default());
        for number in 0..300 {
            let one = call(&format!("c{number}"), number, ToolStatus::Completed);
            happens(&mut state, &mut tools, number, &[one]);
        }
        let kept = took(&tools, &state);
        assert_eq!((kept.len(), kept[0].0.as_str()), (MAX_CALLS_PER_AGENT, "c200"));
    }

    #[test]
    fn it_opens_by_itself_if_there_is_room_and_content() {
        let (mut state, mut tools) = (SpaceState::new("test", "me".into()), SidebarState::default());
        let open = |tools: &mut SidebarState, width| {
            tools.decide(width);
            tools.is_open()
        };
        assert!(!open(&mut tools, 200));
        happens(&mut state, &mut tools, 1, &[call("a", 1, ToolStatus::Running)]);
        assert!(open(&mut tools, AUTO_OPEN_WIDTH) && !open(&mut tools, AUTO_OPEN_WIDTH - 1));
        tools.set_visibility(Visibility::Open);
        assert!(open(&mut tools, 80));
        tools.set_visibility(Visibility::Close);
        assert!(!open(&mut tools, 200));
    }
}
