//! Shapes of block elements, braille patterns, sextants and the triangles of status lines.

use crate::picture::CellMetrics;
use crate::picture::shapes::{Area, Shape, polygon};

/// Returns the shapes of a character that consists of blocks; `None` for other characters.
pub(super) fn shapes(character: char, metrics: CellMetrics) -> Option<Vec<Shape>> {
    let (width, height) = (metrics.width, metrics.height);
    let code = character as i32;
    let area = |left, top, right, bottom| vec![Shape::Area(Area::between((left, top), (right, bottom)))];
    let across = |eighths: i32| (width * eighths + 4) / 8;
    let down = |eighths: i32| (height * eighths + 4) / 8;
    Some(match character {
        '▀' => area(0, 0, width, down(4)),
        '▁'..='█' => area(0, height - down(code - 0x2580), width, height),
        '▉'..='▏' => area(0, 0, across(0x2590 - code), height),
        '▐' => area(across(4), 0, width, height),
        '░' | '▒' | '▓' => vec![Shape::Shade(Area { x: 0, y: 0, width, height }, (code - 0x2590) as u8)],
        '▔' => area(0, 0, width, down(1)),
        '▕' => area(width - across(1), 0, width, height),
        '▖'..='▟' => {
            // Bits from the lowest: upper left, upper right, lower left, lower right.
            const QUADRANTS: [u8; 10] = [4, 8, 1, 13, 9, 7, 11, 2, 6, 14];
            mosaic(u32::from(QUADRANTS[(code - 0x2596) as usize]), 2, metrics)
        }
        '\u{2800}'..='\u{28ff}' => braille((code - 0x2800) as u32, metrics),
        '\u{1fb00}'..='\u{1fb3b}' => {
            // The code points are all patterns of six blocks in order. Four patterns are missing, since they have a
            // code point elsewhere: empty, left half, right half, full.
            let index = (code - 0x1fb00) as u32 + 1;
            mosaic(index + u32::from(index >= 0x15) + u32::from(index >= 0x29), 3, metrics)
        }
        '\u{e0b0}'..='\u{e0b3}' => vec![triangle(code - 0xe0b0, metrics)],
        _ => return None,
    })
}

/// Returns the filled blocks of a grid with two columns. Each bit stands for one block, row by row from the lowest bit.
fn mosaic(bits: u32, rows: i32, metrics: CellMetrics) -> Vec<Shape> {
    let middle = (metrics.width * 4 + 4) / 8;
    let y = |row: i32| (metrics.height * row + rows / 2) / rows;
    let filled = |row: i32, column: i32| bits >> (row * 2 + column) & 1 == 1;
    let mut shapes = Vec::new();
    for row in 0..rows {
        let (left, right) = (filled(row, 0), filled(row, 1));
        if left || right {
            let from = if left { 0 } else { middle };
            let to = if right { metrics.width } else { middle };
            shapes.push(Shape::Area(Area::between((from, y(row)), (to, y(row + 1)))));
        }
    }
    shapes
}

fn braille(bits: u32, metrics: CellMetrics) -> Vec<Shape> {
    // The lower six bits are the dots of three rows, first the left column, then the right column. The last two bits
    // are the fourth row.
    const DOTS: [(i32, i32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let size = 2 * metrics.stroke;
    DOTS.iter()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 == 1)
        .map(|(_, (column, row))| {
            let x = metrics.width * (2 * column + 1) / 4 - size / 2;
            let y = metrics.height * (2 * row + 1) / 8 - size / 2;
            Shape::Area(Area { x, y, width: size, height: size })
        })
        .collect()
}

/// Returns a triangle, used as a separator in status lines. `kind` is 0 right, 1 right outline, 2 left, 3 left outline.
fn triangle(kind: i32, metrics: CellMetrics) -> Shape {
    let (width, height, stroke) = (metrics.width as f32, metrics.height as f32, metrics.stroke as f32 * 1.5);
    let x = |x: f32| if kind < 2 { x } else { width - x };
    if kind % 2 == 0 {
        return polygon(&[(x(0.0), 0.0), (x(width), height / 2.0), (x(0.0), height)]);
    }
    polygon(&[
        (x(0.0), 0.0),
        (x(stroke), 0.0),
        (x(width), height / 2.0),
        (x(stroke), height),
        (x(0.0), height),
        (x(width - stroke), height / 2.0),
    ])
}
