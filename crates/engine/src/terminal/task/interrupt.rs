//! Carries interrupts out at the terminal.

use std::io;
use std::time::Instant;

use bytes::Bytes;
use tracing::debug;
use wh_core::session::{CTRL_C, Effect, Input, UnreadInput};
use wh_screen::pty::Unread;

use super::Task;
use crate::terminal::recorder::Take;

fn unread_input(unread: Unread) -> UnreadInput {
    UnreadInput { bytes: unread.bytes, signals: unread.signals, runs: unread.runs }
}

impl Task {
    /// Discards all queued input, also that which the terminal holds.
    pub(super) fn discard_input(&mut self, keep_next: bool) -> Vec<Effect> {
        self.outbox.clear();
        let input = match self.terminal.discard_input(keep_next) {
            Ok(unread) => Input::Discarded(unread_input(unread)),
            Err(error) => self.unwritable(&error),
        };
        self.keeper.handle(input, Instant::now())
    }

    /// Interrupts the program by a signal. A recording shows the key that a person would have pressed.
    pub(super) async fn interrupt(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        let input = match self.terminal.interrupt() {
            Ok(echo) => {
                self.take(Take::Input(Bytes::from_static(&[CTRL_C]))).await;
                effects.extend(self.echo(echo).await);
                Input::Interrupted
            }
            Err(error) => self.unwritable(&error),
        };
        effects.extend(self.keeper.handle(input, Instant::now()));
        effects
    }

    /// Shows what the terminal would have echoed. The machine does not know of the interrupt yet, and does not take this
    /// for output of the program.
    async fn echo(&mut self, echo: &'static [u8]) -> Vec<Effect> {
        if echo.is_empty() {
            return Vec::new();
        }
        self.display.pass_on(echo);
        self.take(Take::Output(Bytes::from_static(echo))).await;
        self.keeper.output(echo, Instant::now()).0
    }

    /// Looks how much of its input the program has not read.
    pub(super) fn look_at_input(&mut self) -> Vec<Effect> {
        let unread = self.terminal.unread().map(unread_input).unwrap_or_else(|error: io::Error| {
            debug!(%error, "the terminal does not tell what is unread");
            UnreadInput { bytes: 1, signals: false, runs: true }
        });
        self.keeper.handle(Input::Unread(unread), Instant::now())
    }
}
