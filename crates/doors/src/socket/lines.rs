//! Lines of a bounded length from a socket.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};
use wh_wire::socket::LONGEST_LINE;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it, without its end.
    Whole(Vec<u8>),
    /// It was longer than is taken, and was passed over.
    TooLong,
}

/// The next line; nothing at the end. What comes after the last line end, and is no line, is passed over.
pub(super) async fn next(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(buffer.len());
        if line.len() + taken > LONGEST_LINE {
            too_long = true;
            line = Vec::new();
        } else if !too_long {
            line.extend_from_slice(&buffer[..taken]);
        }
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(Some(if too_long { Line::TooLong } else { Line::Whole(line) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    #[tokio::test]
    async fn lines_come_one_by_one_and_one_that_is_too_long_is_passed_over() {
        let mut text = b"one\n\ntwo\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LONGEST_LINE + 1));
        text.extend(b"\nthree\nhalf");
        let mut reader = BufReader::with_capacity(7, text.as_slice());
        let mut lines = Vec::new();
        while let Some(line) = next(&mut reader).await.unwrap() {
            lines.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(lines, [whole("one"), whole(""), whole("two"), Line::TooLong, whole("three")]);
    }
}
