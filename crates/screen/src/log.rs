//! The last of a program's raw output: what the alternate screen does not keep.

use std::collections::VecDeque;

/// How many characters are kept unless `CONTROL_PLANE_BUFFER` says otherwise.
pub const DEFAULT_CHARACTERS: usize = 4000;

/// Keeps the newest characters of a byte stream.
#[derive(Debug)]
pub struct ByteLog {
    bytes: VecDeque<u8>,
    characters: usize,
    limit: usize,
    dropped: bool,
    total: u64,
}

impl ByteLog {
    /// Keeps `limit` characters, with UTF-8 counted as a reader would.
    pub fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), characters: 0, limit, dropped: false, total: 0 }
    }

    /// Adds what the program wrote.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        // A character has at most four bytes: what is further back than that cannot be among the last.
        let recent = &bytes[bytes.len().saturating_sub(self.longest() + 4)..];
        if recent.len() < bytes.len() {
            self.dropped = true;
            self.bytes.clear();
            self.characters = 0;
        }
        self.bytes.extend(recent);
        self.characters += recent.iter().filter(|byte| starts_character(**byte)).count();
        while self.characters > self.limit || self.bytes.len() > self.longest() {
            self.drop_first_character();
        }
    }

    /// Bytes that the characters can take; bytes that are not UTF-8 at all are bounded by it too.
    fn longest(&self) -> usize {
        self.limit.saturating_mul(4)
    }

    fn drop_first_character(&mut self) {
        self.dropped = true;
        if let Some(first) = self.bytes.pop_front() {
            self.characters -= usize::from(starts_character(first));
        }
        while self.bytes.front().is_some_and(|byte| !starts_character(*byte)) {
            self.bytes.pop_front();
        }
    }

    /// Characters kept.
    pub fn characters(&self) -> usize {
        self.characters
    }

    /// Whether older output was dropped.
    pub fn truncated(&self) -> bool {
        self.dropped
    }

    /// Bytes ever written.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What is kept.
    pub fn contents(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }
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
        fn it_holds_the_last_characters_however_the_text_is_cut(text in "\\PC{0,60}", limit in 1usize..20, cut in 0usize..200) {
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
