//! Layout of a picture, independent of its format: the frame's cells with their colours and the cursor applied.

use crate::frame::{Cell, CursorShape, ScreenFrame};
use crate::picture::Background;
use crate::picture::palette::{self, CellColors, ResolvedDefaultColors, Rgb};

/// One cell, or the two cells of a wide character.
#[derive(Debug, Clone, Copy)]
pub(super) struct SceneCell<'a> {
    pub(super) column: u16,
    /// Width in columns, 1 or 2.
    pub(super) columns: u16,
    pub(super) cell: &'a Cell,
    pub(super) cell_colors: CellColors,
}

impl SceneCell<'_> {
    /// True if the cell is drawn: not hidden, and not the second half of a wide character.
    pub(super) fn is_shown(&self) -> bool {
        !self.cell.style.hidden && self.cell.width > 0
    }

    /// Returns the character, if it is visible.
    pub(super) fn character(&self) -> Option<char> {
        let character = self.cell.character;
        let marks = !self.combining().is_empty();
        let blank = character.is_control() || is_invisible(character) || (character.is_whitespace() && !marks);
        (self.is_shown() && !blank).then_some(character)
    }

    /// Returns the visible combining marks. A joiner and the characters after it are dropped, since no monochrome font
    /// has the combination. Skin tones and key caps are dropped too, as they would cover the character.
    pub(super) fn combining(&self) -> Vec<char> {
        let all = self.cell.extra.as_ref().map_or(&[][..], |extra| &extra.combining);
        let own = all.iter().take_while(|mark| **mark != '\u{200d}');
        own.copied().filter(|mark| !mark.is_control() && !is_invisible(*mark) && !is_decoration(*mark)).collect()
    }

    /// Returns the characters that follow the first character of the cell's cluster. For documents, since a viewer may
    /// have a font for the cluster. Includes joiners, skin tones and variation selectors, but no characters that could
    /// reorder text.
    pub(super) fn cluster(&self) -> Vec<char> {
        let all = self.cell.extra.as_ref().map_or(&[][..], |extra| &extra.combining);
        let joins = |mark: char| matches!(mark, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e007f}');
        all.iter().copied().filter(|mark| joins(*mark) || !(mark.is_control() || is_invisible(*mark))).collect()
    }
}

/// A cursor drawn as a line. A block cursor is part of the colours of its [`SceneCell`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineCursor {
    pub(super) column: u16,
    pub(super) row: u16,
    pub(super) columns: u16,
    pub(super) shape: CursorShape,
    pub(super) color: Rgb,
}

/// Layout of a frame: its cells by line, its cursor and its default colours.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) lines: Vec<Vec<SceneCell<'a>>>,
    pub(super) cursor: Option<LineCursor>,
    pub(super) defaults: ResolvedDefaultColors,
}

impl<'a> Scene<'a> {
    /// Lays out a frame. Cells that are missing in the frame's rows are blank.
    pub(super) fn new(frame: &'a ScreenFrame, background: Option<Background>) -> Self {
        let columns = frame.size.columns;
        let defaults = ResolvedDefaultColors::new(background, frame.colors);
        let mut scene = Self { columns, rows: frame.size.rows, lines: Vec::new(), cursor: None, defaults };
        let rows = frame.rows.iter().take(usize::from(frame.size.rows));
        for (row, cells) in (0_u16..).zip(rows) {
            let mut line = scene_cells(cells, columns, defaults);
            let under = |scene_cell: &SceneCell<'_>| {
                (scene_cell.column..scene_cell.column + scene_cell.columns).contains(&frame.cursor.x)
            };
            if frame.cursor.visible
                && frame.cursor.y == row
                && let Some(scene_cell) = line.iter_mut().find(|scene_cell| under(scene_cell))
            {
                if frame.cursor.shape == CursorShape::Block {
                    scene_cell.cell_colors = scene_cell.cell_colors.under_cursor(defaults);
                } else {
                    scene.cursor = Some(LineCursor {
                        column: scene_cell.column,
                        row,
                        columns: scene_cell.columns,
                        shape: frame.cursor.shape,
                        color: scene_cell.cell_colors.under_cursor(defaults).background,
                    });
                }
            }
            scene.lines.push(line);
        }
        scene
    }
}

fn scene_cells(cells: &[Cell], columns: u16, defaults: ResolvedDefaultColors) -> Vec<SceneCell<'_>> {
    let mut line = Vec::with_capacity(cells.len());
    let mut column = 0;
    while let Some(cell) = cells.get(usize::from(column)).filter(|_| column < columns) {
        let second = cells.get(usize::from(column) + 1).filter(|_| cell.width == 2 && column + 1 < columns);
        let wide = second.is_some_and(|second| second.width == 0);
        let cell_colors = palette::cell_colors(&cell.style, defaults);
        let scene_cell = SceneCell { column, columns: if wide { 2 } else { 1 }, cell, cell_colors };
        column += scene_cell.columns;
        line.push(scene_cell);
    }
    line
}

/// Returns runs of cells with the same background, except the default one: first column, number of columns, colour.
pub(super) fn backgrounds(line: &[SceneCell<'_>], defaults: ResolvedDefaultColors) -> Vec<(u16, u16, Rgb)> {
    let mut runs: Vec<(u16, u16, Rgb)> = Vec::new();
    for scene_cell in line {
        match runs.last_mut() {
            Some((_, columns, color)) if *color == scene_cell.cell_colors.background => *columns += scene_cell.columns,
            _ => runs.push((scene_cell.column, scene_cell.columns, scene_cell.cell_colors.background)),
        }
    }
    runs.retain(|(_, _, color)| *color != defaults.background);
    runs
}

/// True for characters that control the display of other characters: joiners, variation selectors, directional marks,
/// tags. A directional mark could reorder the text of a document.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_decoration(character: char) -> bool {
    matches!(character, '\u{1f3fb}'..='\u{1f3ff}' | '\u{20e3}')
}
