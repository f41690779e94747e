//! Pixel buffer, and the coverage masks drawn on it.

use std::ops::Range;

use zeno::{Command, Mask, Point};

use crate::picture::palette::{self, Rgb};
use crate::picture::shapes::{Area, Segment, Shape};
use crate::picture::{MAX_PICTURE_PIXELS, PictureError};

/// Coverage of each pixel: 0 none, 255 full. Positioned relative to the top left of a cell.
#[derive(Debug)]
pub(super) struct Coverage {
    pub(super) area: Area,
    /// Coverage values of the pixels, row by row.
    pub(super) alpha: Vec<u8>,
}

impl Coverage {
    /// Rasterises the inside of closed curves. The rasteriser uses integers, so the result does not depend on the
    /// machine.
    pub(super) fn fill(path: &[Segment]) -> Self {
        /// Maximum coordinate, larger than in any glyph. Bounds the memory for a damaged outline.
        const MAX_COORDINATE: f32 = 512.0;
        let start = [MAX_COORDINATE, MAX_COORDINATE, -MAX_COORDINATE, -MAX_COORDINATE];
        let [left, top, right, bottom] = path
            .iter()
            .flat_map(Segment::points)
            .fold(start, |[left, top, right, bottom], [x, y]| [left.min(x), top.min(y), right.max(x), bottom.max(y)]);
        let pixel = |value: f32| value.clamp(-MAX_COORDINATE, MAX_COORDINATE) as i32;
        let (left, top) = (pixel(left.floor()), pixel(top.floor()));
        let area = Area::between((left, top), (pixel(right.ceil()).max(left), pixel(bottom.ceil()).max(top)));
        let point = |[x, y]: [f32; 2]| Point::new(x - left as f32, y - top as f32);
        let commands: Vec<Command> = path
            .iter()
            .map(|segment| match *segment {
                Segment::Move(to) => Command::MoveTo(point(to)),
                Segment::Line(to) => Command::LineTo(point(to)),
                Segment::Quadratic(by, to) => Command::QuadTo(point(by), point(to)),
                Segment::Cubic(from, by, to) => Command::CurveTo(point(from), point(by), point(to)),
                Segment::Close => Command::Close,
            })
            .collect();
        let (alpha, _) = Mask::new(&commands).size(area.width.unsigned_abs(), area.height.unsigned_abs()).render();
        Self { area, alpha }
    }
}

/// Pixel buffer of a picture, in red, green and blue.
#[derive(Debug)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    /// Pixels of the picture, row by row.
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    /// Creates a picture of one colour.
    pub(super) fn new(width: u64, height: u64, color: Rgb) -> Result<Self, PictureError> {
        check_size(width, height)?;
        let (width, height) = (width as usize, height as usize);
        Ok(Self { width, height, pixels: vec![[color.0, color.1, color.2]; width * height] })
    }

    /// Fills the part of the area that is inside the picture.
    pub(super) fn fill(&mut self, area: Area, color: Rgb) {
        let (columns, rows) = self.clip(area);
        for row in rows {
            self.row(row, columns.clone()).fill([color.0, color.1, color.2]);
        }
    }

    /// Blends the colour onto the pixels of the coverage that are inside the picture.
    pub(super) fn cover(&mut self, coverage: &Coverage, x: i32, y: i32, color: Rgb) {
        let area = coverage.area.moved(x, y);
        let (columns, rows) = self.clip(area);
        for row in rows {
            let skipped = (row as i32 - area.y) * area.width + columns.start as i32 - area.x;
            let alpha = coverage.alpha.get(skipped as usize..).unwrap_or_default();
            for (pixel, alpha) in self.row(row, columns.clone()).iter_mut().zip(alpha) {
                blend(pixel, color, u32::from(*alpha));
            }
        }
    }

    /// Draws a shape of a cell whose top left corner is at this position.
    pub(super) fn draw(&mut self, shape: &Shape, x: i32, y: i32, color: Rgb) {
        match shape {
            Shape::Area(area) => self.fill(area.moved(x, y), color),
            Shape::Shade(area, quarters) => {
                let (columns, rows) = self.clip(area.moved(x, y));
                for row in rows {
                    for pixel in self.row(row, columns.clone()) {
                        blend(pixel, color, u32::from(*quarters) * 255 / 4);
                    }
                }
            }
            Shape::Path(path) => self.cover(&Coverage::fill(path), x, y, color),
        }
    }

    /// Returns the columns and rows of the area that are inside the picture.
    fn clip(&self, area: Area) -> (Range<usize>, Range<usize>) {
        let clip = |start: i32, length: i32, limit: usize| {
            let end = usize::try_from(start.saturating_add(length)).unwrap_or(0).min(limit);
            usize::try_from(start).unwrap_or(0).min(end)..end
        };
        (clip(area.x, area.width, self.width), clip(area.y, area.height, self.height))
    }

    fn row(&mut self, row: usize, columns: Range<usize>) -> &mut [[u8; 3]] {
        &mut self.pixels[row * self.width..][columns]
    }

    /// Encodes the picture as a PNG.
    pub(super) fn encode(&self) -> Result<Vec<u8>, PictureError> {
        encode(self.width, self.height, self.pixels.as_flattened())
    }
}

/// Encodes pixels of three bytes as a PNG. Uses no filter and the fastest compression level: higher levels take ten
/// times as long and make the file only 20 % smaller.
pub(super) fn encode(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, PictureError> {
    let failed = |error: png::EncodingError| PictureError::Encoding(error.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_deflate_compression(png::DeflateCompression::Level(1));
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// Fails if a picture would be empty or too large.
pub(super) fn check_size(width: u64, height: u64) -> Result<(), PictureError> {
    if width == 0 || height == 0 {
        return Err(PictureError::Empty);
    }
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PICTURE_PIXELS => Ok(()),
        _ => Err(PictureError::TooLarge { width, height }),
    }
}

fn blend(pixel: &mut [u8; 3], color: Rgb, alpha: u32) {
    if alpha > 0 {
        let Rgb(red, green, blue) = palette::mix(color, Rgb(pixel[0], pixel[1], pixel[2]), alpha, 255);
        *pixel = [red, green, blue];
    }
}
