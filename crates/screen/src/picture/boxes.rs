//! Shapes of box drawing characters, U+2500 to U+257F, and of the few other lines that connect to them.

use crate::picture::CellMetrics;
use crate::picture::shapes::{Area, Segment, Shape, polygon};

/// Lines from the centre of a cell to its left, upper, right and lower edge: 0 none, 1 thin, 2 thick, 3 double. One
/// entry per code point from U+2500; all 0 for characters that do not consist of such lines.
#[rustfmt::skip]
const ARMS: [[u8; 4]; 128] = [
    *b"1010", *b"2020", *b"0101", *b"0202", *b"0000", *b"0000", *b"0000", *b"0000", // ─━│┃┄┅┆┇
    *b"0000", *b"0000", *b"0000", *b"0000", *b"0011", *b"0021", *b"0012", *b"0022", // ┈┉┊┋┌┍┎┏
    *b"1001", *b"2001", *b"1002", *b"2002", *b"0110", *b"0120", *b"0210", *b"0220", // ┐┑┒┓└┕┖┗
    *b"1100", *b"2100", *b"1200", *b"2200", *b"0111", *b"0121", *b"0211", *b"0112", // ┘┙┚┛├┝┞┟
    *b"0212", *b"0221", *b"0122", *b"0222", *b"1101", *b"2101", *b"1201", *b"1102", // ┠┡┢┣┤┥┦┧
    *b"1202", *b"2201", *b"2102", *b"2202", *b"1011", *b"2011", *b"1021", *b"2021", // ┨┩┪┫┬┭┮┯
    *b"1012", *b"2012", *b"1022", *b"2022", *b"1110", *b"2110", *b"1120", *b"2120", // ┰┱┲┳┴┵┶┷
    *b"1210", *b"2210", *b"1220", *b"2220", *b"1111", *b"2111", *b"1121", *b"2121", // ┸┹┺┻┼┽┾┿
    *b"1211", *b"1112", *b"1212", *b"2211", *b"1221", *b"2112", *b"1122", *b"2221", // ╀╁╂╃╄╅╆╇
    *b"2122", *b"2212", *b"1222", *b"2222", *b"0000", *b"0000", *b"0000", *b"0000", // ╈╉╊╋╌╍╎╏
    *b"3030", *b"0303", *b"0031", *b"0013", *b"0033", *b"3001", *b"1003", *b"3003", // ═║╒╓╔╕╖╗
    *b"0130", *b"0310", *b"0330", *b"3100", *b"1300", *b"3300", *b"0131", *b"0313", // ╘╙╚╛╜╝╞╟
    *b"0333", *b"3101", *b"1303", *b"3303", *b"3031", *b"1013", *b"3033", *b"3130", // ╠╡╢╣╤╥╦╧
    *b"1310", *b"3330", *b"3131", *b"1313", *b"3333", *b"0000", *b"0000", *b"0000", // ╨╩╪╫╬╭╮╯
    *b"0000", *b"0000", *b"0000", *b"0000", *b"1000", *b"0100", *b"0010", *b"0001", // ╰╱╲╳╴╵╶╷
    *b"2000", *b"0200", *b"0020", *b"0002", *b"1020", *b"0102", *b"2010", *b"0201", // ╸╹╺╻╼╽╾╿
];

/// Returns the shapes of a box drawing character; `None` for other characters.
pub(super) fn shapes(character: char, metrics: CellMetrics) -> Option<Vec<Shape>> {
    match character {
        '┄' | '┅' | '┆' | '┇' => Some(dashes(character, 3, metrics)),
        '┈' | '┉' | '┊' | '┋' => Some(dashes(character, 4, metrics)),
        '╌' | '╍' | '╎' | '╏' => Some(dashes(character, 2, metrics)),
        '╭' | '╮' | '╯' | '╰' => Some(arc(character, metrics)),
        '╱' => Some(vec![diagonal(metrics, false)]),
        '╲' => Some(vec![diagonal(metrics, true)]),
        '╳' => Some(vec![diagonal(metrics, false), diagonal(metrics, true)]),
        '\u{2500}'..='\u{257f}' => ARMS.get(character as usize - 0x2500).map(|arms| tiles(*arms, metrics)),
        '⎺' | '⎻' | '⎼' | '⎽' => Some(scan_line(character as i32 - 0x23ba, metrics)),
        '⎿' => Some(hook(metrics)),
        _ => None,
    }
}

