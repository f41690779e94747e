//! Shapes of underlines, strikethrough and line cursors.

use crate::frame::{CursorShape, Underline};
use crate::picture::CellMetrics;
use crate::picture::shapes::{Area, Segment, Shape};

/// Returns an underline over `columns` columns. The pattern repeats in each column, so that adjacent cells connect.
pub(super) fn underline(kind: Underline, columns: u16, metrics: CellMetrics) -> Vec<Shape> {
    let stroke = metrics.stroke;
    let width = metrics.width * i32::from(columns);
    let line = |y: i32| Shape::Area(Area { x: 0, y: metrics.baseline + y * stroke, width, height: stroke });
    let pieces = |starts: &'static [i32], length: i32| {
        (0..i32::from(columns)).flat_map(move |column| {
            starts.iter().map(move |start| {
                let x = column * metrics.width + start * stroke;
                Shape::Area(Area { x, y: metrics.baseline + 2 * stroke, width: length * stroke, height: stroke })
            })
        })
    };
    match kind {
        Underline::None => Vec::new(),
        Underline::Single => vec![line(2)],
        Underline::Double => vec![line(1), line(3)],
        Underline::Curly => vec![wave(columns, metrics)],
        Underline::Dotted => pieces(&[1, 4, 7], 1).collect(),
        Underline::Dashed => pieces(&[2], 5).collect(),
    }
}

/// Returns a wave with one period per column.
fn wave(columns: u16, metrics: CellMetrics) -> Shape {
    let stroke = metrics.stroke as f32;
    let (middle, half) = (metrics.baseline as f32 + 2.0 * stroke, metrics.width as f32 / 2.0);
    // The curve reaches three quarters of the way to its handles.
    let handle = 2.0 * stroke;
    let arches = 2 * u32::from(columns);
    let arch = |index: u32, backwards: bool, y: f32| {
        let up = if index.is_multiple_of(2) { -handle } else { handle };
        let (from, to) = (index as f32 * half, (index + 1) as f32 * half);
        let (third, end) = ((to - from) * 0.4, if backwards { from } else { to });
        let handles = if backwards { [to - third, from + third] } else { [from + third, to - third] };
        Segment::Cubic([handles[0], y + up], [handles[1], y + up], [end, y])
    };
    let (upper, lower) = (middle - stroke / 2.0, middle + stroke / 2.0);
    let mut path = vec![Segment::Move([0.0, upper])];
    path.extend((0..arches).map(|index| arch(index, false, upper)));
    path.push(Segment::Line([arches as f32 * half, lower]));
    path.extend((0..arches).rev().map(|index| arch(index, true, lower)));
    path.push(Segment::Close);
    Shape::Path(path)
}

/// Returns a strikethrough line over `columns` columns.
pub(super) fn strikethrough(columns: u16, metrics: CellMetrics) -> Area {
    let width = metrics.width * i32::from(columns);
    Area { x: 0, y: metrics.baseline - 5 * metrics.stroke, width, height: metrics.stroke }
}

pub(super) fn cursor(shape: CursorShape, columns: u16, metrics: CellMetrics) -> Area {
    let (width, thickness) = (metrics.width * i32::from(columns), 2 * metrics.stroke);
    match shape {
        CursorShape::Block => Area { x: 0, y: 0, width, height: metrics.height },
        CursorShape::Underline => Area { x: 0, y: metrics.height - thickness, width, height: thickness },
        CursorShape::Beam => Area { x: 0, y: 0, width: thickness, height: metrics.height },
    }
}
