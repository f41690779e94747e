//! Ways to draw a frame.

mod ansi;
mod fingerprint;
mod text;

pub use ansi::ansi;
pub use fingerprint::{fingerprint, fingerprint_of};
pub use text::{last_lines, lines, plain, plain_of};
