//! Keeps a session's screen and its machine together: the machine decides, the screen shows what it decides by.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use wh_core::input::Gesture;
use wh_core::session::{Effect, Input, Output, Refusal, Session, View};
use wh_core::terminal::Size;
use wh_screen::frame::Frame;
use wh_screen::log::ByteLog;
use wh_screen::vt::{SYNCHRONIZED_UPDATE_LIMIT, Vt};
use wh_screen::{keys, mouse, paste, render};

use super::ScreenSpec;

/// Cells that a screen has to lose for its memory to be returned to the system.
const LARGE_SHRINK: usize = 100_000;

pub(super) struct Keeper {
    pub session: Session,
    screen: Option<Screen>,
}

struct Screen {
    vt: Vt,
    log: ByteLog,
    /// The frame of the present screen, once somebody has asked for it.
    frame: OnceLock<Arc<Frame>>,
    /// The one that was asked for before it.
    before: Option<Arc<Frame>>,
    /// When the open synchronized update began.
    updating_since: Option<Instant>,
}

impl Screen {
    fn new(size: Size, spec: ScreenSpec) -> Self {
        Self {
            vt: Vt::new(size, spec.history_lines),
            log: ByteLog::new(spec.log_characters),
            frame: OnceLock::new(),
            before: None,
            updating_since: None,
        }
    }

    fn frame(&self) -> &Arc<Frame> {
        self.frame.get_or_init(|| Arc::new(self.vt.frame_after(self.before.as_deref())))
    }

    /// What is shown is no longer what the frame has.
    fn changed(&mut self) {
        self.before = self.frame.take().or(self.before.take());
    }
}

impl Keeper {
    pub fn new(size: Size, spec: Option<ScreenSpec>, session: Session) -> Self {
        Self { session, screen: spec.map(|spec| Screen::new(size, spec)) }
    }

    /// Begins with a blank screen.
    pub fn open_screen(&mut self, size: Size, spec: ScreenSpec) {
        self.screen = Some(Screen::new(size, spec));
    }

    /// Keeps no screen any more.
    pub fn close_screen(&mut self) {
        self.screen = None;
        wh_client::memory::release();
    }

    /// Takes note of what happened.
    pub fn handle(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        self.session.handle(input, now, &Seen(self.screen.as_ref()))
    }

    /// Takes what the program wrote. What the terminal answers to it is returned too.
    pub fn output(&mut self, bytes: &[u8], now: Instant) -> (Vec<Effect>, Vec<u8>) {
        let Some(screen) = &mut self.screen else { return (Vec::new(), Vec::new()) };
        screen.changed();
        screen.log.push(bytes);
        let fed = screen.vt.feed(bytes);
        screen.updating_since = screen.vt.updating().then(|| screen.updating_since.unwrap_or(now));
        self.told(Output { updates: fed.updates, loose: fed.loose }, now)
    }

    /// Passes on what the terminal was told and what it answers, and that there was output.
    fn told(&mut self, output: Output, now: Instant) -> (Vec<Effect>, Vec<u8>) {
        let Some(screen) = &mut self.screen else { return (Vec::new(), Vec::new()) };
        let (answers, notices) = (screen.vt.take_answers(), screen.vt.take_notices());
        let mut effects: Vec<Effect> =
            notices.into_iter().flat_map(|notice| self.handle(Input::Noticed(notice), now)).collect();
        effects.extend(self.handle(Input::Output(output), now));
        (effects, answers)
    }

    /// When [`Keeper::tick`] must come if nothing else happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        let update = self
            .screen
            .as_ref()
            .and_then(|screen| screen.updating_since)
            .map(|since| since + SYNCHRONIZED_UPDATE_LIMIT);
        [self.session.wake_at(), update].into_iter().flatten().min()
    }

    /// The time has come. As for output, what the terminal answers is returned too.
    pub fn tick(&mut self, now: Instant) -> (Vec<Effect>, Vec<u8>) {
        let (mut effects, mut answers) = (Vec::new(), Vec::new());
        if let Some(screen) = &mut self.screen
            && screen.updating_since.is_some_and(|since| now >= since + SYNCHRONIZED_UPDATE_LIMIT)
        {
            screen.vt.end_update();
            screen.updating_since = None;
            screen.changed();
            (effects, answers) = self.told(Output { updates: 1, loose: false }, now);
        }
        effects.extend(self.handle(Input::Tick, now));
        (effects, answers)
    }

    /// Resizes the screen. What it then shows is a new frame.
    pub fn resize(&mut self, size: Size, now: Instant) -> Vec<Effect> {
        if let Some(screen) = &mut self.screen {
            let cells = |size: Size| usize::from(size.columns) * usize::from(size.rows);
            let before = cells(screen.vt.size());
            screen.vt.resize(size);
            screen.changed();
            if cells(size) + LARGE_SHRINK < before {
                screen.before = None;
                wh_client::memory::release();
            }
        }
        self.handle(Input::Output(Output { updates: 0, loose: true }), now)
    }

    /// The bytes that these gestures are to the program in its present mode.
    pub fn encode(&self, gestures: &[Gesture]) -> Result<Vec<u8>, Refusal> {
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
                        return Err(Refusal::OffScreen(size));
                    }
                    bytes.extend(mouse::encode(event, &modes).ok_or(Refusal::NotWanted)?);
                }
            }
        }
        Ok(bytes)
    }

    /// The present frame.
    pub fn frame(&self) -> Option<Arc<Frame>> {
        self.screen.as_ref().map(|screen| Arc::clone(screen.frame()))
    }

    pub fn log(&self) -> Option<&ByteLog> {
        self.screen.as_ref().map(|screen| &screen.log)
    }

    pub fn vt(&self) -> Option<&Vt> {
        self.screen.as_ref().map(|screen| &screen.vt)
    }
}

/// The screen as the machine sees it; there may be none.
struct Seen<'a>(Option<&'a Screen>);

impl View for Seen<'_> {
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
