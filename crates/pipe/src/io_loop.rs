//! IO loop of a program with a line-based protocol: reads the program's lines within a read budget until the program
//! exits.

use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::debug;

use crate::lines::{Line, LineReader};
use crate::peer::Peer;
use crate::process::{Exit, Stdout, describe_exit};
use crate::read_budget::ReadBudget;
use crate::tail::MarkedLines;
use crate::writer::LineWriter;

/// Grace period for a program to exit by itself once its input is closed. With a shorter period, the last writes to
/// disk may be lost.
const CLOSE_GRACE: Duration = Duration::from_secs(5);

/// Maximum time to read the remaining output of a program that has exited. Another process may hold the pipe open.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of lines read in a row while the budget is full. Then the reader yields to the consumer of events.
const MAX_LINES_BETWEEN_YIELDS: usize = 256;

/// Exit status of a program, with the last part of its standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramExit {
    /// Exit status of the program.
    pub exit: Exit,
    /// True if the owner requested the end of the program.
    pub requested: bool,
    /// Last part of the program's standard error.
    pub stderr: String,
}

impl ProgramExit {
    /// Describes the exit as text, with the last line of standard error. Log entries below the error level are skipped.
    /// If a signal killed the program, standard error is ignored, because it does not explain the exit.
    pub fn reason(&self) -> String {
        let last = match self.exit {
            Exit::Signal(_) => None,
            Exit::Code(_) | Exit::Unknown => last_error_line(&self.stderr),
        };
        match last {
            Some(last) => format!("it {}: {last}", describe_exit(self.exit)),
            None => format!("it {}", describe_exit(self.exit)),
        }
    }
}

/// Returns the last line that can explain a failure. Skips log entries below the error level, and lines that continue a
/// log entry, such as a stack trace.
fn last_error_line(stderr: &str) -> Option<&str> {
    let (mut last, mut in_entry) = (None, false);
    for line in stderr.lines().filter(|line| !line.trim().is_empty()) {
        let is_error = is_error_entry(line);
        let continues = line.starts_with([' ', '\t']) || line.chars().all(|one| "{}[](),;".contains(one));
        in_entry = is_error.is_some() || (in_entry && continues);
        if is_error.unwrap_or(!in_entry) {
            last = Some(line.trim());
        }
    }
    last
}

/// Returns true if a log entry is an error, false if it has a lower level. `line` is the first line of the entry, with
/// a time at its beginning, and the level. `None` for any other line.
fn is_error_entry(line: &str) -> Option<bool> {
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
    // The time of day, a time zone and a process id may come before the level.
    words.take(4).find_map(|word| match word.trim_matches(|one: char| !one.is_ascii_alphanumeric()) {
        "TRACE" | "DEBUG" | "LOG" | "INFO" | "NOTICE" | "WARN" | "WARNING" => Some(false),
        "trace" | "debug" | "log" | "info" | "notice" | "warn" | "warning" => Some(false),
        "ERROR" | "CRITICAL" | "FATAL" | "PANIC" | "error" | "critical" | "fatal" | "panic" => Some(true),
        _ => None,
    })
}

/// A line written by the program.
pub enum ProgramLine<'a> {
    /// A line of standard output.
    Stdout(Line<'a>),
    /// A line of standard error that contains the launch's marker.
    Stderr(String),
}

/// State shared by the reader and the writers of a program.
#[derive(Debug)]
pub struct IoLoop {
    /// Standard input of the program.
    pub writer: LineWriter,
    /// Budget for lines that were read and not processed.
    pub budget: ReadBudget,
    stop: Notify,
}

impl IoLoop {
    /// Creates the state of a program. `writer` writes to the program's standard input.
    pub fn new(writer: LineWriter) -> Self {
        Self { writer, budget: ReadBudget::default(), stop: Notify::new() }
    }

    /// Closes the program's input, and ends the program if it does not exit by itself.
    pub fn close(&self) {
        self.stop.notify_one();
    }

