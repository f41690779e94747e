//! Splits a stream into lines of bounded length. Reads only when a line is requested, so a fast writer is subject to
//! backpressure.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Default limit for the length of a line.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Minimum free space for a read: the capacity of a pipe.
const MIN_READ_BYTES: usize = 64 * 1024;

/// Initial capacity of the buffer.
const INITIAL_BUFFER_BYTES: usize = 2 * MIN_READ_BYTES;

/// Capacity above which the buffer is replaced by a small buffer, once the content fits into the small buffer.
const SHRINK_ABOVE_BYTES: usize = 1024 * 1024;

/// A line without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A complete line.
    Complete(&'a [u8]),
    /// The line exceeded the limit and was skipped.
    TooLong {
        /// Length of the line.
        bytes: u64,
    },
}

/// Reads the lines of a stream. A line ends with LF or CR LF; the last line may also end with the end of the stream.
///
/// The buffer never holds more than the longest line allowed and one read.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: R,
    max: usize,
    buffer: Vec<u8>,
    /// Offset of the first line that has not been returned.
    begin: usize,
    /// Offset up to which there is no line end.
    searched: usize,
    skipped: Option<SkippedPart>,
    ended: bool,
}

/// The skipped part of an overlong line.
#[derive(Debug, Clone, Copy)]
struct SkippedPart {
    bytes: u64,
    /// True if the last byte is a CR, which may belong to the line end.
    ends_with_cr: bool,
}

enum FoundLine {
    Complete(Range<usize>),
    TooLong(u64),
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader of lines of at most `max` bytes, usually [`MAX_LINE_BYTES`].
    pub fn new(reader: R, max: usize) -> Self {
        let buffer = Vec::with_capacity(INITIAL_BUFFER_BYTES);
        Self { reader, max, buffer, begin: 0, searched: 0, skipped: None, ended: false }
    }

    /// Returns the next line; `None` at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let found = loop {
            if let Some(found) = self.take_line() {
                break found;
            }
            if self.ended {
                match self.take_rest() {
                    Some(rest) => break rest,
                    None => return Ok(None),
                }
            }
            self.skip_if_too_long();
            self.make_room();
            self.ended = match self.reader.read_buf(&mut self.buffer).await {
                Ok(count) => count == 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
                Err(error) => return Err(error),
            };
        };
        Ok(Some(match found {
            FoundLine::Complete(range) => Line::Complete(&self.buffer[range]),
            FoundLine::TooLong(bytes) => Line::TooLong { bytes },
        }))
    }

    fn take_line(&mut self) -> Option<FoundLine> {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + at;
        let mut line = self.begin..end;
        (self.begin, self.searched) = (end + 1, end + 1);
        if self.buffer[line.clone()].ends_with(b"\r") {
            line.end -= 1;
        } else if line.is_empty()
            && let Some(skipped) = &mut self.skipped
        {
            skipped.bytes -= u64::from(skipped.ends_with_cr);
        }
        Some(self.classify(line))
    }

    fn take_rest(&mut self) -> Option<FoundLine> {
        let rest = self.begin..self.buffer.len();
        self.begin = rest.end;
        (!rest.is_empty() || self.skipped.is_some()).then(|| self.classify(rest))
    }

    fn classify(&mut self, line: Range<usize>) -> FoundLine {
        match self.skipped.take() {
            Some(skipped) => FoundLine::TooLong(skipped.bytes + line.len() as u64),
            None if line.len() > self.max => FoundLine::TooLong(line.len() as u64),
            None => FoundLine::Complete(line),
        }
    }

    /// Drops the buffered part of a line that is already too long. Keeps a line that exceeds the limit by one byte,
    /// since this byte may be the CR of the line end.
    fn skip_if_too_long(&mut self) {
        let held = &self.buffer[self.begin..];
        if held.is_empty() || (self.skipped.is_none() && held.len() <= self.max.saturating_add(1)) {
            return;
        }
        let before = self.skipped.map_or(0, |skipped| skipped.bytes);
        self.skipped = Some(SkippedPart { bytes: before + held.len() as u64, ends_with_cr: held.ends_with(b"\r") });
        self.begin = self.buffer.len();
    }

    /// Makes space for a read: moves the content to the front, replaces a large buffer by a small one, or grows the
    /// buffer.
    fn make_room(&mut self) {
        let held = self.buffer.len() - self.begin;
        if self.buffer.capacity() > SHRINK_ABOVE_BYTES && held <= INITIAL_BUFFER_BYTES - MIN_READ_BYTES {
            let mut smaller = Vec::with_capacity(INITIAL_BUFFER_BYTES);
            smaller.extend_from_slice(&self.buffer[self.begin..]);
            self.buffer = smaller;
        } else if self.begin > 0 && (held == 0 || self.buffer.capacity() - self.buffer.len() < MIN_READ_BYTES) {
            self.buffer.copy_within(self.begin.., 0);
            self.buffer.truncate(held);
        } else {
            self.grow();
            return;
        }
        (self.begin, self.searched) = (0, held);
        self.grow();
    }

    fn grow(&mut self) {
        let (length, capacity) = (self.buffer.len(), self.buffer.capacity());
        if capacity - length < MIN_READ_BYTES {
            let most =
                self.max.saturating_add(1).saturating_add(MIN_READ_BYTES).max(length.saturating_add(MIN_READ_BYTES));
            self.buffer.reserve_exact(capacity.saturating_mul(2).min(most) - length);
        }
    }
}

#[cfg(test)]
mod tests;
