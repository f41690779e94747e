//! What `GET /control/events` (server-sent events) and `GET /control/stream` (WebSocket) send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentSession, ClientState, CursorBody, Message, ReceiptBody, TurnBody};

/// One message to somebody who watches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamBody {
    /// Everything up to this point in one: comes first, unless the reader went on from a cursor.
    Snapshot {
        /// The run that the numbers are of.
        epoch: String,
        /// The number of the last event that the snapshot contains.
        seq: u64,
        /// The state.
        state: Box<ClientState>,
        /// The screen, if frames were asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        screen: Option<Box<FrameBody>>,
    },
    /// The next event: its number is one more than that of the one before.
    Event {
        /// The run that the number is of.
        epoch: String,
        /// Its number.
        seq: u64,
        /// When.
        at: String,
        /// What.
        #[serde(flatten)]
        event: EventBody,
    },
    /// The newest screen. Frames in between are left out; they have no numbers.
    Frame(FrameBody),
    /// Nothing has happened for a while, and the connection is alive.
    Heartbeat {
        /// The run.
        epoch: String,
        /// The number of the last event.
        seq: u64,
    },
    /// The cursor was of no use: a snapshot follows.
    Reset {
        /// Why.
        reason: String,
    },
    /// The connection ends.
    Dropped {
        /// Why.
        reason: String,
    },
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// The program runs.
    Started {
        /// What runs.
        command: Vec<String>,
        /// Its process id.
        pid: i32,
    },
    /// A door typed to it.
    Typed {
        /// How many bytes.
        bytes: usize,
    },
    /// Its terminal has another size.
    Resized {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// It set the window title.
    Title {
        /// The title.
        title: Option<String>,
    },
    /// It rang the bell.
    Bell {
        /// So many times at once.
        count: u64,
    },
    /// It said where it is.
    Directory {
        /// As it wrote it.
        directory: String,
    },
    /// It notified the person.
    Notification {
        /// Of this.
        text: String,
    },
    /// It reported progress.
    Progress {
        /// As it wrote it.
        progress: String,
    },
    /// A shell marked where it is.
    ShellMark {
        /// `A` prompt, `B` input, `C` output, `D;code` done.
        mark: String,
    },
    /// A door marked this moment.
    Marked {
        /// By this name.
        label: String,
    },
    /// A person's terminal was attached.
    Attached,
    /// And is no longer.
    Detached,
    /// A signal has stopped the program.
    Stopped,
    /// It goes on.
    Continued,
    /// Something in the conversation began, changed or is complete: all of it as it is now.
    Item {
        /// Its id.
        item: String,
        /// Its turn.
        turn: Option<String>,
        /// `growing`, `done`, `cut` or `retracted`.
        progress: String,
        /// It as envelopes, in the place of those of the same ids.
        messages: Vec<Message>,
    },
    /// A turn began.
    TurnStarted {
        /// Which.
        turn: String,
        /// Whose.
        participant: String,
        /// The message that it is about.
        message: String,
    },
    /// A turn is over.
    TurnEnded(TurnBody),
    /// An agent's session is in another state.
    Session {
        /// Whose.
        participant: String,
        /// How it fares.
        session: AgentSession,
    },
    /// A command came further.
    Receipt(ReceiptBody),
    /// Another part of the state is different.
    Changed {
        /// Which, by its name in the state.
        part: String,
    },
    /// It ended.
    Exited {
        /// As a shell shows it.
        code: i32,
        /// The signal, if one ended it.
        signal: Option<i32>,
    },
}

/// A screen in a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameBody {
    /// Frames since the start.
    pub frames_rendered: u64,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// The cursor.
    pub cursor: CursorBody,
    /// The fingerprint, as of `/control/screen`.
    pub hash: String,
    /// The text, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<String>,
    /// The drawing, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}
