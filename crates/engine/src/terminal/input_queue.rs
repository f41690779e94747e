//! Queue of input bytes for a program.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use wh_screen::pty::PtyMaster;

/// Input bytes for a program, in order. The queue is unbounded, because its sources are bounded. The state machine
/// limits the size of queued commands. The user's typed input is read only while the queue is empty. The terminal
/// emulator sends only short answers to program output.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    waiting: VecDeque<Bytes>,
    length: usize,
    /// Total number of bytes ever queued.
    pushed: u64,
}

impl InputQueue {
    pub fn push(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.length += bytes.len();
        self.pushed += bytes.len() as u64;
        if !bytes.is_empty() {
            self.waiting.push_back(bytes);
        }
    }

    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns the total number of bytes ever queued. This is the input position after the last queued byte.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
        self.length = 0;
    }

    /// Writes bytes until the queue is empty or the terminal accepts no more. Does not block.
    pub fn offer(&mut self, terminal: &PtyMaster) -> io::Result<()> {
        while let Some(front) = self.waiting.front_mut() {
            let taken = terminal.try_write(front)?;
            if taken == 0 {
                return Ok(());
            }
            self.advance(taken);
        }
        Ok(())
    }

    /// Waits until the terminal accepts input, then writes as many bytes as it accepts. Cancel safe: no await point
    /// lies between the write and the removal of the written bytes from the queue.
    pub async fn write(&mut self, terminal: &PtyMaster) -> io::Result<()> {
        if let Some(front) = self.waiting.front() {
            let taken = terminal.write(front).await?;
            self.advance(taken);
        }
        Ok(())
    }

    fn advance(&mut self, count: usize) {
        self.length -= count;
        if let Some(front) = self.waiting.front_mut() {
            front.advance(count);
            if front.is_empty() {
                self.waiting.pop_front();
            }
        }
    }
}
