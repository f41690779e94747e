//! Draws a frame as a self-contained SVG 1.1 document. Every character has its own position, so that another font
//! changes the appearance but not the layout. Lines and blocks are shapes.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::frame::{ScreenFrame, Underline};
use crate::picture::palette::Rgb;
use crate::picture::scene::{Scene, SceneCell, backgrounds};
use crate::picture::shapes::{Area, Segment, Shape, shapes};
use crate::picture::{Background, CellMetrics, Scale, lines, outlines};

/// Cell metrics in document units, shown at half size so that every line has whole coordinates.
const METRICS: CellMetrics = CellMetrics::new(Scale::Two);

/// Maximum width of a gap within one text element. Text after a wider gap gets its own element.
const MAX_GAP_COLUMNS: usize = 8;

/// Returns the frame as an SVG document. Text is escaped and has no control characters. Only links to `http:`, `https:`
/// and `mailto:` are active. `background` has the meaning of
/// [`PictureOptions::background`](crate::picture::PictureOptions::background).
pub fn svg(frame: &ScreenFrame, background: Option<Background>) -> String {
    let scene = Scene::new(frame, background);
    let (mut below, mut over) = (SvgLayers::default(), SvgLayers::default());
    let mut writer = SvgTextWriter::default();
    for (line, y) in scene.lines.iter().zip((0..).step_by(METRICS.height as usize)) {
        for (column, columns, color) in backgrounds(line, scene.defaults) {
            let (x, width) = (i32::from(column) * METRICS.width, i32::from(columns) * METRICS.width);
            below.area(Area { x, y, width, height: METRICS.height }, color, 4);
        }
    }
    for (line, y) in scene.lines.iter().zip((0..).step_by(METRICS.height as usize)) {
        for scene_cell in line.iter().filter(|scene_cell| scene_cell.is_shown()) {
            let x = i32::from(scene_cell.column) * METRICS.width;
            if scene_cell.cell.style.underline != Underline::None {
                for shape in lines::underline(scene_cell.cell.style.underline, scene_cell.columns, METRICS) {
                    over.shape(&shape, x, y, scene_cell.cell_colors.underline);
                }
            }
            if scene_cell.cell.style.strikethrough {
                writer.struck.area(
                    lines::strikethrough(scene_cell.columns, METRICS).moved(x, y),
                    scene_cell.cell_colors.text,
                    4,
                );
            }
            let cells = CellMetrics { width: METRICS.width * i32::from(scene_cell.columns), ..METRICS };
            match scene_cell.character().map(|character| (character, shapes(character, cells))) {
                Some((_, Some(shapes))) => {
                    shapes.iter().for_each(|shape| over.shape(shape, x, y, scene_cell.cell_colors.text))
                }
                Some((character, None)) => writer.character(scene_cell, character, y),
                None => writer.gap(scene_cell),
            }
        }
        writer.flush();
    }
    if let Some(cursor) = scene.cursor {
        let (x, y) = (i32::from(cursor.column) * METRICS.width, i32::from(cursor.row) * METRICS.height);
        writer.struck.area(lines::cursor(cursor.shape, cursor.columns, METRICS).moved(x, y), cursor.color, 4);
    }
    let (width, height) = (i32::from(scene.columns) * METRICS.width, i32::from(scene.rows) * METRICS.height);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\" \
         width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\">\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"{}\"/>\n",
        width / 2,
        height / 2,
        hex(scene.defaults.background),
    );
    below.write(&mut out);
    over.write(&mut out);
    if !writer.out.is_empty() {
        // Every character has its position already, so bidirectional reordering is disabled.
        let _ = write!(
            out,
            "<g font-family=\"'DejaVu Sans Mono', monospace\" font-size=\"{}\" xml:space=\"preserve\" \
             direction=\"ltr\" unicode-bidi=\"bidi-override\">\n{}</g>\n",
            METRICS.font_size(),
            writer.out,
        );
    }
    writer.struck.write(&mut out);
    out.push_str("</svg>\n");
    out
}

