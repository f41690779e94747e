//! Hashes the visible content of a frame.

use std::hash::{Hash, Hasher};

use crate::frame::{Cell, ScreenFrame};

/// FNV-1a hasher. The standard library's hasher may change between releases, but fingerprints are stored in golden
/// files. Not cryptographic.
struct FnvHasher(u64);

const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns [`PRIME`] to the power `bytes`, the factor for [`FnvHasher::hash_zero_padded`]. Hashing zeros in one
/// multiplication is worthwhile, because most bytes of a frame are zeros.
const fn prime_to_the(bytes: u32) -> u64 {
    PRIME.wrapping_pow(bytes)
}

impl FnvHasher {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Hashes one byte followed by zeros. `factor` is [`prime_to_the`] of the number of these bytes, including the
    /// first.
    fn hash_zero_padded(&mut self, first: u8, factor: u64) {
        self.0 = (self.0 ^ u64::from(first)).wrapping_mul(factor);
    }
}

impl Hasher for FnvHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash_zero_padded(*byte, PRIME);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.hash_zero_padded(value, PRIME);
    }

    // Fixed byte order and width, so that a screen has the same fingerprint on every machine.
    fn write_u16(&mut self, value: u16) {
        self.write(&value.to_le_bytes());
    }

    fn write_u32(&mut self, value: u32) {
        match u8::try_from(value) {
            Ok(small) => self.hash_zero_padded(small, const { prime_to_the(4) }),
            Err(_) => self.write(&value.to_le_bytes()),
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.write(&(value as u64).to_le_bytes());
    }

    fn write_isize(&mut self, value: isize) {
        match u8::try_from(value) {
            Ok(small) => self.hash_zero_padded(small, const { prime_to_the(8) }),
            Err(_) => self.write(&(value as i64).to_le_bytes()),
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns a hash of a value that is stable across runs.
pub fn fingerprint_of(value: &impl Hash) -> u64 {
    let mut hasher = FnvHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns a hash of a frame: text, styles, size and cursor, but not the title.
pub fn fingerprint(frame: &ScreenFrame) -> u64 {
    let mut hasher = FnvHasher::new();
    hasher.write_u32(u32::from(frame.size.columns) << 16 | u32::from(frame.size.rows));
    hasher.write_usize(frame.rows.len());
    for row in &frame.rows {
        hasher.write(&row.renderings().fingerprint.to_le_bytes());
    }
    frame.cursor.hash(&mut hasher);
    hasher.finish()
}

/// Returns a hash of a row's visible content.
pub(super) fn row_fingerprint(row: &[Cell]) -> u64 {
    let mut hasher = FnvHasher::new();
    hasher.write_usize(row.len());
    for cell in row {
        if cell.is_plain() {
            hasher.write_u32(cell.character.into());
            hasher.hash_zero_padded(cell.width, const { prime_to_the(1 + PLAIN_STYLE_ZERO_BYTES) });
        } else {
            cell.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Number of zero bytes of a plain style without extras: five enum discriminants of eight bytes, and six flags.
const PLAIN_STYLE_ZERO_BYTES: u32 = 5 * 8 + 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Color, Size, Style};
    use crate::vt::Vt;

    /// Reference implementation that hashes byte by byte.
    struct Slow(u64);

    impl Hasher for Slow {
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
            }
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_fast_path_computes_the_same_hash() {
        let mut vt = Vt::new(Size { columns: 20, rows: 3 }, 0);
        vt.feed(
            "plain \x1b[1;38;5;9mbold\x1b[0m é 世 e\u{301} \x1b[48;2;1;2;3mrgb\x1b[4:3m\x1b[58;5;1mcurl".as_bytes(),
        );
        let mut cells = vt.frame().rows.iter().flat_map(|row| row.to_vec()).collect::<Vec<_>>();
        cells.push(Cell { character: '\u{1f600}', ..Cell::BLANK });
        cells.push(Cell { style: Style { background: Color::Indexed(255), ..Style::PLAIN }, ..Cell::BLANK });
        let mut slow = Slow(FnvHasher::new().0);
        cells.hash(&mut slow);
        assert_eq!(row_fingerprint(&cells), slow.finish());
    }
}