/// Returns the boundaries of the five bands of a cell: before, first line of two, middle, second line, after. A thin
/// line fills the middle band, a double line fills the bands on both sides of the middle, and a thick line fills all
/// three.
fn bands(length: i32, stroke: i32) -> [i32; 6] {
    let middle = (length - stroke) / 2;
    [0, middle - stroke, middle, middle + stroke, middle + 2 * stroke, length]
}

/// Returns the rectangles that the arms of a character fill. Their edges are the boundaries of the cell's bands.
fn tiles(arms: [u8; 4], metrics: CellMetrics) -> Vec<Shape> {
    let mut filled = [[false; 5]; 5];
    for (direction, weight) in arms.into_iter().enumerate() {
        let ends = ends(arms, direction);
        for across in 1..=3 {
            let end = match (weight, across) {
                (b'1', 2) => ends[1],
                (b'2', _) => ends[1],
                (b'3', 1) => ends[0],
                (b'3', 3) => ends[2],
                _ => continue,
            };
            for along in 0..=end {
                let (x, y) = match direction {
                    0 => (along, across),
                    1 => (across, along),
                    2 => (4 - along, across),
                    _ => (across, 4 - along),
                };
                filled[y][x] = true;
            }
        }
    }
    areas(&filled, bands(metrics.width, metrics.stroke), bands(metrics.height, metrics.stroke))
}

/// Returns the bands in which the lines of an arm end, counted from the edge of the cell that the arm touches: first
/// line of a double arm, single line, second line of a double arm.
fn ends(arms: [u8; 4], direction: usize) -> [usize; 3] {
    let opposite = arms[(direction + 2) % 4];
    // The two arms at right angles to this arm.
    let (first, second) = if direction.is_multiple_of(2) { (arms[1], arms[3]) } else { (arms[0], arms[2]) };
    let sides = [first, second];
    let single = if opposite != b'0' {
        2
    } else if sides == [b'3', b'3'] {
        // The line stops at the nearer of two crossing lines.
        0
    } else if sides.contains(&b'2') || sides.contains(&b'3') {
        3
    } else {
        2
    };
    let double = |near: u8, far: u8| match (near, far) {
        (b'3', _) => 1,
        (_, b'3') if opposite == b'0' => 3,
        _ => 2,
    };
    [double(first, second), single, double(second, first)]
}

/// Converts filled bands to as few rectangles as possible.
fn areas(filled: &[[bool; 5]; 5], xs: [i32; 6], ys: [i32; 6]) -> Vec<Shape> {
    let mut areas: Vec<Area> = Vec::new();
    for (row, bands) in filled.iter().enumerate() {
        let mut column = 0;
        while column < 5 {
            let run = bands[column..].iter().take_while(|band| **band).count();
            if run > 0 {
                let area = Area::between((xs[column], ys[row]), (xs[column + run], ys[row + 1]));
                let above =
                    |known: &&mut Area| (known.x, known.width, known.y + known.height) == (area.x, area.width, area.y);
                match areas.iter_mut().find(above) {
                    Some(known) => known.height += area.height,
                    None => areas.push(area),
                }
            }
            column += run + 1;
        }
    }
    areas.into_iter().map(Shape::Area).collect()
}

/// Returns a line of `count` dashes, each with half a gap before and after, so that adjacent cells connect.
fn dashes(character: char, count: i32, metrics: CellMetrics) -> Vec<Shape> {
    // The code points of each group are: thin horizontal, thick horizontal, thin vertical, thick vertical.
    let kind = character as u32 % 4;
    let (thick, down) = (kind % 2 == 1, kind >= 2);
    let (length, breadth) = if down { (metrics.height, metrics.width) } else { (metrics.width, metrics.height) };
    let bands = bands(breadth, metrics.stroke);
    let (near, far) = if thick { (bands[1], bands[4]) } else { (bands[2], bands[3]) };
    let gap = (length / count / 3).max(1);
    (0..count)
        .map(|index| {
            let start = index * length / count + gap / 2;
            let end = (index + 1) * length / count - (gap - gap / 2);
            Shape::Area(if down {
                Area::between((near, start), (far, end))
            } else {
                Area::between((start, near), (end, far))
            })
        })
        .collect()
}

