//! Input bytes queued for a program, in order.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use wh_screen::pty::PtyMaster;

/// Unbounded by itself: the machine refuses commands beyond its limit, typing is not read while input is queued, and a
/// terminal's answers are small and only follow output of the program.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    waiting: VecDeque<Bytes>,
    length: usize,
    /// Total of all bytes ever queued.
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

    /// Total of all bytes ever queued: the input position of the last one.
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

    /// Writes as much as the terminal accepts without blocking.
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

    /// Waits until the terminal accepts input. Cancel safe: written bytes are counted in the same step.
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
