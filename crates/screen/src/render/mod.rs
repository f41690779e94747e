//! Renderings of a frame: text, escape sequences, incremental redraws and fingerprints.

mod ansi;
mod fingerprint;
mod redraw;
mod text;

pub use ansi::ansi;
pub use fingerprint::{fingerprint, fingerprint_of};
pub use redraw::{ENTER_SCREEN, LEAVE_SCREEN, ScreenMirror};
pub use text::{last_lines, lines, plain};

use crate::frame::{Cell, RowRenderings};

/// Computes the cached renderings of a row.
pub(crate) fn draw(row: &[Cell]) -> RowRenderings {
    RowRenderings {
        text: text::row_text(row),
        ansi: ansi::row_ansi(row),
        fingerprint: fingerprint::row_fingerprint(row),
    }
}