/// Properties shared by all characters of a text element.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RunStyle<'a> {
    color: Rgb,
    bold: bool,
    italic: bool,
    link: Option<&'a str>,
}

/// Writes text elements, and collects the characters of the current element.
#[derive(Default)]
struct SvgTextWriter<'a> {
    out: String,
    run: Option<TextRun<'a>>,
    struck: SvgLayers,
}

struct TextRun<'a> {
    run_style: RunStyle<'a>,
    y: i32,
    /// Column after the last character.
    end: u16,
    xs: String,
    text: String,
    /// Blanks that belong to the run if more text follows.
    gap: usize,
}

impl<'a> SvgTextWriter<'a> {
    fn character(&mut self, scene_cell: &SceneCell<'a>, character: char, y: i32) {
        let style = &scene_cell.cell.style;
        let link = scene_cell.cell.hyperlink().and_then(|link| safe_link(link));
        let run_style = RunStyle { color: scene_cell.cell_colors.text, bold: style.bold, italic: style.italic, link };
        let x = i32::from(scene_cell.column) * METRICS.width;
        let cluster = scene_cell.cluster();
        // Viewers disagree on how a list of positions counts characters beyond the basic plane, and a combining mark
        // would get its own position.
        if scene_cell.columns == 1 && cluster.is_empty() && character < '\u{10000}' && outlines::covers(character) {
            self.extend(run_style, scene_cell.column, character, y);
            return;
        }
        self.flush();
        let mut text = String::new();
        std::iter::once(character).chain(cluster).for_each(|character| escape(character, &mut text));
        let width = METRICS.width * i32::from(scene_cell.columns);
        // Sets the position or the width explicitly, so that marks that the viewer's font cannot place do not shift the
        // next cell.
        let place = if scene_cell.columns == 2 {
            format!("x=\"{}\" text-anchor=\"middle\"", x + width / 2)
        } else {
            format!("x=\"{x}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"")
        };
        self.element(run_style, &place, y, &text);
    }

    fn extend(&mut self, run_style: RunStyle<'a>, column: u16, character: char, y: i32) {
        let continues = self
            .run
            .as_ref()
            .is_some_and(|run| run.run_style == run_style && usize::from(run.end) + run.gap == usize::from(column));
        if !continues {
            self.flush();
        }
        let run = self.run.get_or_insert_with(|| TextRun {
            run_style,
            y,
            end: column,
            xs: String::new(),
            text: String::new(),
            gap: 0,
        });
        for column in run.end..=column {
            let space = if run.xs.is_empty() { "" } else { " " };
            let _ = write!(run.xs, "{space}{}", i32::from(column) * METRICS.width);
        }
        run.text.extend(std::iter::repeat_n(' ', run.gap));
        escape(character, &mut run.text);
        run.gap = 0;
        run.end = column + 1;
    }

    /// Adds blanks within the current run, so that copied text has its spaces.
    fn gap(&mut self, scene_cell: &SceneCell<'_>) {
        if let Some(run) = &mut self.run {
            run.gap += usize::from(scene_cell.columns);
            if run.gap > MAX_GAP_COLUMNS {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if let Some(run) = self.run.take() {
            self.element(run.run_style, &format!("x=\"{}\"", run.xs), run.y, &run.text);
        }
    }

    fn element(&mut self, run_style: RunStyle<'_>, place: &str, y: i32, text: &str) {
        if let Some(link) = run_style.link {
            self.out.push_str("<a xlink:href=\"");
            link.chars().for_each(|character| escape(character, &mut self.out));
            self.out.push_str("\">");
        }
        let bold = if run_style.bold { " font-weight=\"bold\"" } else { "" };
        let italic = if run_style.italic { " font-style=\"italic\"" } else { "" };
        let (y, color) = (y + METRICS.baseline, hex(run_style.color));
        let _ = write!(self.out, "<text {place} y=\"{y}\" fill=\"{color}\"{bold}{italic}>{text}</text>");
        self.out.push_str(if run_style.link.is_some() { "</a>\n" } else { "\n" });
    }
}

/// Returns the link if it is safe to open: an `http:`, `https:` or `mailto:` address.
fn safe_link(link: &str) -> Option<&str> {
    let (scheme, _) = link.split_once(':')?;
    let known = ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    (known && !link.chars().any(|character| character.is_control() || character.is_whitespace())).then_some(link)
}

fn escape(character: char, out: &mut String) {
    match character {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
        control if control.is_control() => out.push('\u{fffd}'),
        other => out.push(other),
    }
}

fn hex(Rgb(red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Shapes by colour, in the order in which the colours first occurred. Shapes must not overlap.
#[derive(Default)]
struct SvgLayers {
    places: HashMap<(Rgb, u8), usize>,
    layers: Vec<SvgLayer>,
}

struct SvgLayer {
    color: Rgb,
    /// Opacity in quarters.
    quarters: u8,
    areas: Vec<Area>,
    curves: String,
}

impl SvgLayers {
    fn layer(&mut self, color: Rgb, quarters: u8) -> &mut SvgLayer {
        let place = *self.places.entry((color, quarters)).or_insert_with(|| {
            self.layers.push(SvgLayer { color, quarters, areas: Vec::new(), curves: String::new() });
            self.layers.len() - 1
        });
        &mut self.layers[place]
    }

    /// Adds a rectangle, merged with the last one if adjacent.
    fn area(&mut self, area: Area, color: Rgb, quarters: u8) {
        let layer = self.layer(color, quarters);
        match layer.areas.last_mut() {
            Some(last) if (last.y, last.height, last.x + last.width) == (area.y, area.height, area.x) => {
                last.width += area.width;
            }
            _ => layer.areas.push(area),
        }
    }

    fn shape(&mut self, shape: &Shape, x: i32, y: i32, color: Rgb) {
        match shape {
            Shape::Area(area) => self.area(area.moved(x, y), color, 4),
            Shape::Shade(area, quarters) => self.area(area.moved(x, y), color, *quarters),
            Shape::Path(path) => {
                let place = |[left, top]: [f32; 2]| [left + x as f32, top + y as f32];
                let curves = &mut self.layer(color, 4).curves;
                path.iter().for_each(|segment| write_segment(&segment.map(place), curves));
            }
        }
    }

    fn write(&self, out: &mut String) {
        if self.layers.is_empty() {
            return;
        }
        // Prevents the background from showing through where two areas meet.
        out.push_str("<g shape-rendering=\"crispEdges\">\n");
        for layer in self.layers.iter().filter(|layer| !layer.areas.is_empty()) {
            let _ = write!(out, "<path fill=\"{}\"", hex(layer.color));
            if layer.quarters < 4 {
                let _ = write!(out, " fill-opacity=\"{}\"", f32::from(layer.quarters) / 4.0);
            }
            out.push_str(" d=\"");
            for Area { x, y, width, height } in &layer.areas {
                let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
            }
            out.push_str("\"/>\n");
        }
        out.push_str("</g>\n");
        for layer in self.layers.iter().filter(|layer| !layer.curves.is_empty()) {
            let _ = writeln!(out, "<path fill=\"{}\" d=\"{}\"/>", hex(layer.color), layer.curves);
        }
    }
}

fn write_segment(segment: &Segment, out: &mut String) {
    out.push(match segment {
        Segment::Move(_) => 'M',
        Segment::Line(_) => 'L',
        Segment::Quadratic(..) => 'Q',
        Segment::Cubic(..) => 'C',
        Segment::Close => 'Z',
    });
    for (index, value) in segment.points().flatten().enumerate() {
        // A hundredth of a unit is finer than a pixel of any screen.
        let rounded = (value * 100.0).round() / 100.0;
        let _ = write!(out, "{}{rounded}", if index == 0 { "" } else { " " });
    }
}
