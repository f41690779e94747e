//! The end of what a program said on its standard error: for a person who asks why it failed.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// How much is read at once.
const PIECE: usize = 16 * 1024;

/// Limit for a line that [`MarkedLines`] gives. Longer ones are skipped.
const MAX_MARKED_LINE_BYTES: usize = 16 * 1024;

/// The last bytes of a stream that is read to its end, whether anybody looks or not. A bounded number is kept; when
/// there are more, the oldest go.
#[derive(Debug, Clone)]
pub struct Tail {
    kept: watch::Receiver<Kept>,
    /// Where [`more`](Self::more) goes on.
    seen: u64,
}

#[derive(Debug)]
struct Kept {
    bytes: VecDeque<u8>,
    /// How many there have been in all.
    total: u64,
}

/// The reading of a stream into a [`Tail`]; it stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Reading(AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Tail {
    /// Reads `stream` in a task of its own and keeps its last `most` bytes.
    pub(crate) fn of(stream: impl AsyncRead + Send + Unpin + 'static, most: usize) -> (Self, Reading) {
        let (keep, kept) = watch::channel(Kept { bytes: VecDeque::new(), total: 0 });
        let task = tokio::spawn(read(stream, most, keep));
        (Self { kept, seen: 0 }, Reading(task.abort_handle()))
    }

    /// What is kept now, fit to be shown: as text, without control characters but for line ends and tabs, and from the
    /// beginning of a line where there is one.
    pub fn text(&self) -> String {
        let kept = self.kept.borrow();
        let cut = kept.total > kept.bytes.len() as u64;
        let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
        drop(kept);
        let begin = if cut { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1) } else { 0 };
        let bytes = if begin < bytes.len() { &bytes[begin..] } else { &bytes[..] };
        clean(&String::from_utf8_lossy(bytes))
    }

    /// How many bytes the program has written in all.
    pub fn total(&self) -> u64 {
        self.kept.borrow().total
    }

    /// Waits for bytes that this tail has not given yet, and gives them as they came; `None` at the end of the stream.
    /// Who is too slow misses the oldest. Cancel safe.
    pub async fn more(&mut self) -> Option<Vec<u8>> {
        loop {
            {
                let kept = self.kept.borrow_and_update();
                let new = usize::try_from(kept.total - self.seen).unwrap_or(usize::MAX).min(kept.bytes.len());
                if new > 0 {
                    self.seen = kept.total;
                    return Some(kept.bytes.range(kept.bytes.len() - new..).copied().collect());
                }
            }
            self.kept.changed().await.ok()?;
        }
    }

    /// Waits until there will be no more: everybody who could write has ended or closed it.
    pub async fn closed(&self) {
        let mut kept = self.kept.clone();
        while kept.changed().await.is_ok() {}
    }
}

/// The lines of a [`Tail`] that contain a marker, as they are written. A reader that is too slow misses the oldest.
#[derive(Debug)]
pub(crate) struct MarkedLines {
    tail: Tail,
    marker: String,
    /// Beginning of a line whose end has not been written yet.
    partial: Vec<u8>,
    /// The line under way is longer than it may be, or its beginning was missed.
    skipping: bool,
}

impl MarkedLines {
    pub fn new(tail: Tail, marker: String) -> Self {
        Self { tail, marker, partial: Vec::new(), skipping: false }
    }

    /// The next lines, fit to be shown; there may be none among the bytes that were read. `None` at the end of the stream.
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<String>> {
        let before = self.tail.seen;
        let bytes = self.tail.more().await?;
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

async fn read(mut stream: impl AsyncRead + Unpin, most: usize, keep: watch::Sender<Kept>) {
    let mut piece = vec![0; PIECE];
    // A stream that fails has ended.
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        keep.send_modify(|kept| {
            kept.total += count as u64;
            kept.bytes.extend(&piece[count.saturating_sub(most)..count]);
            let excess = kept.bytes.len().saturating_sub(most);
            kept.bytes.drain(..excess);
        });
    }
}

/// The text as it may be shown: without escape sequences and control characters, but for line ends and tabs, and without
/// those that turn the direction of writing. A carriage return ends a line.
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

/// Skips what follows an escape character. A sequence that a line end cuts short ends there.
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
    fn what_is_shown_has_no_control_characters() {
        assert_eq!(clean("\x1b[1;31merror\x1b[0m: no\tfile\r\n"), "error: no\tfile\n");
        assert_eq!(clean("10%\r20%\rdone\x07\x08\x7f\u{9b}"), "10%\n20%\ndone");
        assert_eq!(clean("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bend\x1b"), "link end");
        assert_eq!(clean("\x1b]0;never closed\nnext"), "\nnext");
        assert_eq!(clean("abc\u{202e}def\u{2066}"), "abcdef");
    }

    #[tokio::test]
    async fn the_last_bytes_are_kept_from_the_beginning_of_a_line() {
        let (mut program, stream) = tokio::io::duplex(64);
        let (mut tail, _reading) = Tail::of(stream, 10);
        program.write_all(b"one\ntwo\n").await.unwrap();
        assert_eq!(tail.more().await, Some(b"one\ntwo\n".to_vec()));
        assert_eq!(tail.text(), "one\ntwo\n");
        program.write_all("thr\u{e9}e".as_bytes()).await.unwrap();
        drop(program);
        assert_eq!(tail.more().await, Some("thr\u{e9}e".as_bytes().to_vec()));
        assert_eq!(tail.more().await, None);
        tail.closed().await;
        assert_eq!((tail.text(), tail.total()), ("thr\u{e9}e".to_owned(), 14));
    }

    #[tokio::test]
    async fn marked_lines_are_given_whole_and_others_are_dropped() {
        let (mut program, stream) = tokio::io::duplex(64 * 1024);
        let (tail, _reading) = Tail::of(stream, 64 * 1024);
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
        let (tail, _reading) = Tail::of(stream, 16);
        let mut lines = MarkedLines::new(tail.clone(), "!".to_owned());
        program.write_all(b"! missed by far, and by more\n! kept\n").await.unwrap();
        drop(program);
        tail.closed().await;
        assert_eq!(lines.next().await, Some(vec!["! kept".to_owned()]));
        assert_eq!(lines.next().await, None);
    }

    #[tokio::test]
    async fn one_endless_line_is_kept_from_where_it_fits() {
        let (mut program, stream) = tokio::io::duplex(64);
        let (tail, _reading) = Tail::of(stream, 4);
        program.write_all(b"0123456789").await.unwrap();
        drop(program);
        tail.closed().await;
        assert_eq!(tail.text(), "6789");
    }
}
