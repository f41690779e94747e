//! One resolved picture of a terminal: every cell with its text, width and looks, and the cursor.

mod row;

use std::sync::Arc;

pub(crate) use row::Drawn;
pub use row::Row;
pub use wh_core::terminal::Size;

use crate::modes::Modes;

/// A colour as the program named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Color {
    /// The terminal's own.
    #[default]
    Default,
    /// From the palette of 256.
    Indexed(u8),
    /// True colour.
    Rgb(u8, u8, u8),
}

/// How a cell is underlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Underline {
    /// Not at all.
    #[default]
    None,
    /// One line.
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Style {
    /// Foreground.
    pub foreground: Color,
    /// Background.
    pub background: Color,
    /// The underline's own colour, if it has one.
    pub underline_color: Option<Color>,
    /// The underline.
    pub underline: Underline,
    /// Bold.
    pub bold: bool,
    /// Dim.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Foreground and background swapped.
    pub inverse: bool,
    /// Not shown.
    pub hidden: bool,
    /// Struck through.
    pub strikethrough: bool,
}

/// What few cells have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Extra {
    /// Combining marks and joiners after the character.
    pub combining: Vec<char>,
    /// Where the cell links to.
    pub hyperlink: Option<Arc<str>>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The character; a blank in the second half of a wide one.
    pub character: char,
    /// Columns: 1, 2, or 0 in the second half of a wide character.
    pub width: u8,
    /// Looks.
    pub style: Style,
    /// What few cells have.
    pub extra: Option<Box<Extra>>,
}

impl Cell {
    /// An empty cell with the terminal's own colours.
    pub const BLANK: Self = Self { character: ' ', width: 1, style: Style::PLAIN, extra: None };

    /// Writes the cell's text.
    #[inline]
    pub fn push_text(&self, into: &mut String) {
        if self.width == 0 {
            return;
        }
        into.push(self.character);
        if let Some(extra) = &self.extra {
            into.extend(&extra.combining);
        }
    }

    /// Where the cell links to.
    pub fn hyperlink(&self) -> Option<&Arc<str>> {
        self.extra.as_ref().and_then(|extra| extra.hyperlink.as_ref())
    }

    /// Whether drawing the cell changes nothing on a blank screen.
    #[inline]
    pub fn is_blank(&self) -> bool {
        self.character == ' ' && self.width == 1 && self.is_plain()
    }

    /// Whether the cell has nothing but its character: the terminal's own looks, no marks and no link.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.extra.is_none() && self.style.is_plain()
    }
}

/// A row up to its last cell that is not blank.
pub fn used(row: &[Cell]) -> &[Cell] {
    &row[..row.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1)]
}

impl Style {
    /// The terminal's own looks.
    pub const PLAIN: Self = Self {
        foreground: Color::Default,
        background: Color::Default,
        underline_color: None,
        underline: Underline::None,
        bold: false,
        dim: false,
        italic: false,
        inverse: false,
        hidden: false,
        strikethrough: false,
    };

    /// Whether these are the terminal's own looks. Nearly all cells are asked, often: no branch for each field.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.foreground, Color::Default)
            & matches!(self.background, Color::Default)
            & self.underline_color.is_none()
            & matches!(self.underline, Underline::None)
            & !(self.bold | self.dim | self.italic | self.inverse | self.hidden | self.strikethrough)
    }
}

/// The cursor's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CursorShape {
    /// A full cell.
    #[default]
    Block,
    /// A line below.
    Underline,
    /// A line before.
    Beam,
}

/// The cursor, counted from the top left, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Cursor {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// Whether it is shown.
    pub visible: bool,
    /// Its form.
    pub shape: CursorShape,
    /// Whether it blinks.
    pub blinking: bool,
}

/// The resolved screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its size.
    pub size: Size,
    /// Its rows, from the top. Those that were the same in the frame before are shared with it.
    pub rows: Vec<Arc<Row>>,
    /// The cursor.
    pub cursor: Cursor,
    /// The window title.
    pub title: Option<String>,
    /// The switches in force.
    pub modes: Modes,
    /// The default colours that the program has set.
    pub colors: DefaultColors,
}

/// Default colours that a program has set (OSC 10 and 11), as red, green and blue; `None` is the terminal's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DefaultColors {
    /// Of text.
    pub foreground: Option<(u8, u8, u8)>,
    /// Behind text.
    pub background: Option<(u8, u8, u8)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_is_what_equals_the_plain_style() {
        let looks = [
            Style::PLAIN,
            Style { foreground: Color::Indexed(0), ..Style::PLAIN },
            Style { background: Color::Rgb(0, 0, 0), ..Style::PLAIN },
            Style { underline_color: Some(Color::Default), ..Style::PLAIN },
            Style { underline: Underline::Dashed, ..Style::PLAIN },
            Style { bold: true, ..Style::PLAIN },
            Style { dim: true, ..Style::PLAIN },
            Style { italic: true, ..Style::PLAIN },
            Style { inverse: true, ..Style::PLAIN },
            Style { hidden: true, ..Style::PLAIN },
            Style { strikethrough: true, ..Style::PLAIN },
        ];
        for style in looks {
            assert_eq!(style.is_plain(), style == Style::PLAIN, "{style:?}");
            let cell = Cell { style, ..Cell::BLANK };
            assert_eq!(cell.is_blank(), cell == Cell::BLANK, "{style:?}");
        }
    }
}
