//! A conversation with a program, line by line: what both who speaks and who listens hold, and the listening itself.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::debug;

use crate::lines::{Line, Lines};
use crate::process::{Child, Exit, Stdout, describe_exit};
use crate::room::Room;
use crate::tail::MarkedLines;
use crate::writer::Writer;

/// How long a program has to end by itself once its input is closed. Earlier, it may lose the last of what it keeps.
const GRACE: Duration = Duration::from_secs(5);

/// How long its output is still read when it is gone: another process may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Lines that are read in a row while the room is full, before the reader yields to whoever takes events.
const MAX_LINES_BEYOND_ROOM: usize = 256;

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
    /// In words, with the last line of its standard error. Log entries below the level of an error are skipped, and so is
    /// everything that a program wrote that a signal has ended: it did not know of its end.
    pub fn reason(&self) -> String {
        let last = match self.exit {
            Exit::Signal(_) => None,
            Exit::Code(_) | Exit::Unknown => last_words(&self.stderr),
        };
        match last {
            Some(last) => format!("it {}: {last}", describe_exit(self.exit)),
            None => format!("it {}", describe_exit(self.exit)),
        }
    }
}

/// The last line that is neither part of a log entry below the level of an error nor a continuation of any entry, such as
/// a stack trace.
fn last_words(stderr: &str) -> Option<&str> {
    let (mut last, mut in_entry) = (None, false);
    for line in stderr.lines().filter(|line| !line.trim().is_empty()) {
        let is_error = log_level(line);
        let continues = line.starts_with([' ', '\t']) || line.chars().all(|one| "{}[](),;".contains(one));
        in_entry = is_error.is_some() || (in_entry && continues);
        if is_error.unwrap_or(!in_entry) {
            last = Some(line.trim());
        }
    }
    last
}

/// For the first line of a log entry, which begins with a time and names a level: whether that is the level of an error.
fn log_level(line: &str) -> Option<bool> {
    let mut words =
        line.split(|one: char| one.is_whitespace() || "[]()|".contains(one)).filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_date =
        |word: &str| word.len() == 10 && word.is_ascii() && [4, 7].iter().all(|at| "-/".contains(&word[*at..=*at]));
    let is_digit = |at: usize| first.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_time = |word: &str| word.as_bytes().get(2) == Some(&b':') && word.as_bytes().get(5) == Some(&b':');
    let begins_with_time = is_digit(0) && is_digit(1) && (is_time(first) || first.get(..10).is_some_and(is_date));
    if !begins_with_time {
        return None;
    }
    // The time of day, a zone and a process id may come before the level.
    words.take(4).find_map(|word| match word.trim_matches(|one: char| !one.is_ascii_alphanumeric()) {
        "TRACE" | "DEBUG" | "LOG" | "INFO" | "NOTICE" | "WARN" | "WARNING" => Some(false),
        "trace" | "debug" | "log" | "info" | "notice" | "warn" | "warning" => Some(false),
        "ERROR" | "CRITICAL" | "FATAL" | "PANIC" | "error" | "critical" | "fatal" | "panic" => Some(true),
        _ => None,
    })
}

