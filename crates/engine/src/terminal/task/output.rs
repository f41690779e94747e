//! Output of the program: read, passed on, and drained to its end. [`OutputReading`] is how far that is.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tracing::debug;
use wh_client::ToTerminal;
use wh_core::session::{Effect, Input, Status};
use wh_core::terminal::Exit;
use wh_screen::pty::Terminal;

use super::Task;
use crate::terminal::attached::Display;
use crate::terminal::recorder::Take;

/// Silence after which the output of a program that has ended is taken to be complete. It may leave others behind that keep
/// its terminal open; its own last words come well before.
const DRAIN_SILENCE: Duration = Duration::from_millis(200);

/// Time that the output of a program that has ended waits for a person's terminal to be attached.
const ATTACH_GRACE: Duration = Duration::from_secs(5);

/// The state of the program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputReading {
    /// Not read before a person's terminal is attached: the program's first words are for it.
    Held,
    /// The program has ended before a person's terminal was attached; not read before it is, or this time has come.
    HeldAtEnd(Instant),
    /// Read as it comes.
    Open,
    /// The program has ended; complete at this time, unless more comes.
    Draining(Instant),
    /// There is no more.
    Closed,
}

impl OutputReading {
    /// True while the terminal may have output; it also takes input then.
    pub fn is_open(self) -> bool {
        self != Self::Closed
    }

    /// True while output is read.
    pub fn reads(self) -> bool {
        matches!(self, Self::Open | Self::Draining(_))
    }

    /// True until a person's terminal is attached, if one is to be.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Held | Self::HeldAtEnd(_))
    }

    /// The time at which a state that time alone ends is over.
    pub fn deadline(self) -> Option<Instant> {
        match self {
            Self::HeldAtEnd(at) | Self::Draining(at) => Some(at),
            Self::Held | Self::Open | Self::Closed => None,
        }
    }

    /// Reads from now on, if the output was held.
    pub fn release(&mut self, now: Instant) {
        match self {
            Self::Held => *self = Self::Open,
            Self::HeldAtEnd(_) => self.drain(now),
            Self::Open | Self::Draining(_) | Self::Closed => {}
        }
    }

    fn drain(&mut self, now: Instant) {
        *self = Self::Draining(now + DRAIN_SILENCE);
    }
}

impl Task {
    pub(super) async fn exited(&mut self, exit: Exit, now: Instant) {
        self.happens(Input::Exited(exit)).await;
        match self.reading {
            OutputReading::Held => self.reading = OutputReading::HeldAtEnd(now + ATTACH_GRACE),
            OutputReading::Closed => self.finish().await,
            _ => self.reading.drain(now),
        }
    }

    pub(super) async fn output(&mut self, count: io::Result<usize>, buffer: &[u8]) {
        match count {
            Ok(0) => self.drained().await,
            Ok(count) => {
                self.forget_the_gone();
                self.take(Take::Output(Bytes::copy_from_slice(&buffer[..count]))).await;
                if matches!(self.reading, OutputReading::Draining(_)) {
                    self.reading.drain(Instant::now());
                }
                let (effects, answers) = self.keeper.output(&buffer[..count], Instant::now());
                self.shows(effects, answers).await;
            }
            Err(error) => {
                debug!(%error, "the terminal cannot be read");
                self.drained().await;
            }
        }
    }

    /// The screen has changed: whoever waits is told, and the terminal's answers go to the program.
    pub(super) async fn shows(&mut self, effects: Vec<Effect>, answers: Vec<u8>) {
        self.perform(effects).await;
        if !answers.is_empty() {
            self.happens(Input::Replied(answers)).await;
        }
    }

    async fn drained(&mut self) {
        match self.reading {
            OutputReading::Draining(_) => self.finish().await,
            _ => self.reading = OutputReading::Closed,
        }
    }

    /// The program has ended and its last words are spoken.
    async fn finish(&mut self) {
        self.reading = OutputReading::Closed;
        self.outbox.clear();
        self.happens(Input::Drained).await;
        if let (Status::Exited(exit), _) = self.keeper.session.status() {
            self.take(Take::Exit(exit.code())).await;
            self.recorder = None;
            self.tell_ended.take().map(|tell| tell.send(exit));
        }
        // The person's terminal shows all that there is to show.
        self.display = Display::default();
        self.person = None;
        let (answers, looks) = (self.undrawn.shown(u64::MAX), self.undrawn_looks.shown(u64::MAX));
        self.release(answers, looks).await;
    }

    /// The program has ended and was silent for a while: that is its end, unless there is still something to read, the
    /// person's terminal is too far behind to read on, or it was waited for in vain.
    pub(super) async fn last_words(&mut self, now: Instant) {
        let mut buffer = [0; 4096];
        if self.display.is_full() || self.reading.is_held() {
            return self.reading.drain(now);
        }
        match self.terminal.try_read(&mut buffer) {
            Ok(Some(count)) if count > 0 => self.passes(&buffer[..count]).await,
            _ => self.finish().await,
        }
    }

    /// Takes some of what the program has written already: who looks at this moment is not shown an earlier one.
    pub(super) async fn catch_up(&mut self) {
        let mut buffer = [0; 4096];
        if !self.reading.reads() || self.display.is_full() {
            return;
        }
        if let Ok(Some(count)) = self.terminal.try_read(&mut buffer)
            && count > 0
        {
            self.passes(&buffer[..count]).await;
        }
    }

    /// Takes output that was read out of turn; the person's terminal has room for it.
    async fn passes(&mut self, bytes: &[u8]) {
        self.display.pass_on(bytes);
        self.output(Ok(bytes.len()), bytes).await;
    }
}

/// Reads what the program has written, once the person's terminal (if any) can take it, and passes it on there. Cancel
/// safe: nothing is read before it can be passed on.
pub(super) async fn read(terminal: &Terminal, display: &Display, buffer: &mut [u8]) -> io::Result<usize> {
    let room = display.room().await;
    let count = terminal.read(buffer).await?;
    if let (Some(room), true) = (room, count > 0) {
        room.send(ToTerminal::Output(Bytes::copy_from_slice(&buffer[..count])));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_a_program_that_ends_before_the_terminal_is_attached_waits_for_it() {
        let now = Instant::now();
        let mut reading = OutputReading::HeldAtEnd(now + ATTACH_GRACE);
        assert!(reading.is_open() && reading.is_held() && !reading.reads());
        assert_eq!(reading.deadline(), Some(now + ATTACH_GRACE));
        reading.release(now);
        assert_eq!(reading, OutputReading::Draining(now + DRAIN_SILENCE));
        assert!(reading.reads() && !reading.is_held());
        reading.release(now + DRAIN_SILENCE);
        assert_eq!(reading, OutputReading::Draining(now + DRAIN_SILENCE), "a second terminal changes nothing");
    }
}
