//! Messages of `GET /control/events` (server-sent events) and `GET /control/stream` (WebSocket).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentSession, ClientState, CursorBody, Message, ReceiptBody, TurnBody};

/// Message of the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamBody {
    /// Complete state up to this point. Sent first, unless the client resumed from a cursor.
    Snapshot {
        /// Id of the run of the session. Sequence numbers can be compared only within one run.
        epoch: String,
        /// Sequence number of the last event included in the snapshot.
        seq: u64,
        /// Complete state of the client.
        state: Box<ClientState>,
        /// Current screen, if frames were requested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        screen: Option<Box<FrameBody>>,
    },
    /// Event of the session. Sequence numbers increase by one.
    Event {
        /// Id of the run of the session. Sequence numbers can be compared only within one run.
        epoch: String,
        /// Sequence number of the event.
        seq: u64,
        /// Time of the event.
        at: String,
        /// The event itself.
        #[serde(flatten)]
        event: EventBody,
    },
    /// The current screen. Intermediate frames are skipped; frames have no sequence numbers.
    Frame(FrameBody),
    /// Keeps an idle connection alive.
    Heartbeat {
        /// Id of the run of the session. Sequence numbers can be compared only within one run.
        epoch: String,
        /// Sequence number of the last event.
        seq: u64,
    },
    /// The stream cannot resume from the client's cursor. A snapshot follows.
    Reset {
        /// Reason why the stream cannot resume.
        reason: String,
    },
    /// The server closes the connection.
    Dropped {
        /// Reason for closing the connection.
        reason: String,
    },
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// The program was started.
    Started {
        /// Command line of the program.
        command: Vec<String>,
        /// Process id of the program.
        pid: i32,
    },
    /// A client typed input to the program.
    Typed {
        /// Number of typed bytes.
        bytes: usize,
    },
    /// The terminal was resized.
    Resized {
        /// Width in columns.
        width: u16,
        /// Height in rows.
        height: u16,
    },
    /// The program set the window title.
    Title {
        /// New title; null if it was cleared.
        title: Option<String>,
    },
    /// The program rang the terminal bell.
    Bell {
        /// Number of times that the bell rang.
        count: u64,
    },
    /// The program reported its current directory.
    Directory {
        /// Directory as the program wrote it.
        directory: String,
    },
    /// The program sent a desktop notification.
    Notification {
        /// Text of the notification.
        text: String,
    },
    /// The program reported progress.
    Progress {
        /// Progress as the program wrote it.
        progress: String,
    },
    /// The shell sent an integration mark.
    ShellMark {
        /// `A` prompt, `B` input, `C` output, `D;code` done.
        mark: String,
    },
    /// A client added a marker.
    Marked {
        /// Label of the marker.
        label: String,
    },
    /// A user's terminal was attached.
    Attached,
    /// A user's terminal was detached.
    Detached,
    /// The program was stopped by a signal.
    Stopped,
    /// The program was continued.
    Continued,
    /// An item of the conversation was added, updated or completed. Contains the complete current state of the item.
    Item {
        /// Id of the item.
        item: String,
        /// Id of the turn that the item belongs to, if any.
        turn: Option<String>,
        /// Progress: `growing`, `done`, `queued`, `cut` or `retracted`.
        progress: String,
        /// Envelopes of the item. Each envelope replaces an earlier envelope with the same id.
        messages: Vec<Message>,
    },
    /// A turn was started.
    TurnStarted {
        /// Id of the turn.
        turn: String,
        /// Participant that executes the turn.
        participant: String,
        /// Id of the message that the turn answers.
        message: String,
    },
    /// A turn ended.
    TurnEnded(TurnBody),
    /// The status of an agent's session changed.
    Session {
        /// Participant of the session.
        participant: String,
        /// New status of the session.
        session: Box<AgentSession>,
    },
    /// A receipt reached another stage.
    Receipt(ReceiptBody),
    /// A part of the state changed, and no other event reports the change.
    Changed {
        /// Name of the changed field of the state.
        part: String,
    },
    /// The program exited.
    Exited {
        /// Exit code as a shell reports it: 128+n for signal n.
        code: i32,
        /// Number of the signal that killed the program; null if the program exited by itself.
        signal: Option<i32>,
    },
}

/// A screen in the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameBody {
    /// Number of frames that the program has drawn since the start.
    pub frames_rendered: u64,
    /// Width in columns.
    pub width: u16,
    /// Height in rows.
    pub height: u16,
    /// Position and style of the cursor.
    pub cursor: CursorBody,
    /// Hash of the visible content, as in `/control/screen`.
    pub hash: String,
    /// Text of the screen, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<String>,
    /// Escape sequences that draw the screen, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}
