//! Terminal of an attached user, as two halves: actions are received from one while the other is written to.

use bytes::Bytes;
use tokio::sync::mpsc;
use wh_client::{FromTerminal, ToTerminal};

/// Action of the attached user.
pub(super) enum UserAction {
    Typed(Bytes),
    Changed(FromTerminal),
    Detached,
}

/// Receiving half of the attached user's terminal.
pub(super) struct AttachedTerminal {
    pub input: mpsc::Receiver<Bytes>,
    pub changes: mpsc::Receiver<FromTerminal>,
}

/// Waits for the next user action; typed input is not read while `read` is false. Cancel safe.
pub(super) async fn next_user_action(attached: &mut Option<AttachedTerminal>, read: bool) -> UserAction {
    let Some(attached) = attached else { return std::future::pending().await };
    tokio::select! {
        change = attached.changes.recv() => change.map_or(UserAction::Detached, UserAction::Changed),
        Some(typed) = attached.input.recv(), if read => UserAction::Typed(typed),
    }
}

/// Sending half of the attached user's terminal.
#[derive(Default)]
pub(super) struct AttachedDisplay(pub Option<mpsc::Sender<ToTerminal>>);

impl AttachedDisplay {
    /// Waits for room in the terminal's queue; returns at once if no terminal is attached. Cancel safe.
    pub async fn reserve(&self) -> Option<mpsc::Permit<'_, ToTerminal>> {
        self.0.as_ref()?.reserve().await.ok()
    }

    /// True if the terminal's queue is full.
    pub fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|output| output.capacity() == 0)
    }

    /// Sends program output to the terminal if there is room.
    pub fn pass_on(&self, bytes: &[u8]) {
        if let Some(output) = &self.0 {
            let _ = output.try_send(ToTerminal::Output(Bytes::copy_from_slice(bytes)));
        }
    }

    /// Reports that the program was stopped, once there is room. Cancel safe.
    pub async fn stopped(&self) {
        if let Some(permit) = self.reserve().await {
            permit.send(ToTerminal::Stopped);
        }
    }
}
