//! Draws a frame with escape sequences: SGR for styles, OSC 8 for links, and the cursor position.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::frame::{Cell, Color, CursorShape, ScreenCursor, ScreenFrame, Style, Underline, used};

/// Returns escape sequences that draw the frame on a terminal of the same size. Rows are separated by CR LF, so that
/// removing the sequences leaves the text.
pub fn ansi(frame: &ScreenFrame) -> String {
    let rows: usize = frame.rows.iter().map(|row| row.renderings().ansi.len() + 2).sum();
    let mut out = String::with_capacity(rows + 64);
    out.push_str("\x1b[0m\x1b[H\x1b[2J");
    for (index, row) in frame.rows.iter().enumerate() {
        if index > 0 {
            out.push_str("\r\n");
        }
        out.push_str(&row.renderings().ansi);
    }
    cursor(frame.cursor, &mut out);
    out
}

/// Returns escape sequences that draw a row, beginning and ending with the default style.
pub(super) fn row_ansi(row: &[Cell]) -> String {
    let mut pen = RowPen { out: String::with_capacity(row.len()), style: Style::PLAIN, link: None, plain: true };
    pen.row(row);
    pen.out
}

/// Appends sequences that set the cursor's position, shape and visibility.
pub(super) fn cursor(cursor: ScreenCursor, out: &mut String) {
    let shape = match cursor.shape {
        CursorShape::Block => 2,
        CursorShape::Underline => 4,
        CursorShape::Beam => 6,
    } - u8::from(cursor.blinking);
    let shown = if cursor.visible { 'h' } else { 'l' };
    let _ = write!(out, "\x1b[{};{}H\x1b[{shape} q\x1b[?25{shown}", cursor.y + 1, cursor.x + 1);
}

struct RowPen<'a> {
    out: String,
    style: Style,
    link: Option<&'a Arc<str>>,
    /// True if neither a style nor a link is set.
    plain: bool,
}

impl<'a> RowPen<'a> {
    fn row(&mut self, row: &'a [Cell]) {
        let row = used(row);
        for (column, cell) in row.iter().enumerate() {
            if cell.width == 0 {
                continue;
            }
            if self.plain && cell.is_plain() {
                self.out.push(cell.character);
                continue;
            }
            self.set_style(&cell.style);
            self.set_link(cell.hyperlink());
            cell.push_text(&mut self.out);
            // Terminals disagree on the width of a cluster, so the column of the next cell is set explicitly.
            let next = column + usize::from(cell.width);
            if cell.extra.as_ref().is_some_and(|extra| !extra.combining.is_empty()) && next < row.len() {
                let _ = write!(self.out, "\x1b[{}G", next + 1);
            }
        }
        // The style must not extend into the next line.
        self.set_style(&Style::PLAIN);
        self.set_link(None);
    }

    fn set_style(&mut self, style: &Style) {
        if self.style != *style {
            self.style = *style;
            self.plain = style.is_plain() && self.link.is_none();
            sgr(style, &mut self.out);
        }
    }

    fn set_link(&mut self, link: Option<&'a Arc<str>>) {
        if self.link != link {
            self.link = link;
            self.plain = self.style.is_plain() && link.is_none();
            let _ = write!(self.out, "\x1b]8;;{}\x1b\\", link.map_or("", |uri| uri));
        }
    }
}

/// Appends an SGR sequence that sets exactly this style and resets all other attributes.
fn sgr(style: &Style, out: &mut String) {
    out.push_str("\x1b[0");
    let flags = [
        (style.bold, 1),
        (style.dim, 2),
        (style.italic, 3),
        (style.inverse, 7),
        (style.hidden, 8),
        (style.strikethrough, 9),
    ];
    for (_, code) in flags.iter().filter(|(set, _)| *set) {
        let _ = write!(out, ";{code}");
    }
    match style.underline {
        Underline::None => {}
        Underline::Single => out.push_str(";4"),
        Underline::Double => out.push_str(";4:2"),
        Underline::Curly => out.push_str(";4:3"),
        Underline::Dotted => out.push_str(";4:4"),
        Underline::Dashed => out.push_str(";4:5"),
    }
    color(style.foreground, 30, out);
    color(style.background, 40, out);
    match style.underline_color {
        None | Some(Color::Default) => {}
        Some(Color::Indexed(index)) => {
            let _ = write!(out, ";58:5:{index}");
        }
        Some(Color::Rgb(red, green, blue)) => {
            let _ = write!(out, ";58:2::{red}:{green}:{blue}");
        }
    }
    out.push('m');
}

fn color(color: Color, base: u8, out: &mut String) {
    let _ = match color {
        Color::Default => Ok(()),
        Color::Indexed(index @ 0..=7) => write!(out, ";{}", base + index),
        Color::Indexed(index @ 8..=15) => write!(out, ";{}", base + 60 + index - 8),
        Color::Indexed(index) => write!(out, ";{};5;{index}", base + 8),
        Color::Rgb(red, green, blue) => write!(out, ";{};2;{red};{green};{blue}", base + 8),
    };
}
