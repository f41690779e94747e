//! What follows the answer to `subscribe`: a line for each event, numbered, with no hole that is not said.

use serde::{Deserialize, Serialize};

use super::envelope::line;
use crate::control::{ClientState, EventBody};

/// How far a reader has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The run that the number is of.
    pub epoch: String,
    /// The last event seen; 0 is before the first.
    pub seq: u64,
}

/// One line to a subscriber.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StreamLine {
    /// The next event: its number is one more than that of the one before.
    Event {
        /// The run that the number is of.
        epoch: String,
        /// Its number.
        seq: u64,
        /// Whose.
        session_id: String,
        /// When.
        at: String,
        /// What, as at `/control/events`.
        #[serde(flatten)]
        event: Box<EventBody>,
    },
    /// Everything up to this point in one. Comes first, unless the cursor could be gone on from; and again whenever the reader fell
    /// behind what is kept.
    Reset {
        /// The run.
        epoch: String,
        /// The last event that the state contains.
        seq: u64,
        /// Whose.
        session_id: String,
        /// Why the reader starts anew.
        reason: String,
        /// The state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<ClientState>>,
    },
    /// Nothing has happened for a while, and the connection is alive.
    Heartbeat {
        /// The run.
        epoch: String,
        /// The number of the last event.
        seq: u64,
    },
    /// The stream ends.
    End {
        /// Why.
        reason: String,
    },
}

impl StreamLine {
    /// As a line, with its end.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }

    /// Reads a line of the server.
    pub fn decode(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }
}
