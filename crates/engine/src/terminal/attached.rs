//! Terminal of an attached user, split in two halves, so that user actions can be received while output is sent.

use bytes::Bytes;
use tokio::sync::mpsc;
use wh_client::{UserTerminalEvent, UserTerminalMessage};

/// Action of the attached user: typing, another change such as a resize, or detaching.
pub(super) enum UserAction {
    Typed(Bytes),
    Changed(UserTerminalEvent),
    Detached,
}

/// Receiving half of the attached user's terminal.
pub(super) struct AttachedTerminal {
    pub input: mpsc::Receiver<Bytes>,
    pub changes: mpsc::Receiver<UserTerminalEvent>,
}

/// Waits for the next user action; typed input stays queued while `read` is false. Cancel safe.
pub(super) async fn next_user_action(attached: &mut Option<AttachedTerminal>, read: bool) -> UserAction {
    let Some(attached) = attached else { return std::future::pending().await };
    tokio::select! {
        change = attached.changes.recv() => change.map_or(UserAction::Detached, UserAction::Changed),
        Some(typed) = attached.input.recv(), if read => UserAction::Typed(typed),
    }
}

/// Sending half of the attached user's terminal.
#[derive(Default)]
pub(super) struct AttachedDisplay(pub Option<mpsc::Sender<UserTerminalMessage>>);

impl AttachedDisplay {
    /// Waits for room in the terminal's queue; returns `None` immediately if no terminal is attached. Cancel safe.
    pub async fn reserve(&self) -> Option<mpsc::Permit<'_, UserTerminalMessage>> {
        self.0.as_ref()?.reserve().await.ok()
    }

    /// True if the terminal's queue is full.
    pub fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|output| output.capacity() == 0)
    }

    /// Sends program output to the terminal; drops the output if the queue is full.
    pub fn pass_on(&self, bytes: &[u8]) {
        if let Some(output) = &self.0 {
            let _ = output.try_send(UserTerminalMessage::Output(Bytes::copy_from_slice(bytes)));
        }
    }

    /// Waits for room in the queue, and reports to the terminal that the program was stopped. Cancel safe.
    pub async fn stopped(&self) {
        if let Some(permit) = self.reserve().await {
            permit.send(UserTerminalMessage::Stopped);
        }
    }
}
