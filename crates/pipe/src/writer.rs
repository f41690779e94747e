//! Lines for a program, one after the other, whoever sends them.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};

/// Lines that may wait for a program that is busy. Beyond that, whoever sends one waits for room.
const DEPTH: usize = 64;

/// The way into a program. It may be cloned: lines never mix.
#[derive(Debug, Clone)]
pub struct Writer {
    queue: mpsc::Sender<Entry>,
    close: Arc<Notify>,
}

#[derive(Debug)]
struct Entry {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl Writer {
    /// A task that owns `sink` and writes what is sent, until it fails, is closed, or the last writer is dropped.
    pub fn new(sink: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (queue, entries) = mpsc::channel(DEPTH);
        let close = Arc::new(Notify::new());
        tokio::spawn(write(sink, entries, Arc::clone(&close)));
        Self { queue, close }
    }

    /// Sends one line, given without its end, and waits until the system has taken all of it. A line that has found room
    /// in the queue is written whole, also when nobody waits for that any more.
    pub async fn line(&self, line: impl Into<Vec<u8>>) -> io::Result<()> {
        let mut line = line.into();
        if memchr::memchr(b'\n', &line).is_some() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a line has no line end within it"));
        }
        line.push(b'\n');
        let (written, wait) = oneshot::channel();
        self.queue.send(Entry { line, written }).await.map_err(|_| closed())?;
        wait.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Lets nothing more in. What waits is still written, then the program reads the end of its input. Returns at once.
    pub fn close(&self) {
        self.close.notify_one();
    }

    /// Waits until nothing can be written any more, and the sink is dropped.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the program's input is closed")
}

async fn write(mut sink: impl AsyncWrite + Unpin, mut entries: mpsc::Receiver<Entry>, close: Arc<Notify>) {
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
        let Some(Entry { line, written }) = entry else { return };
        let outcome = match sink.write_all(&line).await {
            Ok(()) => sink.flush().await,
            failed => failed,
        };
        let failure = outcome.as_ref().err().map(|error| (error.kind(), error.to_string()));
        let _ = written.send(outcome);
        if let Some((kind, why)) = failure {
            // Whoever else waits learns the same; nobody can come after them.
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
    use crate::lines::{Line, Lines, MAX};

    #[tokio::test]
    async fn lines_of_many_senders_do_not_mix() {
        let (ours, program) = tokio::io::duplex(7);
        let writer = Writer::new(ours);
        for sender in 0..10u8 {
            let writer = writer.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    writer.line(vec![b'a' + sender; 20]).await.unwrap();
                }
            });
        }
        drop(writer);
        let mut lines = Lines::new(program, MAX);
        let mut count = 0;
        while let Some(line) = lines.next().await.unwrap() {
            let Line::Whole(line) = line else { panic!("{line:?}") };
            assert!(line.len() == 20 && line.iter().all(|byte| *byte == line[0]), "{line:?}");
            count += 1;
        }
        assert_eq!(count, 500);
    }

    #[tokio::test]
    async fn a_broken_pipe_is_told_to_everybody_who_waits_or_comes_later() {
        let (ours, program) = tokio::io::duplex(4);
        let writer = Writer::new(ours);
        let waiting: Vec<_> = (0..3 + DEPTH)
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
    async fn after_a_close_what_waits_is_written_and_then_the_input_ends() {
        let (ours, mut program) = tokio::io::duplex(4);
        let writer = Writer::new(ours);
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
        let writer = Writer::new(tokio::io::sink());
        assert_eq!(writer.line("one\ntwo").await.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
