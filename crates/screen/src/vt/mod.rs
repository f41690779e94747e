//! Terminal state: consumes program output and produces the screen, replies and notices. No clock and no IO; the
//! emulator crate is used only in this module.

mod convert;
mod emulator;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::{Config, Osc52};
use alacritty_terminal::vte::ansi::{self, NamedColor, Processor, Rgb};

use wh_core::event::TerminalNotice;

use self::emulator::Emulator;
use crate::frame::{DefaultColors, ScreenFrame, ScreenRow, Size};
use crate::modes::TerminalModes;
use crate::replies;
use crate::scan::{OutputScanner, ScannedSequence, complete_characters};

/// Timeout after which a synchronized update is shown even if the program has not ended it.
pub const SYNCHRONIZED_UPDATE_TIMEOUT: Duration = Duration::from_millis(150);

/// Effect of a chunk of output on synchronized updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedOutcome {
    /// Number of synchronized updates that ended.
    pub updates: u32,
    /// True if some output was outside of synchronized updates. Such output is shown immediately.
    pub outside_updates: bool,
}

/// Information that a program reported to its terminal by escape sequences, besides the content of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalReports {
    /// Working directory reported by the shell (OSC 7).
    pub directory: Option<String>,
    /// Last notification (OSC 9, OSC 777).
    pub notification: Option<String>,
    /// Last progress report (OSC 9;4).
    pub progress: Option<String>,
    /// Last shell integration mark (OSC 133).
    pub shell_mark: Option<String>,
    /// Number of bells so far.
    pub bells: u64,
}

/// Headless terminal emulator: parses program output, and holds the screen and the terminal's modes.
pub struct Vt {
    emulator: Emulator,
    parser: Processor<ManualTimeout>,
    event_queue: EventQueue,
    scanner: OutputScanner,
    /// Incomplete character, continued by the next output.
    partial: Vec<u8>,
    /// True if a synchronized update was open after the last segment.
    updating: bool,
    size: Size,
    modify_other_keys: u8,
    title: Option<String>,
    reports: TerminalReports,
    pending_replies: Vec<u8>,
    notices: Vec<TerminalNotice>,
}

impl std::fmt::Debug for Vt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Vt").field("size", &self.size).field("title", &self.title).finish_non_exhaustive()
    }
}

