//! How a character is drawn when it is not a shape: by outline, by bitmap, or as a box that says that no font has it.

use std::collections::HashMap;
use std::rc::Rc;

use crate::picture::Grid;
use crate::picture::canvas::Coverage;
use crate::picture::fallback::{self, Bitmap, ROWS};
use crate::picture::outlines::Outlines;
use crate::picture::shapes::{Area, Segment};

/// Which glyph is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) character: char,
    /// Over two columns.
    pub(super) wide: bool,
    pub(super) bold: bool,
    pub(super) italic: bool,
}

/// Draws each glyph of a picture once.
pub(super) struct Glyphs {
    grid: Grid,
    outlines: Outlines,
    known: HashMap<Key, Rc<Coverage>>,
}

impl Glyphs {
    pub(super) fn new(grid: Grid) -> Self {
        Self { grid, outlines: Outlines::new(grid), known: HashMap::new() }
    }

    /// The glyph, placed from the top left of its first cell.
    pub(super) fn get(&mut self, key: Key) -> Rc<Coverage> {
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let glyph = Rc::new(self.make(key));
        self.known.insert(key, Rc::clone(&glyph));
        glyph
    }

    fn make(&mut self, key: Key) -> Coverage {
        let character = alias(key.character);
        // What stands alone over two columns has a bitmap made for that; an outline would be lost in them.
        if key.wide
            && let Some(bitmap) = fallback::bitmap(character).filter(|bitmap| bitmap.len() == 2)
        {
            return from_bitmap(bitmap, key, self.grid);
        }
        if let Some(path) = self.outlines.path(character, key.bold, key.italic) {
            let aside = if key.wide { self.grid.width as f32 / 2.0 } else { 0.0 };
            let path: Vec<Segment> = path.into_iter().map(|part| part.map(|[x, y]| [x + aside, y])).collect();
            return Coverage::fill(&path);
        }
        fallback::bitmap(character)
            .map_or_else(|| missing(key, self.grid), |bitmap| from_bitmap(bitmap, key, self.grid))
    }
}

/// Media symbols that programs use as bullets look like these, which the outline font has.
fn alias(character: char) -> char {
    match character {
        '⏴' => '◀',
        '⏵' => '▶',
        '⏶' => '▲',
        '⏷' => '▼',
        '⏸' => '‖',
        '⏹' => '■',
        '⏺' => '●',
        other => other,
    }
}

/// The bitmap at the cell's scale, in the middle of its columns. A wide one in a single column is pressed to half its
/// width.
fn from_bitmap(bitmap: Bitmap, key: Key, grid: Grid) -> Coverage {
    let (scale, columns) = (grid.stroke, bitmap.len() as i32 * 8);
    let pressed = columns == 16 && !key.wide;
    let shown = if pressed { columns / 2 } else { columns };
    let width = if key.wide { 2 * grid.width } else { grid.width };
    // The last pixels of a bold or slanted glyph may lie beyond its box.
    let spare = 4 * scale;
    let area = Area {
        x: (width - shown * scale) / 2 - spare,
        // Letters stand on their fourteenth row; squares of 16 by 16 fill the height and sit in its middle.
        y: if columns == 16 { scale } else { grid.baseline - 14 * scale },
        width: shown * scale + 2 * spare,
        height: ROWS as i32 * scale,
    };
    let pixels = Pixels { bitmap, bold: key.bold, italic: key.italic };
    let mut alpha = Vec::with_capacity((area.width * area.height) as usize);
    for y in 0..area.height {
        for x in -spare..area.width - spare {
            let lit = if pressed {
                pixels.is_lit((2 * x).div_euclid(scale), y / scale)
                    || pixels.is_lit((2 * x + 1).div_euclid(scale), y / scale)
            } else if scale == 2 {
                pixels.is_lit_at_double(x, y)
            } else {
                pixels.is_lit(x, y)
            };
            alpha.push(if lit { 255 } else { 0 });
        }
    }
    Coverage { area, alpha }
}

/// A bitmap's pixels, made bold or slanted.
struct Pixels {
    bitmap: Bitmap,
    bold: bool,
    italic: bool,
}

impl Pixels {
    fn is_lit(&self, x: i32, y: i32) -> bool {
        let x = if self.italic { x + 2 - (ROWS as i32 - y) / 4 } else { x };
        self.is_set(x, y) || (self.bold && self.is_set(x - 1, y))
    }

    fn is_set(&self, x: i32, y: i32) -> bool {
        let column = usize::try_from(x / 8).ok().filter(|_| x >= 0).and_then(|column| self.bitmap.get(column));
        let byte = column.zip(usize::try_from(y).ok()).and_then(|(column, y)| column.get(y));
        byte.is_some_and(|byte| byte >> (7 - x % 8) & 1 == 1)
    }

    /// A pixel of the bitmap at twice its size, where a corner follows its two neighbours if they agree and the others
    /// do not (the rule known as EPX): slanted strokes come out smooth.
    fn is_lit_at_double(&self, x: i32, y: i32) -> bool {
        let (column, row) = (x.div_euclid(2), y.div_euclid(2));
        let (side, end) = (if x % 2 == 0 { -1 } else { 1 }, if y % 2 == 0 { -1 } else { 1 });
        let (beside, beyond) = (self.is_lit(column + side, row), self.is_lit(column, row + end));
        let (opposite, behind) = (self.is_lit(column - side, row), self.is_lit(column, row - end));
        if beside == beyond && beside != behind && beyond != opposite { beside } else { self.is_lit(column, row) }
    }
}

/// An empty box.
fn missing(key: Key, grid: Grid) -> Coverage {
    let width = if key.wide { 2 * grid.width } else { grid.width };
    let (left, top, right, bottom) = (grid.stroke, 3 * grid.stroke, width - grid.stroke, grid.baseline);
    let area = Area::between((left, top), (right, bottom));
    let edge = |at: i32, length: i32| at < grid.stroke || at >= length - grid.stroke;
    let pixels = (0..area.height).flat_map(|y| (0..area.width).map(move |x| (x, y)));
    let alpha = pixels.map(|(x, y)| if edge(x, area.width) || edge(y, area.height) { 255 } else { 0 }).collect();
    Coverage { area, alpha }
}
