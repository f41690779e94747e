//! The terminal's bell: rings when a question opens or the agents have finished, if the person wants that.

use std::collections::HashSet;
use std::time::SystemTime;

use wh_core::space::ItemId;
use wh_core::space::state::State;

use crate::app::busy;

/// The byte that rings a terminal's bell.
pub(crate) const BEL: &str = "\u{7}";

/// When the bell rings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bell {
    /// Never.
    #[default]
    Off,
    /// When a question opens.
    Question,
    /// When a question opens, and when the last agent at work has finished.
    All,
}

impl Bell {
    /// Names in settings.
    pub const NAMES: [&'static str; 3] = ["off", "question", "all"];

    /// The one of this name.
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

/// Compares the space with how it was at the last frame.
#[derive(Debug)]
pub(crate) struct Ringer {
    bell: Bell,
    open: HashSet<ItemId>,
    busy: bool,
    /// When a turn last ended. One may begin and end between two frames.
    ended: Option<SystemTime>,
}

impl Ringer {
    pub(crate) fn new(bell: Bell, state: &State) -> Self {
        let mut ringer = Self { bell, open: HashSet::new(), busy: false, ended: None };
        ringer.rings(state);
        ringer
    }

    /// True if the bell rings for what has changed since the last call.
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
