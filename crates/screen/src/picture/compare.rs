//! Whether two PNGs show the same.

use std::io::Cursor;

use crate::picture::PictureError;
use crate::picture::canvas::{check_size, encode};

/// By how much a channel may be off and still count as the same: other programs' colour conversions are not exact.
const TOLERANCE: u8 = 2;

/// What a comparison found.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Whether the pictures have one size and at most the threshold's share of pixels differs.
    pub same: bool,
    /// Pixels that differ; where the sizes do, also all that only one picture has.
    pub differing: u64,
    /// Pixels compared.
    pub total: u64,
    /// `differing` of `total`.
    pub ratio: f64,
    /// A PNG as large as the larger of both: the golden picture, darkened, with what differs in red.
    pub diff: Vec<u8>,
}

/// Compares two PNGs. `threshold` is the share of pixels that may differ: 0 for none.
pub fn compare(golden: &[u8], actual: &[u8], threshold: f64) -> Result<Comparison, PictureError> {
    if !(0.0..=1.0).contains(&threshold) {
        return Err(PictureError::Threshold(threshold));
    }
    let (golden_size, actual_size) = (size("golden", golden)?, size("actual", actual)?);
    // The larger of both ways together: two long strips can cross to a huge square.
    let (width, height) = (golden_size.0.max(actual_size.0), golden_size.1.max(actual_size.1));
    check_size(u64::from(width), u64::from(height))?;
    let (golden, actual) = (Picture::decode("golden", golden)?, Picture::decode("actual", actual)?);

    let mut differing = 0;
    let mut diff = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        for x in 0..width {
            let expected = golden.pixel(x, y);
            let alike = match (expected, actual.pixel(x, y)) {
                (Some(expected), Some(actual)) => is_alike(expected, actual),
                // A corner that neither has is nobody's difference.
                (None, None) => true,
                _ => false,
            };
            if alike {
                let [red, green, blue, _] = expected.unwrap_or_default();
                diff.extend([red / 4, green / 4, blue / 4]);
            } else {
                differing += 1;
                diff.extend([255, 0, 0]);
            }
        }
    }
    let total = u64::from(width) * u64::from(height);
    let ratio = differing as f64 / total as f64;
    let same = golden_size == actual_size && ratio <= threshold;
    let diff = encode(width as usize, height as usize, &diff)?;
    Ok(Comparison { same, differing, total, ratio, diff })
}

fn is_alike(one: [u8; 4], other: [u8; 4]) -> bool {
    one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= TOLERANCE)
}

/// A decoded PNG.
struct Picture {
    width: u32,
    height: u32,
    /// Bytes a pixel: grey, or red, green and blue; then, if even, opacity.
    channels: usize,
    /// Row by row.
    samples: Vec<u8>,
}

impl Picture {
    fn decode(which: &'static str, bytes: &[u8]) -> Result<Self, PictureError> {
        let failed = |reason: String| PictureError::Unreadable { which, reason };
        let mut decoder = decoder(bytes);
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().map_err(|error| failed(error.to_string()))?;
        let length = reader.output_buffer_size().ok_or_else(|| failed("too large".to_owned()))?;
        let mut samples = vec![0; length];
        let info = reader.next_frame(&mut samples).map_err(|error| failed(error.to_string()))?;
        if info.color_type == png::ColorType::Indexed || info.bit_depth != png::BitDepth::Eight {
            return Err(failed("its colours could not be resolved".to_owned()));
        }
        Ok(Self { width: info.width, height: info.height, channels: info.color_type.samples(), samples })
    }

    /// Red, green, blue and opacity.
    fn pixel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let start = (y as usize * self.width as usize + x as usize) * self.channels;
        match *self.samples.get(start..start + self.channels)? {
            [grey] => Some([grey, grey, grey, 255]),
            [grey, opacity] => Some([grey, grey, grey, opacity]),
            [red, green, blue] => Some([red, green, blue, 255]),
            [red, green, blue, opacity] => Some([red, green, blue, opacity]),
            _ => None,
        }
    }
}

/// The size that a PNG claims, refused before anything is made of it.
fn size(which: &'static str, bytes: &[u8]) -> Result<(u32, u32), PictureError> {
    let mut decoder = decoder(bytes);
    let info =
        decoder.read_header_info().map_err(|error| PictureError::Unreadable { which, reason: error.to_string() })?;
    check_size(u64::from(info.width), u64::from(info.height))?;
    Ok((info.width, info.height))
}

/// Leaves out what can hide a bomb of compressed text.
fn decoder(bytes: &[u8]) -> png::Decoder<Cursor<&[u8]>> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder
}
