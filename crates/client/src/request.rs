//! What a surface is asked, with the way back for its answer.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::condition::Condition;
use wh_core::event::{Cursor, FellOut, Numbered};
use wh_core::histogram::Histogram;
use wh_core::input::Gesture;
use wh_core::receipt::Receipt;
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerAt, Done, Refusal, Sight, Status, Waited};
use wh_core::terminal::{SignalTarget, Size};
use wh_screen::frame::Frame;
use wh_screen::vt::Reports;

/// One question or command for whoever serves a surface.
#[derive(Debug)]
pub enum Request {
    /// Type, press, paste, point: as one command.
    Type {
        /// What, in order.
        gestures: Vec<Gesture>,
        /// The caller's id, and what it stands for.
        request: Option<request::Request>,
        /// When the caller is answered.
        answer: AnswerAt,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// Discard all input that the program has not read, interrupt it, and type something once it has handled that.
    Interrupt {
        /// Typed afterwards, in order; may be empty.
        then: Vec<Gesture>,
        /// The caller's id, and what it stands for.
        request: Option<request::Request>,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// Type these bytes as they are: a keyboard elsewhere has made them.
    Keyboard {
        /// What.
        bytes: Bytes,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// Change the size.
    Resize {
        /// To this.
        size: Size,
        /// The caller's id, and what it stands for.
        request: Option<request::Request>,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// Send a signal.
    Signal {
        /// Its number.
        number: u8,
        /// To whom.
        target: SignalTarget,
        /// The caller's id, and what it stands for.
        request: Option<request::Request>,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// Mark this moment.
    Mark {
        /// By this name.
        label: String,
        /// The caller's id, and what it stands for.
        request: Option<request::Request>,
        /// The way back.
        reply: oneshot::Sender<Result<Done, Refusal>>,
    },
    /// Show the screen.
    Look {
        /// What of it.
        look: Look,
        /// The way back.
        reply: oneshot::Sender<Shown>,
    },
    /// Tell what is known beside the screen.
    Tell {
        /// The way back.
        reply: oneshot::Sender<Facts>,
    },
    /// Tell what became of a command.
    Receipt {
        /// The caller's id.
        request_id: RequestId,
        /// The way back; nothing if it is not known.
        reply: oneshot::Sender<Option<Receipt>>,
    },
    /// Say when something holds.
    Wait {
        /// What.
        condition: Condition,
        /// How long it may take.
        timeout: Duration,
        /// The way back. Closed when the caller no longer waits.
        reply: oneshot::Sender<Result<WaitEnd, Refusal>>,
    },
    /// Watch: where the journal stands, and how to hear of more.
    Watch {
        /// The screen is watched too: a UI that runs on demand stays while [`Watch::screen_use`] is held.
        screen: bool,
        /// The way back.
        reply: oneshot::Sender<Watch>,
    },
    /// What happened after a cursor.
    Events {
        /// How far the asker has seen.
        after: Cursor,
        /// The way back.
        reply: oneshot::Sender<Result<Vec<Arc<Numbered>>, FellOut>>,
    },
    /// Attach a person's terminal.
    Attach(Attachment),
    /// End the program and all that it started.
    End {
        /// At once, without steps.
        now: bool,
    },
}

/// A person's terminal: it gets every byte that the program writes, and what it sends is typed.
#[derive(Debug)]
pub struct Attachment {
    /// Its size.
    pub size: Size,
    /// What it is told. When it is full, the program has to wait, as for any slow terminal.
    pub output: mpsc::Sender<ToTerminal>,
    /// What the person types. When the program does not read, the person has to wait.
    pub input: mpsc::Receiver<Bytes>,
    /// What else the person does. Closed when the terminal is detached.
    pub changes: mpsc::Receiver<FromTerminal>,
}

/// What a person's terminal is told.
#[derive(Debug)]
pub enum ToTerminal {
    /// The program wrote this.
    Output(Bytes),
    /// The program was stopped, as by Ctrl-Z: the person wants their shell back.
    Stopped,
}

/// What a person's terminal says beside what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromTerminal {
    /// Its window has this size now.
    Resized(Size),
    /// The person is back from their shell: a stopped program may go on.
    Continue,
}

/// What of a screen is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    /// The retained raw output too.
    pub history: bool,
    /// A complete frame, or this moment.
    pub sight: Sight,
}

/// The screen.
#[derive(Debug, Clone)]
pub struct Shown {
    /// What it shows. Shared between all who look before it changes.
    pub frame: Arc<Frame>,
    /// Frames so far.
    pub frames_rendered: u64,
    /// When the last was complete; before the first, when the blank screen came to be.
    pub last_frame: SystemTime,
    /// Characters of raw output that are retained.
    pub log_characters: usize,
    /// Whether older ones were dropped.
    pub log_truncated: bool,
    /// Bytes of output so far, retained or not.
    pub output_bytes: u64,
    /// The retained raw output, if it was asked for.
    pub history: Option<Vec<u8>>,
}

/// The journal as it stands, the state that goes with it, and the bells that ring when there is more. All of one moment.
#[derive(Debug)]
pub struct Watch {
    /// Where the journal ends.
    pub end: Cursor,
    /// What is known at that point.
    pub facts: Facts,
    /// The screen at that point, if one is kept.
    pub shown: Option<Shown>,
    /// The number of the newest event.
    pub events: watch::Receiver<u64>,
    /// The number of the newest frame.
    pub frames: watch::Receiver<u64>,
    /// Keeps a UI that runs on demand, if the screen is watched.
    pub screen_use: Option<ScreenUse>,
}

/// Keeps a UI that runs on demand for as long as it is held.
#[derive(Debug, Clone, Default)]
pub struct ScreenUse(Arc<()>);

impl ScreenUse {
    /// True if somebody else holds it too.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Request {
    /// The caller's id and what it stands for, if this is a command with an id.
    pub fn named(&self) -> Option<&request::Request> {
        match self {
            Self::Type { request, .. }
            | Self::Interrupt { request, .. }
            | Self::Resize { request, .. }
            | Self::Signal { request, .. }
            | Self::Mark { request, .. } => request.as_ref(),
            _ => None,
        }
    }

    /// True for what is answered with [`Done`] or [`Refusal`].
    pub fn is_command(&self) -> bool {
        matches!(
            self,
            Self::Type { .. }
                | Self::Interrupt { .. }
                | Self::Keyboard { .. }
                | Self::Resize { .. }
                | Self::Signal { .. }
                | Self::Mark { .. }
        )
    }

    /// The way back of a command.
    pub fn into_reply(self) -> Option<oneshot::Sender<Result<Done, Refusal>>> {
        match self {
            Self::Type { reply, .. }
            | Self::Interrupt { reply, .. }
            | Self::Keyboard { reply, .. }
            | Self::Resize { reply, .. }
            | Self::Signal { reply, .. }
            | Self::Mark { reply, .. } => Some(reply),
            _ => None,
        }
    }
}

/// What is known beside the screen.
#[derive(Debug, Clone)]
pub struct Facts {
    /// wh's own id for the session.
    pub id: String,
    /// What runs.
    pub command: Vec<String>,
    /// Its process id.
    pub pid: Option<i32>,
    /// How it fares.
    pub status: Status,
    /// Since when.
    pub since: SystemTime,
    /// The terminal's size.
    pub size: Size,
    /// Whether a person's terminal is attached.
    pub attached: bool,
    /// The window title.
    pub title: Option<String>,
    /// Whether the alternate screen is shown.
    pub alternate_screen: bool,
    /// What the program told its terminal.
    pub reports: Reports,
    /// Bytes that it has written.
    pub output_bytes: u64,
    /// Frames so far.
    pub frames_rendered: u64,
    /// Waits that are open.
    pub open_waits: usize,
    /// Bytes that wait for it.
    pub queued_input: usize,
    /// Bytes that doors have typed to it.
    pub typed_bytes: u64,
    /// How long it took from typing to the next frame.
    pub input_to_frame: Histogram,
}

/// How a wait ended, and the screen's last lines if it did not match.
#[derive(Debug, Clone)]
pub struct WaitEnd {
    /// How.
    pub waited: Waited,
    /// The last lines that are not blank.
    pub screen: Vec<String>,
}
