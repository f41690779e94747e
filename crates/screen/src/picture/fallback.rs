//! Bitmaps of GNU Unifont for characters that the outline font lacks: other scripts, Han, Hangul, emoji. The script
//! `fonts/make-fallback.py` creates the file `fonts/fallback.bin` and specifies its format.

use std::io::Read as _;
use std::sync::LazyLock;

/// Glyph table, decompressed at the first use, since most screens never need its 2 MB.
static TABLE: LazyLock<Option<GlyphTable>> =
    LazyLock::new(|| GlyphTable::new(include_bytes!("../../fonts/fallback.bin").as_slice()));

/// Bit of a code point's entry that marks a glyph 16 pixels wide.
const WIDE: u32 = 1 << 31;

/// Height of a glyph in pixels, and the number of bytes in a column of 8 pixels.
pub(super) const GLYPH_ROWS: usize = 16;

struct GlyphTable {
    /// Code points in ascending order.
    codes: Vec<u32>,
    /// Index of each glyph's first column in `columns`.
    starts: Vec<u32>,
    columns: Vec<[u8; GLYPH_ROWS]>,
}

/// Glyph of 8 or 16 by 16 pixels: columns of 8 pixels, one byte per row.
pub(super) type Bitmap = &'static [[u8; GLYPH_ROWS]];

/// Returns the character's bitmap, if there is one.
pub(super) fn bitmap(character: char) -> Option<Bitmap> {
    TABLE.as_ref()?.get(character)
}

impl GlyphTable {
    /// Decodes the glyph file. Returns `None` if the file is damaged.
    fn new(packed: &[u8]) -> Option<Self> {
        let mut plain = Vec::new();
        flate2::read::ZlibDecoder::new(packed).read_to_end(&mut plain).ok()?;
        let (count, rest) = plain.split_first_chunk()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        let (entries, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (mut codes, mut starts, mut start) = (Vec::with_capacity(count), Vec::with_capacity(count), 0);
        for entry in entries.as_chunks().0 {
            let entry = u32::from_le_bytes(*entry);
            codes.push(entry & !WIDE);
            starts.push(start);
            start += 1 + u32::from(entry & WIDE != 0);
        }
        starts.push(start);
        let columns = rest.as_chunks().0.to_vec();
        (columns.len() == usize::try_from(start).ok()?).then_some(Self { codes, starts, columns })
    }

    fn get(&self, character: char) -> Option<&[[u8; GLYPH_ROWS]]> {
        let index = self.codes.binary_search(&u32::from(character)).ok()?;
        let range = *self.starts.get(index)? as usize..*self.starts.get(index + 1)? as usize;
        self.columns.get(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_what_the_outline_font_lacks() {
        let width = |character| bitmap(character).map(<[_]>::len);
        for character in "漢字かなカナ한글😀🚀🔥☕".chars() {
            assert_eq!(width(character), Some(2), "{character}");
        }
        assert_eq!((width('ก'), width('א')), (Some(1), Some(1)));
        assert_eq!((width('A'), width('\u{1b}'), width('\u{e000}')), (None, None, None));
        assert!(TABLE.as_ref().unwrap().codes.is_sorted());
    }

    #[test]
    fn a_damaged_table_is_refused() {
        let whole = include_bytes!("../../fonts/fallback.bin");
        assert!(GlyphTable::new(&whole[..whole.len() / 2]).is_none());
        assert!(GlyphTable::new(b"").is_none());
    }
}
