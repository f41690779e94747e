//! A stream as lines, each of a bounded length. It is read only when a line is asked for: whoever writes too fast waits.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How long a line may be, where nothing speaks for another number.
pub const MAX: usize = 64 * 1024 * 1024;

/// The least room that there is for a read: what a pipe holds.
const READ: usize = 64 * 1024;

/// What the buffer begins with.
const BEGIN: usize = 2 * READ;

/// A buffer that has grown beyond this is given back once what it holds fits into a new one.
const KEEP: usize = 1024 * 1024;

/// One line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It was longer than it may be, and has been passed over.
    TooLong {
        /// How long it was.
        bytes: u64,
    },
}

/// The lines of a stream. They end with a line feed, or a carriage return and a line feed; the last may end with the
/// stream.
///
/// The buffer never holds more than the longest line allowed and one read.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    max: usize,
    buffer: Vec<u8>,
    /// Where the line begins that is not given yet.
    begin: usize,
    /// Up to where there is no line end.
    searched: usize,
    skipped: Option<Skipped>,
    ended: bool,
}

/// The part of a line that has been passed over.
#[derive(Debug, Clone, Copy)]
struct Skipped {
    bytes: u64,
    /// Its last byte is a carriage return, which may be a part of the line's end.
    returned: bool,
}

enum Found {
    Whole(Range<usize>),
    TooLong(u64),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines of `reader`, of at most `max` bytes: [`MAX`], where nothing speaks for another number.
    pub fn new(reader: R, max: usize) -> Self {
        let buffer = Vec::with_capacity(BEGIN);
        Self { reader, max, buffer, begin: 0, searched: 0, skipped: None, ended: false }
    }

    /// The next line; `None` at the end. Cancel safe.
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
            Found::Whole(range) => Line::Whole(&self.buffer[range]),
            Found::TooLong(bytes) => Line::TooLong { bytes },
        }))
    }

    fn take_line(&mut self) -> Option<Found> {
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
            skipped.bytes -= u64::from(skipped.returned);
        }
        Some(self.judge(line))
    }

    fn take_rest(&mut self) -> Option<Found> {
        let rest = self.begin..self.buffer.len();
        self.begin = rest.end;
        (!rest.is_empty() || self.skipped.is_some()).then(|| self.judge(rest))
    }

    fn judge(&mut self, line: Range<usize>) -> Found {
        match self.skipped.take() {
            Some(skipped) => Found::TooLong(skipped.bytes + line.len() as u64),
            None if line.len() > self.max => Found::TooLong(line.len() as u64),
            None => Found::Whole(line),
        }
    }

    /// Forgets what there is of a line that is too long already. A carriage return too many may belong to its end.
    fn skip_if_too_long(&mut self) {
        let held = &self.buffer[self.begin..];
        if held.is_empty() || (self.skipped.is_none() && held.len() <= self.max.saturating_add(1)) {
            return;
        }
        let before = self.skipped.map_or(0, |skipped| skipped.bytes);
        self.skipped = Some(Skipped { bytes: before + held.len() as u64, returned: held.ends_with(b"\r") });
        self.begin = self.buffer.len();
    }

    /// Makes room for a read: by moving what is held to the front, by giving a large buffer back, or by growing.
    fn make_room(&mut self) {
        let held = self.buffer.len() - self.begin;
        if self.buffer.capacity() > KEEP && held <= BEGIN - READ {
            let mut smaller = Vec::with_capacity(BEGIN);
            smaller.extend_from_slice(&self.buffer[self.begin..]);
            self.buffer = smaller;
        } else if self.begin > 0 && (held == 0 || self.buffer.capacity() - self.buffer.len() < READ) {
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
        if capacity - length < READ {
            let most = self.max.saturating_add(1).saturating_add(READ).max(length.saturating_add(READ));
            self.buffer.reserve_exact(capacity.saturating_mul(2).min(most) - length);
        }
    }
}

#[cfg(test)]
mod tests;
