//! Visibility of the signal board. Unless the user has set the visibility, the board opens only for lasting content, so
//! that it does not flicker with every message.

use std::time::{Duration, SystemTime};

use wh_core::slash::Visibility;
use wh_core::space::state::SpaceState;

/// Minimum screen width at which the board is docked beside the conversation.
pub(crate) const MIN_DOCKED_WIDTH: u16 = 110;

/// Delay after which an unanswered request for acknowledgement opens the board.
const ACK_BOARD_DELAY: Duration = Duration::from_secs(1);

/// Duration for which an automatically opened board stays open after it has become empty.
const BOARD_LINGER_DURATION: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct BoardVisibility {
    requested: Option<Visibility>,
    open: bool,
    /// Last time at which the board had content that keeps it open.
    last_needed: Option<SystemTime>,
}

impl BoardVisibility {
    pub(crate) fn set_visibility(&mut self, visibility: Visibility) {
        self.requested = Some(visibility);
        match visibility {
            Visibility::Open => self.open = true,
            Visibility::Close => self.open = false,
            Visibility::Auto => {}
        }
    }

    /// Returns the visibility that the user has set, if any.
    pub(crate) fn requested_visibility(&self) -> Option<Visibility> {
        self.requested
    }

    /// Returns true if the board was open in the last frame.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Updates the visibility for a frame of this width. Returns the time until the visibility may change without an
    /// event.
    pub(crate) fn decide(&mut self, state: &SpaceState, width: u16, now: SystemTime) -> Option<Duration> {
        let (open, wake) = match self.requested {
            Some(Visibility::Open) => (true, None),
            Some(Visibility::Close) => (false, None),
            Some(Visibility::Auto) | None => self.automatic(state, width, now),
        };
        self.open = open;
        wake
    }

    fn automatic(&mut self, state: &SpaceState, width: u16, now: SystemTime) -> (bool, Option<Duration>) {
        if width < MIN_DOCKED_WIDTH {
            return (false, None);
        }
        let lasting = !state.streams.is_empty()
            || state.pause().is_some()
            || state.present().any(|(_, participant)| participant.reported_status.is_some());
        let oldest = state.acknowledgements.iter().map(|one| since(one.at, now)).max();
        if lasting || oldest.is_some_and(|age| age >= ACK_BOARD_DELAY) {
            self.last_needed = Some(now);
            return (true, None);
        }
        let awaited = oldest.map(|age| ACK_BOARD_DELAY - age);
        let left = self
            .last_needed
            .and_then(|last| BOARD_LINGER_DURATION.checked_sub(since(last, now)))
            .filter(|left| !left.is_zero());
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
    use wh_core::space::event::{Acknowledgement, SpaceEvent};

    use super::*;

    fn at(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds)
    }

    fn with_acknowledgement() -> SpaceState {
        let mut state = SpaceState::new("test", "me".into());
        let wanted = Acknowledgement { item: "m1".into(), from: "me".into(), to: "demo".into(), at: at(0) };
        state.apply(&SpaceEvent::AcknowledgementWanted(wanted), at(0));
        state
    }

    #[test]
    fn a_prompt_acknowledgement_does_not_open_the_board() {
        let mut signals = BoardVisibility::default();
        assert_eq!(signals.decide(&with_acknowledgement(), 120, at(200)), Some(Duration::from_millis(800)));
        assert!(!signals.is_open());
        signals.decide(&SpaceState::new("test", "me".into()), 120, at(300));
        assert!(!signals.is_open());
    }

    #[test]
    fn a_late_acknowledgement_opens_the_board_and_it_lingers() {
        let mut signals = BoardVisibility::default();
        signals.decide(&with_acknowledgement(), 120, at(1500));
        assert!(signals.is_open());
        let empty = SpaceState::new("test", "me".into());
        assert_eq!(signals.decide(&empty, 120, at(2500)), Some(Duration::from_secs(4)));
        assert!(signals.is_open());
        assert_eq!(signals.decide(&empty, 120, at(6500)), None);
        assert!(!signals.is_open());
    }

    #[test]
    fn a_narrow_screen_shows_the_board_only_on_request() {
        let mut signals = BoardVisibility::default();
        signals.decide(&with_acknowledgement(), MIN_DOCKED_WIDTH - 1, at(5000));
        assert!(!signals.is_open());
        signals.set_visibility(Visibility::Open);
        signals.decide(&with_acknowledgement(), MIN_DOCKED_WIDTH - 1, at(5000));
        assert!(signals.is_open());
    }
}
