//! State machine of a session combined with its screen. The machine reads the screen to make decisions.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use wh_core::input::Gesture;
use wh_core::session::{FrameBoundaries, ScreenAccess, SessionEffect, SessionInput, SessionMachine, TerminalRefusal};
use wh_core::terminal::Size;
use wh_screen::frame::ScreenFrame;
use wh_screen::log::ByteLog;
use wh_screen::vt::{SYNCHRONIZED_UPDATE_TIMEOUT, Vt};
use wh_screen::{keys, mouse, paste, render};

use super::ScreenSpec;

/// Number of removed cells above which a resize returns free memory to the system.
const LARGE_SHRINK_CELLS: usize = 100_000;

pub(super) struct ScreenedSession {
    pub session: SessionMachine,
    screen: Option<SessionScreen>,
}

struct SessionScreen {
    vt: Vt,
    log: ByteLog,
    /// Current frame, computed on the first request.
    frame: OnceLock<Arc<ScreenFrame>>,
    /// Last frame that was computed before the current one.
    before: Option<Arc<ScreenFrame>>,
    /// Start time of the open synchronized update; `None` if no update is open.
    updating_since: Option<Instant>,
}

impl SessionScreen {
    fn new(size: Size, spec: ScreenSpec) -> Self {
        Self {
            vt: Vt::new(size, spec.history_lines),
            log: ByteLog::new(spec.log_characters),
            frame: OnceLock::new(),
            before: None,
            updating_since: None,
        }
    }

    fn frame(&self) -> &Arc<ScreenFrame> {
        self.frame.get_or_init(|| Arc::new(self.vt.frame_after(self.before.as_deref())))
    }

    /// Discards the cached frame after a change of the screen.
    fn changed(&mut self) {
        self.before = self.frame.take().or(self.before.take());
    }
}

impl ScreenedSession {
    pub fn new(size: Size, spec: Option<ScreenSpec>, session: SessionMachine) -> Self {
        Self { session, screen: spec.map(|spec| SessionScreen::new(size, spec)) }
    }

    /// Opens a blank screen.
    pub fn open_screen(&mut self, size: Size, spec: ScreenSpec) {
        self.screen = Some(SessionScreen::new(size, spec));
    }

    /// Drops the screen, and returns its memory to the system.
    pub fn close_screen(&mut self) {
        self.screen = None;
        wh_client::memory::release();
    }

    /// Passes an input to the session's state machine.
    pub fn handle(&mut self, input: SessionInput, now: Instant) -> Vec<SessionEffect> {
        self.session.handle(input, now, &ScreenView(self.screen.as_ref()))
    }

    /// Processes program output. Returns the effects, and the terminal's answers to the program.
    pub fn output(&mut self, bytes: &[u8], now: Instant) -> (Vec<SessionEffect>, Vec<u8>) {
        let Some(screen) = &mut self.screen else { return (Vec::new(), Vec::new()) };
        screen.changed();
        screen.log.push(bytes);
        let fed = screen.vt.feed(bytes);
        screen.updating_since = screen.vt.updating().then(|| screen.updating_since.unwrap_or(now));
        self.report_output(FrameBoundaries { updates: fed.updates, unsynchronized: fed.outside_updates }, now)
    }

    /// Reports output and terminal notices to the machine. Returns the effects, and the terminal's answers to the
    /// program.
    fn report_output(&mut self, output: FrameBoundaries, now: Instant) -> (Vec<SessionEffect>, Vec<u8>) {
        let Some(screen) = &mut self.screen else { return (Vec::new(), Vec::new()) };
        let (answers, notices) = (screen.vt.take_replies(), screen.vt.take_notices());
        let mut effects: Vec<SessionEffect> =
            notices.into_iter().flat_map(|notice| self.handle(SessionInput::Noticed(notice), now)).collect();
        effects.extend(self.handle(SessionInput::Output(output), now));
        (effects, answers)
    }

