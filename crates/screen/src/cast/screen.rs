//! Reconstructs the screen at a given time of a recording.

use std::time::Duration;

use super::{Cast, EventContent, to_microseconds};
use crate::vt::{SYNCHRONIZED_UPDATE_TIMEOUT, Vt};

/// Returns the terminal after all events up to and including `at`. `history` must equal the scrollback of the recorded
/// terminal, in lines, because a screen that grows takes lines from the scrollback.
pub fn screen_at(cast: &Cast, at: Duration, history: usize) -> Vt {
    let at = Duration::from_micros(to_microseconds(at));
    let mut replay = CastReplay { vt: Vt::new(cast.header.size, history), updating_since: None };
    for event in cast.events.iter().take_while(|event| event.at <= at) {
        replay.pass_to(event.at);
        match &event.content {
            EventContent::Output(text) => replay.output(text.as_bytes(), event.at),
            EventContent::Resize(size) => replay.vt.resize(*size),
            EventContent::Input(_) | EventContent::Mark(_) | EventContent::Exit(_) => {}
        }
    }
    replay.pass_to(at);
    replay.vt
}

struct CastReplay {
    vt: Vt,
    /// Start of the open synchronized update; `None` if no update is open.
    updating_since: Option<Duration>,
}

impl CastReplay {
    fn output(&mut self, bytes: &[u8], now: Duration) {
        self.vt.feed(bytes);
        self.updating_since = self.vt.updating().then(|| self.updating_since.unwrap_or(now));
        // The program already received these replies during the recording.
        self.vt.take_replies();
    }

    /// Ends a synchronized update whose timeout has passed at `now`, as a live terminal does.
    fn pass_to(&mut self, now: Duration) {
        if self.updating_since.is_some_and(|since| now >= since.saturating_add(SYNCHRONIZED_UPDATE_TIMEOUT)) {
            self.vt.end_update();
            self.updating_since = None;
        }
    }
}
