//! Characters that are pictures of lines and areas. They are drawn to measure, since a font's would leave gaps between
//! cells.

use crate::picture::{Grid, blocks, boxes};

/// Something to fill, in pixels from the cell's top left.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Area(Area),
    /// Part of the colour, in quarters, as the shades have it.
    Shade(Area, u8),
    /// The inside of closed curves, none of which crosses another.
    Path(Vec<Segment>),
}

/// A rectangle of whole pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Area {
    /// From corner to corner.
    pub(super) fn between((left, top): (i32, i32), (right, bottom): (i32, i32)) -> Self {
        Self { x: left, y: top, width: right - left, height: bottom - top }
    }

    pub(super) fn moved(self, x: i32, y: i32) -> Self {
        Self { x: self.x + x, y: self.y + y, ..self }
    }
}

/// A piece of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Segment {
    Move([f32; 2]),
    Line([f32; 2]),
    Quadratic([f32; 2], [f32; 2]),
    Cubic([f32; 2], [f32; 2], [f32; 2]),
    Close,
}

impl Segment {
    /// The same with every point put through `change`.
    pub(super) fn map(self, change: impl Fn([f32; 2]) -> [f32; 2]) -> Self {
        match self {
            Self::Move(to) => Self::Move(change(to)),
            Self::Line(to) => Self::Line(change(to)),
            Self::Quadratic(by, to) => Self::Quadratic(change(by), change(to)),
            Self::Cubic(from, by, to) => Self::Cubic(change(from), change(by), change(to)),
            Self::Close => Self::Close,
        }
    }

    /// The points, of which those on the curve and off it bound the curve together.
    pub(super) fn points(&self) -> impl Iterator<Item = [f32; 2]> {
        let points = match *self {
            Self::Move(to) | Self::Line(to) => [Some(to), None, None],
            Self::Quadratic(by, to) => [Some(by), Some(to), None],
            Self::Cubic(from, by, to) => [Some(from), Some(by), Some(to)],
            Self::Close => [None; 3],
        };
        points.into_iter().flatten()
    }
}

/// A polygon.
pub(super) fn polygon(points: &[(f32, f32)]) -> Shape {
    let mut segments: Vec<_> = points.iter().map(|(x, y)| Segment::Line([*x, *y])).collect();
    if let Some(first) = segments.first_mut()
        && let Some((x, y)) = points.first()
    {
        *first = Segment::Move([*x, *y]);
    }
    segments.push(Segment::Close);
    Shape::Path(segments)
}

/// How the character is drawn, if it is one of those. `grid` is the cell's, or twice as wide for a wide character.
pub(super) fn shapes(character: char, grid: Grid) -> Option<Vec<Shape>> {
    boxes::shapes(character, grid).or_else(|| blocks::shapes(character, grid))
}
