//! Reads lines from a socket, limited in length, time and total memory of unfinished lines.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};
use tokio::time::Instant;
use wh_wire::socket::MAX_SOCKET_LINE_BYTES;

/// Timeout from the first to the last byte of a line.
pub(super) const LINE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of each line that do not count towards the shared budget.
const LINE_FREE_BYTES: usize = 64 << 10;
/// Shared budget: bytes that the lines of all connections may buffer beyond [`LINE_FREE_BYTES`] each.
const LINE_SHARED_BYTES: usize = 32 << 20;
/// Initial capacity of a line buffer.
const LINE_INITIAL_BYTES: usize = 4 << 10;

/// Memory budget of all lines that a server is receiving or processing.
#[derive(Debug, Clone, Default)]
pub(super) struct LineBudget(Arc<AtomicUsize>);

impl LineBudget {
    fn take(&self, bytes: usize) -> bool {
        let within = |used: usize| used.checked_add(bytes).filter(|used| *used <= LINE_SHARED_BYTES);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }
}

/// Received bytes of a line. When dropped, returns the taken bytes to the budget.
#[derive(Debug)]
pub(super) struct LineBytes {
    bytes: Vec<u8>,
    /// Bytes taken from the budget.
    taken: usize,
    budget: LineBudget,
}

impl LineBytes {
    fn new(budget: &LineBudget) -> Self {
        Self { bytes: Vec::new(), taken: 0, budget: budget.clone() }
    }

    /// Appends bytes. False if the budget is exhausted.
    fn push(&mut self, more: &[u8]) -> bool {
        let needed = self.bytes.len() + more.len();
        if needed > self.bytes.capacity() {
            let capacity = (self.bytes.capacity() * 2).clamp(LINE_INITIAL_BYTES, MAX_SOCKET_LINE_BYTES).max(needed);
            let taken = capacity.saturating_sub(LINE_FREE_BYTES);
            if !self.budget.take(taken - self.taken) {
                return false;
            }
            self.taken = taken;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(more);
        true
    }
}

impl Deref for LineBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for LineBytes {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.bytes = Vec::new();
            self.budget.0.fetch_sub(self.taken, Ordering::Relaxed);
            wh_client::memory::release();
        }
    }
}

/// Result of reading a line: the complete line, or the reason why the line was not received.
#[derive(Debug)]
pub(super) enum ReceivedLine {
    /// A complete line, without the line feed.
    Whole(LineBytes),
    /// The line exceeded the limit and was skipped.
    TooLong,
    /// The shared budget was exhausted and the line was skipped.
    NoMemory,
    /// The line was not completed in time. No more lines can be read from the connection.
    TooSlow,
}

/// Reads the next line; `None` at the end of the stream. Bytes after the last line feed are ignored.
pub(super) async fn next(
    reader: &mut (impl AsyncBufRead + Unpin),
    budget: &LineBudget,
) -> io::Result<Option<ReceivedLine>> {
    let mut line = LineBytes::new(budget);
    let mut skipped = None;
    let mut deadline = None;
    loop {
        let buffer = match deadline {
            // There is no time limit between lines.
            None => reader.fill_buf().await?,
            Some(deadline) => match tokio::time::timeout_at(deadline, reader.fill_buf()).await {
                Ok(buffer) => buffer?,
                Err(_) => return Ok(Some(ReceivedLine::TooSlow)),
            },
        };
        deadline = Some(deadline.unwrap_or_else(|| Instant::now() + LINE_TIMEOUT));
        if buffer.is_empty() {
            return Ok(None);
        }
        let end = memchr::memchr(b'\n', buffer);
        let taken = end.unwrap_or(buffer.len());
        if skipped.is_none() {
            if line.len() + taken > MAX_SOCKET_LINE_BYTES {
                skipped = Some(ReceivedLine::TooLong);
            } else if !line.push(&buffer[..taken]) {
                skipped = Some(ReceivedLine::NoMemory);
            }
            if skipped.is_some() {
                line = LineBytes::new(budget);
            }
        }
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(Some(skipped.unwrap_or(ReceivedLine::Whole(line))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, BufReader};

    /// Returns the text of a line, or the reason why there is none.
    fn shown(line: &ReceivedLine) -> String {
        match line {
            ReceivedLine::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn lines_come_one_by_one_and_one_that_is_too_long_is_passed_over() {
        let mut text = b"one\n\ntwo\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', MAX_SOCKET_LINE_BYTES + 1));
        text.extend(b"\nthree\nhalf");
        let mut reader = BufReader::with_capacity(7, text.as_slice());
        let mut lines = Vec::new();
        while let Some(line) = next(&mut reader, &LineBudget::default()).await.unwrap() {
            lines.push(shown(&line));
        }
        assert_eq!(lines, ["one", "", "two", "TooLong", "three"]);
    }

    #[tokio::test]
    async fn all_lines_together_have_bounded_memory_and_short_ones_always_fit() {
        let budget = LineBudget::default();
        let mut long = vec![b'x'; MAX_SOCKET_LINE_BYTES];
        long.push(b'\n');
        let mut held = Vec::new();
        for _ in 0..LINE_SHARED_BYTES / MAX_SOCKET_LINE_BYTES {
            held.push(next(&mut long.as_slice(), &budget).await.unwrap().unwrap());
        }
        assert!(held.iter().all(|line| matches!(line, ReceivedLine::Whole(_))));
        assert!(matches!(next(&mut long.as_slice(), &budget).await.unwrap(), Some(ReceivedLine::NoMemory)));
        assert_eq!(shown(&next(&mut b"short\n".as_slice(), &budget).await.unwrap().unwrap()), "short");
        held.pop();
        assert!(matches!(next(&mut long.as_slice(), &budget).await.unwrap(), Some(ReceivedLine::Whole(_))));
        drop(held);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_has_a_time_limit_from_its_first_byte_and_silence_has_none() {
        let (mut peer, ours) = tokio::io::duplex(64);
        let (mut reader, budget) = (BufReader::new(ours), LineBudget::default());
        let day = Duration::from_secs(24 * 60 * 60);
        assert!(tokio::time::timeout(day, next(&mut reader, &budget)).await.is_err(), "silence");
        peer.write_all(b"half").await.unwrap();
        let asked = Instant::now();
        assert!(matches!(next(&mut reader, &budget).await.unwrap(), Some(ReceivedLine::TooSlow)));
        assert_eq!(asked.elapsed(), LINE_TIMEOUT);
    }
}
