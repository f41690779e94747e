//! Writes lines to a program, from any number of senders.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};

/// Maximum number of queued lines. At the limit, senders wait.
const MAX_QUEUED_LINES: usize = 64;

/// Queue of lines to a program. Clones share the same queue, and lines are never interleaved.
#[derive(Debug, Clone)]
pub struct LineWriter {
    queue: mpsc::Sender<QueuedLine>,
    close: Arc<Notify>,
}

#[derive(Debug)]
struct QueuedLine {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl LineWriter {
    /// Spawns a task that owns `sink` and writes the queued lines. The task ends when a write fails, after
    /// [`close`](Self::close), or when the last writer is dropped.
    pub fn new(sink: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (queue, entries) = mpsc::channel(MAX_QUEUED_LINES);
        let close = Arc::new(Notify::new());
        tokio::spawn(write(sink, entries, Arc::clone(&close)));
        Self { queue, close }
    }

    /// Writes one line, given without its line feed, and waits until the system has accepted all of it. A queued line
    /// is written completely, even if this future is dropped.
    pub async fn line(&self, line: impl Into<Vec<u8>>) -> io::Result<()> {
        let mut line = line.into();
        if memchr::memchr(b'\n', &line).is_some() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line must not contain a line feed"));
        }
        line.push(b'\n');
        let (written, wait) = oneshot::channel();
        self.queue.send(QueuedLine { line, written }).await.map_err(|_| closed())?;
        wait.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Refuses further lines and returns immediately. Queued lines are still written, then the program's input is
    /// closed.
    pub fn close(&self) {
        self.close.notify_one();
    }

    /// Waits until no more lines are accepted. Lines that are already queued may not be written yet.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the program's input is closed")
}

async fn write(mut sink: impl AsyncWrite + Unpin, mut entries: mpsc::Receiver<QueuedLine>, close: Arc<Notify>) {
    let mut open = true;
    loop {
        let entry = tokio::select! {
            biased;
            () = close.notified(), if open => {
                open = false;
                entries.close();
                continue;
            }
            entry = entries.recv() => entry,
        };
        let Some(QueuedLine { line, written }) = entry else { return };
        let outcome = match sink.write_all(&line).await {
            Ok(()) => sink.flush().await,
            failed => failed,
        };
        let failure = outcome.as_ref().err().map(|error| (error.kind(), error.to_string()));
        let _ = written.send(outcome);
        if let Some((kind, why)) = failure {
            // Senders of queued lines get the same error. No more lines can be queued.
            entries.close();
            while let Some(entry) = entries.recv().await {
                let _ = entry.written.send(Err(io::Error::new(kind, why.clone())));
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::lines::{Line, LineReader, MAX_LINE_BYTES};

    #[tokio::test]
    async fn lines_of_many_senders_do_not_mix() {
        let (ours, program) = tokio::io::duplex(7);
        let writer = LineWriter::new(ours);
        for sender in 0..10u8 {
            let writer = writer.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    writer.line(vec![b'a' + sender; 20]).await.unwrap();
                }
            });
        }
        drop(writer);
        let mut lines = LineReader::new(program, MAX_LINE_BYTES);
        let mut count = 0;
        while let Some(line) = lines.next().await.unwrap() {
            let Line::Complete(line) = line else { panic!("{line:?}") };
            assert!(line.len() == 20 && line.iter().all(|byte| *byte == line[0]), "{line:?}");
            count += 1;
        }
        assert_eq!(count, 500);
    }

    #[tokio::test]
    async fn a_broken_pipe_fails_queued_and_later_lines() {
        let (ours, program) = tokio::io::duplex(4);
        let writer = LineWriter::new(ours);
        let waiting: Vec<_> = (0..3 + MAX_QUEUED_LINES)
            .map(|_| {
                let writer = writer.clone();
                tokio::spawn(async move { writer.line("longer than the pipe").await })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(program);
        for task in waiting {
            assert_eq!(task.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
        assert_eq!(writer.line("later").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn after_a_close_queued_lines_are_written_and_then_the_input_ends() {
        let (ours, mut program) = tokio::io::duplex(4);
        let writer = LineWriter::new(ours);
        let first = tokio::spawn({
            let writer = writer.clone();
            async move { writer.line("first line").await }
        });
        tokio::task::yield_now().await;
        writer.close();
        let mut read = String::new();
        program.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "first line\n");
        first.await.unwrap().unwrap();
        writer.closed().await;
        assert_eq!(writer.line("second").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_line_with_an_end_in_it_is_refused() {
        let writer = LineWriter::new(tokio::io::sink());
        assert_eq!(writer.line("one\ntwo").await.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
