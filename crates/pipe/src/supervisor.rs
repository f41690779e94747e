//! A supervisor: a small process between an owner and its program. It adopts whatever the program leaves behind, reports how the
//! program ended, and ends all of it when it is ordered to, when the program has ended, or when the owner is gone, also by
//! kill -9.
//!
//! The process itself is [`process`], with a front end for [`pipes`] and one for terminals in `wh-screen`. The owner has a
//! [`Supervisor`] for orders and reads its [`Reports`]. What a supervisor was ordered to end and does not, the [`reaper`] ends.

mod command_line;
pub mod pipes;
pub mod process;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

pub use command_line::{SupervisorKind, own_binary, own_command};

use crate::children::{self, Role};
use crate::lines::{Line, Lines};
use crate::proc::ProcessId;
use crate::protocol::{Order, Report};
use crate::reaper::{self, END_GRACE, KILL_GRACE, Left, Verdict};

/// Longest time from the start of a supervisor to its first report.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Interval at which a supervisor that has not reported is continued, should it be stopped. SIGCHLD wakes the reaper only in
/// processes that adopt orphans.
const CONTINUE_PAUSE: Duration = Duration::from_millis(100);

/// Longest report. Longer lines are skipped.
const MAX_REPORT_BYTES: usize = 64;

/// A supervisor that this process started. Dropping it and its reports closes its line, whereupon it ends everything below it
/// in steps.
#[derive(Debug)]
pub struct Supervisor {
    id: ProcessId,
    /// Non-blocking: orders are few and small, so that there is room unless the supervisor is stopped.
    line: UnixStream,
    verdicts: watch::Receiver<Verdict>,
}

/// Reason why a supervisor did not start its program.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The program cannot be executed.
    #[error("the program cannot be executed: {0}")]
    Program(#[source] io::Error),
    /// The supervisor did not work, or what it started could not be ended.
    #[error("the supervisor does not work: {0}")]
    Supervisor(#[source] io::Error),
}

impl Supervisor {
    /// Starts a supervisor for a session, if it belongs to one. `command` passes it the other end of `line`. Must be called
    /// within a runtime of tokio that has IO.
    pub fn start(
        command: &mut Command,
        session: Option<String>,
        line: UnixStream,
    ) -> io::Result<(Child, Arc<Self>, Reports)> {
        line.set_nonblocking(true)?;
        let reports = tokio::net::UnixStream::from_std(line.try_clone()?)?;
        let (child, registration) = children::spawn(command, Role::Supervisor { session: session.clone() })?;
        let id = registration.id();
        let supervisor = Arc::new(Self { id, line, verdicts: reaper::watch_over(registration, session) });
        let reports = Reports { lines: Lines::new(reports, MAX_REPORT_BYTES), supervisor: Arc::clone(&supervisor) };
        Ok((child, supervisor, reports))
    }

    /// Gives an order, without waiting. An end that the supervisor does not bring about in time is brought about without it.
    pub fn give(&self, order: Order) {
        match order {
            Order::End => reaper::end_after(self.id, END_GRACE),
            Order::Kill => reaper::end_after(self.id, KILL_GRACE),
            Order::Signal(_) | Order::SignalForeground(_) => {}
        }
        // One that is gone has nothing left to obey for; one that takes no more is stopped.
        let _ = (&self.line).write_all(&order.encode());
    }

    /// Waits until the supervisor and everything below it are gone, or it is known what could not be ended. Cancel safe. The
    /// future does not hold the supervisor.
    pub fn ended(&self) -> impl Future<Output = Left> + Send + use<> {
        let mut verdicts = self.verdicts.clone();
        async move {
            match verdicts.wait_for(|verdict| *verdict != Verdict::Open).await.as_deref() {
                Ok(Verdict::Left(pids)) => Left(pids.clone()),
                // A verdict that is no longer kept was the last one.
                Ok(Verdict::Open | Verdict::Gone) | Err(_) => Left::default(),
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        reaper::end_after(self.id, END_GRACE);
    }
}

/// Reports of a supervisor, in order.
#[derive(Debug)]
pub struct Reports {
    lines: Lines<tokio::net::UnixStream>,
    supervisor: Arc<Supervisor>,
}

impl Reports {
    /// Waits for the first report; the result is the program's process id. A program may stop its supervisor before that; then
    /// it is continued. A supervisor that does not report in time, or reports anything but a start, is ended with all that it
    /// started.
    pub async fn started(&mut self) -> Result<i32, NotStarted> {
        let supervisor = Arc::clone(&self.supervisor);
        let first = async {
            loop {
                match timeout(CONTINUE_PAUSE, self.read()).await {
                    Ok(report) => return report,
                    Err(_) => reaper::wake(),
                }
            }
        };
        let first = timeout(START_LIMIT, first).await;
        if let Ok(Some(Report::Started(pid))) = first {
            return Ok(pid);
        }
        reaper::end_after(supervisor.id, Duration::ZERO);
        let left = supervisor.ended().await;
        let problem = match first {
            _ if !left.is_empty() => format!("it did not start the program, and {left}"),
            Ok(Some(Report::Failed(errno))) => return Err(NotStarted::Program(io::Error::from_raw_os_error(errno))),
            Ok(Some(_)) => "it did not report that the program runs".to_owned(),
            Ok(None) => "it ended without starting the program".to_owned(),
            Err(_) => format!("it did not report within {} s that the program runs", START_LIMIT.as_secs()),
        };
        Err(NotStarted::Supervisor(io::Error::other(problem)))
    }

    /// The next report. `None` when the supervisor and everything below it are gone, or it is known what could not be ended.
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Report> {
        let report = self.read().await;
        match &report {
            // A supervisor whose program has ended ends everything else; it has to do so in time.
            Some(Report::Exited(_) | Report::Killed(_)) => reaper::end_after(self.supervisor.id, END_GRACE),
            Some(_) => {}
            // The end of its line is its own end, or comes moments before it.
            None => {
                reaper::line_closed(self.supervisor.id);
                self.supervisor.ended().await;
            }
        }
        report
    }

    /// Reads the next report; `None` at the end of the line. Cancel safe.
    async fn read(&mut self) -> Option<Report> {
        while let Ok(Some(line)) = self.lines.next().await {
            let Line::Whole(line) = line else { continue };
            if let Some(report) = std::str::from_utf8(line).ok().and_then(Report::decode) {
                return Some(report);
            }
        }
        None
    }
}
