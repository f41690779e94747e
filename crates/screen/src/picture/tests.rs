//! End-to-end tests of pictures, from program output to pixels and documents.

mod comparison;
mod documents;
mod pixels;

use std::sync::Arc;

use crate::frame::{Cell, ScreenFrame, ScreenRow, Size};
use crate::picture::{PictureOptions, Scale, png};
use crate::vt::Vt;

/// Returns the screen after this output. The cursor is hidden, since it would disturb most tests.
fn screen(columns: u16, rows: u16, text: &str) -> ScreenFrame {
    let mut vt = Vt::new(Size { columns, rows }, 0);
    vt.feed(text.as_bytes());
    vt.feed(b"\x1b[?25l");
    vt.frame()
}

/// Returns frames that the type allows but no terminal produces.
fn impossible_frames() -> Vec<ScreenFrame> {
    let mut frames = Vec::new();
    let whole = screen(4, 2, "漢字\r\nabcd");
    for (columns, rows) in [(0, 0), (0, 2), (4, 0), (3, 2), (5, 9), (1, 1)] {
        frames.push(ScreenFrame { size: Size { columns, rows }, ..whole.clone() });
    }
    let lonely = |width| {
        let row = Arc::new(ScreenRow::new(vec![Cell { width, character: '漢', ..Cell::BLANK }; 4]));
        ScreenFrame { rows: vec![row; 2], ..whole.clone() }
    };
    frames.extend([lonely(0), lonely(2), lonely(9)]);
    let mut lost = whole.clone();
    lost.cursor.visible = true;
    (lost.cursor.x, lost.cursor.y) = (u16::MAX, u16::MAX);
    frames.push(lost);
    frames
}

/// Pixels of a decoded PNG.
struct Pixels {
    width: usize,
    height: usize,
    rows: Vec<Vec<[u8; 3]>>,
}

impl Pixels {
    fn decode(bytes: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut buffer).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        let rows = buffer.chunks(info.line_size).map(|row| row.as_chunks().0.to_vec()).collect();
        Self { width: info.width as usize, height: info.height as usize, rows }
    }

    fn of(frame: &ScreenFrame, scale: Scale) -> Self {
        Self::decode(&png(frame, PictureOptions { scale, ..PictureOptions::default() }).unwrap())
    }

    /// Counts the pixels of the cell that differ from the background.
    fn drawn(&self, column: usize, row: usize, scale: Scale, background: [u8; 3]) -> usize {
        let (width, height) = cell(scale);
        let rows = &self.rows[row * height..(row + 1) * height];
        let pixels = rows.iter().flat_map(|pixels| &pixels[column * width..(column + 1) * width]);
        pixels.filter(|pixel| **pixel != background).count()
    }
}

/// Returns the size of a cell.
fn cell(scale: Scale) -> (usize, usize) {
    match scale {
        Scale::One => (9, 18),
        Scale::Two => (18, 36),
    }
}

/// Computes an FNV-1a hash.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
