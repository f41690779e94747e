//! Requests to a surface, with their reply channels.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use wh_core::condition::Condition;
use wh_core::event::{Cursor, CursorExpired, NumberedEvent};
use wh_core::histogram::Histogram;
use wh_core::input::Gesture;
use wh_core::receipt::Receipt;
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerTiming, InputAccepted, ProgramStatus, ScreenTiming, TerminalRefusal, WaitResult};
use wh_core::terminal::{SignalTarget, Size};
use wh_screen::frame::ScreenFrame;
use wh_screen::vt::TerminalReports;

use crate::space::Space;

/// Request of a [`Surface`](crate::Surface) to the task that serves its screen.
#[derive(Debug)]
pub enum SurfaceRequest {
    /// Type gestures as one command.
    Type {
        /// Gestures in order.
        gestures: Vec<Gesture>,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<request::FingerprintedId>,
        /// Stage at which the caller receives the reply.
        answer: AnswerTiming,
        /// True to type text even if a question of the agent is open on its screen.
        forced: bool,
        reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>>,
    },
    /// Reserve the keyboard. While the reservation is held, all other input waits.
    ReserveKeyboard { reply: oneshot::Sender<KeyboardReservation> },
    /// Type gestures under the reservation of the keyboard.
    TypeReserved { gestures: Vec<Gesture>, reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>> },
    /// Report the changes of a space, and evaluate conditions on it: the program is an agent in its own terminal UI.
    ShowSpace { space: Space, reply: oneshot::Sender<()> },
    /// Refuse typed text that is not forced, because a question of the agent is open on its screen.
    GuardText(bool),
    /// Discard unread input, interrupt the program, and type `then` once the program has handled the interrupt.
    Interrupt {
        /// Gestures to type after the interrupt; may be empty.
        then: Vec<Gesture>,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<request::FingerprintedId>,
        reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>>,
    },
    /// Type raw bytes that the caller has encoded for the current terminal modes of the program.
    Keyboard { bytes: Bytes, reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>> },
    /// Resize the terminal of the surface.
    Resize {
        size: Size,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<request::FingerprintedId>,
        reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>>,
    },
    /// Send a signal to a process group.
    Signal {
        number: u8,
        /// Process group that receives the signal.
        target: SignalTarget,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<request::FingerprintedId>,
        reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>>,
    },
    /// Publish a mark in the journal and in the recording.
    Mark {
        label: String,
        /// Request id and content fingerprint, if the caller gave an id.
        request: Option<request::FingerprintedId>,
        reply: oneshot::Sender<Result<InputAccepted, TerminalRefusal>>,
    },
    ReadScreen {
        /// Parts and timing of the read.
        read: ScreenReadOptions,
        reply: oneshot::Sender<ScreenSnapshot>,
    },
    /// Return the state of the session without its screen.
    Facts { reply: oneshot::Sender<SurfaceFacts> },
    /// Return the receipt of a command.
    Receipt {
        request_id: RequestId,
        /// Reply channel; receives `None` if the command is unknown.
        reply: oneshot::Sender<Option<Receipt>>,
    },
    /// Wait until a condition is true.
    Wait {
        condition: Condition,
        timeout: Duration,
        /// Reply channel. The caller closes it to end the wait.
        reply: oneshot::Sender<Result<WaitEnd, TerminalRefusal>>,
    },
    /// Return the cursor of the newest event, the state at that point, and change notifications.
    Watch {
        /// True if the caller watches the screen. A UI that was started on demand then keeps running while
        /// [`SurfaceWatch::screen_use`] is held.
        screen: bool,
        reply: oneshot::Sender<SurfaceWatch>,
    },
    /// Return the events after a cursor.
    Events {
        /// Last event that the caller has seen.
        after: Cursor,
        reply: oneshot::Sender<Result<Vec<Arc<NumberedEvent>>, CursorExpired>>,
    },
    /// Attach a user's terminal to the program.
    Attach(TerminalAttachment),
    /// End the program and all of its processes.
    End {
        /// True to kill the processes at once; false to ask them to exit first.
        now: bool,
    },
}

/// Attachment of a user's terminal, which receives all program output and sends typed input to the program.
#[derive(Debug)]
pub struct TerminalAttachment {
    pub size: Size,
    /// Channel for output to the terminal. While the channel is full, the program blocks, as with any slow terminal.
    pub output: mpsc::Sender<UserTerminalMessage>,
    /// Channel of typed input. Applies backpressure to the user while the program does not read.
    pub input: mpsc::Receiver<Bytes>,
    /// Channel of other events of the terminal. Closed when the terminal is detached.
    pub changes: mpsc::Receiver<UserTerminalEvent>,
}

/// Message to a user's terminal.
#[derive(Debug)]
pub enum UserTerminalMessage {
    /// Output of the program.
    Output(Bytes),
    /// The program was stopped, for example by Ctrl-Z: return to the user's shell.
    Stopped,
}

/// Event of a user's terminal other than typed input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserTerminalEvent {
    /// The window was resized.
    Resized(Size),
    /// The user's shell has continued wh: continue the stopped program.
    Continue,
}

