//! Handle on a surface: a screen that can be read and typed into, served by a task of the same process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use wh_core::condition::Condition;
use wh_core::event::{Cursor, CursorExpired, NumberedEvent};
use wh_core::input::Gesture;
use wh_core::receipt::Receipt;
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerTiming, InputAccepted, TerminalRefusal};
use wh_core::terminal::{SignalTarget, Size};

use crate::request::{
    KeyboardReservation, ScreenReadOptions, ScreenSnapshot, SurfaceFacts, SurfaceRequest, SurfaceWatch,
    TerminalAttachment, WaitEnd,
};
use crate::space::Space;
use crate::subscription::{Subscription, SubscriptionStart};

/// Maximum number of requests queued for a busy surface. Further callers wait.
const MAX_QUEUED_SURFACE_REQUESTS: usize = 64;

/// Error of a request: the task that served the surface or space has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionGone;

/// Reason why a command was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceError {
    /// The command was refused.
    #[error(transparent)]
    Refused(#[from] TerminalRefusal),
    /// The session has ended.
    #[error(transparent)]
    Gone(#[from] SessionGone),
}

/// Handle on a screen that can be read and typed into.
#[derive(Debug, Clone)]
pub struct Surface(mpsc::Sender<SurfaceRequest>);

impl Surface {
    /// Creates a surface, and the receiver of its requests for the task that serves it.
    pub fn new() -> (Self, mpsc::Receiver<SurfaceRequest>) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_SURFACE_REQUESTS);
        (Self(sender), receiver)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> SurfaceRequest) -> Result<T, SessionGone> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| SessionGone)?;
        answer.await.map_err(|_| SessionGone)
    }

    /// Forwards a request that another surface has received, with its reply channel.
    pub async fn pass(&self, request: SurfaceRequest) -> Result<(), SessionGone> {
        self.0.send(request).await.map_err(|_| SessionGone)
    }

    /// Types gestures: text, keys, pastes and mouse events. Depending on `answer`, returns at once, or when all
    /// gestures are delivered or lost.
    pub async fn type_in(
        &self,
        gestures: Vec<Gesture>,
        request: Option<request::FingerprintedId>,
        answer: AnswerTiming,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Type { gestures, request, answer, forced: false, reply }).await??)
    }

    /// Types gestures like [`type_in`](Self::type_in), even if a question of the agent is open on its screen.
    pub async fn type_forced(
        &self,
        gestures: Vec<Gesture>,
        request: Option<request::FingerprintedId>,
        answer: AnswerTiming,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Type { gestures, request, answer, forced: true, reply }).await??)
    }

    /// Reserves the keyboard: until the reservation is dropped, all input except [`type_reserved`](Self::type_reserved)
    /// waits. Waits while the keyboard is reserved by another caller.
    pub async fn reserve_keyboard(&self) -> Result<KeyboardReservation, SessionGone> {
        self.ask(|reply| SurfaceRequest::ReserveKeyboard { reply }).await
    }

    /// Types gestures under the reservation of the keyboard. Returns when all gestures are delivered or lost.
    pub async fn type_reserved(
        &self,
        _reservation: &KeyboardReservation,
        gestures: Vec<Gesture>,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::TypeReserved { gestures, reply }).await??)
    }

    /// Makes the terminal show a space: conditions on the conversation are evaluated, and its events are published.
    pub async fn show_space(&self, space: Space) -> Result<(), SessionGone> {
        self.ask(|reply| SurfaceRequest::ShowSpace { space, reply }).await
    }

    /// Refuses typed text that is not forced while `guarded` is set. Keys are typed in any case.
    pub async fn guard_text(&self, guarded: bool) -> Result<(), SessionGone> {
        self.0.send(SurfaceRequest::GuardText(guarded)).await.map_err(|_| SessionGone)
    }

    /// Discards all unread input, notifies the callers that typed it, and interrupts the program like Ctrl-C. Types
    /// `then` once the program has handled the interrupt. Returns when the interrupt and `then` are delivered or lost,
    /// which may take until the program reads its input. Dropping the future does not cancel the interrupt.
    pub async fn interrupt(
        &self,
        then: Vec<Gesture>,
        request: Option<request::FingerprintedId>,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Interrupt { then, request, reply }).await??)
    }

    /// Types raw bytes that the caller has encoded for the current terminal modes of the program. Returns once the
    /// request is queued.
    pub async fn keyboard(&self, bytes: Bytes) -> Result<(), SessionGone> {
        let (reply, _) = oneshot::channel();
        self.0.send(SurfaceRequest::Keyboard { bytes, reply }).await.map_err(|_| SessionGone)
    }

    /// Resizes the terminal of the surface.
    pub async fn resize(
        &self,
        size: Size,
        request: Option<request::FingerprintedId>,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Resize { size, request, reply }).await??)
    }

    /// Sends a signal to the process group of the program, or to the foreground process group.
    pub async fn signal(
        &self,
        number: u8,
        target: SignalTarget,
        request: Option<request::FingerprintedId>,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Signal { number, target, request, reply }).await??)
    }

    /// Publishes a mark in the journal and in the recording.
    pub async fn mark(
        &self,
        label: String,
        request: Option<request::FingerprintedId>,
    ) -> Result<InputAccepted, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Mark { label, request, reply }).await??)
    }

    pub async fn read_screen(&self, look: ScreenReadOptions) -> Result<ScreenSnapshot, SessionGone> {
        self.ask(|reply| SurfaceRequest::ReadScreen { read: look, reply }).await
    }

    /// Returns the receipt of a command sent through this surface.
    pub async fn receipt(&self, request_id: RequestId) -> Result<Option<Receipt>, SessionGone> {
        self.ask(|reply| SurfaceRequest::Receipt { request_id, reply }).await
    }

    /// Returns the state of the session without its screen.
    pub async fn facts(&self) -> Result<SurfaceFacts, SessionGone> {
        self.ask(|reply| SurfaceRequest::Facts { reply }).await
    }

    /// Waits until `condition` is true or the timeout expires. Dropping the future ends the wait.
    pub async fn wait(&self, condition: Condition, timeout: Duration) -> Result<WaitEnd, SurfaceError> {
        Ok(self.ask(|reply| SurfaceRequest::Wait { condition, timeout, reply }).await??)
    }

    /// Returns the cursor of the newest event, the state at that point, and change notifications. If `screen` is true,
    /// a UI that was started on demand keeps running while [`SurfaceWatch::screen_use`] is held.
    pub async fn watch(&self, screen: bool) -> Result<SurfaceWatch, SessionGone> {
        self.ask(|reply| SurfaceRequest::Watch { screen, reply }).await
    }

    /// Returns a limited number of events after the cursor, oldest first.
    pub async fn events(&self, after: Cursor) -> Result<Result<Vec<Arc<NumberedEvent>>, CursorExpired>, SessionGone> {
        self.ask(|reply| SurfaceRequest::Events { after, reply }).await
    }

    /// Subscribes to the journal. Continues after the cursor `after` if its events are still available; otherwise
    /// begins with the current state. If `screen` is true, a UI that was started on demand keeps running, as in
    /// [`watch`](Self::watch).
    pub async fn subscribe(
        &self,
        after: Option<Cursor>,
        screen: bool,
    ) -> Result<(SubscriptionStart, Subscription), SessionGone> {
        Subscription::start(self.clone(), after, screen).await
    }

    /// Attaches a user's terminal to the program.
    pub async fn attach(&self, attachment: TerminalAttachment) -> Result<(), SessionGone> {
        self.0.send(SurfaceRequest::Attach(attachment)).await.map_err(|_| SessionGone)
    }

    /// Ends the program and all of its processes. If `now` is true, kills them at once; otherwise asks them to exit
    /// first.
    pub async fn end(&self, now: bool) -> Result<(), SessionGone> {
        self.0.send(SurfaceRequest::End { now }).await.map_err(|_| SessionGone)
    }
}
