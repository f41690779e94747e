//! Queue of frames to the agent. Frames are written one at a time and in order, so an interrupt never overtakes the
//! prompt before it. A queued frame whose deadline passes is dropped, unless it is an answer.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::HarnessKey;
use wh_pipe::link::{Codec, Link, LinkError};

use super::protocol::{AgentSetting, Protocol, ProtocolFrame};
use crate::interface::BoxFuture;

/// Maximum number of queued frames. A full queue means that the agent does not read its input. The driver then stops
/// processing orders and messages.
const MAX_QUEUED: usize = 64;

/// Timeout for the agent to read an answer or the request for a model or mode change.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Purpose of a frame, stored to handle its outcome and reply.
pub(crate) enum FramePurpose<P: Protocol> {
    /// Prompt of a turn.
    Prompt(TurnId),
    /// Interrupt of a turn; `None` for other work of the agent.
    Interrupt(Option<TurnId>),
    /// Answer to the question with this key.
    Answer(HarnessKey),
    /// Model or mode change. `ordered` is true if a client waits for the outcome.
    Choice { setting: AgentSetting, ordered: bool },
    /// Request that is specific to the protocol.
    Own(P::Tag),
    /// Frame whose outcome is ignored.
    None,
}

impl<P: Protocol> FramePurpose<P> {
    fn deadline(&self, now: Instant) -> Option<Instant> {
        matches!(self, Self::Answer(_) | Self::Choice { .. }).then(|| now + READ_TIMEOUT)
    }
}

struct QueuedFrame<P: Protocol> {
    frame: ProtocolFrame<P>,
    purpose: FramePurpose<P>,
    deadline: Option<Instant>,
}

/// Frame that is being written.
struct WritingFrame<P: Protocol> {
    id: Option<<P::Codec as Codec>::Id>,
    purpose: FramePurpose<P>,
    deadline: Option<Instant>,
    written: BoxFuture<'static, Result<bool, LinkError>>,
}

/// Frame that has left the outbox, either written or failed.
pub(crate) struct FinishedFrame<P: Protocol> {
    pub purpose: FramePurpose<P>,
    /// Request id, if the frame is a request and was written.
    pub id: Option<<P::Codec as Codec>::Id>,
    pub outcome: WriteOutcome,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    Written,
    /// The frame answers a question that is no longer open.
    NotOpen,
    /// The agent did not read the frame in time. An answer or a partly written frame is still written when the agent
    /// reads again.
    NotReading,
    /// The frame cannot be encoded as a line.
    Unwritable(String),
    /// The agent has exited. Contains the reason.
    Gone(String),
}

/// Queue of frames to one process.
pub(crate) struct Outbox<P: Protocol> {
    queue: VecDeque<QueuedFrame<P>>,
    writing: Option<WritingFrame<P>>,
}

impl<P: Protocol> Outbox<P> {
    pub fn new() -> Self {
        Self { queue: VecDeque::new(), writing: None }
    }

    /// Returns true if the queue is full. The driver must then not process input that may queue frames.
    pub fn is_full(&self) -> bool {
        self.queue.len() >= MAX_QUEUED
    }

    pub fn push(&mut self, frame: ProtocolFrame<P>, purpose: FramePurpose<P>, now: Instant) {
        let deadline = purpose.deadline(now);
        self.queue.push_back(QueuedFrame { frame, purpose, deadline });
    }

    /// Drops the queued prompt of a turn and its interrupt, unless the prompt is partly written.
    pub fn discard(&mut self, turn: &TurnId) {
        let count = self.queue.len();
        self.queue.retain(|entry| !matches!(&entry.purpose, FramePurpose::Prompt(prompt) if prompt == turn));
        if self.queue.len() < count {
            // The interrupt of the discarded prompt is dropped too. Otherwise it would stop the next prompt.
            self.queue.retain(|entry| !matches!(&entry.purpose, FramePurpose::Interrupt(Some(of)) if of == turn));
        }
    }

    /// Empties the outbox and returns the purposes of all unwritten frames.
    pub fn drain(&mut self) -> Vec<FramePurpose<P>> {
        let writing = self.writing.take().map(|writing| writing.purpose);
        writing.into_iter().chain(self.queue.drain(..).map(|entry| entry.purpose)).collect()
    }

    /// Returns true if no frame is queued or being written.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.writing.is_none()
    }

    /// Takes the purpose of the request that is being written. Called if the reply arrives before the write is reported
    /// as complete.
    pub fn take_early(&mut self, id: &<P::Codec as Codec>::Id) -> Option<FramePurpose<P>> {
        let writing = self.writing.as_mut().filter(|writing| writing.id.as_ref() == Some(id))?;
        Some(std::mem::replace(&mut writing.purpose, FramePurpose::None))
    }

    /// Takes the frame whose write has just completed. Called when the process ends, because the end may be reported
    /// before the completed write.
    pub fn take_written(&mut self) -> Option<FinishedFrame<P>> {
        let writing = self.writing.as_mut()?;
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(true)) = writing.written.as_mut().poll(&mut context) else { return None };
        let WritingFrame { id, purpose, .. } = self.writing.take()?;
        Some(FinishedFrame { purpose, id, outcome: WriteOutcome::Written })
    }

    /// Waits until a frame leaves the outbox. Cancel safe.
    pub async fn next(&mut self, link: &Link<P::Codec>) -> FinishedFrame<P> {
        loop {
            if let Some(writing) = &mut self.writing {
                let outcome = tokio::select! {
                    biased;
                    written = &mut writing.written => match written {
                        Ok(true) => WriteOutcome::Written,
                        Ok(false) => WriteOutcome::NotOpen,
                        Err(gone) => WriteOutcome::Gone(gone.to_string()),
                    },
                    // The frame is still written if the agent reads again, but its outcome is no longer needed.
                    () = until(writing.deadline) => {
                        writing.deadline = None;
                        let purpose = std::mem::replace(&mut writing.purpose, FramePurpose::None);
                        return FinishedFrame { purpose, id: None, outcome: WriteOutcome::NotReading };
                    }
                    () = until(self.queue.iter().filter_map(|entry| entry.deadline).min()) => {
                        match self.take_late() {
                            Some(purpose) => return FinishedFrame { purpose, id: None, outcome: WriteOutcome::NotReading },
                            None => continue,
                        }
                    }
                };
                let Some(WritingFrame { id, purpose, .. }) = self.writing.take() else { continue };
                return FinishedFrame { purpose, id, outcome };
            }
            let Some(QueuedFrame { frame, purpose, deadline }) = self.queue.pop_front() else {
                return std::future::pending().await;
            };
            match link.encode(frame) {
                Ok(outbound) => {
                    let id = outbound.id().cloned();
                    self.writing =
                        Some(WritingFrame { id, purpose, deadline, written: Box::pin(link.write(outbound)) });
                }
                Err(error) => {
                    return FinishedFrame { purpose, id: None, outcome: WriteOutcome::Unwritable(error.to_string()) };
                }
            }
        }
    }

    fn take_late(&mut self) -> Option<FramePurpose<P>> {
        let now = Instant::now();
        let place = self.queue.iter().position(|entry| entry.deadline.is_some_and(|deadline| deadline <= now))?;
        match self.queue.get_mut(place) {
            // Clients consider the question closed. Without the answer, the agent would wait forever.
            Some(entry) if matches!(entry.purpose, FramePurpose::Answer(_)) => {
                entry.deadline = None;
                Some(std::mem::replace(&mut entry.purpose, FramePurpose::None))
            }
            _ => self.queue.remove(place).map(|entry| entry.purpose),
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
