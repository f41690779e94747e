//! Snapshot of a terminal screen: every cell with its text, width and style, and the cursor.

mod row;

use std::sync::Arc;

pub(crate) use row::RowRenderings;
pub use row::ScreenRow;
pub use wh_core::terminal::Size;

use crate::modes::TerminalModes;

/// Colour as set by the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Color {
    /// Default colour of the terminal.
    #[default]
    Default,
    /// Index into the palette of 256 colours.
    Indexed(u8),
    /// Red, green and blue (true colour).
    Rgb(u8, u8, u8),
}

/// Underline style of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Underline {
    #[default]
    None,
    Single,
    Double,
    /// A wavy line.
    Curly,
    Dotted,
    Dashed,
}

/// Colours and attributes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Style {
    pub foreground: Color,
    pub background: Color,
    /// Colour of the underline, if it differs from that of the text.
    pub underline_color: Option<Color>,
    pub underline: Underline,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    /// True if foreground and background are swapped.
    pub inverse: bool,
    /// True if the text is not shown.
    pub hidden: bool,
    pub strikethrough: bool,
}

/// Rare properties of a cell, boxed to keep most cells small.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CellExtra {
    /// Combining marks and joiners after the character.
    pub combining: Vec<char>,
    /// Target of the cell's hyperlink, if it has one.
    pub hyperlink: Option<Arc<str>>,
}

/// Cell of the screen: a character with its width and style.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Character; a blank in the second half of a wide character.
    pub character: char,
    /// Width in columns: 1, 2, or 0 in the second half of a wide character.
    pub width: u8,
    pub style: Style,
    /// Rare properties of a cell, boxed to keep most cells small.
    pub extra: Option<Box<CellExtra>>,
}

impl Cell {
    /// A blank cell with the default style.
    pub const BLANK: Self = Self { character: ' ', width: 1, style: Style::PLAIN, extra: None };

    /// Appends the cell's character and its combining marks. Appends nothing for the second half of a wide character.
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

    /// Returns the target of the cell's hyperlink, if it has one.
    pub fn hyperlink(&self) -> Option<&Arc<str>> {
        self.extra.as_ref().and_then(|extra| extra.hyperlink.as_ref())
    }

    /// True if drawing the cell has no effect on a blank screen.
    #[inline]
    pub fn is_blank(&self) -> bool {
        self.character == ' ' && self.width == 1 && self.is_plain()
    }

    /// True if the cell has only its character: the default style, no combining marks and no link.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.extra.is_none() && self.style.is_plain()
    }
}

/// Returns the cells of a row up to the last cell that is not blank.
pub fn used(row: &[Cell]) -> &[Cell] {
    &row[..row.iter().rposition(|cell| !cell.is_blank()).map_or(0, |last| last + 1)]
}

impl Style {
    /// Default style of the terminal.
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

    /// True for the default style. Called for every cell of every frame, so it avoids a branch for each field.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.foreground, Color::Default)
            & matches!(self.background, Color::Default)
            & self.underline_color.is_none()
            & matches!(self.underline, Underline::None)
            & !(self.bold | self.dim | self.italic | self.inverse | self.hidden | self.strikethrough)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CursorShape {
    /// A filled cell.
    #[default]
    Block,
    /// A line at the bottom of the cell.
    Underline,
    /// A line at the left of the cell.
    Beam,
}

/// Position and shape of the cursor, counted from 0 at the top left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ScreenCursor {
    pub x: u16,
    pub y: u16,
    pub visible: bool,
    pub shape: CursorShape,
    pub blinking: bool,
}

/// Snapshot of a screen: its cells, cursor, title and terminal modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenFrame {
    pub size: Size,
    /// Rows from the top. Rows that did not change since the previous frame are shared with it.
    pub rows: Vec<Arc<ScreenRow>>,
    pub cursor: ScreenCursor,
    /// Window title, if set.
    pub title: Option<String>,
    /// Terminal modes set by the program.
    pub modes: TerminalModes,
    /// Default colours set by the program.
    pub colors: DefaultColors,
}

/// Default colours set by a program (OSC 10 and 11), as red, green and blue; `None` is the terminal's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DefaultColors {
    /// Colour of the text.
    pub foreground: Option<(u8, u8, u8)>,
    /// Colour behind text.
    pub background: Option<(u8, u8, u8)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_plain_is_true_only_for_the_plain_style() {
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
