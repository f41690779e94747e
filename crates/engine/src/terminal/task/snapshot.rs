//! Snapshots of the screen, and facts about the session.

use wh_client::{ScreenReadOptions, ScreenSnapshot, SurfaceFacts};

use super::TerminalTask;

impl TerminalTask {
    pub(super) fn shown(&mut self, look: ScreenReadOptions) -> Option<ScreenSnapshot> {
        let frame = self.screened.frame()?;
        let log = self.screened.log()?;
        let (frames_rendered, last) = self.screened.session.frames();
        Some(ScreenSnapshot {
            frame,
            frames_rendered,
            last_frame: last.map_or(self.identity.clock.time, |last| self.identity.clock.time(last)),
            log_characters: log.characters(),
            log_truncated: log.truncated(),
            output_bytes: log.total(),
            history: look.history.then(|| log.contents()),
        })
    }

    pub(super) fn facts(&self) -> SurfaceFacts {
        let (status, since) = self.screened.session.status();
        let vt = self.screened.vt();
        let (typed_bytes, input_to_frame) = self.screened.session.input();
        SurfaceFacts {
            id: self.identity.id.clone(),
            command: self.identity.command.clone(),
            pid: Some(self.identity.pid),
            status,
            since: self.identity.clock.time(since),
            size: self.size,
            attached: self.screened.session.attached(),
            title: vt.and_then(|vt| vt.title().map(str::to_owned)),
            alternate_screen: vt.is_some_and(|vt| vt.modes().alternate_screen),
            reports: vt.map(|vt| vt.reports().clone()).unwrap_or_default(),
            output_bytes: self.screened.log().map_or(0, |log| log.total()),
            frames_rendered: self.screened.session.frames().0,
            open_waits: self.screened.session.open_waits(),
            queued_input: self.screened.session.queued(),
            typed_bytes,
            input_to_frame: input_to_frame.clone(),
        }
    }
}
