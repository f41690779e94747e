//! What is to be drawn where, before it is known with what: the frame's cells with their colours, the cursor applied.

use crate::frame::{Cell, CursorShape, Frame};
use crate::picture::Background;
use crate::picture::palette::{self, Defaults, Ink, Rgb};

/// A cell, or two that a wide character shares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) column: u16,
    /// 1 or 2.
    pub(super) columns: u16,
    pub(super) cell: &'a Cell,
    pub(super) ink: Ink,
}

impl Spot<'_> {
    /// Whether there is anything to draw on the background.
    pub(super) fn is_shown(&self) -> bool {
        !self.cell.style.hidden && self.cell.width > 0
    }

    /// The character, if it leaves a mark.
    pub(super) fn character(&self) -> Option<char> {
        let character = self.cell.character;
        let marks = !self.combining().is_empty();
        let blank = character.is_control() || is_invisible(character) || (character.is_whitespace() && !marks);
        (self.is_shown() && !blank).then_some(character)
    }

    /// The marks on the character that leave a mark. After a joiner comes another character of the same picture, which
    /// no monochrome font has: the first stands for all. Tones and key caps would hide what they are laid on.
    pub(super) fn combining(&self) -> Vec<char> {
        let all = self.cell.extra.as_ref().map_or(&[][..], |extra| &extra.combining);
        let own = all.iter().take_while(|mark| **mark != '\u{200d}');
        own.copied().filter(|mark| !mark.is_control() && !is_invisible(*mark) && !is_decoration(*mark)).collect()
    }

    /// What follows the character in a document, where a viewer's font may have the whole: also joiners, tones and
    /// variation selectors, but nothing that could turn text around.
    pub(super) fn cluster(&self) -> Vec<char> {
        let all = self.cell.extra.as_ref().map_or(&[][..], |extra| &extra.combining);
        let joins = |mark: char| matches!(mark, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
        all.iter().copied().filter(|mark| joins(*mark) || !(mark.is_control() || is_invisible(*mark))).collect()
    }
}

/// A cursor that is a line; a block is in the colours of its [`Spot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineCursor {
    pub(super) column: u16,
    pub(super) row: u16,
    pub(super) columns: u16,
    pub(super) shape: CursorShape,
    pub(super) color: Rgb,
}

/// A frame, ready to draw.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) lines: Vec<Vec<Spot<'a>>>,
    pub(super) cursor: Option<LineCursor>,
    pub(super) defaults: Defaults,
}

impl<'a> Scene<'a> {
    /// Takes any frame, also one whose cells do not fill its size: what is missing is blank.
    pub(super) fn new(frame: &'a Frame, background: Option<Background>) -> Self {
        let columns = frame.size.columns;
        let defaults = Defaults::new(background, frame.colors);
        let mut scene = Self { columns, rows: frame.size.rows, lines: Vec::new(), cursor: None, defaults };
        let rows = frame.rows.iter().take(usize::from(frame.size.rows));
        for (row, cells) in (0_u16..).zip(rows) {
            let mut line = spots(cells, columns, defaults);
            let under = |spot: &Spot<'_>| (spot.column..spot.column + spot.columns).contains(&frame.cursor.x);
            if frame.cursor.visible
                && frame.cursor.y == row
                && let Some(spot) = line.iter_mut().find(|spot| under(spot))
            {
                if frame.cursor.shape == CursorShape::Block {
                    spot.ink = spot.ink.under_cursor(defaults);
                } else {
                    scene.cursor = Some(LineCursor {
                        column: spot.column,
                        row,
                        columns: spot.columns,
                        shape: frame.cursor.shape,
                        color: spot.ink.under_cursor(defaults).background,
                    });
                }
            }
            scene.lines.push(line);
        }
        scene
    }
}

fn spots(cells: &[Cell], columns: u16, defaults: Defaults) -> Vec<Spot<'_>> {
    let mut line = Vec::with_capacity(cells.len());
    let mut column = 0;
    while let Some(cell) = cells.get(usize::from(column)).filter(|_| column < columns) {
        let second = cells.get(usize::from(column) + 1).filter(|_| cell.width == 2 && column + 1 < columns);
        let wide = second.is_some_and(|second| second.width == 0);
        let ink = palette::ink(&cell.style, defaults);
        let spot = Spot { column, columns: if wide { 2 } else { 1 }, cell, ink };
        column += spot.columns;
        line.push(spot);
    }
    line
}

/// Neighbours of one background that is not the default one: the first column, how many, and the colour.
pub(super) fn backgrounds(line: &[Spot<'_>], defaults: Defaults) -> Vec<(u16, u16, Rgb)> {
    let mut runs: Vec<(u16, u16, Rgb)> = Vec::new();
    for spot in line {
        match runs.last_mut() {
            Some((_, columns, color)) if *color == spot.ink.background => *columns += spot.columns,
            _ => runs.push((spot.column, spot.columns, spot.ink.background)),
        }
    }
    runs.retain(|(_, _, color)| *color != defaults.background);
    runs
}

/// Characters that say how to show others: joiners, variation selectors, directions, tags. They must not reach a
/// document either, where a direction would turn the text around.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_decoration(character: char) -> bool {
    matches!(character, '\u{1f3fb}'..='\u{1f3ff}' | '\u{20e3}')
}
