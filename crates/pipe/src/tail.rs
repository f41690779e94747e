//! Retains the last part of a program's standard error, which is included in error messages if the program fails.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Size of the read buffer.
const READ_CHUNK_BYTES: usize = 16 * 1024;

/// Maximum length of a line of [`MarkedLines`]. Longer lines are skipped.
const MAX_MARKED_LINE_BYTES: usize = 16 * 1024;

/// The last bytes of a stream, up to a limit. The stream is always read to its end, and older bytes are dropped.
#[derive(Debug, Clone)]
pub struct StderrTail {
    buffer: watch::Receiver<TailBuffer>,
    /// Stream offset up to which [`next_bytes`](Self::next_bytes) has returned bytes.
    seen: u64,
}

#[derive(Debug)]
struct TailBuffer {
    bytes: VecDeque<u8>,
    /// Number of bytes read from the stream so far.
    total: u64,
}

/// Task that reads a stream into a [`StderrTail`]. Dropping this value stops the task.
#[derive(Debug)]
pub(crate) struct TailReader(AbortHandle);

impl Drop for TailReader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl StderrTail {
    /// Spawns a task that reads `stream` and retains its last `max_bytes` bytes.
    pub(crate) fn of(stream: impl AsyncRead + Send + Unpin + 'static, max_bytes: usize) -> (Self, TailReader) {
        let (publish, buffer) = watch::channel(TailBuffer { bytes: VecDeque::new(), total: 0 });
        let task = tokio::spawn(read(stream, max_bytes, publish));
        (Self { buffer, seen: 0 }, TailReader(task.abort_handle()))
    }

    /// Returns the retained bytes as displayable text, without control characters except line feeds and tabs. If older
    /// bytes were dropped, the text begins with the first complete line, if there is one.
    pub fn text(&self) -> String {
        let buffer = self.buffer.borrow();
        let cut = buffer.total > buffer.bytes.len() as u64;
        let bytes: Vec<u8> = buffer.bytes.iter().copied().collect();
        drop(buffer);
        let begin = if cut { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1) } else { 0 };
        let bytes = if begin < bytes.len() { &bytes[begin..] } else { &bytes[..] };
        clean(&String::from_utf8_lossy(bytes))
    }

    /// Returns the number of bytes read from the stream so far.
    pub fn total(&self) -> u64 {
        self.buffer.borrow().total
    }

    /// Waits for bytes that this tail has not returned yet, and returns them unchanged; `None` at the end of the
    /// stream. A slow reader misses the oldest bytes. Cancel safe.
    pub async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        loop {
            {
                let buffer = self.buffer.borrow_and_update();
                let new = usize::try_from(buffer.total - self.seen).unwrap_or(usize::MAX).min(buffer.bytes.len());
                if new > 0 {
                    self.seen = buffer.total;
                    return Some(buffer.bytes.range(buffer.bytes.len() - new..).copied().collect());
                }
            }
            self.buffer.changed().await.ok()?;
        }
    }

    /// Waits for the end of the stream: every process that could write has exited or has closed the stream.
    pub async fn closed(&self) {
        let mut buffer = self.buffer.clone();
        while buffer.changed().await.is_ok() {}
    }
}

/// Lines of a [`StderrTail`] that contain a marker, in the order written. A slow reader misses the oldest lines.
#[derive(Debug)]
pub(crate) struct MarkedLines {
    tail: StderrTail,
    marker: String,
    /// Beginning of a line that is not complete yet.
    partial: Vec<u8>,
    /// True if the current line exceeds the limit, or its beginning was missed.
    skipping: bool,
}

impl MarkedLines {
    pub fn new(tail: StderrTail, marker: String) -> Self {
        Self { tail, marker, partial: Vec::new(), skipping: false }
    }

    /// Waits for more output. Returns the complete lines of this output that contain the marker, as displayable text.
    /// The list may be empty. `None` at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<String>> {
        let before = self.tail.seen;
        let bytes = self.tail.next_bytes().await?;
        if self.tail.seen - before > bytes.len() as u64 {
            self.partial.clear();
            self.skipping = true;
        }
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.skipping |= self.partial.len() + piece.len() > MAX_MARKED_LINE_BYTES;
            if self.skipping {
                self.partial.clear();
            } else {
                self.partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = clean(&String::from_utf8_lossy(&std::mem::take(&mut self.partial)));
                let line = line.trim_end();
                if !std::mem::take(&mut self.skipping) && line.contains(&self.marker) {
                    lines.push(line.to_owned());
                }
            }
        }
        Some(lines)
    }
}

async fn read(mut stream: impl AsyncRead + Unpin, max_bytes: usize, publish: watch::Sender<TailBuffer>) {
    let mut piece = vec![0; READ_CHUNK_BYTES];
    // A read error counts as the end of the stream.
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        publish.send_modify(|buffer| {
            buffer.total += count as u64;
            buffer.bytes.extend(&piece[count.saturating_sub(max_bytes)..count]);
            let excess = buffer.bytes.len().saturating_sub(max_bytes);
            buffer.bytes.drain(..excess);
        });
    }
}

