//! A terminal's mind: the program's bytes in, the screen and the terminal's answers out. No clock and no IO; nothing
//! outside this module names the emulator.

mod convert;
mod emulator;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::{Config, Osc52};
use alacritty_terminal::vte::ansi::{self, NamedColor, Processor, Rgb};

use wh_core::event::Notice;

use self::emulator::Emulator;
use crate::frame::{DefaultColors, Frame, Row, Size};
use crate::modes::Modes;
use crate::replies;
use crate::scan::{Found, Scanner, whole_characters};

/// After this long a synchronized update is shown even if the program has not ended it.
pub const SYNCHRONIZED_UPDATE_LIMIT: Duration = Duration::from_millis(150);

/// What became of some output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fed {
    /// Synchronized updates that ended in it.
    pub updates: u32,
    /// Whether some of it lay outside of synchronized updates, and so was shown at once.
    pub loose: bool,
}

/// What a program told its terminal beside the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reports {
    /// Where the shell says it is (OSC 7).
    pub directory: Option<String>,
    /// The last notification (OSC 9, OSC 777).
    pub notification: Option<String>,
    /// The last progress report (OSC 9;4).
    pub progress: Option<String>,
    /// The last shell integration mark (OSC 133).
    pub shell_mark: Option<String>,
    /// Bells so far.
    pub bells: u64,
}

/// A terminal without a window.
pub struct Vt {
    emulator: Emulator,
    parser: Processor<Unclocked>,
    mailbox: Mailbox,
    scanner: Scanner,
    /// The beginning of a character that the next output goes on with.
    partial: Vec<u8>,
    /// Whether a synchronized update was open after the last stretch.
    updating: bool,
    size: Size,
    modify_other_keys: u8,
    title: Option<String>,
    reports: Reports,
    answers: Vec<u8>,
    notices: Vec<Notice>,
}

impl std::fmt::Debug for Vt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Vt").field("size", &self.size).field("title", &self.title).finish_non_exhaustive()
    }
}

