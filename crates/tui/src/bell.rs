//! Rings the terminal bell when a question opens or when the agents have finished, depending on the settings.

use std::collections::HashSet;
use std::time::SystemTime;

use wh_core::space::ItemId;
use wh_core::space::state::SpaceState;

use crate::app::busy;

pub(crate) const BEL: &str = "\u{7}";

/// Setting that selects the events that ring the terminal bell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BellSetting {
    #[default]
    Off,
    /// A question opens.
    Question,
    /// A question opens, or an agent finishes and no other agent is busy.
    All,
}

impl BellSetting {
    /// Valid values of the setting.
    pub const NAMES: [&'static str; 3] = ["off", "question", "all"];

    /// Parses one of [`NAMES`](Self::NAMES); returns `None` for any other text.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "question" => Some(Self::Question),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// Detects events that ring the bell: compares the state of the space with the state at the last call of
/// [`rings`](Self::rings).
#[derive(Debug)]
pub(crate) struct BellDetector {
    bell: BellSetting,
    open: HashSet<ItemId>,
    busy: bool,
    /// Time at which the most recent turn ended. Used to detect a turn that began and ended between two calls.
    ended: Option<SystemTime>,
}

impl BellDetector {
    pub(crate) fn new(bell: BellSetting, state: &SpaceState) -> Self {
        let mut ringer = Self { bell, open: HashSet::new(), busy: false, ended: None };
        ringer.rings(state);
        ringer
    }

    /// Returns true if an event that rings the bell has occurred since the last call.
    pub(crate) fn rings(&mut self, state: &SpaceState) -> bool {
        if self.bell == BellSetting::Off {
            return false;
        }
        let open: HashSet<ItemId> = state.questions().map(|item| item.id.clone()).collect();
        let asked = open.iter().any(|one| !self.open.contains(one));
        let busy = busy(state);
        let ended = state.turns.values().filter_map(|turn| Some(turn.end.as_ref()?.1)).max();
        let finished = !busy && (self.busy || ended > self.ended);
        (self.open, self.busy, self.ended) = (open, busy, ended);
        asked || finished && self.bell == BellSetting::All
    }
}
