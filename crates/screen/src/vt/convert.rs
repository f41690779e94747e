//! Converts the emulator's types to those of this crate.

use std::sync::Arc;

use alacritty_terminal::event::EventListener;
use alacritty_terminal::term::cell::{Cell as EmulatorCell, Flags, Hyperlink};
use alacritty_terminal::term::{Term, TermMode};
use alacritty_terminal::vte::ansi::{Color as EmulatorColor, CursorShape as EmulatorShape, NamedColor};

use crate::frame::{Cell, CellExtra, Color, CursorShape, ScreenCursor, Style, Underline};
use crate::modes::{MouseEncoding, MouseTracking, TerminalModes};

/// Cache of the last link, since neighbouring cells mostly share it.
#[derive(Default)]
pub(super) struct LinkCache(Option<(Hyperlink, Arc<str>)>);

impl LinkCache {
    fn share(&mut self, link: Hyperlink) -> Arc<str> {
        match &self.0 {
            Some((known, shared)) if *known == link => Arc::clone(shared),
            _ => {
                let shared: Arc<str> = link.uri().into();
                self.0 = Some((link, Arc::clone(&shared)));
                shared
            }
        }
    }
}

/// Cache of the last style, since neighbouring cells mostly share it.
#[derive(Default)]
pub(super) struct StyleCache(Option<(EmulatorColor, EmulatorColor, Flags, Style)>);

impl StyleCache {
    fn share(&mut self, cell: &EmulatorCell) -> Style {
        // The extra data may hold the colour of the underline.
        if cell.extra.is_some() {
            return style(cell);
        }
        match &self.0 {
            Some((fg, bg, flags, known)) if *flags == cell.flags && *fg == cell.fg && *bg == cell.bg => *known,
            _ => {
                let style = style(cell);
                self.0 = Some((cell.fg, cell.bg, cell.flags, style));
                style
            }
        }
    }
}

/// True for most cells: not part of a wide character, default style, and no extra data.
fn is_plain(cell: &EmulatorCell) -> bool {
    cell.extra.is_none()
        & cell.flags.is_empty()
        & matches!(cell.fg, EmulatorColor::Named(NamedColor::Foreground))
        & matches!(cell.bg, EmulatorColor::Named(NamedColor::Background))
}

/// Appends a row of cells. A half of a wide character whose other half was overwritten or erased becomes a blank.
pub(super) fn row(row: &[EmulatorCell], links: &mut LinkCache, styles: &mut StyleCache, cells: &mut Vec<Cell>) {
    let mut column = 0;
    while let Some(rest) = row.get(column..).filter(|rest| !rest.is_empty()) {
        // Runs of plain cells are converted in bulk.
        let plain = rest.iter().position(|cell| !is_plain(cell)).unwrap_or(rest.len());
        cells.extend(rest[..plain].iter().map(|cell| Cell { character: shown(cell.c), ..Cell::BLANK }));
        column += plain;
        while let Some(cell) = row.get(column).filter(|cell| !is_plain(cell)) {
            cells.push(match width(row, column, cell) {
                Some(width) => self::cell(cell, width, links, styles),
                None => Cell { style: styles.share(cell), ..Cell::BLANK },
            });
            column += 1;
        }
    }
}

/// Returns the width of a cell in columns; `None` for one half of a wide character without the other.
fn width(row: &[EmulatorCell], column: usize, cell: &EmulatorCell) -> Option<u8> {
    let has = |column: Option<usize>, flag| {
        column.and_then(|column| row.get(column)).is_some_and(|cell| cell.flags.contains(flag))
    };
    if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
        has(column.checked_sub(1), Flags::WIDE_CHAR).then_some(0)
    } else if cell.flags.contains(Flags::WIDE_CHAR) {
        has(column.checked_add(1), Flags::WIDE_CHAR_SPACER).then_some(2)
    } else {
        Some(1)
    }
}

/// Returns the character to show. The emulator stores a tab character in the cell where the tab began. Such a cell is
/// shown as a blank.
fn shown(character: char) -> char {
    if character == '\t' { ' ' } else { character }
}

fn cell(cell: &EmulatorCell, width: u8, links: &mut LinkCache, styles: &mut StyleCache) -> Cell {
    let character = if width == 0 { ' ' } else { shown(cell.c) };
    let extra = cell.extra.as_ref().and_then(|_| {
        let extra = CellExtra {
            combining: cell.zerowidth().map(<[char]>::to_vec).unwrap_or_default(),
            hyperlink: cell.hyperlink().map(|link| links.share(link)),
        };
        (extra != CellExtra::default()).then(|| Box::new(extra))
    });
    Cell { character, width, style: styles.share(cell), extra }
}

