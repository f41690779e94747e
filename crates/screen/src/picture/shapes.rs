//! Characters that consist of lines and areas. They are drawn exactly, since the glyphs of a font would leave gaps
//! between cells.

use crate::picture::{CellMetrics, blocks, boxes};

/// A shape to fill, in pixels from the top left of the cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Area(Area),
    /// Rectangle with partial opacity, in quarters.
    Shade(Area, u8),
    /// Inside of closed curves that do not cross.
    Path(Vec<Segment>),
}

/// Rectangle in whole pixels: its top left corner, width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Area {
    /// Creates a rectangle from two corners.
    pub(super) fn between((left, top): (i32, i32), (right, bottom): (i32, i32)) -> Self {
        Self { x: left, y: top, width: right - left, height: bottom - top }
    }

    pub(super) fn moved(self, x: i32, y: i32) -> Self {
        Self { x: self.x + x, y: self.y + y, ..self }
    }
}

/// Segment of a path. The last point of a segment is its end; the points before it are control points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Segment {
    Move([f32; 2]),
    Line([f32; 2]),
    Quadratic([f32; 2], [f32; 2]),
    Cubic([f32; 2], [f32; 2], [f32; 2]),
    Close,
}

impl Segment {
    /// Applies `change` to every point.
    pub(super) fn map(self, change: impl Fn([f32; 2]) -> [f32; 2]) -> Self {
        match self {
            Self::Move(to) => Self::Move(change(to)),
            Self::Line(to) => Self::Line(change(to)),
            Self::Quadratic(by, to) => Self::Quadratic(change(by), change(to)),
            Self::Cubic(from, by, to) => Self::Cubic(change(from), change(by), change(to)),
            Self::Close => Self::Close,
        }
    }

    /// Returns all points, including control points. Their bounding box contains the curve.
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

/// Creates a closed polygon with these corners.
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

/// Returns the shapes of a character, if it consists of shapes. `metrics` has twice the width of a cell for a wide
/// character.
pub(super) fn shapes(character: char, metrics: CellMetrics) -> Option<Vec<Shape>> {
    boxes::shapes(character, metrics).or_else(|| blocks::shapes(character, metrics))
}
