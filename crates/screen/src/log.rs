//! Retains the end of a program's raw output, since the alternate screen has no scrollback.

use std::collections::VecDeque;

/// Default number of characters retained, unless `CONTROL_PLANE_BUFFER` is set.
pub const DEFAULT_CHARACTERS: usize = 4000;

/// Size of a block. Characters are counted block by block.
const COUNT_BLOCK_BYTES: usize = 64;

/// Retains the last characters of a byte stream.
#[derive(Debug)]
pub struct ByteLog {
    bytes: VecDeque<u8>,
    characters: usize,
    limit: usize,
    dropped: bool,
    total: u64,
}

impl ByteLog {
    /// Creates a log of at most `limit` characters of UTF-8.
    pub fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), characters: 0, limit, dropped: false, total: 0 }
    }

    /// Appends output of the program, and drops the oldest characters beyond the limit.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        // A character has at most four bytes, so bytes further back cannot be retained.
        let recent = &bytes[bytes.len().saturating_sub(self.max_bytes() + 4)..];
        if recent.len() < bytes.len() {
            self.dropped = true;
            self.bytes.clear();
            self.characters = 0;
        }
        self.bytes.extend(recent);
        self.characters += count_characters(recent);
        self.drop_oldest();
    }

    /// Returns the maximum number of bytes retained, which also bounds output that is not UTF-8.
    fn max_bytes(&self) -> usize {
        self.limit.saturating_mul(4)
    }

    /// Drops whole characters from the front until the rest is within the limits on characters and on bytes.
    fn drop_oldest(&mut self) {
        // Drops whole blocks first, since counting them is fast. At least one more character is dropped afterwards. If
        // a block ends within a character, the rest of that character is then dropped too.
        let excess = self.characters.saturating_sub(self.limit);
        let (mut characters, mut bytes) = (0, 0);
        for block in self.bytes.as_slices().0.chunks_exact(COUNT_BLOCK_BYTES) {
            let within = count_characters(block);
            if characters + within >= excess {
                break;
            }
            characters += within;
            bytes += COUNT_BLOCK_BYTES;
        }
        self.drop_first(bytes, characters);
        (characters, bytes) = (0, self.bytes.len());
        for (at, byte) in self.bytes.iter().enumerate() {
            if starts_character(*byte) || at == 0 {
                if self.characters - characters <= self.limit && self.bytes.len() - at <= self.max_bytes() {
                    bytes = at;
                    break;
                }
                characters += usize::from(starts_character(*byte));
            }
        }
        self.drop_first(bytes, characters);
    }

    fn drop_first(&mut self, bytes: usize, characters: usize) {
        self.dropped |= bytes > 0;
        self.bytes.drain(..bytes);
        self.characters -= characters;
    }

    /// Returns the number of characters retained.
    pub fn characters(&self) -> usize {
        self.characters
    }

    /// True if older output was dropped.
    pub fn truncated(&self) -> bool {
        self.dropped
    }

    /// Returns the number of bytes appended so far, including dropped bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the retained bytes, oldest first.
    pub fn contents(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }
}

fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| starts_character(**byte)).count()
}

fn starts_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_dropped_up_to_the_limit() {
        let mut log = ByteLog::new(5);
        log.push("añb".as_bytes());
        log.push(b"cd");
        assert_eq!((log.contents(), log.characters(), log.truncated()), ("añbcd".into(), 5, false));
    }

    #[test]
    fn the_oldest_characters_go_first_and_whole() {
        let mut log = ByteLog::new(3);
        log.push("ñañb".as_bytes());
        assert_eq!((log.contents(), log.characters(), log.truncated()), ("añb".into(), 3, true));
    }

    proptest! {
        #[test]
        fn it_holds_the_last_characters_however_the_text_is_cut(text in "\\PC{0,300}", limit in 1usize..120, cut in 0usize..900) {
            let mut log = ByteLog::new(limit);
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            log.push(&bytes[..cut]);
            log.push(&bytes[cut..]);
            let count = text.chars().count();
            let expected: String = text.chars().skip(count.saturating_sub(limit)).collect();
            prop_assert_eq!(String::from_utf8(log.contents()).unwrap(), expected);
            prop_assert_eq!(log.truncated(), count > limit);
        }
    }
}
