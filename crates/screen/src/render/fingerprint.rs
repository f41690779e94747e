//! A short name for what a frame shows.

use std::hash::{Hash, Hasher};

use crate::frame::Frame;

/// FNV-1a: the standard library's hasher promises nothing from one release to the next, and a fingerprint is kept in
/// golden files. Not for secrets.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    // Fixed byte order and width: the same screen has the same name on every machine.
    fn write_u16(&mut self, value: u16) {
        self.write(&value.to_le_bytes());
    }

    fn write_u32(&mut self, value: u32) {
        self.write(&value.to_le_bytes());
    }

    fn write_usize(&mut self, value: usize) {
        self.write(&(value as u64).to_le_bytes());
    }

    fn write_isize(&mut self, value: isize) {
        self.write(&(value as i64).to_le_bytes());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The same for two values that are the same, in every run.
pub fn fingerprint_of(value: &impl Hash) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    value.hash(&mut hasher);
    hasher.finish()
}

/// The same for two frames that look the same: text, looks, size and cursor count; the title does not.
pub fn fingerprint(frame: &Frame) -> u64 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.write_u32(u32::from(frame.size.columns) << 16 | u32::from(frame.size.rows));
    frame.cells.hash(&mut hasher);
    frame.cursor.hash(&mut hasher);
    hasher.finish()
}