    /// Reads every line until the program has exited, and ends the program if requested. Reading pauses while the
    /// budget is full, unless `urgent` returns true or the program is ending. [`ReadBudget::wake`] makes the reader
    /// check again. While the budget is [exhausted](ReadBudget::is_exhausted), nothing is read, so the remaining output
    /// of a program that exits in this state is lost. Lines of standard error never wait: they are dropped while the
    /// budget is full.
    pub async fn run(
        &self,
        peer: Peer,
        (stdout, stderr): (LineReader<Stdout>, Option<MarkedLines>),
        urgent: impl Fn() -> bool,
        handle: impl FnMut(ProgramLine<'_>),
    ) -> ProgramExit {
        let asked = self.read_lines(&peer, (stdout, stderr), urgent, handle).await;
        let stderr = peer.stderr();
        let exit = peer.end().await;
        self.writer.close();
        debug!(?exit, asked, "closed");
        ProgramExit { exit, requested: asked, stderr: stderr.map(|tail| tail.text()).unwrap_or_default() }
    }

    /// Reads until there is no more output. Returns true if the owner requested the end of the program.
    async fn read_lines(
        &self,
        peer: &Peer,
        (mut lines, mut stderr): (LineReader<Stdout>, Option<MarkedLines>),
        urgent: impl Fn() -> bool,
        mut handle: impl FnMut(ProgramLine<'_>),
    ) -> bool {
        let exited = peer.exited();
        tokio::pin!(exited);
        let (mut stopping, mut gone, mut deadline) = (false, false, None);
        let mut lines_beyond_limit = 0;
        loop {
            let full = self.budget.is_full();
            let wanted = !full || ((stopping || gone || urgent()) && !self.budget.is_exhausted());
            lines_beyond_limit = if full { lines_beyond_limit + 1 } else { 0 };
            if lines_beyond_limit > MAX_LINES_BETWEEN_YIELDS {
                lines_beyond_limit = 0;
                // The consumer of events may run on this thread, and the pipe of a fast program is never empty.
                tokio::task::yield_now().await;
            }
            // Another process that holds the pipe open may write forever.
            if deadline.is_some_and(|deadline| Instant::now() > deadline + CLOSE_GRACE) {
                return stopping;
            }
            tokio::select! {
                // Biased: output that was written in time is read before the deadline is checked, since this task may
                // be late.
                biased;
                () = self.stop.notified(), if !stopping => {
                    stopping = true;
                    deadline = Some(Instant::now() + CLOSE_GRACE);
                    self.writer.close();
                }
                exit = &mut exited, if !gone => {
                    debug!(?exit, "the program has ended");
                    gone = true;
                    deadline = Some(Instant::now() + OUTPUT_DRAIN_TIMEOUT);
                }
                line = lines.next(), if wanted => match line {
                    Ok(Some(line)) => handle(ProgramLine::Stdout(line)),
                    Ok(None) => break,
                    Err(error) => {
                        debug!(%error, "cannot read the output");
                        break;
                    }
                },
                marked = next_marked(&mut stderr) => match marked {
                    Some(marked) => self.handle_marked(marked, &mut handle),
                    None => stderr = None,
                },
                () = wait_until(deadline) => return stopping,
                () = self.budget.changed(), if !wanted => {}
            }
        }
        // The end of standard output can be seen before lines of standard error that were written earlier.
        if let Some(lines) = &mut stderr {
            let rest = async {
                while let Some(marked) = lines.next().await {
                    self.handle_marked(marked, &mut handle);
                }
            };
            let _ = timeout(OUTPUT_DRAIN_TIMEOUT, rest).await;
        }
        stopping
    }

    fn handle_marked(&self, marked: Vec<String>, handle: &mut impl FnMut(ProgramLine<'_>)) {
        for line in marked {
            if self.budget.is_full() {
                debug!("dropped a line of standard error: too many unread events");
                break;
            }
            handle(ProgramLine::Stderr(line));
        }
    }
}

/// Returns the next marked lines. Waits forever if there is no stream.
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
        ProgramExit { exit, requested: false, stderr: stderr.to_owned() }.reason()
    }

    #[test]
    fn the_reason_ends_with_the_last_line_of_standard_error() {
        assert_eq!(reason(Exit::Code(3), "starting\nout of wheels\n\n"), "it exited with 3: out of wheels");
        assert_eq!(reason(Exit::Code(3), " \n"), "it exited with 3");
        assert_eq!(reason(Exit::Unknown, "  indented\n"), "it exited with an unknown status: indented");
    }

    #[test]
    fn a_signal_is_reported_without_standard_error() {
        assert_eq!(reason(Exit::Signal(9), "out of wheels\n"), "it was killed by SIGKILL");
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
