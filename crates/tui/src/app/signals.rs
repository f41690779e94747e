//! Whether the signal board is open. A person may say so; otherwise it is there while there is something to show that
//! stays long enough to be read, so that nothing opens and closes with every message.

use std::time::{Duration, SystemTime};

use wh_core::slash::Visibility;
use wh_core::space::state::State;

/// From this width on the board stands beside the conversation.
pub(crate) const DOCKED_FROM: u16 = 110;

/// An acknowledgement that comes sooner is not worth a board.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the board stays after the last thing on it went.
const LINGER: Duration = Duration::from_secs(5);

/// The signal board's state.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    wish: Option<Visibility>,
    open: bool,
    /// When there was last something to show.
    needed: Option<SystemTime>,
}

impl Signals {
    pub(crate) fn wish(&mut self, wish: Visibility) {
        self.wish = Some(wish);
        match wish {
            Visibility::Open => self.open = true,
            Visibility::Close => self.open = false,
            Visibility::Auto => {}
        }
    }

    /// What the person has said.
    pub(crate) fn wished(&self) -> Option<Visibility> {
        self.wish
    }

    /// As of the last frame.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Decides for a frame of this width; says when that may be different by itself.
    pub(crate) fn decide(&mut self, state: &State, width: u16, now: SystemTime) -> Option<Duration> {
        let (open, wake) = match self.wish {
            Some(Visibility::Open) => (true, None),
            Some(Visibility::Close) => (false, None),
            Some(Visibility::Auto) | None => self.automatic(state, width, now),
        };
        self.open = open;
        wake
    }

    fn automatic(&mut self, state: &State, width: u16, now: SystemTime) -> (bool, Option<Duration>) {
        if width < DOCKED_FROM {
            return (false, None);
        }
        let lasting = !state.streams.is_empty()
            || state.pause().is_some()
            || state.present().any(|(_, participant)| participant.said.is_some());
        let oldest = state.acknowledgements.iter().map(|one| since(one.at, now)).max();
        if lasting || oldest.is_some_and(|age| age >= PATIENCE) {
            self.needed = Some(now);
            return (true, None);
        }
        let awaited = oldest.map(|age| PATIENCE - age);
        let left = self.needed.and_then(|last| LINGER.checked_sub(since(last, now))).filter(|left| !left.is_zero());
        match left {
            Some(left) if self.open => (true, Some(awaited.map_or(left, |awaited| awaited.min(left)))),
            _ => (false, awaited),
        }
    }
}

fn since(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use wh_core::space::event::{Acknowledgement, Event};

    use super::*;

    fn at(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
    }

    fn with_acknowledgement() -> State {
        let mut state = State::new("test", "me".into());
        let wanted = Acknowledgement { item: "m1".into(), from: "me".into(), to: "demo".into(), at: at(0) };
        state.apply(&Event::AcknowledgementWanted(wanted), at(0));
        state
    }

    #[test]
    fn an_acknowledgement_that_comes_soon_opens_nothing() {
        let mut signals = Signals::default();
        assert_eq!(signals.decide(&with_acknowledgement(), 120, at(200)), Some(Duration::from_millis(800)));
        assert!(!signals.is_open());
        signals.decide(&State::new("test", "me".into()), 120, at(300));
        assert!(!signals.is_open());
    }

    #[test]
    fn one_that_does_not_opens_the_board_and_it_lingers() {
        let mut signals = Signals::default();
        signals.decide(&with_acknowledgement(), 120, at(1500));
        assert!(signals.is_open());
        let empty = State::new("test", "me".into());
        assert_eq!(signals.decide(&empty, 120, at(2500)), Some(Duration::from_secs(4)));
        assert!(signals.is_open());
        assert_eq!(signals.decide(&empty, 120, at(6500)), None);
        assert!(!signals.is_open());
    }

    #[test]
    fn a_narrow_screen_has_it_only_on_request() {
        let mut signals = Signals::default();
        signals.decide(&with_acknowledgement(), DOCKED_FROM - 1, at(5000));
        assert!(!signals.is_open());
        signals.wish(Visibility::Open);
        signals.decide(&with_acknowledgement(), DOCKED_FROM - 1, at(5000));
        assert!(signals.is_open());
    }
}
