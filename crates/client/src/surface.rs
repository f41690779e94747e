//! Handle on a surface in the same process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use wh_core::condition::Condition;
use wh_core::event::{Cursor, CursorExpired, NumberedEvent};
use wh_core::input::Gesture;
use wh_core::receipt::Receipt;
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerAt, InputAccepted, Refusal};
use wh_core::terminal::{SignalTarget, Size};

use crate::request::{Attachment, ScreenRead, ScreenSnapshot, SurfaceFacts, SurfaceRequest, SurfaceWatch, WaitEnd};
use crate::subscription::{Subscription, SubscriptionStart};

/// Requests that may be queued for a busy surface; further callers wait.
const MAX_QUEUED_SURFACE_REQUESTS: usize = 64;

/// The task that served the surface has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub struct Gone;

/// Reason why a command has no regular answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The command was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The session has ended.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// A screen that can be read and typed into.
#[derive(Debug, Clone)]
pub struct Surface(mpsc::Sender<SurfaceRequest>);

impl Surface {
    /// Creates a surface and the channel of requests that its server must answer.
    pub fn new() -> (Self, mpsc::Receiver<SurfaceRequest>) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_SURFACE_REQUESTS);
        (Self(sender), receiver)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> SurfaceRequest) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Forwards a request of another surface, with its reply channel.
    pub async fn pass(&self, request: SurfaceRequest) -> Result<(), Gone> {
        self.0.send(request).await.map_err(|_| Gone)
    }

    /// Types gestures: text, keys, pastes and mouse events. Answered at once, or when all of it is delivered or lost.
    pub async fn type_in(
        &self,
        gestures: Vec<Gesture>,
        request: Option<request::Request>,
        answer: AnswerAt,
    ) -> Result<InputAccepted, Unanswered> {
        Ok(self.ask(|reply| SurfaceRequest::Type { gestures, request, answer, reply }).await??)
    }

    /// Interrupts the program like Ctrl-C, after discarding all unread input, whose callers are notified. Types `then`
    /// once the program has handled the interrupt. Answered when all of it is delivered or lost, which may take until
    /// the program reads. Dropping the future does not cancel it.
    pub async fn interrupt(
        &self,
        then: Vec<Gesture>,
        request: Option<request::Request>,
    ) -> Result<InputAccepted, Unanswered> {
        Ok(self.ask(|reply| SurfaceRequest::Interrupt { then, request, reply }).await??)
    }

    /// Types raw bytes, encoded elsewhere for the program's current modes. Returns once they are queued.
    pub async fn keyboard(&self, bytes: Bytes) -> Result<(), Gone> {
        let (reply, _) = oneshot::channel();
        self.0.send(SurfaceRequest::Keyboard { bytes, reply }).await.map_err(|_| Gone)
    }

    /// Changes the size.
    pub async fn resize(&self, size: Size, request: Option<request::Request>) -> Result<InputAccepted, Unanswered> {
        Ok(self.ask(|reply| SurfaceRequest::Resize { size, request, reply }).await??)
    }

    /// Sends a signal.
    pub async fn signal(
        &self,
        number: u8,
        target: SignalTarget,
        request: Option<request::Request>,
    ) -> Result<InputAccepted, Unanswered> {
        Ok(self.ask(|reply| SurfaceRequest::Signal { number, target, request, reply }).await??)
    }

    /// Publishes a mark in the journal and in the recording.
    pub async fn mark(&self, label: String, request: Option<request::Request>) -> Result<InputAccepted, Unanswered> {
        Ok(self.ask(|reply| SurfaceRequest::Mark { label, request, reply }).await??)
    }

    /// Reads the screen.
    pub async fn read_screen(&self, look: ScreenRead) -> Result<ScreenSnapshot, Gone> {
        self.ask(|reply| SurfaceRequest::ReadScreen { read: look, reply }).await
    }

    /// Returns the receipt of a command sent through this surface.
    pub async fn receipt(&self, request_id: RequestId) -> Result<Option<Receipt>, Gone> {
        self.ask(|reply| SurfaceRequest::Receipt { request_id, reply }).await
    }

    /// Returns the facts of the session.
    pub async fn facts(&self) -> Result<SurfaceFacts, Gone> {
        self.ask(|reply| SurfaceRequest::Facts { reply }).await
    }

    /// Waits until `condition` holds. Dropping the future ends the wait.
    pub async fn wait(&self, condition: Condition, timeout: Duration) -> Result<WaitEnd, Unanswered> {
        Ok(self.ask(|reply| SurfaceRequest::Wait { condition, timeout, reply }).await??)
    }

    /// Returns the end of the journal with change notifications. If `screen` is true, the screen counts as watched,
    /// too.
    pub async fn watch(&self, screen: bool) -> Result<SurfaceWatch, Gone> {
        self.ask(|reply| SurfaceRequest::Watch { screen, reply }).await
    }

    /// Returns the first events after the cursor, a limited number.
    pub async fn events(&self, after: Cursor) -> Result<Result<Vec<Arc<NumberedEvent>>, CursorExpired>, Gone> {
        self.ask(|reply| SurfaceRequest::Events { after, reply }).await
    }

    /// Subscribes to the journal: after `after` if those events are still available, otherwise from now on, beginning
    /// with the state. If `screen` is true, frames are watched, too.
    pub async fn subscribe(
        &self,
        after: Option<Cursor>,
        screen: bool,
    ) -> Result<(SubscriptionStart, Subscription), Gone> {
        Subscription::start(self.clone(), after, screen).await
    }

    /// Attaches a user's terminal.
    pub async fn attach(&self, attachment: Attachment) -> Result<(), Gone> {
        self.0.send(SurfaceRequest::Attach(attachment)).await.map_err(|_| Gone)
    }

    /// Ends the program and all of its processes, in steps or at once.
    pub async fn end(&self, now: bool) -> Result<(), Gone> {
        self.0.send(SurfaceRequest::End { now }).await.map_err(|_| Gone)
    }
}
