//! Compares two PNGs pixel by pixel.

use std::io::Cursor;

use crate::picture::PictureError;
use crate::picture::canvas::{check_size, encode};

/// Maximum difference of a channel that counts as equal, since colour conversions of other programs are not exact.
const CHANNEL_TOLERANCE: u8 = 2;

/// Result of comparing two pictures: the number of differing pixels, and a picture of the differences.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureComparison {
    /// True if the pictures have the same size and the share of differing pixels is not above the threshold.
    pub same: bool,
    /// Number of differing pixels, including pixels that exist in only one picture.
    pub differing: u64,
    /// Number of pixels compared.
    pub total: u64,
    /// `differing` divided by `total`.
    pub ratio: f64,
    /// PNG of the size of the larger picture: the golden picture, darkened, with differences in red.
    pub diff: Vec<u8>,
}

/// Compares two PNGs. `threshold` is the share of pixels that may differ, 0 for none.
pub fn compare(golden: &[u8], actual: &[u8], threshold: f64) -> Result<PictureComparison, PictureError> {
    if !(0.0..=1.0).contains(&threshold) {
        return Err(PictureError::Threshold(threshold));
    }
    let (golden_size, actual_size) = (size("golden", golden)?, size("actual", actual)?);
    // Both maxima are checked together: two long strips can combine to a huge square.
    let (width, height) = (golden_size.0.max(actual_size.0), golden_size.1.max(actual_size.1));
    check_size(u64::from(width), u64::from(height))?;
    let (golden, actual) = (DecodedPng::decode("golden", golden)?, DecodedPng::decode("actual", actual)?);

    let mut differing = 0;
    let mut diff = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        for x in 0..width {
            let expected = golden.pixel(x, y);
            let alike = match (expected, actual.pixel(x, y)) {
                (Some(expected), Some(actual)) => is_alike(expected, actual),
                // A corner that exists in neither picture is no difference.
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
    Ok(PictureComparison { same, differing, total, ratio, diff })
}

fn is_alike(one: [u8; 4], other: [u8; 4]) -> bool {
    one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= CHANNEL_TOLERANCE)
}

/// Decoded PNG with 8 bits per sample.
struct DecodedPng {
    width: u32,
    height: u32,
    /// Samples per pixel: 1 for grey, 3 for red, green and blue; one more if the picture has opacity.
    channels: usize,
    /// Samples of the channels, row by row.
    samples: Vec<u8>,
}

impl DecodedPng {
    fn decode(which: &'static str, bytes: &[u8]) -> Result<Self, PictureError> {
        let failed = |reason: String| PictureError::Unreadable { which, reason };
        let mut decoder = decoder(bytes);
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().map_err(|error| failed(error.to_string()))?;
        let length = reader.output_buffer_size().ok_or_else(|| failed("the picture is too large".to_owned()))?;
        let mut samples = vec![0; length];
        let info = reader.next_frame(&mut samples).map_err(|error| failed(error.to_string()))?;
        if info.color_type == png::ColorType::Indexed || info.bit_depth != png::BitDepth::Eight {
            return Err(failed("the colour format is not supported".to_owned()));
        }
        Ok(Self { width: info.width, height: info.height, channels: info.color_type.samples(), samples })
    }

    /// Returns red, green, blue and opacity; `None` outside of the picture.
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

/// Returns the size in a PNG's header. Fails if the size is too large, before memory is allocated for the pixels.
fn size(which: &'static str, bytes: &[u8]) -> Result<(u32, u32), PictureError> {
    let mut decoder = decoder(bytes);
    let info =
        decoder.read_header_info().map_err(|error| PictureError::Unreadable { which, reason: error.to_string() })?;
    check_size(u64::from(info.width), u64::from(info.height))?;
    Ok((info.width, info.height))
}

/// Creates a decoder that ignores compressed text, which could be a decompression bomb.
fn decoder(bytes: &[u8]) -> png::Decoder<Cursor<&[u8]>> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder
}
