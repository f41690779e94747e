//! A frame as an SVG 1.1 document that needs nothing else. Every character says where it stands, so that another font
//! than the intended one changes the looks and not the layout; lines and blocks are shapes.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::frame::{Frame, Underline};
use crate::picture::palette::Rgb;
use crate::picture::scene::{Scene, Spot, backgrounds};
use crate::picture::shapes::{Area, Segment, Shape, shapes};
use crate::picture::{Background, Grid, Scale, lines, outlines};

/// The document's units: whole numbers for every line, shown at half their size.
const GRID: Grid = Grid::new(Scale::Two);

/// Blanks between two words of one text element; what is farther apart gets its own.
const WIDEST_GAP: usize = 8;

/// The frame as an SVG document. Text is escaped and without control characters; only links to `http:`, `https:` and
/// `mailto:` are active. See [`Options::background`](crate::picture::Options::background).
pub fn svg(frame: &Frame, background: Option<Background>) -> String {
    let scene = Scene::new(frame, background);
    let (mut below, mut over) = (Layers::default(), Layers::default());
    let mut writer = Writer::default();
    for (line, y) in scene.lines.iter().zip((0..).step_by(GRID.height as usize)) {
        for (column, columns, color) in backgrounds(line, scene.defaults) {
            let (x, width) = (i32::from(column) * GRID.width, i32::from(columns) * GRID.width);
            below.area(Area { x, y, width, height: GRID.height }, color, 4);
        }
    }
    for (line, y) in scene.lines.iter().zip((0..).step_by(GRID.height as usize)) {
        for spot in line.iter().filter(|spot| spot.is_shown()) {
            let x = i32::from(spot.column) * GRID.width;
            if spot.cell.style.underline != Underline::None {
                for shape in lines::underline(spot.cell.style.underline, spot.columns, GRID) {
                    over.shape(&shape, x, y, spot.ink.underline);
                }
            }
            if spot.cell.style.strikethrough {
                writer.struck.area(lines::strikethrough(spot.columns, GRID).moved(x, y), spot.ink.text, 4);
            }
            let cells = Grid { width: GRID.width * i32::from(spot.columns), ..GRID };
            match spot.character().map(|character| (character, shapes(character, cells))) {
                Some((_, Some(shapes))) => shapes.iter().for_each(|shape| over.shape(shape, x, y, spot.ink.text)),
                Some((character, None)) => writer.character(spot, character, y),
                None => writer.gap(spot),
            }
        }
        writer.flush();
    }
    if let Some(cursor) = scene.cursor {
        let (x, y) = (i32::from(cursor.column) * GRID.width, i32::from(cursor.row) * GRID.height);
        writer.struck.area(lines::cursor(cursor.shape, cursor.columns, GRID).moved(x, y), cursor.color, 4);
    }
    let (width, height) = (i32::from(scene.columns) * GRID.width, i32::from(scene.rows) * GRID.height);
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
        // The terminal has put every character in its place: no direction of writing may move it.
        let _ = write!(
            out,
            "<g font-family=\"'DejaVu Sans Mono', monospace\" font-size=\"{}\" xml:space=\"preserve\" \
             direction=\"ltr\" unicode-bidi=\"bidi-override\">\n{}</g>\n",
            GRID.font_size(),
            writer.out,
        );
    }
    writer.struck.write(&mut out);
    out.push_str("</svg>\n");
    out
}

/// What of a text element is the same for all its characters.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Looks<'a> {
    color: Rgb,
    bold: bool,
    italic: bool,
    link: Option<&'a str>,
}

/// Text elements, of which the last is still growing.
#[derive(Default)]
struct Writer<'a> {
    out: String,
    run: Option<Run<'a>>,
    struck: Layers,
}

struct Run<'a> {
    looks: Looks<'a>,
    y: i32,
    /// The column after the last character.
    end: u16,
    xs: String,
    text: String,
    /// Blanks that belong to the run if a word follows.
    gap: usize,
}

