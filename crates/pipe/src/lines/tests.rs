use std::pin::Pin;
use std::task::{Context, Poll};

use proptest::prelude::*;
use tokio::io::{AsyncWriteExt, ReadBuf};

use super::*;

/// Stream that delivers chunks of these lengths, in turn.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    lengths: Vec<usize>,
    turn: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let length = self.lengths[self.turn % self.lengths.len()];
        let end = (self.at + length.min(into.remaining())).min(self.bytes.len());
        into.put_slice(&self.bytes[self.at..end]);
        (self.at, self.turn) = (end, self.turn + 1);
        Poll::Ready(Ok(()))
    }
}

#[derive(Debug, PartialEq)]
enum ReadLine {
    Whole(Vec<u8>),
    TooLong(u64),
}

impl From<Line<'_>> for ReadLine {
    fn from(line: Line<'_>) -> Self {
        match line {
            Line::Complete(bytes) => Self::Whole(bytes.to_vec()),
            Line::TooLong { bytes } => Self::TooLong(bytes),
        }
    }
}

fn read(bytes: &[u8], lengths: &[usize], max: usize) -> Vec<ReadLine> {
    let stream = Pieces { bytes: bytes.to_vec(), at: 0, lengths: lengths.to_vec(), turn: 0 };
    let mut lines = LineReader::new(stream, max);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line.into());
        }
        assert_eq!(lines.next().await.unwrap(), None, "the end stays the end");
        all
    })
}

/// Reference implementation on the whole input, without a buffer.
fn expected(bytes: &[u8], max: usize) -> Vec<ReadLine> {
    let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.iter_mut().for_each(|line| {
        if let Some(rest) = line.strip_suffix(b"\n") {
            *line = rest.strip_suffix(b"\r").unwrap_or(rest);
        }
    });
    let judge = |line: &&[u8]| {
        if line.len() > max { ReadLine::TooLong(line.len() as u64) } else { ReadLine::Whole(line.to_vec()) }
    };
    lines.iter().map(judge).collect()
}

proptest! {
    #[test]
    fn however_a_stream_is_cut_its_lines_are_the_same(
        text in "[ab\r\n]{0,200}",
        lengths in prop::collection::vec(1usize..40, 1..10),
        max in 0usize..30,
    ) {
        prop_assert_eq!(read(text.as_bytes(), &lengths, max), expected(text.as_bytes(), max));
    }
}

#[test]
fn lines_longer_than_the_buffer_are_complete() {
    let long = vec![b'x'; 3 * SHRINK_ABOVE_BYTES + 17];
    let stream = [&long[..], b"\r\n", b"short\n", &long[..], b"\nlast"].concat();
    let whole = |bytes: &[u8]| ReadLine::Whole(bytes.to_vec());
    let lines = [whole(&long), whole(b"short"), whole(&long), whole(b"last")];
    assert_eq!(read(&stream, &[MIN_READ_BYTES - 1, 1, MIN_READ_BYTES], MAX_LINE_BYTES), lines);
}

#[tokio::test]
async fn a_line_that_is_too_long_costs_no_memory_and_is_reported_once() {
    let stream = AsyncReadExt::chain(tokio::io::repeat(b'x').take(300 << 20), &b"\r\nnext\n"[..]);
    let mut lines = LineReader::new(stream, 100_000);
    assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong { bytes: 300 << 20 }));
    assert!(lines.buffer.capacity() <= 100_001 + MIN_READ_BYTES, "{}", lines.buffer.capacity());
    assert_eq!(lines.next().await.unwrap(), Some(Line::Complete(b"next")));
    assert_eq!(lines.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_buffer_that_grew_shrinks_again() {
    let (mut program, stream) = tokio::io::duplex(MIN_READ_BYTES);
    let mut lines = LineReader::new(stream, MAX_LINE_BYTES);
    let writing = tokio::spawn(async move {
        program.write_all(&vec![b'x'; 8 << 20]).await.unwrap();
        program.write_all(b"\nshort").await.unwrap();
        program
    });
    assert!(matches!(lines.next().await.unwrap(), Some(Line::Complete(line)) if line.len() == 8 << 20));
    assert!(lines.buffer.capacity() >= 8 << 20);
    let mut program = writing.await.unwrap();
    tokio::select! {
        biased;
        line = lines.next() => panic!("there is no line yet: {line:?}"),
        () = std::future::ready(()) => {}
    }
    assert!(lines.buffer.capacity() <= SHRINK_ABOVE_BYTES, "{}", lines.buffer.capacity());
    program.write_all(b"er\n").await.unwrap();
    assert_eq!(lines.next().await.unwrap(), Some(Line::Complete(b"shorter")), "what was read before is not lost");
}

#[tokio::test]
async fn nothing_is_read_before_it_is_asked_for() {
    let (mut program, stream) = tokio::io::duplex(4);
    let mut lines = LineReader::new(stream, MAX_LINE_BYTES);
    program.write_all(b"ab\nc").await.unwrap();
    tokio::select! {
        biased;
        _ = program.write_all(b"d\n") => panic!("nobody has read"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(lines.next().await.unwrap(), Some(Line::Complete(b"ab")));
    program.write_all(b"d\n").await.unwrap();
    assert_eq!(lines.next().await.unwrap(), Some(Line::Complete(b"cd")));
}
