//! The task that reads what Claude Code writes. It never waits for an answer: every question has a task of its own.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::debug;
use wh_pipe::{Child, Line, Lines, Stdout};
use wh_wire::claude::{Ask, Incoming, Outgoing, decode};

use super::{Closed, Event, Shared};
use crate::handlers::Fate;
use crate::options::Options;

/// How long it has to end by itself once its input is closed. Earlier, it would lose the last of its transcript.
const GRACE: Duration = Duration::from_secs(5);

/// How long its output is still read when it is gone: another process may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Reads until the program is gone, and ends it where that is wanted.
pub(super) async fn read(
    child: Child,
    stdout: Stdout,
    shared: Arc<Shared>,
    events: mpsc::UnboundedSender<(Event, usize)>,
    options: Options,
) {
    let mut reader = Reader { shared, events, options };
    let asked = reader.run(&child, stdout).await;
    let stderr = child.stderr.clone();
    let exit = child.end(Duration::ZERO).await;
    let closed = Closed { exit, asked, stderr: stderr.text() };
    debug!(%exit, asked, "closed");
    let reason = closed.reason();
    reader.shared.gone.send_replace(Some(reason.as_str().into()));
    reader.shared.pending.close(&reason);
    reader.shared.writer.close();
    for (_, task) in reader.shared.asks.lock().unwrap_or_else(PoisonError::into_inner).drain() {
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
    /// Until there is nothing more to read; says whether we asked for the end.
    async fn run(&mut self, child: &Child, stdout: Stdout) -> bool {
        let mut lines = Lines::new(stdout, self.options.longest_line);
        let exited = child.exited();
        tokio::pin!(exited);
        let (mut stopping, mut gone, mut deadline) = (false, false, None);
        loop {
            let wanted = !self.shared.room.is_full() || !self.shared.pending.is_empty() || stopping || gone;
            // Whoever else holds its output may go on writing for ever.
            if deadline.is_some_and(|deadline| Instant::now() > deadline + GRACE) {
                return stopping;
            }
            tokio::select! {
                // What has been written is read before its time is over: we may be the ones who are late.
                biased;
                () = self.shared.stop.notified(), if !stopping => {
                    stopping = true;
                    deadline = Some(Instant::now() + GRACE);
                    self.shared.writer.close();
                }
                exit = &mut exited, if !gone => {
                    debug!(%exit, "the program has ended");
                    gone = true;
                    deadline = Some(Instant::now() + LAST_WORDS);
                }
                line = lines.next(), if wanted => match line {
                    Ok(Some(Line::Whole(line))) => self.line(line),
                    Ok(Some(Line::TooLong { bytes })) => self.tell(Event::Skipped { bytes }, 0),
                    Ok(None) => return stopping,
                    Err(error) => {
                        debug!(%error, "its output cannot be read");
                        return stopping;
                    }
                },
                () = wait_until(deadline) => return stopping,
                () = self.shared.room.changed(), if !wanted => {}
            }
        }
    }

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
        self.shared.room.put(bytes);
        // Nobody listens any more: then nobody misses it.
        let _ = self.events.send((event, bytes));
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
