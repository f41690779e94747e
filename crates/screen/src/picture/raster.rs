//! Draws a frame as a PNG.

use std::rc::Rc;

use crate::frame::{ScreenFrame, Underline};
use crate::picture::canvas::Canvas;
use crate::picture::glyphs::{GlyphCache, GlyphKey};
use crate::picture::scene::{Scene, SceneCell, backgrounds};
use crate::picture::shapes::{Area, shapes};
use crate::picture::{CellMetrics, PictureError, PictureOptions, lines};

/// Returns the frame as a PNG of 8 bits per channel, without transparency. The same frame gives the same bytes on every
/// machine.
pub fn png(frame: &ScreenFrame, options: PictureOptions) -> Result<Vec<u8>, PictureError> {
    draw(frame, options)?.encode()
}

fn draw(frame: &ScreenFrame, options: PictureOptions) -> Result<Canvas, PictureError> {
    let metrics = CellMetrics::new(options.scale);
    let scene = Scene::new(frame, options.background);
    let pixels = |count: u16, length: i32| u64::from(count) * u64::from(length.unsigned_abs());
    let size = (pixels(scene.columns, metrics.width), pixels(scene.rows, metrics.height));
    let mut canvas = Canvas::new(size.0, size.1, scene.defaults.background)?;
    // Draws all backgrounds first, so that glyphs may extend into the next cell.
    for (line, y) in scene.lines.iter().zip((0..).step_by(metrics.height as usize)) {
        for (column, columns, color) in backgrounds(line, scene.defaults) {
            let (x, width) = (i32::from(column) * metrics.width, i32::from(columns) * metrics.width);
            canvas.fill(Area { x, y, width, height: metrics.height }, color);
        }
    }
    let mut glyphs = GlyphCache::new(metrics);
    for (line, y) in scene.lines.iter().zip((0..).step_by(metrics.height as usize)) {
        for scene_cell in line.iter().filter(|scene_cell| scene_cell.is_shown()) {
            draw_cell(&mut canvas, &mut glyphs, scene_cell, y, metrics);
        }
    }
    if let Some(cursor) = scene.cursor {
        let (x, y) = (i32::from(cursor.column) * metrics.width, i32::from(cursor.row) * metrics.height);
        canvas.fill(lines::cursor(cursor.shape, cursor.columns, metrics).moved(x, y), cursor.color);
    }
    Ok(canvas)
}

fn draw_cell(canvas: &mut Canvas, glyphs: &mut GlyphCache, scene_cell: &SceneCell<'_>, y: i32, metrics: CellMetrics) {
    let x = i32::from(scene_cell.column) * metrics.width;
    let style = &scene_cell.cell.style;
    if style.underline != Underline::None {
        for shape in lines::underline(style.underline, scene_cell.columns, metrics) {
            canvas.draw(&shape, x, y, scene_cell.cell_colors.underline);
        }
    }
    if let Some(character) = scene_cell.character() {
        draw_character(canvas, glyphs, scene_cell, character, (x, y), metrics);
    }
    if style.strikethrough {
        canvas.fill(lines::strikethrough(scene_cell.columns, metrics).moved(x, y), scene_cell.cell_colors.text);
    }
}

fn draw_character(
    canvas: &mut Canvas,
    glyphs: &mut GlyphCache,
    scene_cell: &SceneCell<'_>,
    character: char,
    (x, y): (i32, i32),
    metrics: CellMetrics,
) {
    let style = &scene_cell.cell.style;
    let cells = CellMetrics { width: metrics.width * i32::from(scene_cell.columns), ..metrics };
    if let Some(shapes) = shapes(character, cells) {
        for shape in &shapes {
            canvas.draw(shape, x, y, scene_cell.cell_colors.text);
        }
        return;
    }
    let key = GlyphKey { character, wide: scene_cell.columns == 2, bold: style.bold, italic: style.italic };
    let glyph = glyphs.get(key);
    canvas.cover(&glyph, x, y, scene_cell.cell_colors.text);
    let mut top = glyph.area.y;
    for mark in scene_cell.combining() {
        let mark = glyphs.get(GlyphKey { character: mark, ..key });
        let raised = raise(mark.area, top, metrics);
        canvas.cover(&Rc::clone(&mark), x, y - raised, scene_cell.cell_colors.text);
        top = top.min(mark.area.y - raised);
    }
}

/// Returns the distance by which a combining mark is raised. Marks are designed for small letters, so a mark above a
/// taller letter or above another mark is raised. The mark stays in its cell.
fn raise(mark: Area, top: i32, metrics: CellMetrics) -> i32 {
    let small_letter = metrics.baseline - 8 * metrics.stroke;
    let bottom = mark.y + mark.height;
    if bottom > small_letter || mark.height == 0 { 0 } else { (bottom + metrics.stroke / 2 - top).min(mark.y).max(0) }
}
