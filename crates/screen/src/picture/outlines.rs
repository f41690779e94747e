//! Glyph outlines of DejaVu Sans Mono, hinted by the font's own instructions.

use std::sync::LazyLock;

use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, Engine, HintingInstance, HintingOptions, OutlineGlyphCollection, OutlinePen};
use skrifa::{FontRef, MetadataProvider as _};

use crate::picture::CellMetrics;
use crate::picture::shapes::Segment;

/// Fonts in the order regular, bold, oblique, bold oblique.
static FONTS: LazyLock<[Option<Font>; 4]> = LazyLock::new(|| {
    [
        Font::new(include_bytes!("../../fonts/DejaVuSansMono.ttf")),
        Font::new(include_bytes!("../../fonts/DejaVuSansMono-Bold.ttf")),
        Font::new(include_bytes!("../../fonts/DejaVuSansMono-Oblique.ttf")),
        Font::new(include_bytes!("../../fonts/DejaVuSansMono-BoldOblique.ttf")),
    ]
});

struct Font {
    charmap: Charmap<'static>,
    outlines: OutlineGlyphCollection<'static>,
}

impl Font {
    fn new(bytes: &'static [u8]) -> Option<Self> {
        let font = FontRef::new(bytes).ok()?;
        Some(Self { charmap: font.charmap(), outlines: font.outline_glyphs() })
    }
}

/// True if at least the regular font has the character.
pub(super) fn covers(character: char) -> bool {
    FONTS[0].as_ref().is_some_and(|font| font.charmap.map(character).is_some())
}

/// The fonts at one size. Hinting is prepared when the first glyph of a font is drawn.
pub(super) struct SizedFonts {
    metrics: CellMetrics,
    hinting: [Option<HintingInstance>; 4],
}

impl SizedFonts {
    pub(super) fn new(metrics: CellMetrics) -> Self {
        Self { metrics, hinting: [const { None }; 4] }
    }

    /// Returns the character's outline, relative to the top left of the cell. If the bold or oblique font lacks the
    /// character, the style is synthesised from another font.
    pub(super) fn path(&mut self, character: char, bold: bool, italic: bool) -> Option<Vec<Segment>> {
        let wanted = usize::from(bold) + 2 * usize::from(italic);
        [wanted, wanted & 1, 0].into_iter().find_map(|index| {
            let path = self.font_path(index, character)?;
            Some(synthesize_style(path, bold && index & 1 == 0, italic && index & 2 == 0, self.metrics))
        })
    }

    fn font_path(&mut self, index: usize, character: char) -> Option<Vec<Segment>> {
        let font = FONTS[index].as_ref()?;
        let glyph = font.outlines.get(font.charmap.map(character)?)?;
        let size = Size::new(self.metrics.font_size() as f32);
        let hinting = &mut self.hinting[index];
        if hinting.is_none() {
            let options = HintingOptions { engine: Engine::Interpreter, ..HintingOptions::default() };
            *hinting = HintingInstance::new(&font.outlines, size, LocationRef::default(), options).ok();
        }
        let settings = match hinting {
            Some(instance) => DrawSettings::hinted(instance, false),
            None => DrawSettings::unhinted(size, LocationRef::default()),
        };
        let mut pen = GlyphPen { path: Vec::new(), baseline: self.metrics.baseline as f32 };
        glyph.draw(settings, &mut pen).ok()?;
        Some(pen.path)
    }
}

fn synthesize_style(path: Vec<Segment>, bold: bool, italic: bool, metrics: CellMetrics) -> Vec<Segment> {
    let (baseline, thicker) = (metrics.baseline as f32, metrics.stroke as f32 * 0.75);
    let mut path: Vec<_> = if italic {
        path.into_iter().map(|segment| segment.map(|[x, y]| [x + (baseline - y) * 0.2, y])).collect()
    } else {
        path
    };
    if bold {
        let beside: Vec<_> = path.iter().map(|segment| segment.map(|[x, y]| [x + thicker, y])).collect();
        path.extend(beside);
    }
    path
}

/// Collects a glyph outline as segments, with the y axis inverted: the y axis of fonts points upwards.
struct GlyphPen {
    path: Vec<Segment>,
    baseline: f32,
}

impl GlyphPen {
    fn at(&self, x: f32, y: f32) -> [f32; 2] {
        [x, self.baseline - y]
    }
}

impl OutlinePen for GlyphPen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.push(Segment::Move(self.at(x, y)));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.push(Segment::Line(self.at(x, y)));
    }

    fn quad_to(&mut self, by_x: f32, by_y: f32, x: f32, y: f32) {
        self.path.push(Segment::Quadratic(self.at(by_x, by_y), self.at(x, y)));
    }

    fn curve_to(&mut self, from_x: f32, from_y: f32, by_x: f32, by_y: f32, x: f32, y: f32) {
        self.path.push(Segment::Cubic(self.at(from_x, from_y), self.at(by_x, by_y), self.at(x, y)));
    }

    fn close(&mut self) {
        self.path.push(Segment::Close);
    }
}
