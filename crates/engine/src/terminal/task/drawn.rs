//! Replies that wait for wh's own UI to draw: answers to typing until its effect is drawn, and looks until what had happened
//! in the space before is.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wh_client::{Drawn, Look, Shown};
use wh_core::session::Input;

use super::requests::Reply;
use super::{Answer, Task};

/// Reads of 4 KiB at most before whoever waits for a drawn frame is answered: more than a socket of the system's default size holds.
const DRAWN_READS: usize = 256;

/// An answer to typing, and whom it is for.
pub(super) type HeldAnswer = (oneshot::Sender<Answer>, Answer);

/// A look, and whom it is for.
pub(super) type HeldLook = (Look, oneshot::Sender<Shown>);

/// Time that a reply waits for the UI to draw: half a sequence of keys has no effect that could be drawn, and a person's
/// terminal may take nothing.
const DRAW_TIMEOUT: Duration = Duration::from_secs(1);

/// Replies that wait until the UI has drawn up to a mark, at most [`DRAW_TIMEOUT`]. Marks never decrease.
pub(super) struct Undrawn<T>(VecDeque<Held<T>>);

struct Held<T> {
    mark: u64,
    until: Instant,
    reply: T,
}

impl<T> Default for Undrawn<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Undrawn<T> {
    /// Keeps a reply until everything up to `mark` is drawn.
    pub fn hold(&mut self, mark: u64, reply: T) {
        self.0.push_back(Held { mark, until: Instant::now() + DRAW_TIMEOUT, reply });
    }

    /// Deadline of the first reply.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.front().map(|held| held.until)
    }

    /// Removes the replies whose deadline has passed.
    pub fn overdue(&mut self, now: Instant) -> Vec<T> {
        self.release(|held| held.until <= now)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the replies that waited for `mark` or less.
    pub fn shown(&mut self, mark: u64) -> Vec<T> {
        self.release(|held| held.mark <= mark)
    }

    fn release(&mut self, due: impl Fn(&Held<T>) -> bool) -> Vec<T> {
        let due = self.0.iter().take_while(|held| due(held)).count();
        self.0.drain(..due).map(|held| held.reply).collect()
    }
}

impl Task {
    /// The UI has drawn up to here: its output is read before anybody is told.
    pub(super) async fn drawn(&mut self, drawn: Drawn) {
        let mut buffer = [0; 4096];
        // Before a person's terminal is attached, and while it takes nothing, the output waits for it.
        let mut is_read = !self.reading.is_held();
        // The UI had drawn all of it before it said so: more than its line holds is of a later frame.
        for _ in 0..if is_read { DRAWN_READS } else { 0 } {
            if self.display.is_full() {
                is_read = false;
                break;
            }
            let Ok(Some(count)) = self.terminal.try_read(&mut buffer) else { break };
            if count == 0 {
                break;
            }
            self.display.pass_on(&buffer[..count]);
            self.output(Ok(count), &buffer).await;
        }
        let answers = self.undrawn.shown(drawn.typed);
        self.release(answers, Vec::new()).await;
        if self.undrawn.is_empty() {
            self.happens(Input::Drawn).await;
        }
        // Looks at a frame that is not read yet wait for their deadline.
        let looks = if is_read { self.undrawn_looks.shown(drawn.beat) } else { Vec::new() };
        self.release(Vec::new(), looks).await;
    }

    pub(super) async fn look(&mut self, look: Look, reply: oneshot::Sender<Shown>) {
        let ticket = self.replies.insert(Reply::Look(look, reply));
        self.happens(Input::Look(ticket, look.sight)).await;
    }

    /// Sends answers, and has looks answered.
    pub(super) async fn release(&mut self, answers: Vec<HeldAnswer>, looks: Vec<HeldLook>) {
        for (reply, answer) in answers {
            let _ = reply.send(answer);
        }
        for (look, reply) in looks {
            self.look(look, reply).await;
        }
    }
}
