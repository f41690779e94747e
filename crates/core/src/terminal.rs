//! Terminal sizes and signal targets.

pub use wh_wire::exit::Exit;

/// Size of a terminal in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Smallest supported terminal size.
pub const MIN_TERMINAL_SIZE: Size = Size { columns: 2, rows: 1 };
/// Largest supported terminal size, which limits the size of a frame.
pub const MAX_TERMINAL_SIZE: Size = Size { columns: 1000, rows: 500 };

impl Size {
    /// Returns the size; `None` if it is not supported.
    pub fn new(columns: u16, rows: u16) -> Option<Self> {
        let fits = (MIN_TERMINAL_SIZE.columns..=MAX_TERMINAL_SIZE.columns).contains(&columns)
            && (MIN_TERMINAL_SIZE.rows..=MAX_TERMINAL_SIZE.rows).contains(&rows);
        fits.then_some(Self { columns, rows })
    }

    /// Returns the supported size nearest to the given one.
    pub fn nearest(columns: u16, rows: u16) -> Self {
        Self {
            columns: columns.clamp(MIN_TERMINAL_SIZE.columns, MAX_TERMINAL_SIZE.columns),
            rows: rows.clamp(MIN_TERMINAL_SIZE.rows, MAX_TERMINAL_SIZE.rows),
        }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}x{}", self.columns, self.rows)
    }
}

/// Error for a text that is not a supported size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "size {0:?} is invalid; give COLUMNSxROWS between {MIN_TERMINAL_SIZE} and {MAX_TERMINAL_SIZE}, for example 120x40"
)]
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

/// Process group that receives a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalTarget {
    /// Process group of the program that the session has started.
    Program,
    /// Foreground process group of the terminal: for a shell, the command that is running.
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
