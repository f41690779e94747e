//! Converts cells to terminal output. Each frame writes only the cells that differ from the last frame, as one
//! synchronized update (DECSET 2026). If no cell differs and the cursor has not moved, nothing is written.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Sequence that sets up the terminal: alternate screen, bracketed paste, mouse (presses and drags, SGR coordinates),
/// disambiguated keys (kitty, flag 1) and a bar cursor. A block cursor would invert the caret's cell, which is already
/// drawn inverse. Focus reports are off because the UI does not show the focus.
pub(crate) const ENTER_SEQUENCE: &str =
    "\x1b[?1049h\x1b[?2004h\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[?1004l\x1b[>1u\x1b[6 q\x1b[?25l\x1b[0m\x1b[2J\x1b[H";

/// Sequence that undoes [`ENTER_SEQUENCE`], in reverse order.
pub(crate) const EXIT_SEQUENCE: &str =
    "\x1b[0m\x1b[?25h\x1b[0 q\x1b[<u\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1049l";

const BEGIN_UPDATE: &str = "\x1b[?2026h";
const END_UPDATE: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// Stores the cells that the terminal shows, and computes the output for the next frame.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    shown: Buffer,
    next: Buffer,
    cursor: Option<Position>,
    /// True if the content of the terminal is unknown. The next frame is then drawn in full.
    lost: bool,
}

impl Painter {
    /// Begins a frame: returns an empty buffer of this size to draw into.
    pub(crate) fn begin(&mut self, area: Rect) -> &mut Buffer {
        self.next.resize(area);
        self.next.reset();
        &mut self.next
    }

    /// Marks the content of the terminal as unknown. The next frame is then drawn in full.
    pub(crate) fn invalidate(&mut self) {
        self.lost = true;
    }

    /// Ends a frame: returns the output that changes the last frame to the buffer from [`begin`](Self::begin) and
    /// places the cursor. Returns `None` if neither the cells nor the cursor changed.
    pub(crate) fn finish(&mut self, cursor: Option<Position>) -> Option<String> {
        let mut cells = String::new();
        if self.lost || self.shown.area != self.next.area {
            cells.push_str("\x1b[0m\x1b[2J");
            self.shown = Buffer::empty(self.next.area);
            self.lost = false;
        }
        let mut pen = AnsiPen::default();
        for (x, y, cell) in self.shown.diff_iter(&self.next) {
            pen.put(x, y, cell, &mut cells);
        }
        if pen.style != CellStyle::default() {
            cells.push_str("\x1b[0m");
        }
        std::mem::swap(&mut self.shown, &mut self.next);
        let moved = self.cursor != cursor;
        self.cursor = cursor;
        if cells.is_empty() && !moved {
            return None;
        }
        let mut frame = String::with_capacity(cells.len() + 64);
        frame.push_str(BEGIN_UPDATE);
        if !cells.is_empty() || cursor.is_none() {
            frame.push_str(HIDE_CURSOR);
        }
        frame.push_str(&cells);
        if let Some(at) = cursor {
            go_to(at.x, at.y, &mut frame);
            frame.push_str(SHOW_CURSOR);
        }
        frame.push_str(END_UPDATE);
        Some(frame)
    }
}

/// Colours and attributes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CellStyle {
    foreground: Color,
    background: Color,
    modifiers: Modifier,
}

impl Default for CellStyle {
    fn default() -> Self {
        Self { foreground: Color::Reset, background: Color::Reset, modifiers: Modifier::empty() }
    }
}

/// Tracks the position and style of the terminal's cursor while a frame is written.
#[derive(Debug, Default)]
struct AnsiPen {
    /// Position of the cursor; `None` if it is unknown.
    at: Option<(u16, u16)>,
    style: CellStyle,
}

impl AnsiPen {
    fn put(&mut self, x: u16, y: u16, cell: &Cell, into: &mut String) {
        if self.at != Some((x, y)) {
            go_to(x, y, into);
        }
        let style = CellStyle { foreground: cell.fg, background: cell.bg, modifiers: cell.modifier };
        if style != self.style {
            sgr(style, into);
            self.style = style;
        }
        let symbol = unambiguous_part(cell.symbol());
        into.push_str(symbol);
        // Terminals agree on the width of ASCII only. After anything else, the cursor is positioned explicitly.
        self.at = symbol.is_ascii().then(|| (x + 1, y));
    }
}

/// Returns the part of a symbol that takes the same cells on every terminal. Some terminals join an emoji sequence
/// (families, skin tones) into one glyph, and others draw its parts side by side, over the text that follows.
fn unambiguous_part(symbol: &str) -> &str {
    if symbol.len() <= 4 {
        return symbol;
    }
    let cells = symbol.width();
    let mut used = 0;
    let beyond = symbol.char_indices().find(|(_, character)| {
        used += character.width().unwrap_or(0);
        used > cells
    });
    let fitting = beyond.map_or(symbol, |(index, _)| &symbol[..index]);
    fitting.trim_end_matches('\u{200d}')
}

