//! Event lines after the response to `subscribe`. Events are numbered without gaps. If events are lost, the server
//! sends a `reset` with the complete state.

use serde::{Deserialize, Serialize};

use super::envelope::line;
use crate::control::{ClientState, EventBody};

/// Position in the event stream up to which a client has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Id of the run of the session. Sequence numbers can be compared only within one run.
    pub epoch: String,
    /// Sequence number of the last event received; 0 before the first.
    pub seq: u64,
}

/// Line sent to a subscriber.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StreamLine {
    /// Event of the session. Sequence numbers increase by one.
    Event {
        /// Id of the run of the session. Sequence numbers can be compared only within one run.
        epoch: String,
        /// Sequence number of the event.
        seq: u64,
        /// Id of the session.
        session_id: String,
        /// Time of the event.
        at: String,
        /// The event itself, as in `/control/events`.
        #[serde(flatten)]
        event: Box<EventBody>,
    },
    /// Complete state up to this point. Sent first unless the client resumed from its cursor. Sent again if the client
    /// missed events that the server no longer retains.
    Reset {
        /// Id of the run of the session. Sequence numbers can be compared only within one run.
        epoch: String,
        /// Sequence number of the last event included in the state.
        seq: u64,
        /// Id of the session.
        session_id: String,
        /// Reason for the reset.
        reason: String,
        /// Complete state of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<ClientState>>,
    },
    /// Keeps an idle connection alive.
    Heartbeat {
        /// Id of the run of the session. Sequence numbers can be compared only within one run.
        epoch: String,
        /// Sequence number of the last event.
        seq: u64,
    },
    /// The stream ends.
    End {
        /// Reason for the end.
        reason: String,
    },
}

impl StreamLine {
    /// Encodes the line, including its line terminator.
    pub fn encode(&self) -> Vec<u8> {
        line(self)
    }

    /// Decodes a line from the server.
    pub fn decode(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }
}
