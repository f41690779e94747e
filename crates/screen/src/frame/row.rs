//! Rows of a frame, with cached text and escape sequences.

use std::ops::Deref;
use std::sync::OnceLock;

use super::Cell;
use crate::render;

/// Immutable cells of one row. An unchanged row is shared between frames, and its text and escape sequences are
/// computed once.
#[derive(Debug)]
pub struct ScreenRow {
    cells: Box<[Cell]>,
    renderings: OnceLock<RowRenderings>,
}

/// Renderings of a row, cached on first use.
#[derive(Debug)]
pub(crate) struct RowRenderings {
    /// Text of the row, padded to the width.
    pub text: String,
    /// Escape sequences and text that draw the row, beginning and ending with the default style.
    pub ansi: String,
    /// Hash of the visible content. Equal for rows that look the same.
    pub fingerprint: u64,
}

impl ScreenRow {
    pub fn new(cells: impl Into<Box<[Cell]>>) -> Self {
        Self { cells: cells.into(), renderings: OnceLock::new() }
    }

    pub(crate) fn renderings(&self) -> &RowRenderings {
        self.renderings.get_or_init(|| render::draw(&self.cells))
    }
}

impl Deref for ScreenRow {
    type Target = [Cell];

    fn deref(&self) -> &[Cell] {
        &self.cells
    }
}

impl PartialEq for ScreenRow {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells
    }
}

impl Eq for ScreenRow {}