/// Parts and timing of a screen read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScreenReadOptions {
    /// True to include the retained raw output.
    pub history: bool,
    /// Selects the last complete frame or the current screen.
    pub timing: ScreenTiming,
}

/// Result of a screen read.
#[derive(Debug, Clone)]
pub struct ScreenSnapshot {
    /// Content of the screen. Shared between all reads until it changes.
    pub frame: Arc<ScreenFrame>,
    /// Number of frames so far.
    pub frames_rendered: u64,
    /// Time of the last complete frame; before the first, the creation time of the blank screen.
    pub last_frame: SystemTime,
    /// Number of characters of raw output that are retained.
    pub log_characters: usize,
    /// True if older output was dropped.
    pub log_truncated: bool,
    /// Bytes of output so far, retained or not.
    pub output_bytes: u64,
    /// Retained raw output, if requested.
    pub history: Option<Vec<u8>>,
}

/// Watch on a surface: newest cursor of its journal, state at that point, and change notifications, all read
/// atomically.
#[derive(Debug)]
pub struct SurfaceWatch {
    /// Cursor of the newest event.
    pub end: Cursor,
    /// Facts at that point.
    pub facts: SurfaceFacts,
    /// Screen at that point, if there is one.
    pub shown: Option<ScreenSnapshot>,
    /// Watch channel with the number of the newest event.
    pub events: watch::Receiver<u64>,
    /// Watch channel with the number of the newest frame.
    pub frames: watch::Receiver<u64>,
    /// Watch channel with the number of inputs that were typed so far.
    pub typed: watch::Receiver<u64>,
    /// Guard that keeps a UI running that was started on demand. Present if the caller watches the screen.
    pub screen_use: Option<ScreenUseGuard>,
}

/// Reservation of the keyboard of a surface. Dropping it releases the keyboard.
#[derive(Debug)]
pub struct KeyboardReservation(
    #[expect(dead_code, reason = "dropping the sender releases the keyboard")] oneshot::Sender<Infallible>,
);

impl KeyboardReservation {
    /// Creates a reservation, and the receiver that is closed when the reservation is released.
    pub fn new() -> (Self, oneshot::Receiver<Infallible>) {
        let (held, released) = oneshot::channel();
        (Self(held), released)
    }
}

/// Guard that keeps a UI running that was started on demand. The UI runs while any clone of the guard is held.
#[derive(Debug, Clone, Default)]
pub struct ScreenUseGuard(Arc<()>);

impl ScreenUseGuard {
    /// True if the guard has another holder.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl SurfaceRequest {
    /// Returns the request id and content fingerprint of a command; `None` if the command has no id.
    pub fn named(&self) -> Option<&request::FingerprintedId> {
        match self {
            Self::Type { request, .. }
            | Self::Interrupt { request, .. }
            | Self::Resize { request, .. }
            | Self::Signal { request, .. }
            | Self::Mark { request, .. } => request.as_ref(),
            _ => None,
        }
    }

    /// True if the reply to the request is an acceptance or a refusal.
    pub fn is_command(&self) -> bool {
        matches!(
            self,
            Self::Type { .. }
                | Self::TypeReserved { .. }
                | Self::Interrupt { .. }
                | Self::Keyboard { .. }
                | Self::Resize { .. }
                | Self::Signal { .. }
                | Self::Mark { .. }
        )
    }

    /// Returns the reply channel of a command; `None` for other requests.
    pub fn into_reply(self) -> Option<oneshot::Sender<Result<InputAccepted, TerminalRefusal>>> {
        match self {
            Self::Type { reply, .. }
            | Self::TypeReserved { reply, .. }
            | Self::Interrupt { reply, .. }
            | Self::Keyboard { reply, .. }
            | Self::Resize { reply, .. }
            | Self::Signal { reply, .. }
            | Self::Mark { reply, .. } => Some(reply),
            _ => None,
        }
    }
}

/// State of a session without its screen.
#[derive(Debug, Clone)]
pub struct SurfaceFacts {
    pub id: String,
    /// Command line of the program.
    pub command: Vec<String>,
    /// Process id of the program.
    pub pid: Option<i32>,
    pub status: ProgramStatus,
    /// Time of the last status change.
    pub since: SystemTime,
    pub size: Size,
    /// True if a user's terminal is attached.
    pub attached: bool,
    pub title: Option<String>,
    /// True if the alternate screen is shown.
    pub alternate_screen: bool,
    /// Reports of the program to its terminal: directory, notification, progress, shell mark and bells.
    pub reports: TerminalReports,
    /// Bytes written by the program.
    pub output_bytes: u64,
    /// Number of frames so far.
    pub frames_rendered: u64,
    /// Number of clients that wait for a condition.
    pub open_waits: usize,
    /// Bytes of queued input.
    pub queued_input: usize,
    /// Bytes typed by clients.
    pub typed_bytes: u64,
    /// Time from typing to the next frame.
    pub input_to_frame: Histogram,
}

/// Result of a wait, with the last lines of the screen if the condition did not match.
#[derive(Debug, Clone)]
pub struct WaitEnd {
    /// Outcome of the wait.
    pub waited: WaitResult,
    /// Last lines of the screen that are not blank.
    pub screen: Vec<String>,
}
