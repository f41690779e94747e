//! One row of a frame.

use std::ops::Deref;
use std::sync::OnceLock;

use super::Cell;
use crate::render;

/// The cells of one row. They do not change, so a row that stays as it is goes from frame to frame, and what it comes to
/// as text and as bytes is worked out once for all of them.
#[derive(Debug)]
pub struct Row {
    cells: Box<[Cell]>,
    drawn: OnceLock<Drawn>,
}

/// What a row comes to.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// Its text, padded to the width.
    pub text: String,
    /// The bytes that draw it, from and to a plain pen.
    pub ansi: String,
    /// A number that two rows share if they look the same.
    pub fingerprint: u64,
}

impl Row {
    /// A row of these cells.
    pub fn new(cells: impl Into<Box<[Cell]>>) -> Self {
        Self { cells: cells.into(), drawn: OnceLock::new() }
    }

    pub(crate) fn drawn(&self) -> &Drawn {
        self.drawn.get_or_init(|| render::draw(&self.cells))
    }
}

impl Deref for Row {
    type Target = [Cell];

    fn deref(&self) -> &[Cell] {
        &self.cells
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells
    }
}

impl Eq for Row {}
