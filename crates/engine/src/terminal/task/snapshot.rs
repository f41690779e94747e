//! The screen and the facts beside it, as they are now.

use wh_client::{Facts, Look, Shown};

use super::Task;

impl Task {
    pub(super) fn shown(&mut self, look: Look) -> Option<Shown> {
        let frame = self.keeper.frame()?;
        let log = self.keeper.log()?;
        let (frames_rendered, last) = self.keeper.session.frames();
        Some(Shown {
            frame,
            frames_rendered,
            last_frame: last.map_or(self.identity.clock.time, |last| self.identity.clock.time(last)),
            log_characters: log.characters(),
            log_truncated: log.truncated(),
            output_bytes: log.total(),
            history: look.history.then(|| log.contents()),
        })
    }

    pub(super) fn facts(&self) -> Facts {
        let (status, since) = self.keeper.session.status();
        let vt = self.keeper.vt();
        let (typed_bytes, input_to_frame) = self.keeper.session.input();
        Facts {
            id: self.identity.id.clone(),
            command: self.identity.command.clone(),
            pid: Some(self.identity.pid),
            status,
            since: self.identity.clock.time(since),
            size: self.size,
            attached: self.keeper.session.attached(),
            title: vt.and_then(|vt| vt.title().map(str::to_owned)),
            alternate_screen: vt.is_some_and(|vt| vt.modes().alternate_screen),
            reports: vt.map(|vt| vt.reports().clone()).unwrap_or_default(),
            output_bytes: self.keeper.log().map_or(0, |log| log.total()),
            frames_rendered: self.keeper.session.frames().0,
            open_waits: self.keeper.session.open_waits(),
            queued_input: self.keeper.session.queued(),
            typed_bytes,
            input_to_frame: input_to_frame.clone(),
        }
    }
}