/// Returns a rounded corner: a quarter of a ring, and straight lines to the middles of two edges. The straight lines
/// cover the same pixels as those of other characters.
fn arc(character: char, metrics: CellMetrics) -> Vec<Shape> {
    /// Length of a cubic curve's handles for a quarter of a circle with radius 1.
    const HANDLE: f32 = 0.552_285;
    let (xs, ys) = (bands(metrics.width, metrics.stroke), bands(metrics.height, metrics.stroke));
    let (to_right, to_bottom) = (matches!(character, '╭' | '╰'), matches!(character, '╭' | '╮'));
    // The outer radius reaches from the outer side of one line almost to the edge of the cell.
    let radius = if to_right { metrics.width - xs[2] } else { xs[3] } - metrics.stroke;
    let center_x = if to_right { xs[2] + radius } else { xs[3] - radius };
    let center_y = if to_bottom { ys[2] + radius } else { ys[3] - radius };
    let (outer, inner) = (radius as f32, (radius - metrics.stroke) as f32);
    let (side, end) = (if to_right { -1.0 } else { 1.0 }, if to_bottom { -1.0 } else { 1.0 });
    let at = |x: f32, y: f32| [center_x as f32 + side * x, center_y as f32 + end * y];
    let ring = vec![
        Segment::Move(at(0.0, outer)),
        Segment::Cubic(at(outer * HANDLE, outer), at(outer, outer * HANDLE), at(outer, 0.0)),
        Segment::Line(at(inner, 0.0)),
        Segment::Cubic(at(inner, inner * HANDLE), at(inner * HANDLE, inner), at(0.0, inner)),
        Segment::Close,
    ];
    let (left, right) = if to_right { (center_x, metrics.width) } else { (0, center_x) };
    let (top, bottom) = if to_bottom { (center_y, metrics.height) } else { (0, center_y) };
    vec![
        Shape::Path(ring),
        Shape::Area(Area::between((left, ys[2]), (right, ys[3]))),
        Shape::Area(Area::between((xs[2], top), (xs[3], bottom))),
    ]
}

/// Returns a diagonal from corner to corner, clipped at the edges of the cell.
fn diagonal(metrics: CellMetrics, falling: bool) -> Shape {
    let (width, height) = (metrics.width as f32, metrics.height as f32);
    let length = (width * width + height * height).sqrt();
    // Half of the line's thickness, measured along the edges.
    let (across, down) = (metrics.stroke as f32 * length / height / 2.0, metrics.stroke as f32 * length / width / 2.0);
    let x = |x: f32| if falling { width - x } else { x };
    polygon(&[
        (x(width - across), 0.0),
        (x(width), 0.0),
        (x(width), down),
        (x(across), height),
        (x(0.0), height),
        (x(0.0), height - down),
    ])
}

/// Returns one of the horizontal scan lines 1, 3, 7 and 9 of the DEC graphics. Scan line 5 is the character ─.
fn scan_line(index: i32, metrics: CellMetrics) -> Vec<Shape> {
    let middle = (metrics.height - metrics.stroke) / 2;
    let y = [0, middle / 2, middle + middle / 2, metrics.height - metrics.stroke][index.clamp(0, 3) as usize];
    vec![Shape::Area(Area { x: 0, y, width: metrics.width, height: metrics.stroke })]
}

/// Returns the shape of ⎿, which agents draw before the results of a step.
fn hook(metrics: CellMetrics) -> Vec<Shape> {
    let (x, y) = (metrics.width / 3, metrics.height * 2 / 3);
    vec![
        Shape::Area(Area { x, y: 0, width: metrics.stroke, height: y }),
        Shape::Area(Area { x, y, width: metrics.width - x - metrics.stroke, height: metrics.stroke }),
    ]
}
