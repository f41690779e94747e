//! What the screen showed at some moment of a recording.

use std::time::Duration;

use super::{Cast, What, to_microseconds};
use crate::vt::{SYNCHRONIZED_UPDATE_LIMIT, Vt};

/// The terminal after all that happened until `at`, that moment included. It is the one that was recorded if it keeps as
/// many lines of `history`: a screen that grows takes lines back from there.
pub fn screen_at(cast: &Cast, at: Duration, history: usize) -> Vt {
    let at = Duration::from_micros(to_microseconds(at));
    let mut replay = Replay { vt: Vt::new(cast.header.size, history), updating_since: None };
    for event in cast.events.iter().take_while(|event| event.at <= at) {
        replay.pass_to(event.at);
        match &event.what {
            What::Output(text) => replay.output(text.as_bytes(), event.at),
            What::Resize(size) => replay.vt.resize(*size),
            What::Input(_) | What::Mark(_) | What::Exit(_) => {}
        }
    }
    replay.pass_to(at);
    replay.vt
}

struct Replay {
    vt: Vt,
    /// When the open synchronized update began.
    updating_since: Option<Duration>,
}

impl Replay {
    fn output(&mut self, bytes: &[u8], now: Duration) {
        self.vt.feed(bytes);
        self.updating_since = self.vt.updating().then(|| self.updating_since.unwrap_or(now));
        // The program got its answers when it was recorded.
        self.vt.take_answers();
    }

    /// Lets time pass, as a live terminal would: it does not wait for the end of an update for ever.
    fn pass_to(&mut self, now: Duration) {
        if self.updating_since.is_some_and(|since| now >= since.saturating_add(SYNCHRONIZED_UPDATE_LIMIT)) {
            self.vt.end_update();
            self.updating_since = None;
        }
    }
}
