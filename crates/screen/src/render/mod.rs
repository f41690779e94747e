//! Ways to draw a frame.

mod ansi;
mod fingerprint;
mod redraw;
mod text;

pub use ansi::ansi;
pub use fingerprint::{fingerprint, fingerprint_of};
pub use redraw::{ENTER, LEAVE, Redraw};
pub use text::{last_lines, lines, plain};

use crate::frame::{Cell, Drawn};

/// What a row comes to.
pub(crate) fn draw(row: &[Cell]) -> Drawn {
    Drawn { text: text::row_text(row), ansi: ansi::row_ansi(row), fingerprint: fingerprint::row_fingerprint(row) }
}
