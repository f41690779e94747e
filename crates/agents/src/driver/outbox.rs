//! Frames on their way to the agent, in the order in which they were queued. One is written at a time, so an interrupt
//! never overtakes the prompt before it. A frame whose deadline passes before its turn comes is not written at all.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;
use wh_core::space::TurnId;
use wh_core::space::harness::Key;
use wh_pipe::link::{Codec, Gone, Link};

use super::protocol::{FrameOf, Protocol, Setting};
use crate::port::BoxFuture;

/// Frames that may wait. Beyond that neither orders nor messages of the agent are taken: one that does not read is not read.
const MAX_QUEUED: usize = 64;

/// Time in which the agent has to read a frame that a person waits for.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Reason for a frame.
pub(crate) enum Purpose<P: Protocol> {
    /// The prompt of a turn.
    Prompt(TurnId),
    /// The interrupt of a turn, or with `None` of the agent's own work.
    Interrupt(Option<TurnId>),
    /// The answer to the question with this key.
    Answer(Key),
    /// Another model or mode. `ordered`: somebody waits for the outcome.
    Choice { setting: Setting, ordered: bool },
    /// A request of the protocol's own.
    Own(P::Tag),
    /// Nobody waits for an outcome.
    None,
}

impl<P: Protocol> Purpose<P> {
    fn deadline(&self, now: Instant) -> Option<Instant> {
        matches!(self, Self::Answer(_) | Self::Choice { .. }).then(|| now + READ_TIMEOUT)
    }
}

struct Entry<P: Protocol> {
    frame: FrameOf<P>,
    purpose: Purpose<P>,
    deadline: Option<Instant>,
}

/// The frame that is being written.
struct Writing<P: Protocol> {
    id: Option<<P::Codec as Codec>::Id>,
    purpose: Purpose<P>,
    deadline: Option<Instant>,
    written: BoxFuture<'static, Result<bool, Gone>>,
}

/// A frame that has left the outbox.
pub(crate) struct Left<P: Protocol> {
    pub purpose: Purpose<P>,
    /// The id of the request that it is, if it is one and was written.
    pub id: Option<<P::Codec as Codec>::Id>,
    pub outcome: Outcome,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Written,
    /// It answers a question that is not open any more.
    NotOpen,
    /// The agent has not read it in time. An answer, and a frame that is written in part, are still written when it does.
    NotReading,
    /// It cannot be written as a line.
    Unwritable(String),
    /// The agent is gone.
    Gone(String),
}

/// The outbox of one process.
pub(crate) struct Outbox<P: Protocol> {
    queue: VecDeque<Entry<P>>,
    writing: Option<Writing<P>>,
}

impl<P: Protocol> Outbox<P> {
    pub fn new() -> Self {
        Self { queue: VecDeque::new(), writing: None }
    }

    /// True if nothing more should be taken that could be queued.
    pub fn is_full(&self) -> bool {
        self.queue.len() >= MAX_QUEUED
    }

    pub fn push(&mut self, frame: FrameOf<P>, purpose: Purpose<P>, now: Instant) {
        let deadline = purpose.deadline(now);
        self.queue.push_back(Entry { frame, purpose, deadline });
    }

    /// Drops the prompt of a turn if none of it is written.
    pub fn discard(&mut self, turn: &TurnId) {
        let count = self.queue.len();
        self.queue.retain(|entry| !matches!(&entry.purpose, Purpose::Prompt(prompt) if prompt == turn));
        if self.queue.len() < count {
            // Its interrupt would hit the next prompt.
            self.queue.retain(|entry| !matches!(&entry.purpose, Purpose::Interrupt(Some(of)) if of == turn));
        }
    }

    /// The purposes of all frames that have not been written.
    pub fn drain(&mut self) -> Vec<Purpose<P>> {
        let writing = self.writing.take().map(|writing| writing.purpose);
        writing.into_iter().chain(self.queue.drain(..).map(|entry| entry.purpose)).collect()
    }

    /// True if nothing waits to be written.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.writing.is_none()
    }

    /// The request that is being written. Its reply may come before the system has reported that it was written.
    pub fn take_early(&mut self, id: &<P::Codec as Codec>::Id) -> Option<Purpose<P>> {
        let writing = self.writing.as_mut().filter(|writing| writing.id.as_ref() == Some(id))?;
        Some(std::mem::replace(&mut writing.purpose, Purpose::None))
    }

    /// The frame that has just been written, if its write is done: the end of the process may be seen first.
    pub fn take_written(&mut self) -> Option<Left<P>> {
        let writing = self.writing.as_mut()?;
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok(true)) = writing.written.as_mut().poll(&mut context) else { return None };
        let Writing { id, purpose, .. } = self.writing.take()?;
        Some(Left { purpose, id, outcome: Outcome::Written })
    }

    /// Waits for the next frame to leave. Cancel safe.
    pub async fn next(&mut self, link: &Link<P::Codec>) -> Left<P> {
        loop {
            if let Some(writing) = &mut self.writing {
                let outcome = tokio::select! {
                    biased;
                    written = &mut writing.written => match written {
                        Ok(true) => Outcome::Written,
                        Ok(false) => Outcome::NotOpen,
                        Err(gone) => Outcome::Gone(gone.to_string()),
                    },
                    // It is still written, should the agent read again; nobody waits for that.
                    () = until(writing.deadline) => {
                        writing.deadline = None;
                        let purpose = std::mem::replace(&mut writing.purpose, Purpose::None);
                        return Left { purpose, id: None, outcome: Outcome::NotReading };
                    }
                    () = until(self.queue.iter().filter_map(|entry| entry.deadline).min()) => {
                        match self.take_late() {
                            Some(purpose) => return Left { purpose, id: None, outcome: Outcome::NotReading },
                            None => continue,
                        }
                    }
                };
                let Some(Writing { id, purpose, .. }) = self.writing.take() else { continue };
                return Left { purpose, id, outcome };
            }
            let Some(Entry { frame, purpose, deadline }) = self.queue.pop_front() else {
                return std::future::pending().await;
            };
            match link.encode(frame) {
                Ok(outbound) => {
                    let id = outbound.id().cloned();
                    self.writing = Some(Writing { id, purpose, deadline, written: Box::pin(link.write(outbound)) });
                }
                Err(error) => return Left { purpose, id: None, outcome: Outcome::Unwritable(error.to_string()) },
            }
        }
    }

    fn take_late(&mut self) -> Option<Purpose<P>> {
        let now = Instant::now();
        let place = self.queue.iter().position(|entry| entry.deadline.is_some_and(|deadline| deadline <= now))?;
        match self.queue.get_mut(place) {
            // The question is closed for everybody else: an answer that is not written would leave the agent waiting.
            Some(entry) if matches!(entry.purpose, Purpose::Answer(_)) => {
                entry.deadline = None;
                Some(std::mem::replace(&mut entry.purpose, Purpose::None))
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
