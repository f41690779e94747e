//! Interrupts of the program: discarding input, sending the signal, and checking unread input.

use std::io;
use std::time::Instant;

use bytes::Bytes;
use tracing::debug;
use wh_core::session::{CTRL_C, SessionEffect, SessionInput, UnreadInput};
use wh_screen::pty::UnreadQueue;

use super::TerminalTask;
use crate::terminal::recorder::RecordedEvent;

fn unread_input(unread: UnreadQueue) -> UnreadInput {
    UnreadInput { bytes: unread.bytes, signals: unread.signals, runnable: unread.runs }
}

impl TerminalTask {
    /// Discards all queued input, including input buffered by the terminal. If `keep_next` is true, the terminal keeps
    /// its next byte for a line editor that may be about to read it.
    pub(super) fn discard_input(&mut self, keep_next: bool) -> Vec<SessionEffect> {
        self.input_queue.clear();
        let input = match self.terminal.discard_input(keep_next) {
            Ok(unread) => SessionInput::Discarded(unread_input(unread)),
            Err(error) => self.unwritable(&error),
        };
        self.screened.handle(input, Instant::now())
    }

    /// Interrupts the program with a signal. A recording shows the interrupt as a typed Ctrl-C.
    pub(super) async fn interrupt(&mut self) -> Vec<SessionEffect> {
        let mut effects = Vec::new();
        let input = match self.terminal.interrupt() {
            Ok(echo) => {
                self.record_event(RecordedEvent::Input(Bytes::from_static(&[CTRL_C]))).await;
                effects.extend(self.echo(echo).await);
                SessionInput::Interrupted
            }
            Err(error) => self.unwritable(&error),
        };
        effects.extend(self.screened.handle(input, Instant::now()));
        effects
    }

    /// Shows the terminal's echo of the interrupt. The echo is processed before the state machine receives the
    /// interrupt, so that it does not count as output after the interrupt.
    async fn echo(&mut self, echo: &'static [u8]) -> Vec<SessionEffect> {
        if echo.is_empty() {
            return Vec::new();
        }
        self.display.pass_on(echo);
        self.record_event(RecordedEvent::Output(Bytes::from_static(echo))).await;
        self.screened.output(echo, Instant::now()).0
    }

    /// Reports to the state machine how many input bytes the program has not read yet.
    pub(super) fn check_input(&mut self) -> Vec<SessionEffect> {
        let unread = self.terminal.unread().map(unread_input).unwrap_or_else(|error: io::Error| {
            debug!(%error, "cannot query the unread input");
            UnreadInput { bytes: 1, signals: false, runnable: true }
        });
        self.screened.handle(SessionInput::Unread(unread), Instant::now())
    }
}
