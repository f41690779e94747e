//! A frame as a PNG.

use std::rc::Rc;

use crate::frame::{Frame, Underline};
use crate::picture::canvas::Canvas;
use crate::picture::glyphs::{Glyphs, Key};
use crate::picture::scene::{Scene, Spot, backgrounds};
use crate::picture::shapes::{Area, shapes};
use crate::picture::{Grid, Options, PictureError, lines};

/// The frame as a PNG of 8 bits a channel, without transparency. The same frame gives the same bytes on every machine.
pub fn png(frame: &Frame, options: Options) -> Result<Vec<u8>, PictureError> {
    draw(frame, options)?.encode()
}

fn draw(frame: &Frame, options: Options) -> Result<Canvas, PictureError> {
    let grid = Grid::new(options.scale);
    let scene = Scene::new(frame, options.background);
    let pixels = |count: u16, length: i32| u64::from(count) * u64::from(length.unsigned_abs());
    let size = (pixels(scene.columns, grid.width), pixels(scene.rows, grid.height));
    let mut canvas = Canvas::new(size.0, size.1, scene.defaults.background)?;
    // All backgrounds first: what leans out of its cell is not cut off by the next.
    for (line, y) in scene.lines.iter().zip((0..).step_by(grid.height as usize)) {
        for (column, columns, color) in backgrounds(line, scene.defaults) {
            let (x, width) = (i32::from(column) * grid.width, i32::from(columns) * grid.width);
            canvas.fill(Area { x, y, width, height: grid.height }, color);
        }
    }
    let mut glyphs = Glyphs::new(grid);
    for (line, y) in scene.lines.iter().zip((0..).step_by(grid.height as usize)) {
        for spot in line.iter().filter(|spot| spot.is_shown()) {
            draw_spot(&mut canvas, &mut glyphs, spot, y, grid);
        }
    }
    if let Some(cursor) = scene.cursor {
        let (x, y) = (i32::from(cursor.column) * grid.width, i32::from(cursor.row) * grid.height);
        canvas.fill(lines::cursor(cursor.shape, cursor.columns, grid).moved(x, y), cursor.color);
    }
    Ok(canvas)
}

fn draw_spot(canvas: &mut Canvas, glyphs: &mut Glyphs, spot: &Spot<'_>, y: i32, grid: Grid) {
    let x = i32::from(spot.column) * grid.width;
    let style = &spot.cell.style;
    if style.underline != Underline::None {
        for shape in lines::underline(style.underline, spot.columns, grid) {
            canvas.draw(&shape, x, y, spot.ink.underline);
        }
    }
    if let Some(character) = spot.character() {
        draw_character(canvas, glyphs, spot, character, (x, y), grid);
    }
    if style.strikethrough {
        canvas.fill(lines::strikethrough(spot.columns, grid).moved(x, y), spot.ink.text);
    }
}

fn draw_character(
    canvas: &mut Canvas,
    glyphs: &mut Glyphs,
    spot: &Spot<'_>,
    character: char,
    (x, y): (i32, i32),
    grid: Grid,
) {
    let style = &spot.cell.style;
    let cells = Grid { width: grid.width * i32::from(spot.columns), ..grid };
    if let Some(shapes) = shapes(character, cells) {
        for shape in &shapes {
            canvas.draw(shape, x, y, spot.ink.text);
        }
        return;
    }
    let key = Key { character, wide: spot.columns == 2, bold: style.bold, italic: style.italic };
    let glyph = glyphs.get(key);
    canvas.cover(&glyph, x, y, spot.ink.text);
    let mut top = glyph.area.y;
    for mark in spot.combining() {
        let mark = glyphs.get(Key { character: mark, ..key });
        let raised = raise(mark.area, top, grid);
        canvas.cover(&Rc::clone(&mark), x, y - raised, spot.ink.text);
        top = top.min(mark.area.y - raised);
    }
}

/// How far a mark that was made for a small letter has to go up to stand above a taller one, or above another mark; not
/// out of its cell.
fn raise(mark: Area, top: i32, grid: Grid) -> i32 {
    let small_letter = grid.baseline - 8 * grid.stroke;
    let bottom = mark.y + mark.height;
    if bottom > small_letter || mark.height == 0 { 0 } else { (bottom + grid.stroke / 2 - top).min(mark.y).max(0) }
}
