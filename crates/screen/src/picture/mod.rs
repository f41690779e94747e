//! Pictures of a frame: [`svg()`] for documents and browsers, [`png()`] for viewing and golden files, [`compare()`] to
//! compare two PNGs. Fonts are embedded and nothing depends on the machine, so the same frame always gives the same
//! bytes.
//!
//! ```
//! use wh_screen::{frame::Size, picture, vt::Vt};
//!
//! let mut vt = Vt::new(Size { columns: 20, rows: 2 }, 0);
//! vt.feed("┌─ \x1b[1;4:3mhello\x1b[m ─┐".as_bytes());
//! let golden = picture::png(&vt.frame(), picture::PictureOptions::default())?;
//! vt.feed(b"\r\nworld");
//! let actual = picture::png(&vt.frame(), picture::PictureOptions::default())?;
//! let comparison = picture::compare(&golden, &actual, 0.0)?;
//! assert!(!comparison.same && comparison.differing > 0);
//! assert!(picture::svg(&vt.frame(), None).starts_with("<svg "));
//! # Ok::<(), picture::PictureError>(())
//! ```

mod blocks;
mod boxes;
mod canvas;
mod compare;
mod fallback;
mod glyphs;
mod lines;
mod outlines;
mod palette;
mod raster;
mod scene;
mod shapes;
mod svg;
#[cfg(test)]
mod tests;

pub use compare::{PictureComparison, compare};
pub use raster::png;
pub use svg::svg;

/// Maximum number of pixels of a picture that is drawn or compared. Enough for a terminal of 500 columns and 200 rows
/// at scale 2; drawing that picture takes about 200 MB.
pub const MAX_PICTURE_PIXELS: u64 = 64 << 20;

/// Scale of a PNG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scale {
    /// 9 by 18 pixels per cell.
    One,
    /// 18 by 36 pixels per cell.
    #[default]
    Two,
}

impl Scale {
    /// Returns the scale 1 or 2; `None` for other numbers.
    pub fn new(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            _ => None,
        }
    }
}

/// Options for drawing a PNG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PictureOptions {
    pub scale: Scale,
    /// Default colours. `None` uses the colours that the program has set (OSC 10 and 11), else [`Background::Dark`].
    pub background: Option<Background>,
}

/// Default colours of text and background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Background {
    /// Light grey on black, as reported to programs that query the colours.
    Dark,
    /// Black on white.
    Light,
}

impl Background {
    /// Returns the background named `dark` or `light`; `None` for other names.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            _ => None,
        }
    }
}

/// Reason why a picture could not be drawn or compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PictureError {
    /// The frame has no cells.
    #[error("a screen without columns or rows cannot be drawn")]
    Empty,
    /// The picture has more pixels than [`MAX_PICTURE_PIXELS`].
    #[error("a picture of {width} by {height} pixels is too large; the maximum is {MAX_PICTURE_PIXELS} pixels")]
    TooLarge {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
    },
    /// A picture to compare is not a valid PNG.
    #[error("the {which} picture is not a readable PNG: {reason}")]
    Unreadable {
        /// Name of the picture: `golden` or `actual`.
        which: &'static str,
        /// Error of the decoder.
        reason: String,
    },
    /// The threshold is not between 0 and 1.
    #[error("a threshold of {0} is not between 0 and 1; give the share of pixels that may differ, such as 0.001")]
    Threshold(f64),
    /// The encoder failed.
    #[error("the picture could not be encoded: {0}")]
    Encoding(String),
}

/// Dimensions of a cell in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CellMetrics {
    width: i32,
    height: i32,
    /// Distance from the top of the cell to the baseline.
    baseline: i32,
    /// Thickness of a thin line.
    stroke: i32,
}

impl CellMetrics {
    const fn new(scale: Scale) -> Self {
        // DejaVu Sans Mono at 15 pixels per em: advance 9.03, ascent 13.9, descent 3.5.
        let factor = match scale {
            Scale::One => 1,
            Scale::Two => 2,
        };
        Self { width: 9 * factor, height: 18 * factor, baseline: 14 * factor, stroke: factor }
    }

    /// Returns the font size in pixels per em.
    const fn font_size(self) -> i32 {
        15 * self.stroke
    }
}