    /// Returns the time by which [`ScreenedSession::tick`] must be called; `None` if no timer runs.
    pub fn wake_at(&self) -> Option<Instant> {
        let update = self
            .screen
            .as_ref()
            .and_then(|screen| screen.updating_since)
            .map(|since| since + SYNCHRONIZED_UPDATE_TIMEOUT);
        [self.session.wake_at(), update].into_iter().flatten().min()
    }

    /// Handles timers. Returns the effects, and the terminal's answers to the program.
    pub fn tick(&mut self, now: Instant) -> (Vec<SessionEffect>, Vec<u8>) {
        let (mut effects, mut answers) = (Vec::new(), Vec::new());
        if let Some(screen) = &mut self.screen
            && screen.updating_since.is_some_and(|since| now >= since + SYNCHRONIZED_UPDATE_TIMEOUT)
        {
            screen.vt.end_update();
            screen.updating_since = None;
            screen.changed();
            (effects, answers) = self.report_output(FrameBoundaries { updates: 1, unsynchronized: false }, now);
        }
        effects.extend(self.handle(SessionInput::Tick, now));
        (effects, answers)
    }

    /// Resizes the screen, which produces a new frame.
    pub fn resize(&mut self, size: Size, now: Instant) -> Vec<SessionEffect> {
        if let Some(screen) = &mut self.screen {
            let cells = |size: Size| usize::from(size.columns) * usize::from(size.rows);
            let before = cells(screen.vt.size());
            screen.vt.resize(size);
            screen.changed();
            if cells(size) + LARGE_SHRINK_CELLS < before {
                screen.before = None;
                wh_client::memory::release();
            }
        }
        self.handle(SessionInput::Output(FrameBoundaries { updates: 0, unsynchronized: true }), now)
    }

    /// Encodes gestures as input bytes for the program's current keyboard, mouse and paste modes.
    pub fn encode(&self, gestures: &[Gesture]) -> Result<Vec<u8>, TerminalRefusal> {
        let modes = self.screen.as_ref().map(|screen| screen.vt.modes()).unwrap_or_default();
        let mut bytes = Vec::new();
        for gesture in gestures {
            match gesture {
                Gesture::Text(text) => bytes.extend(text.as_bytes()),
                Gesture::Key(press) => bytes.extend(keys::encode(press, &modes)),
                Gesture::Paste(text) => bytes.extend(paste::encode(text, &modes)),
                Gesture::Mouse(event) => {
                    if let Some(size) =
                        self.vt().map(Vt::size).filter(|size| event.x >= size.columns || event.y >= size.rows)
                    {
                        return Err(TerminalRefusal::OffScreen(size));
                    }
                    bytes.extend(mouse::encode(event, &modes).ok_or(TerminalRefusal::NotWanted)?);
                }
            }
        }
        Ok(bytes)
    }

    /// Returns the current frame; `None` without a screen.
    pub fn frame(&self) -> Option<Arc<ScreenFrame>> {
        self.screen.as_ref().map(|screen| Arc::clone(screen.frame()))
    }

    pub fn log(&self) -> Option<&ByteLog> {
        self.screen.as_ref().map(|screen| &screen.log)
    }

    pub fn vt(&self) -> Option<&Vt> {
        self.screen.as_ref().map(|screen| &screen.vt)
    }
}

/// Gives the state machine read access to the screen; `None` without a screen.
struct ScreenView<'a>(Option<&'a SessionScreen>);

impl ScreenAccess for ScreenView<'_> {
    fn text(&self) -> String {
        self.0.map(|screen| render::plain(screen.frame())).unwrap_or_default()
    }

    fn cursor(&self) -> (u16, u16) {
        self.0.map(|screen| screen.vt.cursor()).unwrap_or_default()
    }

    fn title(&self) -> Option<String> {
        self.0.and_then(|screen| screen.vt.title().map(str::to_owned))
    }

    fn fingerprint(&self) -> u64 {
        self.0.map(|screen| render::fingerprint(screen.frame())).unwrap_or_default()
    }
}
