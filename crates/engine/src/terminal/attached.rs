//! The person's terminal while it is attached to a session: two halves, so that one can be told while the other is
//! heard.

use bytes::Bytes;
use tokio::sync::mpsc;
use wh_client::{FromTerminal, ToTerminal};

/// What the person did.
pub(super) enum Deed {
    Typed(Bytes),
    Changed(FromTerminal),
    Left,
}

/// What the person does.
pub(super) struct Person {
    pub input: mpsc::Receiver<Bytes>,
    pub changes: mpsc::Receiver<FromTerminal>,
}

/// Waits for what the person does next; typing is not taken while `read` is false. Cancel safe.
pub(super) async fn next_deed(person: &mut Option<Person>, read: bool) -> Deed {
    let Some(person) = person else { return std::future::pending().await };
    tokio::select! {
        change = person.changes.recv() => change.map_or(Deed::Left, Deed::Changed),
        Some(typed) = person.input.recv(), if read => Deed::Typed(typed),
    }
}

/// The way to the person's terminal.
#[derive(Default)]
pub(super) struct Display(pub Option<mpsc::Sender<ToTerminal>>);

impl Display {
    /// Waits until the terminal can be told more; at once when there is none. Cancel safe.
    pub async fn room(&self) -> Option<mpsc::Permit<'_, ToTerminal>> {
        self.0.as_ref()?.reserve().await.ok()
    }

    /// Whether the terminal can be told nothing more now.
    pub fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|output| output.capacity() == 0)
    }

    /// Shows some of the program's output, if there is room.
    pub fn pass_on(&self, bytes: &[u8]) {
        if let Some(output) = &self.0 {
            let _ = output.try_send(ToTerminal::Output(Bytes::copy_from_slice(bytes)));
        }
    }

    /// Says that the program was stopped, once there is room. Cancel safe.
    pub async fn stopped(&self) {
        if let Some(room) = self.room().await {
            room.send(ToTerminal::Stopped);
        }
    }
}
