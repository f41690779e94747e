//! Draws characters that are not shapes: from outlines, from bitmaps, or as a box if no font has the character.

use std::collections::HashMap;
use std::rc::Rc;

use crate::picture::CellMetrics;
use crate::picture::canvas::Coverage;
use crate::picture::fallback::{self, Bitmap, GLYPH_ROWS};
use crate::picture::outlines::SizedFonts;
use crate::picture::shapes::{Area, Segment};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GlyphKey {
    pub(super) character: char,
    /// True if the glyph spans two columns.
    pub(super) wide: bool,
    pub(super) bold: bool,
    pub(super) italic: bool,
}

/// Cache of glyphs, each drawn once per picture.
pub(super) struct GlyphCache {
    metrics: CellMetrics,
    outlines: SizedFonts,
    known: HashMap<GlyphKey, Rc<Coverage>>,
}

impl GlyphCache {
    pub(super) fn new(metrics: CellMetrics) -> Self {
        Self { metrics, outlines: SizedFonts::new(metrics), known: HashMap::new() }
    }

    /// Returns the glyph, positioned relative to the top left of its first cell.
    pub(super) fn get(&mut self, key: GlyphKey) -> Rc<Coverage> {
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let glyph = Rc::new(self.make(key));
        self.known.insert(key, Rc::clone(&glyph));
        glyph
    }

    fn make(&mut self, key: GlyphKey) -> Coverage {
        let character = alias(key.character);
        // A wide character is drawn from a wide bitmap if there is one; an outline is only one column wide.
        if key.wide
            && let Some(bitmap) = fallback::bitmap(character).filter(|bitmap| bitmap.len() == 2)
        {
            return from_bitmap(bitmap, key, self.metrics);
        }
        if let Some(path) = self.outlines.path(character, key.bold, key.italic) {
            let aside = if key.wide { self.metrics.width as f32 / 2.0 } else { 0.0 };
            let path: Vec<Segment> = path.into_iter().map(|part| part.map(|[x, y]| [x + aside, y])).collect();
            return Coverage::fill(&path);
        }
        fallback::bitmap(character)
            .map_or_else(|| missing(key, self.metrics), |bitmap| from_bitmap(bitmap, key, self.metrics))
    }
}

/// Replaces media symbols that programs use as bullets with similar characters of the outline font.
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

/// Scales a bitmap, centred in its columns. A wide bitmap in a single column is compressed to half its width.
fn from_bitmap(bitmap: Bitmap, key: GlyphKey, metrics: CellMetrics) -> Coverage {
    let (scale, columns) = (metrics.stroke, bitmap.len() as i32 * 8);
    let pressed = columns == 16 && !key.wide;
    let shown = if pressed { columns / 2 } else { columns };
    let width = if key.wide { 2 * metrics.width } else { metrics.width };
    // Bold and slanted glyphs may extend beyond their box.
    let spare = 4 * scale;
    let area = Area {
        x: (width - shown * scale) / 2 - spare,
        // The baseline of letters is row 14; squares of 16 by 16 are centred vertically.
        y: if columns == 16 { scale } else { metrics.baseline - 14 * scale },
        width: shown * scale + 2 * spare,
        height: GLYPH_ROWS as i32 * scale,
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

/// Pixels of a bitmap, optionally bold or slanted.
struct Pixels {
    bitmap: Bitmap,
    bold: bool,
    italic: bool,
}

impl Pixels {
    fn is_lit(&self, x: i32, y: i32) -> bool {
        let x = if self.italic { x + 2 - (GLYPH_ROWS as i32 - y) / 4 } else { x };
        self.is_set(x, y) || (self.bold && self.is_set(x - 1, y))
    }

    fn is_set(&self, x: i32, y: i32) -> bool {
        let column = usize::try_from(x / 8).ok().filter(|_| x >= 0).and_then(|column| self.bitmap.get(column));
        let byte = column.zip(usize::try_from(y).ok()).and_then(|(column, y)| column.get(y));
        byte.is_some_and(|byte| byte >> (7 - x % 8) & 1 == 1)
    }

    /// True if a pixel of the bitmap at double size is set. Edges are smoothed by the EPX rule: a pixel in a corner
    /// takes the value of its two neighbours if these are equal and both differ from the neighbours opposite to them.
    fn is_lit_at_double(&self, x: i32, y: i32) -> bool {
        let (column, row) = (x.div_euclid(2), y.div_euclid(2));
        let (side, end) = (if x % 2 == 0 { -1 } else { 1 }, if y % 2 == 0 { -1 } else { 1 });
        let (beside, beyond) = (self.is_lit(column + side, row), self.is_lit(column, row + end));
        let (opposite, behind) = (self.is_lit(column - side, row), self.is_lit(column, row - end));
        if beside == beyond && beside != behind && beyond != opposite { beside } else { self.is_lit(column, row) }
    }
}

/// Draws an empty box in place of a character that no font has.
fn missing(key: GlyphKey, metrics: CellMetrics) -> Coverage {
    let width = if key.wide { 2 * metrics.width } else { metrics.width };
    let (left, top, right, bottom) = (metrics.stroke, 3 * metrics.stroke, width - metrics.stroke, metrics.baseline);
    let area = Area::between((left, top), (right, bottom));
    let edge = |at: i32, length: i32| at < metrics.stroke || at >= length - metrics.stroke;
    let pixels = (0..area.height).flat_map(|y| (0..area.width).map(move |x| (x, y)));
    let alpha = pixels.map(|(x, y)| if edge(x, area.width) || edge(y, area.height) { 255 } else { 0 }).collect();
    Coverage { area, alpha }
}