pub(super) fn style(cell: &EmulatorCell) -> Style {
    let has = |flag| cell.flags.contains(flag);
    let underline = if has(Flags::UNDERCURL) {
        Underline::Curly
    } else if has(Flags::DOUBLE_UNDERLINE) {
        Underline::Double
    } else if has(Flags::DOTTED_UNDERLINE) {
        Underline::Dotted
    } else if has(Flags::DASHED_UNDERLINE) {
        Underline::Dashed
    } else if has(Flags::UNDERLINE) {
        Underline::Single
    } else {
        Underline::None
    };
    Style {
        foreground: color(cell.fg),
        background: color(cell.bg),
        underline_color: cell.underline_color().map(color),
        underline,
        bold: has(Flags::BOLD),
        dim: has(Flags::DIM),
        italic: has(Flags::ITALIC),
        inverse: has(Flags::INVERSE),
        hidden: has(Flags::HIDDEN),
        strikethrough: has(Flags::STRIKEOUT),
    }
}

fn color(color: EmulatorColor) -> Color {
    match color {
        EmulatorColor::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
        EmulatorColor::Indexed(index) => Color::Indexed(index),
        EmulatorColor::Named(name) => match name as usize {
            index @ 0..=15 => Color::Indexed(index as u8),
            dim if dim >= NamedColor::DimBlack as usize && dim <= NamedColor::DimWhite as usize => {
                Color::Indexed((dim - NamedColor::DimBlack as usize) as u8)
            }
            _ => Color::Default,
        },
    }
}

pub(super) fn cursor<T: EventListener>(term: &Term<T>) -> ScreenCursor {
    let point = term.grid().cursor.point;
    let style = term.cursor_style();
    ScreenCursor {
        x: u16::try_from(point.column.0).unwrap_or(u16::MAX),
        y: u16::try_from(point.line.0).unwrap_or(0),
        visible: term.mode().contains(TermMode::SHOW_CURSOR) && style.shape != EmulatorShape::Hidden,
        shape: match style.shape {
            EmulatorShape::Underline => CursorShape::Underline,
            EmulatorShape::Beam => CursorShape::Beam,
            EmulatorShape::Block | EmulatorShape::HollowBlock | EmulatorShape::Hidden => CursorShape::Block,
        },
        blinking: style.blinking,
    }
}

/// Returns the parameter of DECSCUSR that sets this cursor.
pub(super) fn cursor_style(cursor: &ScreenCursor) -> u8 {
    let steady = match cursor.shape {
        CursorShape::Block => 2,
        CursorShape::Underline => 4,
        CursorShape::Beam => 6,
    };
    steady - u8::from(cursor.blinking)
}

pub(super) fn modes(mode: TermMode, modify_other_keys: u8) -> TerminalModes {
    let has = |flag| mode.contains(flag);
    let kitty = [
        (TermMode::DISAMBIGUATE_ESC_CODES, 1),
        (TermMode::REPORT_EVENT_TYPES, 2),
        (TermMode::REPORT_ALTERNATE_KEYS, 4),
        (TermMode::REPORT_ALL_KEYS_AS_ESC, 8),
        (TermMode::REPORT_ASSOCIATED_TEXT, 16),
    ];
    TerminalModes {
        application_cursor: has(TermMode::APP_CURSOR),
        application_keypad: has(TermMode::APP_KEYPAD),
        bracketed_paste: has(TermMode::BRACKETED_PASTE),
        focus_events: has(TermMode::FOCUS_IN_OUT),
        alternate_scroll: has(TermMode::ALTERNATE_SCROLL),
        alternate_screen: has(TermMode::ALT_SCREEN),
        mouse: if has(TermMode::MOUSE_MOTION) {
            MouseTracking::Motion
        } else if has(TermMode::MOUSE_DRAG) {
            MouseTracking::Drag
        } else if has(TermMode::MOUSE_REPORT_CLICK) {
            MouseTracking::Click
        } else {
            MouseTracking::Off
        },
        mouse_encoding: if has(TermMode::SGR_MOUSE) {
            MouseEncoding::Sgr
        } else if has(TermMode::UTF8_MOUSE) {
            MouseEncoding::Utf8
        } else {
            MouseEncoding::Legacy
        },
        kitty_keyboard: kitty.iter().filter(|(flag, _)| has(*flag)).map(|(_, bit)| bit).sum(),
        modify_other_keys,
    }
}
