//! Splits the bytes of a growing file into lines. The lines do not depend on the boundaries of the reads.

/// Maximum length of a transcript line. Longer lines are skipped.
pub(super) const MAX_TRANSCRIPT_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Result of taking a line from a [`LineBuffer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BufferedLine {
    /// Complete line without its line terminator.
    Complete(Vec<u8>),
    /// A line over the limit was dropped. It had this number of bytes, without its line terminator.
    TooLong(u64),
}

/// Bytes of a file that do not form a returned line yet.
#[derive(Debug)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// Offset of the first byte that belongs to no returned line.
    start: usize,
    /// Offset up to which no line terminator was found.
    scanned: usize,
    /// Number of bytes dropped from the start of a line over the limit. `None` outside of such a line.
    dropped: Option<u64>,
    limit: usize,
}

impl LineBuffer {
    /// Creates an empty buffer. Lines over `limit` bytes are dropped.
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, scanned: 0, dropped: None, limit }
    }

    /// Appends bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete line. Empty lines are left out.
    pub fn take(&mut self) -> Option<BufferedLine> {
        while let Some(length) = self.bytes[self.scanned..].iter().position(|byte| *byte == b'\n') {
            let end = self.scanned + length;
            let line = &self.bytes[self.start..end];
            let (size, dropped) = (line.len() as u64, self.dropped.take());
            let taken = match dropped {
                Some(before) => Some(BufferedLine::TooLong(before + size)),
                None if line.len() > self.limit => Some(BufferedLine::TooLong(size)),
                None if line.is_empty() => None,
                None => Some(BufferedLine::Complete(line.to_vec())),
            };
            (self.start, self.scanned) = (end + 1, end + 1);
            if taken.is_some() {
                return taken;
            }
        }
        self.scanned = self.bytes.len();
        let unfinished = self.bytes.len() - self.start;
        if self.dropped.is_some() || unfinished > self.limit {
            *self.dropped.get_or_insert(0) += unfinished as u64;
            self.clear_bytes();
        }
        None
    }

    /// Drops the unfinished last line and returns its number of bytes.
    pub fn reset(&mut self) -> u64 {
        let unfinished = (self.bytes.len() - self.start) as u64 + self.dropped.take().unwrap_or(0);
        self.clear_bytes();
        unfinished
    }

    /// Treats the bytes up to the next line terminator as the rest of a line over the limit.
    pub fn skip_rest_of_line(&mut self) {
        self.dropped.get_or_insert(0);
    }

    fn clear_bytes(&mut self) {
        self.bytes.clear();
        // A line over the limit has enlarged the buffer.
        self.bytes.shrink_to(1 << 20);
        (self.start, self.scanned) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 8;

    fn lines_of(pieces: &[&[u8]]) -> (Vec<BufferedLine>, u64) {
        let mut buffer = LineBuffer::new(LIMIT);
        let mut lines = Vec::new();
        for piece in pieces {
            buffer.push(piece);
            while let Some(line) = buffer.take() {
                lines.push(line);
            }
        }
        (lines, buffer.reset())
    }

    /// Splits the whole text in a simple way, as a reference.
    fn expected(text: &[u8]) -> (Vec<BufferedLine>, u64) {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let last = lines.pop().map_or(0, <[u8]>::len);
        let line = |line: &&[u8]| match line.len() {
            0 => None,
            length if length > LIMIT => Some(BufferedLine::TooLong(length as u64)),
            _ => Some(BufferedLine::Complete(line.to_vec())),
        };
        (lines.iter().filter_map(line).collect(), last as u64)
    }

    proptest! {
        #[test]
        fn any_split_into_writes_gives_the_same_lines(
            text in proptest::collection::vec(prop_oneof![3 => Just(b'a'), 1 => Just(b'\n'), 1 => any::<u8>()], 0..200),
            sizes in proptest::collection::vec(1usize..20, 1..40),
        ) {
            let mut pieces = Vec::new();
            let mut rest = &text[..];
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(lines_of(&pieces), expected(&text));
        }
    }

    #[test]
    fn a_line_over_the_limit_does_not_accumulate() {
        let mut buffer = LineBuffer::new(LIMIT);
        for _ in 0..1000 {
            buffer.push(&[b'x'; 10]);
            assert_eq!(buffer.take(), None);
            assert!(buffer.bytes.len() <= LIMIT, "{}", buffer.bytes.len());
        }
        buffer.push(b"\nnext\n");
        assert_eq!(buffer.take(), Some(BufferedLine::TooLong(10_000)));
        assert_eq!(buffer.take(), Some(BufferedLine::Complete(b"next".to_vec())));
    }
}
