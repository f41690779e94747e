//! The task that reads what Claude Code writes. It never waits for an answer: every question has a task of its own.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tracing::debug;
use wh_pipe::{Child, Line, Stdout};
use wh_wire::claude::{Ask, Incoming, Outgoing, decode};

use super::{Event, Shared};
use crate::handlers::Fate;
use crate::options::Options;

/// Reads until the program is gone, and ends it where that is wanted.
pub(super) async fn read(
    child: Child,
    stdout: Stdout,
    shared: Arc<Shared>,
    events: mpsc::UnboundedSender<(Event, usize)>,
    options: Options,
) {
    let longest_line = options.longest_line;
    let mut reader = Reader { shared: Arc::clone(&shared), events, options };
    let urgent = || !shared.pending.is_empty();
    let hear = |line: Line<'_>| match line {
        Line::Whole(line) => reader.line(line),
        Line::TooLong { bytes } => reader.tell(Event::Skipped { bytes }, 0),
    };
    let closed = shared.talk.listen(child, stdout, longest_line, urgent, hear).await;
    let reason = closed.reason();
    shared.gone.send_replace(Some(reason.as_str().into()));
    shared.pending.close(&reason);
    for (_, task) in shared.asks.lock().unwrap_or_else(PoisonError::into_inner).drain() {
        task.inspect(|task| task.abort());
    }
    reader.tell(Event::Closed(closed), 0);
}

struct Reader {
    shared: Arc<Shared>,
    events: mpsc::UnboundedSender<(Event, usize)>,
    options: Options,
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        let bytes = line.len();
        match decode(line) {
            Ok(Incoming::Message(message)) => self.tell(Event::Message(message), bytes),
            Ok(Incoming::Reply(reply)) => {
                if !self.shared.pending.resolve(reply.request_id.as_str(), reply.outcome) {
                    debug!("a reply that nobody waits for");
                }
            }
            Ok(Incoming::Ask(ask)) => self.ask(ask, bytes),
            Ok(Incoming::Cancel { request_id }) => self.withdraw(request_id),
            Ok(Incoming::Noise | Incoming::KeepAlive) => {}
            Ok(Incoming::Unknown(unknown)) => self.tell(Event::Unknown(unknown), bytes),
            Err(error) => self.tell(Event::Unreadable(error), 0),
        }
    }

    fn ask(&mut self, ask: Ask, bytes: usize) {
        let id = ask.request_id.clone();
        match self.options.handlers.fate(&id, &ask.kind, self.options.forward_asks) {
            Fate::Left => debug!("a question that must be left unanswered"),
            Fate::Forwarded => {
                self.open(id, None);
                self.tell(Event::Ask(ask), bytes);
            }
            Fate::Answered(answer) => {
                let shared = Arc::clone(&self.shared);
                // Open before its task runs, which may be at once.
                self.open(id.clone(), None);
                let task = tokio::spawn({
                    let id = id.clone();
                    async move {
                        // Claude Code waits for every answer, also for that of a callback that panics.
                        let answer = AssertUnwindSafe(answer).catch_unwind().await;
                        let answer = answer.unwrap_or_else(|_| Outgoing::error(&id, "the callback panicked"));
                        if shared.close_ask(&id)
                            && let Err(error) = shared.send(&answer).await
                        {
                            debug!(%error, "an answer was not sent");
                        }
                    }
                });
                let mut asks = self.shared.asks.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(open) = asks.get_mut(&id) {
                    *open = Some(task.abort_handle());
                }
            }
        }
    }

    fn open(&self, id: String, task: Option<tokio::task::AbortHandle>) {
        self.shared.asks.lock().unwrap_or_else(PoisonError::into_inner).insert(id, task);
    }

    fn withdraw(&mut self, request_id: String) {
        let open = self.shared.asks.lock().unwrap_or_else(PoisonError::into_inner).remove(&request_id);
        match open {
            Some(Some(task)) => task.abort(),
            Some(None) => self.tell(Event::Withdrawn(request_id), 0),
            None => debug!("a question was withdrawn that is not open"),
        }
    }

    fn tell(&self, event: Event, bytes: usize) {
        self.shared.talk.room.put(bytes);
        // Nobody listens any more: then nobody misses it.
        let _ = self.events.send((event, bytes));
    }
}
