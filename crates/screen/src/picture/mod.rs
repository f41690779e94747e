//! Pictures of a frame: [`svg()`] for documents and browsers, [`png()`] for eyes and golden files, [`compare()`] for two
//! of the latter. The fonts are part of the program and nothing depends on the machine: the same frame always gives the
//! same bytes.
//!
//! ```
//! use wh_screen::{frame::Size, picture, vt::Vt};
//!
//! let mut vt = Vt::new(Size { columns: 20, rows: 2 }, 0);
//! vt.feed("┌─ \x1b[1;4:3mhello\x1b[m ─┐".as_bytes());
//! let golden = picture::png(&vt.frame(), picture::Options::default())?;
//! vt.feed(b"\r\nworld");
//! let actual = picture::png(&vt.frame(), picture::Options::default())?;
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

pub use compare::{Comparison, compare};
pub use raster::png;
pub use svg::svg;

/// The most pixels that a picture may have, drawn or compared: a terminal of 500 columns and 200 rows at scale 2, and
/// some 200 MB while it is drawn.
pub const LARGEST_PICTURE: u64 = 64 << 20;

/// How large a PNG is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scale {
    /// 9 by 18 pixels a cell.
    One,
    /// 18 by 36 pixels a cell.
    #[default]
    Two,
}

impl Scale {
    /// The scale of that number, if there is one.
    pub fn new(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            _ => None,
        }
    }
}

/// How a PNG is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// How large.
    pub scale: Scale,
    /// The default colours. Without one: those that the program has set (OSC 10 and 11), else the dark ones.
    pub background: Option<Background>,
}

/// The colours of what has no colour of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Background {
    /// Light grey on black, which programs are told of when they ask.
    Dark,
    /// Black on white.
    Light,
}

impl Background {
    /// The background of this name: `dark` or `light`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            _ => None,
        }
    }
}

/// Why there is no picture, or no comparison.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PictureError {
    /// A frame without cells.
    #[error("a screen without columns or rows has no picture")]
    Empty,
    /// More pixels than [`LARGEST_PICTURE`].
    #[error("a picture of {width} by {height} pixels is too large; at most {LARGEST_PICTURE} pixels are handled")]
    TooLarge {
        /// Pixels across.
        width: u64,
        /// Pixels down.
        height: u64,
    },
    /// A picture to compare that is not a PNG, or a broken one.
    #[error("the {which} picture is not a readable PNG: {reason}")]
    Unreadable {
        /// `golden` or `actual`.
        which: &'static str,
        /// What the decoder says.
        reason: String,
    },
    /// A threshold that is no share.
    #[error("a threshold of {0} is not between 0 and 1; give the share of pixels that may differ, such as 0.001")]
    Threshold(f64),
    /// The encoder failed.
    #[error("the picture could not be encoded: {0}")]
    Encoding(String),
}

/// A cell in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    width: i32,
    height: i32,
    /// From the cell's top to the line that letters stand on.
    baseline: i32,
    /// How thick a thin line is.
    stroke: i32,
}

impl Grid {
    const fn new(scale: Scale) -> Self {
        // DejaVu Sans Mono at 15 pixels an em: advance 9.03, ascent 13.9, descent 3.5.
        let factor = match scale {
            Scale::One => 1,
            Scale::Two => 2,
        };
        Self { width: 9 * factor, height: 18 * factor, baseline: 14 * factor, stroke: factor }
    }

    /// Pixels an em.
    const fn font_size(self) -> i32 {
        15 * self.stroke
    }
}