/// A line of the program.
pub enum Heard<'a> {
    /// On its standard output.
    Stdout(Line<'a>),
    /// On its standard error, with the marker of the launch.
    Stderr(String),
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
    /// nothing is read, unless `urgent` says otherwise; [`Room::wake`] has it asked again. Nothing is read from a room that is
    /// [exhausted](Room::is_exhausted), at the end neither: what the program wrote beyond it is lost then. Lines of standard error never
    /// wait: those that come while too much waits are dropped.
    pub async fn listen(
        &self,
        child: Child,
        (stdout, stderr): (Lines<Stdout>, Option<MarkedLines>),
        urgent: impl Fn() -> bool,
        hear: impl FnMut(Heard<'_>),
    ) -> Closed {
        let asked = self.hear(&child, (stdout, stderr), urgent, hear).await;
        let stderr = child.stderr.clone();
        let exit = child.end(Duration::ZERO).await;
        self.writer.close();
        debug!(?exit, asked, "closed");
        Closed { exit, asked, stderr: stderr.text() }
    }

    /// Until there is nothing more to read; says whether we asked for the end.
    async fn hear(
        &self,
        child: &Child,
        (mut lines, mut stderr): (Lines<Stdout>, Option<MarkedLines>),
        urgent: impl Fn() -> bool,
        mut hear: impl FnMut(Heard<'_>),
    ) -> bool {
        let exited = child.exited();
        tokio::pin!(exited);
        let (mut stopping, mut gone, mut deadline) = (false, false, None);
        let mut beyond_room = 0;
        loop {
            let full = self.room.is_full();
            let wanted = !full || ((stopping || gone || urgent()) && !self.room.is_exhausted());
            beyond_room = if full { beyond_room + 1 } else { 0 };
            if beyond_room > MAX_LINES_BEYOND_ROOM {
                beyond_room = 0;
                // Whoever takes events may run on this thread, and the pipe of a fast program is never empty.
                tokio::task::yield_now().await;
            }
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
                    debug!(?exit, "the program has ended");
                    gone = true;
                    deadline = Some(Instant::now() + LAST_WORDS);
                }
                line = lines.next(), if wanted => match line {
                    Ok(Some(line)) => hear(Heard::Stdout(line)),
                    Ok(None) => break,
                    Err(error) => {
                        debug!(%error, "its output cannot be read");
                        break;
                    }
                },
                marked = next_marked(&mut stderr) => match marked {
                    Some(marked) => self.hear_marked(marked, &mut hear),
                    None => stderr = None,
                },
                () = wait_until(deadline) => return stopping,
                () = self.room.changed(), if !wanted => {}
            }
        }
        // The end of its output can be seen before the lines of standard error that were written earlier.
        if let Some(lines) = &mut stderr {
            let rest = async {
                while let Some(marked) = lines.next().await {
                    self.hear_marked(marked, &mut hear);
                }
            };
            let _ = timeout(LAST_WORDS, rest).await;
        }
        stopping
    }

    fn hear_marked(&self, marked: Vec<String>, hear: &mut impl FnMut(Heard<'_>)) {
        for line in marked {
            if self.room.is_full() {
                debug!("a line of standard error was dropped: too much waits to be taken");
                break;
            }
            hear(Heard::Stderr(line));
        }
    }
}

/// Never ready without a stream.
async fn next_marked(stderr: &mut Option<MarkedLines>) -> Option<Vec<String>> {
    match stderr {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(exit: Exit, stderr: &str) -> String {
        Closed { exit, asked: false, stderr: stderr.to_owned() }.reason()
    }

    #[test]
    fn the_reason_ends_with_the_last_line_of_standard_error() {
        assert_eq!(reason(Exit::Code(3), "starting\nout of wheels\n\n"), "it exited with 3: out of wheels");
        assert_eq!(reason(Exit::Code(3), " \n"), "it exited with 3");
        assert_eq!(reason(Exit::Unknown, "  indented\n"), "it is gone: indented");
    }

    #[test]
    fn a_signal_is_the_whole_reason() {
        assert_eq!(reason(Exit::Signal(9), "out of wheels\n"), "it was ended by SIGKILL");
    }

    #[test]
    fn log_entries_below_an_error_are_skipped_with_their_continuations() {
        let warning = "[2026-11-18T01:23:48.249Z] [WARN] Attempt 2 failed with status 500. Retrying... _ApiError: {\n    \
                       at throwErrorIfNotOK (file:///x.js:1:2)\n  status: 500\n}\n";
        let debug = "[2026-11-18T01:23:49.249Z] [DEBUG] routing\n";
        assert_eq!(reason(Exit::Code(1), &format!("{warning}{debug}")), "it exited with 1");
        assert_eq!(
            reason(Exit::Code(1), &format!("out of wheels\n{debug}{warning}")),
            "it exited with 1: out of wheels"
        );
        assert_eq!(reason(Exit::Code(1), &format!("{warning}out of wheels\n")), "it exited with 1: out of wheels");
        for line in [
            "2026-11-18T01:23:48Z  WARN codex_core: slow",
            "2026-11-18 01:23:48,123 - INFO - ready",
            "01:23:48.123 debug: ready",
            "2026/11/18 01:23:48 [notice] 12#12: ready",
        ] {
            assert_eq!(reason(Exit::Code(1), line), "it exited with 1", "{line}");
        }
    }

    #[test]
    fn errors_and_lines_without_a_time_are_kept() {
        let error = "[2026-11-18T01:24:13.459Z] [ERROR] no wheels";
        let text = format!("first\n{error} _ApiError: x\n    at y\n}}\n");
        assert_eq!(reason(Exit::Code(1), &text), format!("it exited with 1: {error} _ApiError: x"));
        for line in ["WARN no wheels", "2 wheels: info missing", "2026-11-18 no wheels", "é2345678-9", "12:34"] {
            assert_eq!(reason(Exit::Code(1), line), format!("it exited with 1: {line}"));
        }
    }
}
