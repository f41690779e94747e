//! Signals that ask wh to exit: SIGINT, SIGTERM and SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

pub struct ExitSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl ExitSignals {
    /// Registers the signal handlers.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