impl Vt {
    /// An empty screen that keeps `history` lines above it.
    pub fn new(size: Size, history: usize) -> Self {
        let mailbox = Mailbox::default();
        let config =
            Config { scrolling_history: history, kitty_keyboard: true, osc52: Osc52::Disabled, ..Config::default() };
        Self {
            emulator: Emulator::new(config, size, mailbox.clone()),
            parser: Processor::new(),
            mailbox,
            scanner: Scanner::default(),
            partial: Vec::new(),
            updating: false,
            size,
            modify_other_keys: 0,
            title: None,
            reports: Reports::default(),
            answers: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Takes what the program wrote.
    pub fn feed(&mut self, bytes: &[u8]) -> Fed {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.partial), bytes].concat();
            &joined
        };
        let (mut rest, partial) = bytes.split_at(whole_characters(bytes));
        self.partial.extend(partial);
        let mut fed = Fed::default();
        while !rest.is_empty() {
            let stretch = self.scanner.advance(rest);
            let (head, tail) = rest.split_at(stretch.length);
            if stretch.pass {
                self.parser.advance(&mut self.emulator, head);
                self.read_mail();
            }
            let was_updating = self.updating;
            match stretch.found {
                Some(Found::Csi { parameters, last }) => self.csi(&parameters, last),
                Some(Found::Osc(string)) => self.osc(&string),
                Some(Found::Dcs(string)) => self.dcs(&string),
                None => {}
            }
            // The emulator knows best: it also ends an update by itself that has grown too long.
            self.updating = self.parser.sync_timeout().0;
            match (was_updating, self.updating) {
                (true, false) => fed.updates += 1,
                // The sequence that opens the update is itself outside of it, but shows nothing.
                (false, true) => fed.loose |= stretch.length > BEGIN_UPDATE.len(),
                (false, false) => fed.loose = true,
                (true, true) => {}
            }
            rest = tail;
        }
        fed
    }

    /// Whether a synchronized update is open: what it holds is not shown yet.
    pub fn updating(&self) -> bool {
        self.parser.sync_timeout().0
    }

    /// Shows what an open synchronized update holds: its time is up.
    pub fn end_update(&mut self) {
        self.parser.stop_sync(&mut self.emulator);
        self.updating = false;
        self.read_mail();
    }

    /// What the terminal answers to the program's questions, since the last call.
    pub fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers)
    }

    /// What the program told beside the screen, since the last call, in order.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Changes the size; lines are wrapped anew, as far as the history goes.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.emulator.resize(size);
    }

    /// The size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The switches as the program has set them.
    pub fn modes(&self) -> Modes {
        convert::modes(*self.emulator.term().mode(), self.modify_other_keys)
    }

    /// The window title.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What the program told beside the screen.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }

    /// The cursor's column and row.
    pub fn cursor(&self) -> (u16, u16) {
        let cursor = convert::cursor(self.emulator.term());
        (cursor.x, cursor.y)
    }

    /// The screen as it is now.
    pub fn frame(&self) -> Frame {
        self.frame_after(None)
    }

    /// The screen as it is now, sharing the rows that are as they were in a frame before.
    pub fn frame_after(&self, before: Option<&Frame>) -> Frame {
        let grid = self.emulator.term().grid();
        let (mut links, mut looks) = (convert::Links::default(), convert::Looks::default());
        let mut cells = Vec::with_capacity(usize::from(self.size.columns));
        let rows = (0..self.size.rows).map(|index| {
            cells.clear();
            let row = &grid[Line(i32::from(index))][..Column(self.size.columns.into())];
            convert::row(row, &mut links, &mut looks, &mut cells);
            match before.and_then(|before| before.rows.get(usize::from(index))) {
                Some(same) if same[..] == cells[..] => Arc::clone(same),
                _ => Arc::new(Row::new(cells.as_slice())),
            }
        });
        Frame {
            size: self.size,
            rows: rows.collect(),
            cursor: convert::cursor(self.emulator.term()),
            title: self.title.clone(),
            modes: self.modes(),
            colors: DefaultColors {
                foreground: self.color(NamedColor::Foreground),
                background: self.color(NamedColor::Background),
            },
        }
    }

    /// A colour that the program has set.
    fn color(&self, name: NamedColor) -> Option<(u8, u8, u8)> {
        self.emulator.term().colors()[name].map(|Rgb { r, g, b }| (r, g, b))
    }

    fn csi(&mut self, parameters: &[u8], last: u8) {
        match (parameters, last) {
            ([b'>', ..], b'q') => self.answer(&replies::version()),
            (b"16", b't') => self.answer(&replies::cell_size()),
            (b"?4", b'm') => self.answer(&replies::modify_other_keys(self.modify_other_keys)),
            ([b'>', setting @ ..], b'm') => match setting {
                b"4" | b"4;0" | b"" => self.modify_other_keys = 0,
                b"4;1" => self.modify_other_keys = 1,
                b"4;2" => self.modify_other_keys = 2,
                _ => {}
            },
            (b"!", b'p') => {
                self.modify_other_keys = 0;
                self.emulator.soft_reset();
            }
            _ => {}
        }
    }

    fn osc(&mut self, string: &[u8]) {
        let text = String::from_utf8_lossy(string);
        let Some((number, rest)) = text.split_once(';') else { return };
        let rest: String = rest.chars().take(LONGEST_TEXT).collect();
        let rest = rest.as_str();
        let notice = match number {
            "7" => Notice::Directory(rest.to_owned()),
            "9" => match rest.strip_prefix("4;") {
                Some(progress) => Notice::Progress(progress.to_owned()),
                None => Notice::Notification(rest.to_owned()),
            },
            "133" => Notice::ShellMark(rest.to_owned()),
            "777" => Notice::Notification(rest.strip_prefix("notify;").unwrap_or(rest).to_owned()),
            _ => return,
        };
        self.notice(notice);
    }

    /// Remembers what was told, and that it was.
    fn notice(&mut self, notice: Notice) {
        let reports = &mut self.reports;
        match &notice {
            Notice::Title(title) => self.title.clone_from(title),
            Notice::Bell(count) => reports.bells += count,
            Notice::Directory(text) => reports.directory = Some(text.clone()),
            Notice::Notification(text) => reports.notification = Some(text.clone()),
            Notice::Progress(text) => reports.progress = Some(text.clone()),
            Notice::ShellMark(text) => reports.shell_mark = Some(text.clone()),
        }
        // A hundred bells in a row are one noise.
        match (self.notices.last_mut(), notice) {
            (Some(Notice::Bell(before)), Notice::Bell(more)) => *before += more,
            (_, notice) => self.notices.push(notice),
        }
    }

    fn dcs(&mut self, string: &[u8]) {
        let style = convert::style(&self.emulator.term().grid().cursor.template);
        let cursor = convert::cursor(self.emulator.term());
        if let Some(answer) = replies::dcs(string, &style, convert::cursor_style(&cursor)) {
            self.answer(&answer);
        }
    }

    fn answer(&mut self, answer: &str) {
        self.answers.extend(answer.as_bytes());
    }

    fn read_mail(&mut self) {
        for event in self.mailbox.take() {
            match event {
                Event::PtyWrite(text) => self.answer(&text),
                Event::Title(title) => self.notice(Notice::Title(Some(title.chars().take(LONGEST_TEXT).collect()))),
                Event::ResetTitle => self.notice(Notice::Title(None)),
                Event::Bell => self.notice(Notice::Bell(1)),
                Event::ColorRequest(index, format) => {
                    let (r, g, b) = replies::palette(index);
                    let color = self.emulator.term().colors()[index].unwrap_or(Rgb { r, g, b });
                    self.answer(&format(color));
                }
                Event::TextAreaSizeRequest(format) => {
                    let (cell_width, cell_height) = replies::CELL_PIXELS;
                    let window =
                        WindowSize { num_lines: self.size.rows, num_cols: self.size.columns, cell_width, cell_height };
                    self.answer(&format(window));
                }
                // The clipboard is the person's: a read of it is never answered.
                _ => {}
            }
        }
    }
}

/// Characters that are kept of a title or of anything else that a program tells beside the screen.
const LONGEST_TEXT: usize = 1024;

const BEGIN_UPDATE: &[u8] = b"\x1b[?2026h";

/// What the emulator has to say, until it is read. Behind a mutex only because the emulator holds the other end.
#[derive(Clone, Default)]
struct Mailbox(Arc<Mutex<Vec<Event>>>);

impl Mailbox {
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventListener for Mailbox {
    fn send_event(&self, event: Event) {
        let wanted = matches!(
            event,
            Event::PtyWrite(_)
                | Event::Title(_)
                | Event::ResetTitle
                | Event::Bell
                | Event::ColorRequest(..)
                | Event::TextAreaSizeRequest(_)
        );
        if wanted {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    }
}

/// The emulator's idea of a timeout, without a clock: the engine says when the time is up.
#[derive(Debug, Default)]
struct Unclocked(bool);

impl ansi::Timeout for Unclocked {
    fn set_timeout(&mut self, _: Duration) {
        self.0 = true;
    }

    fn clear_timeout(&mut self) {
        self.0 = false;
    }

    fn pending_timeout(&self) -> bool {
        self.0
    }
}

struct Grid(Size);

impl Dimensions for Grid {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.0.rows)
    }

    fn columns(&self) -> usize {
        usize::from(self.0.columns)
    }
}

#[cfg(test)]
mod tests;
