//! Exchange of lines in both directions, and standard error.

use std::io;

use wh_pipe::{Exit, LaunchSpec, Line, LineReader, LineWriter, lines};

use crate::{TEST_TIMEOUT, line, output, script, supervised};

#[tokio::test]
async fn lines_are_written_and_read_back() {
    for launch in [script as fn(&str) -> LaunchSpec, supervised] {
        let mut child = launch("exec cat").start().await.unwrap();
        let writer = LineWriter::new(child.stdin.take().unwrap());
        let mut lines = output(&mut child);
        for number in 0..100 {
            writer.line(format!("line {number}")).await.unwrap();
            assert_eq!(line(&mut lines).await.unwrap(), format!("line {number}"));
        }
        writer.close();
        assert_eq!(line(&mut lines).await, None);
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(0));
    }
}

#[tokio::test]
async fn a_program_that_closes_its_output_early_keeps_running() {
    for launch in [script as fn(&str) -> LaunchSpec, supervised] {
        let mut child = launch("echo bye; exec >&-; read line; exit 3").start().await.unwrap();
        let mut lines = output(&mut child);
        assert_eq!(line(&mut lines).await.unwrap(), "bye");
        assert_eq!(line(&mut lines).await, None);
        assert_eq!(child.exit(), None);
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(3));
    }
}

#[tokio::test]
async fn writing_to_a_program_that_no_longer_reads_is_an_error() {
    for launch in [script as fn(&str) -> LaunchSpec, supervised] {
        let mut child = launch("exec <&-; echo closed; read never; exec sleep 1000").start().await.unwrap();
        let writer = LineWriter::new(child.stdin.take().unwrap());
        let mut lines = output(&mut child);
        assert_eq!(line(&mut lines).await.unwrap(), "closed");
        let error = writer.line("anybody there?").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

#[tokio::test]
async fn a_flood_on_standard_error_blocks_nothing_and_its_end_is_kept() {
    for launch in [script as fn(&str) -> LaunchSpec, supervised] {
        let flood = "i=0; while [ $i -lt 2000 ]; do printf '%01000d\\n' $i >&2; i=$((i+1)); done; \
                     printf '\\033[31mlast \\377 words\\033[0m' >&2; echo done; read line; exit 1";
        let mut child = LaunchSpec { stderr: 10_000, ..launch(flood) }.start().await.unwrap();
        let mut lines = output(&mut child);
        assert_eq!(line(&mut lines).await.unwrap(), "done");
        let tail = child.stderr.clone();
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(1));
        let text = tail.text();
        assert!(text.ends_with("1999\nlast \u{fffd} words"), "{text}");
        assert!(text.len() <= 10_000 && text.starts_with("000"), "{} {}", text.len(), &text[..10]);
        assert_eq!(tail.total(), 2000 * 1001 + 21);
    }
}

#[tokio::test]
async fn standard_error_can_be_followed() {
    let mut child = script("echo one >&2; read line; echo two >&2").start().await.unwrap();
    let mut tail = child.stderr.clone();
    assert_eq!(tail.next_bytes().await.unwrap(), b"one\n");
    drop(child.stdin.take());
    assert_eq!(tail.next_bytes().await.unwrap(), b"two\n");
    assert_eq!(tail.next_bytes().await, None);
    assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(0));
}

#[tokio::test]
async fn a_large_output_arrives_complete() {
    const LINE: &str = "a line of some length, as there are many";
    const LINES: usize = 1_000_000;
    let program = format!("yes '{LINE}' | head -n {LINES}; printf 'the last has no end'");
    let mut child = script(&program).start().await.unwrap();
    let mut lines = LineReader::new(child.stdout.take().unwrap(), lines::MAX_LINE_BYTES);
    for number in 0..LINES {
        assert_eq!(lines.next().await.unwrap(), Some(Line::Complete(LINE.as_bytes())), "line {number}");
    }
    assert_eq!(lines.next().await.unwrap(), Some(Line::Complete(b"the last has no end")));
    assert_eq!(lines.next().await.unwrap(), None);
    assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(0));
}