fn go_to(x: u16, y: u16, into: &mut String) {
    let _ = write!(into, "\x1b[{};{}H", y + 1, x + 1);
}

fn sgr(style: CellStyle, into: &mut String) {
    into.push_str("\x1b[0");
    for (modifier, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
        (Modifier::HIDDEN, ";8"),
        (Modifier::CROSSED_OUT, ";9"),
    ] {
        if style.modifiers.contains(modifier) {
            into.push_str(code);
        }
    }
    colour(style.foreground, 30, into);
    colour(style.background, 40, into);
    into.push('m');
}

/// Appends the SGR parameters of a colour. `base` is 30 for a foreground colour and 40 for a background colour.
fn colour(colour: Color, base: u8, into: &mut String) {
    let code = |index: u8| if index < 8 { base + index } else { base + 52 + index };
    let _ = match colour {
        Color::Reset => return,
        Color::Indexed(index) => write!(into, ";{};5;{index}", base + 8),
        Color::Rgb(red, green, blue) => write!(into, ";{};2;{red};{green};{blue}", base + 8),
        Color::Black => write!(into, ";{}", code(0)),
        Color::Red => write!(into, ";{}", code(1)),
        Color::Green => write!(into, ";{}", code(2)),
        Color::Yellow => write!(into, ";{}", code(3)),
        Color::Blue => write!(into, ";{}", code(4)),
        Color::Magenta => write!(into, ";{}", code(5)),
        Color::Cyan => write!(into, ";{}", code(6)),
        Color::Gray => write!(into, ";{}", code(7)),
        Color::DarkGray => write!(into, ";{}", code(8)),
        Color::LightRed => write!(into, ";{}", code(9)),
        Color::LightGreen => write!(into, ";{}", code(10)),
        Color::LightYellow => write!(into, ";{}", code(11)),
        Color::LightBlue => write!(into, ";{}", code(12)),
        Color::LightMagenta => write!(into, ";{}", code(13)),
        Color::LightCyan => write!(into, ";{}", code(14)),
        Color::White => write!(into, ";{}", code(15)),
    };
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;
    use wh_core::terminal::Size;
    use wh_screen::vt::Vt;

    use super::*;

    const AREA: Rect = Rect { x: 0, y: 0, width: 20, height: 2 };

    fn paint(painter: &mut Painter, text: &str, style: Style) -> Option<String> {
        painter.begin(AREA).set_string(0, 0, text, style);
        painter.finish(Some(Position::new(0, 1)))
    }

    #[test]
    fn an_unchanged_frame_writes_nothing() {
        let mut painter = Painter::default();
        assert!(paint(&mut painter, "hello", Style::new()).is_some());
        assert_eq!(paint(&mut painter, "hello", Style::new()), None);
        painter.invalidate();
        assert!(paint(&mut painter, "hello", Style::new()).is_some_and(|frame| frame.contains("hello")));
    }

    #[test]
    fn one_cell_different_is_one_cell_written_in_one_update() {
        let mut painter = Painter::default();
        paint(&mut painter, "hello", Style::new());
        let frame = paint(&mut painter, "hallo", Style::new()).unwrap();
        assert_eq!(frame, "\x1b[?2026h\x1b[?25l\x1b[1;2Ha\x1b[2;1H\x1b[?25h\x1b[?2026l");
    }

    #[test]
    fn styles_are_written_and_reset() {
        let mut painter = Painter::default();
        let style = Style::new().fg(Color::Cyan).bg(Color::Indexed(238)).add_modifier(Modifier::BOLD);
        let frame = paint(&mut painter, "x", style).unwrap();
        assert!(frame.contains("\x1b[0;1;36;48;5;238mx\x1b[0m"), "{frame:?}");
        let frame = paint(&mut painter, "x", Style::new().fg(Color::LightRed)).unwrap();
        assert!(frame.contains("\x1b[0;91mx\x1b[0m"), "{frame:?}");
    }

    #[test]
    fn wide_characters_come_and_go() {
        let mut painter = Painter::default();
        let mut vt = Vt::new(Size { columns: 20, rows: 2 }, 0);
        for text in ["日本語 text", "ab本語 text", "a日本x text", "plain", "👨 é日", "e\u{301}日 🇫🇷 x"]
        {
            if let Some(frame) = paint(&mut painter, text, Style::new()) {
                vt.feed(frame.as_bytes());
            }
            let shown = wh_screen::render::lines(&vt.frame());
            assert_eq!(shown[0].trim_end(), text);
        }
    }

    #[test]
    fn ambiguous_emoji_sequences_are_shortened() {
        for (symbol, drawn) in [("👨‍👩‍👧", "👨"), ("👍🏽", "👍"), ("e\u{301}", "e\u{301}"), ("🇫🇷", "🇫🇷"), ("日", "日")]
        {
            assert_eq!(unambiguous_part(symbol), drawn, "{symbol}");
        }
    }
}
