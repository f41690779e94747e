//! What is true of every terminal.

pub use wh_wire::exit::Exit;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// Sizes that a terminal may have: small enough to keep a frame cheap, large enough for any screen.
pub const SMALLEST: Size = Size { columns: 2, rows: 1 };
/// See [`SMALLEST`].
pub const LARGEST: Size = Size { columns: 1000, rows: 500 };

impl Size {
    /// The size, if a terminal may have it.
    pub fn new(columns: u16, rows: u16) -> Option<Self> {
        let fits =
            (SMALLEST.columns..=LARGEST.columns).contains(&columns) && (SMALLEST.rows..=LARGEST.rows).contains(&rows);
        fits.then_some(Self { columns, rows })
    }

    /// The nearest size that a terminal may have: what a person's window says is followed as far as possible.
    pub fn nearest(columns: u16, rows: u16) -> Self {
        Self {
            columns: columns.clamp(SMALLEST.columns, LARGEST.columns),
            rows: rows.clamp(SMALLEST.rows, LARGEST.rows),
        }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}x{}", self.columns, self.rows)
    }
}

/// A size that no terminal may have, or no size at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("size {0:?} is not COLUMNSxROWS from {SMALLEST} to {LARGEST}; write for example 120x40")]
pub struct InvalidSize(pub String);

impl std::str::FromStr for Size {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let parse = || {
            let (columns, rows) = text.split_once(['x', 'X'])?;
            Self::new(columns.trim().parse().ok()?, rows.trim().parse().ok()?)
        };
        parse().ok_or_else(|| InvalidSize(text.to_owned()))
    }
}

/// Who gets a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalTarget {
    /// The process group of the program that was started.
    Program,
    /// The group in the foreground of its terminal: for a shell, the job that runs now.
    Foreground,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_as_it_is_written() {
        assert_eq!("120x40".parse(), Ok(Size { columns: 120, rows: 40 }));
        for wrong in ["", "120", "0x0", "120x", "x40", "-1x3", "99999x1", "1001x40", "120x40x2"] {
            assert_eq!(wrong.parse::<Size>(), Err(InvalidSize(wrong.to_owned())));
        }
    }
}