impl<'a> Writer<'a> {
    fn character(&mut self, spot: &Spot<'a>, character: char, y: i32) {
        let style = &spot.cell.style;
        let link = spot.cell.hyperlink().and_then(|link| safe_link(link));
        let looks = Looks { color: spot.ink.text, bold: style.bold, italic: style.italic, link };
        let x = i32::from(spot.column) * GRID.width;
        let cluster = spot.cluster();
        // A list of places counts characters; viewers do not agree how for those beyond the first plane, and a mark
        // would get a place of its own.
        if spot.columns == 1 && cluster.is_empty() && character < '\u{10000}' && outlines::covers(character) {
            self.extend(looks, spot.column, character, y);
            return;
        }
        self.flush();
        let mut text = String::new();
        std::iter::once(character).chain(cluster).for_each(|character| escape(character, &mut text));
        let width = GRID.width * i32::from(spot.columns);
        // Marks that the viewer's font cannot place must not push the next cell away either.
        let place = if spot.columns == 2 {
            format!("x=\"{}\" text-anchor=\"middle\"", x + width / 2)
        } else {
            format!("x=\"{x}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"")
        };
        self.element(looks, &place, y, &text);
    }

    fn extend(&mut self, looks: Looks<'a>, column: u16, character: char, y: i32) {
        let continues = self
            .run
            .as_ref()
            .is_some_and(|run| run.looks == looks && usize::from(run.end) + run.gap == usize::from(column));
        if !continues {
            self.flush();
        }
        let run = self.run.get_or_insert_with(|| Run {
            looks,
            y,
            end: column,
            xs: String::new(),
            text: String::new(),
            gap: 0,
        });
        for column in run.end..=column {
            let space = if run.xs.is_empty() { "" } else { " " };
            let _ = write!(run.xs, "{space}{}", i32::from(column) * GRID.width);
        }
        run.text.extend(std::iter::repeat_n(' ', run.gap));
        escape(character, &mut run.text);
        run.gap = 0;
        run.end = column + 1;
    }

    /// A blank keeps words of one line together, so that copied text has its spaces.
    fn gap(&mut self, spot: &Spot<'_>) {
        if let Some(run) = &mut self.run {
            run.gap += usize::from(spot.columns);
            if run.gap > WIDEST_GAP {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if let Some(run) = self.run.take() {
            self.element(run.looks, &format!("x=\"{}\"", run.xs), run.y, &run.text);
        }
    }

    fn element(&mut self, looks: Looks<'_>, place: &str, y: i32, text: &str) {
        if let Some(link) = looks.link {
            self.out.push_str("<a xlink:href=\"");
            link.chars().for_each(|character| escape(character, &mut self.out));
            self.out.push_str("\">");
        }
        let bold = if looks.bold { " font-weight=\"bold\"" } else { "" };
        let italic = if looks.italic { " font-style=\"italic\"" } else { "" };
        let (y, color) = (y + GRID.baseline, hex(looks.color));
        let _ = write!(self.out, "<text {place} y=\"{y}\" fill=\"{color}\"{bold}{italic}>{text}</text>");
        self.out.push_str(if looks.link.is_some() { "</a>\n" } else { "\n" });
    }
}

/// A link that a click may follow: what the address of a document, not of a script, begins with.
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

/// Shapes by colour, in the order in which the colours were first seen. None may cover another.
#[derive(Default)]
struct Layers {
    places: HashMap<(Rgb, u8), usize>,
    layers: Vec<Layer>,
}

struct Layer {
    color: Rgb,
    /// Of the colour, in quarters.
    quarters: u8,
    areas: Vec<Area>,
    curves: String,
}

impl Layers {
    fn layer(&mut self, color: Rgb, quarters: u8) -> &mut Layer {
        let place = *self.places.entry((color, quarters)).or_insert_with(|| {
            self.layers.push(Layer { color, quarters, areas: Vec::new(), curves: String::new() });
            self.layers.len() - 1
        });
        &mut self.layers[place]
    }

    /// Adds a rectangle; one that continues the last becomes part of it.
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
        // Edges between pixels would let the background shine through where two areas meet.
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
        // Hundredths are finer than any screen.
        let rounded = (value * 100.0).round() / 100.0;
        let _ = write!(out, "{}{rounded}", if index == 0 { "" } else { " " });
    }
}