/// Returns text without escape sequences, bidirectional overrides and control characters, except line feeds and tabs. A
/// CR without a line feed becomes a line feed.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => skip_sequence(&mut characters),
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            '\n' | '\t' => clean.push(character),
            _ if character.is_control() => {}
            _ => clean.push(character),
        }
    }
    clean
}

/// Skips the rest of a sequence after an escape character. A line feed ends a truncated sequence.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let Some(kind) = characters.next_if(|next| (' '..='~').contains(next)) else { return };
    match kind {
        '[' => {
            while characters.next_if(|next| (' '..='?').contains(next)).is_some() {}
            characters.next_if(|next| ('@'..='~').contains(next));
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            while characters.next_if(|next| !matches!(next, '\x07' | '\x1b' | '\n')).is_some() {}
            if characters.next_if(|next| matches!(next, '\x07' | '\x1b')) == Some('\x1b') {
                characters.next_if_eq(&'\\');
            }
        }
        ' '..='/' => {
            while characters.next_if(|next| (' '..='/').contains(next)).is_some() {}
            characters.next_if(|next| ('0'..='~').contains(next));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[test]
    fn displayed_text_has_no_control_characters() {
        assert_eq!(clean("\x1b[1;31merror\x1b[0m: no\tfile\r\n"), "error: no\tfile\n");
        assert_eq!(clean("10%\r20%\rdone\x07\x08\x7f\u{9b}"), "10%\n20%\ndone");
        assert_eq!(clean("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bend\x1b"), "link end");
        assert_eq!(clean("\x1b]0;never closed\nnext"), "\nnext");
        assert_eq!(clean("abc\u{202e}def\u{2066}"), "abcdef");
    }

    #[tokio::test]
    async fn the_last_bytes_are_kept_from_the_beginning_of_a_line() {
        let (mut program, stream) = tokio::io::duplex(64);
        let (mut tail, _reading) = StderrTail::of(stream, 10);
        program.write_all(b"one\ntwo\n").await.unwrap();
        assert_eq!(tail.next_bytes().await, Some(b"one\ntwo\n".to_vec()));
        assert_eq!(tail.text(), "one\ntwo\n");
        program.write_all("thr\u{e9}e".as_bytes()).await.unwrap();
        drop(program);
        assert_eq!(tail.next_bytes().await, Some("thr\u{e9}e".as_bytes().to_vec()));
        assert_eq!(tail.next_bytes().await, None);
        tail.closed().await;
        assert_eq!((tail.text(), tail.total()), ("thr\u{e9}e".to_owned(), 14));
    }

    #[tokio::test]
    async fn marked_lines_are_returned_complete_and_others_are_dropped() {
        let (mut program, stream) = tokio::io::duplex(64 * 1024);
        let (tail, _reading) = StderrTail::of(stream, 64 * 1024);
        let mut lines = MarkedLines::new(tail, "[WARN]".to_owned());
        program.write_all(b"noise\n[WA").await.unwrap();
        assert_eq!(lines.next().await, Some(Vec::new()));
        program.write_all(b"RN] one\r\n[WARN] \x1b[1mtwo\x1b[0m\nmore [WARN").await.unwrap();
        assert_eq!(lines.next().await, Some(vec!["[WARN] one".to_owned(), "[WARN] two".to_owned()]));
        let long = format!("] {}\n[WARN] three\n", "x".repeat(MAX_MARKED_LINE_BYTES));
        program.write_all(long.as_bytes()).await.unwrap();
        drop(program);
        let mut rest = Vec::new();
        while let Some(lines) = lines.next().await {
            rest.extend(lines);
        }
        assert_eq!(rest, ["[WARN] three"]);
    }

    #[tokio::test]
    async fn a_line_whose_beginning_was_missed_is_skipped() {
        let (mut program, stream) = tokio::io::duplex(1024);
        let (tail, _reading) = StderrTail::of(stream, 16);
        let mut lines = MarkedLines::new(tail.clone(), "!".to_owned());
        program.write_all(b"! missed by far, and by more\n! buffer\n").await.unwrap();
        drop(program);
        tail.closed().await;
        assert_eq!(lines.next().await, Some(vec!["! buffer".to_owned()]));
        assert_eq!(lines.next().await, None);
    }

    #[tokio::test]
    async fn the_end_of_one_long_line_is_retained() {
        let (mut program, stream) = tokio::io::duplex(64);
        let (tail, _reading) = StderrTail::of(stream, 4);
        program.write_all(b"0123456789").await.unwrap();
        drop(program);
        tail.closed().await;
        assert_eq!(tail.text(), "6789");
    }
}
