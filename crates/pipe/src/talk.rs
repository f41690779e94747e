//! A conversation with a program, line by line: what both who speaks and who listens hold, and the listening itself.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use crate::lines::{Line, Lines};
use crate::process::{Child, Exit, Stdout};
use crate::room::Room;
use crate::writer::Writer;

/// How long a program has to end by itself once its input is closed. Earlier, it may lose the last of what it keeps.
const GRACE: Duration = Duration::from_secs(5);

/// How long its output is still read when it is gone: another process may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// How the program ended.
    pub exit: Exit,
    /// We asked it to.
    pub asked: bool,
    /// The end of what it wrote on standard error.
    pub stderr: String,
}

impl Closed {
    /// In words, with the last of what it said.
    pub fn reason(&self) -> String {
        let said = self.stderr.trim();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if last.is_empty() { format!("it {}", self.exit) } else { format!("it {}: {last}", self.exit) }
    }
}

/// What who speaks and who listens both hold.
#[derive(Debug)]
pub struct Talk {
    /// The program's input.
    pub writer: Writer,
    /// What was heard and nobody has taken yet.
    pub room: Room,
    stop: Notify,
}

impl Talk {
    /// A conversation whose words go there.
    pub fn new(writer: Writer) -> Self {
        Self { writer, room: Room::default(), stop: Notify::new() }
    }

    /// Lets the program end: its input is closed, and what does not end by itself is ended.
    pub fn close(&self) {
        self.stop.notify_one();
    }

    /// Hears every line until the program is gone, and ends it where that is wanted. While too much waits to be taken,
    /// nothing is read, unless `urgent` says otherwise; [`Room::wake`] has it asked again.
    pub async fn listen(
        &self,
        child: Child,
        stdout: Stdout,
        longest_line: usize,
        urgent: impl Fn() -> bool,
        hear: impl FnMut(Line<'_>),
    ) -> Closed {
        let asked = self.hear(&child, Lines::new(stdout, longest_line), urgent, hear).await;
        let stderr = child.stderr.clone();
        let exit = child.end(Duration::ZERO).await;
        self.writer.close();
        debug!(%exit, asked, "closed");
        Closed { exit, asked, stderr: stderr.text() }
    }

    /// Until there is nothing more to read; says whether we asked for the end.
    async fn hear(
        &self,
        child: &Child,
        mut lines: Lines<Stdout>,
        urgent: impl Fn() -> bool,
        mut hear: impl FnMut(Line<'_>),
    ) -> bool {
        let exited = child.exited();
        tokio::pin!(exited);
        let (mut stopping, mut gone, mut deadline) = (false, false, None);
        loop {
            let wanted = !self.room.is_full() || stopping || gone || urgent();
            // Whoever else holds its output may go on writing for ever.
            if deadline.is_some_and(|deadline| Instant::now() > deadline + GRACE) {
                return stopping;
            }
            tokio::select! {
                // What has been written is read before its time is over: we may be the ones who are late.
                biased;
                () = self.stop.notified(), if !stopping => {
                    stopping = true;
                    deadline = Some(Instant::now() + GRACE);
                    self.writer.close();
                }
                exit = &mut exited, if !gone => {
                    debug!(%exit, "the program has ended");
                    gone = true;
                    deadline = Some(Instant::now() + LAST_WORDS);
                }
                line = lines.next(), if wanted => match line {
                    Ok(Some(line)) => hear(line),
                    Ok(None) => return stopping,
                    Err(error) => {
                        debug!(%error, "its output cannot be read");
                        return stopping;
                    }
                },
                () = wait_until(deadline) => return stopping,
                () = self.room.changed(), if !wanted => {}
            }
        }
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
