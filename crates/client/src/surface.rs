//! The handle on a surface in the same process.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use wh_core::condition::Condition;
use wh_core::event::{Cursor, FellOut, Numbered};
use wh_core::input::Gesture;
use wh_core::receipt::Receipt;
use wh_core::request::{self, RequestId};
use wh_core::session::{AnswerAt, Done, Refusal};
use wh_core::terminal::{SignalTarget, Size};

use crate::request::{Attachment, Facts, Look, Request, Shown, WaitEnd, Watch};
use crate::subscription::{Start, Subscription};

/// Requests that may wait for a busy surface. Beyond that the asker waits in turn.
const REQUESTS: usize = 64;

/// Whoever served the surface is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session is gone")]
pub struct Gone;

/// Why a command has no answer of the usual kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nobody is there to answer.
    #[error(transparent)]
    Gone(#[from] Gone),
}

/// What can be looked at and typed into.
#[derive(Debug, Clone)]
pub struct Surface(mpsc::Sender<Request>);

impl Surface {
    /// A surface, and the requests that its server must answer.
    pub fn new() -> (Self, mpsc::Receiver<Request>) {
        let (sender, receiver) = mpsc::channel(REQUESTS);
        (Self(sender), receiver)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.0.send(request(reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Passes on what another surface was asked, with the way back for its answer.
    pub async fn pass(&self, request: Request) -> Result<(), Gone> {
        self.0.send(request).await.map_err(|_| Gone)
    }

    /// Types, presses, pastes, points. Answered at once, or when all of it is delivered or lost.
    pub async fn type_in(
        &self,
        gestures: Vec<Gesture>,
        request: Option<request::Request>,
        answer: AnswerAt,
    ) -> Result<Done, Unanswered> {
        Ok(self.ask(|reply| Request::Type { gestures, request, answer, reply }).await??)
    }

    /// Interrupts the program as Ctrl-C does, past all input that it has not read: that is discarded, and its callers are
    /// told. Then types `then` once the program has handled the interrupt. Answered when all of it is delivered or lost,
    /// which takes as long as a program without signals does not read; dropping the future does not take it back.
    pub async fn interrupt(&self, then: Vec<Gesture>, request: Option<request::Request>) -> Result<Done, Unanswered> {
        Ok(self.ask(|reply| Request::Interrupt { then, request, reply }).await??)
    }

    /// Types bytes as they are: a keyboard elsewhere has made them, in the modes that the program has set. Returns once
    /// they are on their way; what became of them is on the screen.
    pub async fn keyboard(&self, bytes: Bytes) -> Result<(), Gone> {
        let (reply, _) = oneshot::channel();
        self.0.send(Request::Keyboard { bytes, reply }).await.map_err(|_| Gone)
    }

    /// Changes the size.
    pub async fn resize(&self, size: Size, request: Option<request::Request>) -> Result<Done, Unanswered> {
        Ok(self.ask(|reply| Request::Resize { size, request, reply }).await??)
    }

    /// Sends a signal.
    pub async fn signal(
        &self,
        number: u8,
        target: SignalTarget,
        request: Option<request::Request>,
    ) -> Result<Done, Unanswered> {
        Ok(self.ask(|reply| Request::Signal { number, target, request, reply }).await??)
    }

    /// Marks this moment, for those who watch and in the recording.
    pub async fn mark(&self, label: String, request: Option<request::Request>) -> Result<Done, Unanswered> {
        Ok(self.ask(|reply| Request::Mark { label, request, reply }).await??)
    }

    /// The screen.
    pub async fn look(&self, look: Look) -> Result<Shown, Gone> {
        self.ask(|reply| Request::Look { look, reply }).await
    }

    /// What became of a command that was given here.
    pub async fn receipt(&self, request_id: RequestId) -> Result<Option<Receipt>, Gone> {
        self.ask(|reply| Request::Receipt { request_id, reply }).await
    }

    /// What is known beside the screen.
    pub async fn facts(&self) -> Result<Facts, Gone> {
        self.ask(|reply| Request::Tell { reply }).await
    }

    /// Waits until `condition` holds. Dropping the future ends the wait.
    pub async fn wait(&self, condition: Condition, timeout: Duration) -> Result<WaitEnd, Unanswered> {
        Ok(self.ask(|reply| Request::Wait { condition, timeout, reply }).await??)
    }

    /// The journal as it stands; and the screen, if it is watched too.
    pub async fn watch(&self, screen: bool) -> Result<Watch, Gone> {
        self.ask(|reply| Request::Watch { screen, reply }).await
    }

    /// Some of what happened after `cursor`.
    pub async fn events(&self, after: Cursor) -> Result<Result<Vec<Arc<Numbered>>, FellOut>, Gone> {
        self.ask(|reply| Request::Events { after, reply }).await
    }

    /// Follows the journal: from `after` if that can still be had, else from now on, beginning with the state. With
    /// `screen` the frames are followed too.
    pub async fn subscribe(&self, after: Option<Cursor>, screen: bool) -> Result<(Start, Subscription), Gone> {
        Subscription::start(self.clone(), after, screen).await
    }

    /// Attaches a person's terminal.
    pub async fn attach(&self, attachment: Attachment) -> Result<(), Gone> {
        self.0.send(Request::Attach(attachment)).await.map_err(|_| Gone)
    }

    /// Ends the program and all that it started, in steps or at once.
    pub async fn end(&self, now: bool) -> Result<(), Gone> {
        self.0.send(Request::End { now }).await.map_err(|_| Gone)
    }
}
