//! Reads and forwards program output, and drains it after the program exits; see [`OutputReading`].

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tracing::debug;
use wh_client::UserTerminalMessage;
use wh_core::session::{ProgramStatus, SessionEffect, SessionInput};
use wh_core::terminal::Exit;
use wh_screen::pty::PtyMaster;

use super::TerminalTask;
use crate::terminal::attached::AttachedDisplay;
use crate::terminal::recorder::RecordedEvent;

/// Duration of silence after which the output of an exited program counts as complete. The program's own output arrives
/// much earlier. Descendants may keep the terminal open forever.
const DRAIN_SILENCE_WINDOW: Duration = Duration::from_millis(200);

/// Maximum time for which the output of an exited program is held until a user's terminal is attached.
const ATTACH_GRACE: Duration = Duration::from_secs(5);

/// State of reading the program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputReading {
    /// Output is not read until a user's terminal is attached, because the user must get the complete output.
    Held,
    /// The program exited before a user's terminal was attached. Output is read once a terminal is attached, or at this
    /// time at the latest.
    HeldAtEnd(Instant),
    /// Output is read as it arrives.
    Open,
    /// The program exited. The output counts as complete at this time if no more output arrives before.
    Draining(Instant),
    /// No more output will arrive.
    Closed,
}

impl OutputReading {
    /// True if more output may arrive. The terminal accepts input in the same states.
    pub fn is_open(self) -> bool {
        self != Self::Closed
    }

    /// True if output is read in this state.
    pub fn reads(self) -> bool {
        matches!(self, Self::Open | Self::Draining(_))
    }

    /// True if output is held until a user's terminal is attached.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Held | Self::HeldAtEnd(_))
    }

    /// Returns the time at which a timer ends this state.
    pub fn deadline(self) -> Option<Instant> {
        match self {
            Self::HeldAtEnd(at) | Self::Draining(at) => Some(at),
            Self::Held | Self::Open | Self::Closed => None,
        }
    }

    /// Starts to read output that was held.
    pub fn release(&mut self, now: Instant) {
        match self {
            Self::Held => *self = Self::Open,
            Self::HeldAtEnd(_) => self.drain(now),
            Self::Open | Self::Draining(_) | Self::Closed => {}
        }
    }

    fn drain(&mut self, now: Instant) {
        *self = Self::Draining(now + DRAIN_SILENCE_WINDOW);
    }
}

impl TerminalTask {
    pub(super) async fn exited(&mut self, exit: Exit, now: Instant) {
        self.handle_input(SessionInput::Exited(exit)).await;
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
                self.drop_abandoned_waits();
                self.record_event(RecordedEvent::Output(Bytes::copy_from_slice(&buffer[..count]))).await;
                if matches!(self.reading, OutputReading::Draining(_)) {
                    self.reading.drain(Instant::now());
                }
                let (effects, answers) = self.screened.output(&buffer[..count], Instant::now());
                self.screen_changed(effects, answers).await;
            }
            Err(error) => {
                debug!(%error, "cannot read from the terminal");
                self.drained().await;
            }
        }
    }

    /// Performs the effects of a screen change, and sends the emulator's answers to the program.
    pub(super) async fn screen_changed(&mut self, effects: Vec<SessionEffect>, answers: Vec<u8>) {
        self.perform(effects).await;
        if !answers.is_empty() {
            self.handle_input(SessionInput::Replied(answers)).await;
        }
    }

    async fn drained(&mut self) {
        match self.reading {
            OutputReading::Draining(_) => self.finish().await,
            _ => self.reading = OutputReading::Closed,
        }
    }

    /// Completes the session after the exit of the program and the end of its output.
    async fn finish(&mut self) {
        self.reading = OutputReading::Closed;
        self.input_queue.clear();
        self.handle_input(SessionInput::Drained).await;
        if let (ProgramStatus::Exited(exit), _) = self.screened.session.status() {
            self.record_event(RecordedEvent::Exit(exit.code())).await;
            self.recorder = None;
            self.ended_sender.take().map(|sender| sender.send(exit));
        }
        // All output was sent to the attached terminal.
        self.display = AttachedDisplay::default();
        self.attached = None;
        let (answers, looks) = (self.undrawn.shown(u64::MAX), self.undrawn_reads.shown(u64::MAX));
        self.release(answers, looks).await;
    }

    /// Completes the session of an exited program that was silent for [`DRAIN_SILENCE_WINDOW`]. If there is more
    /// output, processes the output instead. Waits for another window if the attached terminal's queue is full or
    /// output was held.
    pub(super) async fn finish_if_silent(&mut self, now: Instant) {
        let mut buffer = [0; 4096];
        if self.display.is_full() || self.reading.is_held() {
            return self.reading.drain(now);
        }
        match self.terminal.try_read(&mut buffer) {
            Ok(Some(count)) if count > 0 => self.process_output(&buffer[..count]).await,
            _ => self.finish().await,
        }
    }

    /// Processes the output that is already available, so that the next screen read is up to date.
    pub(super) async fn catch_up(&mut self) {
        let mut buffer = [0; 4096];
        if !self.reading.reads() || self.display.is_full() {
            return;
        }
        if let Ok(Some(count)) = self.terminal.try_read(&mut buffer)
            && count > 0
        {
            self.process_output(&buffer[..count]).await;
        }
    }

    /// Processes output that was read outside of the main loop, and forwards it to the attached terminal. The caller
    /// checks that the terminal's queue has room.
    async fn process_output(&mut self, bytes: &[u8]) {
        self.display.pass_on(bytes);
        self.output(Ok(bytes.len()), bytes).await;
    }
}

/// Waits until the attached terminal (if any) has room, then reads program output and forwards it. Cancel safe: output
/// is only read once it can be forwarded.
pub(super) async fn read(terminal: &PtyMaster, display: &AttachedDisplay, buffer: &mut [u8]) -> io::Result<usize> {
    let reserved = display.reserve().await;
    let count = terminal.read(buffer).await?;
    if let (Some(reserved), true) = (reserved, count > 0) {
        reserved.send(UserTerminalMessage::Output(Bytes::copy_from_slice(&buffer[..count])));
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
        assert_eq!(reading, OutputReading::Draining(now + DRAIN_SILENCE_WINDOW));
        assert!(reading.reads() && !reading.is_held());
        reading.release(now + DRAIN_SILENCE_WINDOW);
        assert_eq!(reading, OutputReading::Draining(now + DRAIN_SILENCE_WINDOW), "a second terminal changes nothing");
    }
}