impl Vt {
    /// Creates an empty screen with a scrollback of at most `history` lines.
    pub fn new(size: Size, history: usize) -> Self {
        let event_queue = EventQueue::default();
        let config =
            Config { scrolling_history: history, kitty_keyboard: true, osc52: Osc52::Disabled, ..Config::default() };
        Self {
            emulator: Emulator::new(config, size, event_queue.clone()),
            parser: Processor::new(),
            event_queue,
            scanner: OutputScanner::default(),
            partial: Vec::new(),
            updating: false,
            size,
            modify_other_keys: 0,
            title: None,
            reports: TerminalReports::default(),
            pending_replies: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Processes output of the program.
    pub fn feed(&mut self, bytes: &[u8]) -> FeedOutcome {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.partial), bytes].concat();
            &joined
        };
        let (mut rest, partial) = bytes.split_at(complete_characters(bytes));
        self.partial.extend(partial);
        let mut fed = FeedOutcome::default();
        while !rest.is_empty() {
            let segment = self.scanner.advance(rest);
            let (head, tail) = rest.split_at(segment.length);
            if segment.pass {
                self.parser.advance(&mut self.emulator, head);
                self.process_events();
            }
            let was_updating = self.updating;
            match segment.found {
                Some(ScannedSequence::Csi { parameters, last }) => self.csi(&parameters, last),
                Some(ScannedSequence::Osc(string)) => self.osc(&string),
                Some(ScannedSequence::Dcs(string)) => self.dcs(&string),
                None => {}
            }
            // The emulator decides: it also ends an update that has become too long.
            self.updating = self.parser.sync_timeout().0;
            match (was_updating, self.updating) {
                (true, false) => fed.updates += 1,
                // The sequence that opens an update is outside of the update, but changes nothing on the screen.
                (false, true) => fed.outside_updates |= segment.length > BEGIN_UPDATE.len(),
                (false, false) => fed.outside_updates = true,
                (true, true) => {}
            }
            rest = tail;
        }
        fed
    }

    /// True while a synchronized update is open. Its content is not shown yet.
    pub fn updating(&self) -> bool {
        self.parser.sync_timeout().0
    }

    /// Ends an open synchronized update and shows its content. Called after the timeout.
    pub fn end_update(&mut self) {
        self.parser.stop_sync(&mut self.emulator);
        self.updating = false;
        self.process_events();
    }

    /// Takes the replies to the program's queries since the last call.
    pub fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending_replies)
    }

    /// Takes the notices of the program since the last call, in order.
    pub fn take_notices(&mut self) -> Vec<TerminalNotice> {
        std::mem::take(&mut self.notices)
    }

    /// Changes the size. Lines are rewrapped, including the history.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.emulator.resize(size);
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the modes as the program has set them.
    pub fn modes(&self) -> TerminalModes {
        convert::modes(*self.emulator.term().mode(), self.modify_other_keys)
    }

    /// Returns the window title, if set.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the information reported by the program.
    pub fn reports(&self) -> &TerminalReports {
        &self.reports
    }

    /// Returns the cursor's column and row.
    pub fn cursor(&self) -> (u16, u16) {
        let cursor = convert::cursor(self.emulator.term());
        (cursor.x, cursor.y)
    }

    /// Returns a snapshot of the screen.
    pub fn frame(&self) -> ScreenFrame {
        self.frame_after(None)
    }

    /// Returns a snapshot of the screen that shares unchanged rows with an earlier snapshot.
    pub fn frame_after(&self, before: Option<&ScreenFrame>) -> ScreenFrame {
        let grid = self.emulator.term().grid();
        let (mut links, mut styles) = (convert::LinkCache::default(), convert::StyleCache::default());
        let mut cells = Vec::with_capacity(usize::from(self.size.columns));
        let rows = (0..self.size.rows).map(|index| {
            cells.clear();
            let row = &grid[Line(i32::from(index))][..Column(self.size.columns.into())];
            convert::row(row, &mut links, &mut styles, &mut cells);
            match before.and_then(|before| before.rows.get(usize::from(index))) {
                Some(same) if same[..] == cells[..] => Arc::clone(same),
                _ => Arc::new(ScreenRow::new(cells.as_slice())),
            }
        });
        ScreenFrame {
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

    /// Returns a colour that the program has set; `None` if the program has not set it.
    fn color(&self, name: NamedColor) -> Option<(u8, u8, u8)> {
        self.emulator.term().colors()[name].map(|Rgb { r, g, b }| (r, g, b))
    }

    fn csi(&mut self, parameters: &[u8], last: u8) {
        match (parameters, last) {
            ([b'>', ..], b'q') => self.reply(&replies::version()),
            (b"16", b't') => self.reply(&replies::cell_size()),
            (b"?4", b'm') => self.reply(&replies::modify_other_keys(self.modify_other_keys)),
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
        let rest: String = rest.chars().take(MAX_REPORT_CHARS).collect();
        let rest = rest.as_str();
        let notice = match number {
            "7" => TerminalNotice::Directory(rest.to_owned()),
            "9" => match rest.strip_prefix("4;") {
                Some(progress) => TerminalNotice::Progress(progress.to_owned()),
                None => TerminalNotice::Notification(rest.to_owned()),
            },
            "133" => TerminalNotice::ShellMark(rest.to_owned()),
            "777" => TerminalNotice::Notification(rest.strip_prefix("notify;").unwrap_or(rest).to_owned()),
            _ => return,
        };
        self.notice(notice);
    }

    /// Stores the content of a notice in the title or the reports, and queues the notice.
    fn notice(&mut self, notice: TerminalNotice) {
        let reports = &mut self.reports;
        match &notice {
            TerminalNotice::Title(title) => self.title.clone_from(title),
            TerminalNotice::Bell(count) => reports.bells += count,
            TerminalNotice::Directory(text) => reports.directory = Some(text.clone()),
            TerminalNotice::Notification(text) => reports.notification = Some(text.clone()),
            TerminalNotice::Progress(text) => reports.progress = Some(text.clone()),
            TerminalNotice::ShellMark(text) => reports.shell_mark = Some(text.clone()),
        }
        // Consecutive bells are merged.
        match (self.notices.last_mut(), notice) {
            (Some(TerminalNotice::Bell(before)), TerminalNotice::Bell(more)) => *before += more,
            (_, notice) => self.notices.push(notice),
        }
    }

    fn dcs(&mut self, string: &[u8]) {
        let style = convert::style(&self.emulator.term().grid().cursor.template);
        let cursor = convert::cursor(self.emulator.term());
        if let Some(answer) = replies::dcs(string, &style, convert::cursor_style(&cursor)) {
            self.reply(&answer);
        }
    }

    fn reply(&mut self, answer: &str) {
        self.pending_replies.extend(answer.as_bytes());
    }

    fn process_events(&mut self) {
        for event in self.event_queue.take() {
            match event {
                Event::PtyWrite(text) => self.reply(&text),
                Event::Title(title) => {
                    self.notice(TerminalNotice::Title(Some(title.chars().take(MAX_REPORT_CHARS).collect())))
                }
                Event::ResetTitle => self.notice(TerminalNotice::Title(None)),
                Event::Bell => self.notice(TerminalNotice::Bell(1)),
                Event::ColorRequest(index, format) => {
                    let (r, g, b) = replies::palette(index);
                    let color = self.emulator.term().colors()[index].unwrap_or(Rgb { r, g, b });
                    self.reply(&format(color));
                }
                Event::TextAreaSizeRequest(format) => {
                    let (cell_width, cell_height) = replies::CELL_PIXELS;
                    let window =
                        WindowSize { num_lines: self.size.rows, num_cols: self.size.columns, cell_width, cell_height };
                    self.reply(&format(window));
                }
                // The clipboard belongs to the user: requests to read it are never answered.
                _ => {}
            }
        }
    }
}

/// Maximum characters of a title or of another report of the program.
const MAX_REPORT_CHARS: usize = 1024;

const BEGIN_UPDATE: &[u8] = b"\x1b[?2026h";

/// Queue of events from the emulator. The mutex is required only because the emulator holds a clone.
#[derive(Clone, Default)]
struct EventQueue(Arc<Mutex<Vec<Event>>>);

impl EventQueue {
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventListener for EventQueue {
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

/// State of the emulator's timeout for synchronized updates: true while the timeout runs. There is no clock: the caller
/// of [`Vt`] ends the update.
#[derive(Debug, Default)]
struct ManualTimeout(bool);

impl ansi::Timeout for ManualTimeout {
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

struct EmulatorSize(Size);

impl Dimensions for EmulatorSize {
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
