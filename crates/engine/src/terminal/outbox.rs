//! The bytes that wait for a program to read them, in order.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes};
use wh_screen::pty::Terminal;

/// Unbounded by itself: the machine refuses commands beyond its limit, a person's typing is not read while anything
/// waits, and a terminal's answers are small and follow the program's own output.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Bytes>,
    length: usize,
    /// Bytes that were ever put in.
    pushed: u64,
}

impl Outbox {
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

    /// Bytes that were put in so far: where in the program's input the last of them stands.
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

    /// Writes what the terminal takes at once.
    pub fn offer(&mut self, terminal: &Terminal) -> io::Result<()> {
        while let Some(front) = self.waiting.front_mut() {
            let taken = terminal.try_write(front)?;
            if taken == 0 {
                return Ok(());
            }
            self.took(taken);
        }
        Ok(())
    }

    /// Waits until the terminal takes something. Cancel safe: what was written is counted in the same step.
    pub async fn write(&mut self, terminal: &Terminal) -> io::Result<()> {
        if let Some(front) = self.waiting.front() {
            let taken = terminal.write(front).await?;
            self.took(taken);
        }
        Ok(())
    }

    fn took(&mut self, count: usize) {
        self.length -= count;
        if let Some(front) = self.waiting.front_mut() {
            front.advance(count);
            if front.is_empty() {
                self.waiting.pop_front();
            }
        }
    }
}
