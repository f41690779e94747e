//! Terminal bell: rings when a question opens or when the agents have finished, depending on the settings.

use std::collections::HashSet;
use std::time::SystemTime;

use wh_core::space::ItemId;
use wh_core::space::state::State;

use crate::app::busy;

pub(crate) const BEL: &str = "\u{7}";

/// Events that ring the terminal's bell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bell {
    #[default]
    Off,
    /// A question opens.
    Question,
    /// A question opens, or the last busy agent finishes.
    All,
}

impl Bell {
    /// Names in settings.
    pub const NAMES: [&'static str; 3] = ["off", "question", "all"];

    /// Parses a name of [`NAMES`](Self::NAMES); `None` if it is unknown.
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

/// Detects events that ring the bell by comparing the space's state with its state at the last frame.
#[derive(Debug)]
pub(crate) struct Ringer {
    bell: Bell,
    open: HashSet<ItemId>,
    busy: bool,
    /// Time at which the last turn ended. Needed because a turn can begin and end between two frames.
    ended: Option<SystemTime>,
}

impl Ringer {
    pub(crate) fn new(bell: Bell, state: &State) -> Self {
        let mut ringer = Self { bell, open: HashSet::new(), busy: false, ended: None };
        ringer.rings(state);
        ringer
    }

    /// True if an event that rings the bell has occurred since the last call.
    pub(crate) fn rings(&mut self, state: &State) -> bool {
        if self.bell == Bell::Off {
            return false;
        }
        let open: HashSet<ItemId> = state.questions().map(|item| item.id.clone()).collect();
        let asked = open.iter().any(|one| !self.open.contains(one));
        let busy = busy(state);
        let ended = state.turns.values().filter_map(|turn| Some(turn.end.as_ref()?.1)).max();
        let finished = !busy && (self.busy || ended > self.ended);
        (self.open, self.busy, self.ended) = (open, busy, ended);
        asked || finished && self.bell == Bell::All
    }
}
