//! Holds replies until wh's own UI has drawn a frame. An answer to typed input is held until the effect of the input is
//! drawn. A screen read is held until all earlier events of the space are drawn.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use wh_client::{DrawProgress, ScreenReadOptions, ScreenSnapshot};
use wh_core::session::SessionInput;

use super::requests::AwaitedReply;
use super::{CommandAnswer, TerminalTask};

/// Maximum number of 4 KiB reads before the replies for a drawn frame are sent. The total of 1 MiB exceeds the default
/// size of a socket buffer.
const MAX_DRAWN_READS: usize = 256;

/// Answer to typed input, with its reply channel.
pub(super) type HeldAnswer = (oneshot::Sender<CommandAnswer>, CommandAnswer);

/// Screen read, with its reply channel.
pub(super) type HeldScreenRead = (ScreenReadOptions, oneshot::Sender<ScreenSnapshot>);

/// Timeout for a held reply. The UI may draw nothing: an incomplete key sequence has no visible effect, and output is
/// not read while the queue of the attached terminal is full.
const DRAW_TIMEOUT: Duration = Duration::from_secs(1);

/// Replies held until the UI has drawn up to a mark, at most for [`DRAW_TIMEOUT`]. A mark is a number of input bytes or
/// of changes of the space, and never decreases.
pub(super) struct HeldUntilDrawn<T>(VecDeque<HeldReply<T>>);

struct HeldReply<T> {
    mark: u64,
    until: Instant,
    reply: T,
}

impl<T> Default for HeldUntilDrawn<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> HeldUntilDrawn<T> {
    /// Holds a reply until the UI has drawn up to `mark`.
    pub fn hold(&mut self, mark: u64, reply: T) {
        self.0.push_back(HeldReply { mark, until: Instant::now() + DRAW_TIMEOUT, reply });
    }

    /// Returns the deadline of the oldest reply.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.front().map(|held| held.until)
    }

    /// Removes and returns the replies whose deadline has passed.
    pub fn overdue(&mut self, now: Instant) -> Vec<T> {
        self.release(|held| held.until <= now)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns the replies held for this mark or a lower mark.
    pub fn shown(&mut self, mark: u64) -> Vec<T> {
        self.release(|held| held.mark <= mark)
    }

    fn release(&mut self, due: impl Fn(&HeldReply<T>) -> bool) -> Vec<T> {
        let due = self.0.iter().take_while(|held| due(held)).count();
        self.0.drain(..due).map(|held| held.reply).collect()
    }
}

impl TerminalTask {
    /// Handles drawing progress of the UI: reads the UI's output first, and then releases replies.
    pub(super) async fn drawn(&mut self, drawn: DrawProgress) {
        let mut buffer = [0; 4096];
        // The UI's output is not read before a user's terminal is attached, or while the queue of that terminal is
        // full.
        let mut is_read = !self.reading.is_held();
        // The UI has written the whole frame before it reports the frame. Output beyond the socket buffer thus belongs
        // to later frames.
        for _ in 0..if is_read { MAX_DRAWN_READS } else { 0 } {
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
            self.handle_input(SessionInput::Drawn).await;
        }
        // If the output was not read, screen reads stay held until the output is read or their deadline passes.
        let looks = if is_read { self.undrawn_reads.shown(drawn.change_count) } else { Vec::new() };
        self.release(Vec::new(), looks).await;
    }

    pub(super) async fn look(&mut self, look: ScreenReadOptions, reply: oneshot::Sender<ScreenSnapshot>) {
        let ticket = self.replies.insert(AwaitedReply::ReadScreen(look, reply));
        self.handle_input(SessionInput::ReadScreen(ticket, look.timing)).await;
    }

    /// Sends the answers, and executes the screen reads.
    pub(super) async fn release(&mut self, answers: Vec<HeldAnswer>, looks: Vec<HeldScreenRead>) {
        for (reply, answer) in answers {
            let _ = reply.send(answer);
        }
        for (look, reply) in looks {
            self.look(look, reply).await;
        }
    }
}
