//! Supervisors: small processes between an owner and its program. A supervisor adopts the program's orphans and reports
//! the exit status. It ends the process tree when the owner orders the end, when the program exits, or when the owner
//! exits (even after `kill -9`).
//!
//! [`process`] runs inside the supervisor, with a front end for [`pipes`] and one for terminals in `wh-screen`. The
//! owner sends orders through [`Supervisor`] and reads its [`SupervisorReports`]. The [`reaper`] kills trees that a
//! supervisor fails to end.

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

use crate::children::{self, ChildRole};
use crate::lines::{Line, LineReader};
use crate::proc::ProcessIdentity;
use crate::protocol::{SupervisorOrder, SupervisorReport};
use crate::reaper::{self, END_GRACE, KILL_GRACE, Survivors, TreeStatus};

/// Maximum time from the start of a supervisor to its first report.
const SUPERVISOR_START_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval of SIGCONT signals to a supervisor that has not reported yet, since its program may have stopped it.
/// SIGCHLD reports a stopped supervisor only to processes that call [`reaper::adopt_orphans`].
const CONTINUE_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum length of a report. Longer lines are skipped.
const MAX_REPORT_BYTES: usize = 64;

/// A supervisor that this process started. Dropping this value and its [`SupervisorReports`] closes the socket; the
/// supervisor then ends all its descendants in steps.
#[derive(Debug)]
pub struct Supervisor {
    id: ProcessIdentity,
    /// Non-blocking socket to the supervisor. Orders are few and small, so the socket buffer is full only if the
    /// supervisor is stopped.
    socket: UnixStream,
    status: watch::Receiver<TreeStatus>,
}

/// Reason why a supervisor did not start its program.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorStartError {
    /// The program cannot be executed.
    #[error("the program cannot be executed: {0}")]
    Program(#[source] io::Error),
    /// The supervisor failed, or some processes that the supervisor started could not be ended.
    #[error("the supervisor failed: {0}")]
    Supervisor(#[source] io::Error),
}

impl Supervisor {
    /// Starts a supervisor and registers it for `session`, if there is one. `command` must pass the other end of
    /// `socket` to the supervisor. Must be called within a tokio runtime with IO enabled.
    pub fn start(
        command: &mut Command,
        session: Option<String>,
        socket: UnixStream,
    ) -> io::Result<(Child, Arc<Self>, SupervisorReports)> {
        socket.set_nonblocking(true)?;
        let reports = tokio::net::UnixStream::from_std(socket.try_clone()?)?;
        let (child, registration) = children::spawn(command, ChildRole::Supervisor { session: session.clone() })?;
        let id = registration.id();
        let supervisor = Arc::new(Self { id, socket, status: reaper::register(registration, session) });
        let reports = SupervisorReports {
            lines: LineReader::new(reports, MAX_REPORT_BYTES),
            supervisor: Arc::clone(&supervisor),
        };
        Ok((child, supervisor, reports))
    }

    /// Sends an order without waiting. If the supervisor does not end its tree in time, the reaper ends the tree.
    pub fn send_order(&self, order: SupervisorOrder) {
        match order {
            SupervisorOrder::End => reaper::end_after(self.id, END_GRACE),
            SupervisorOrder::Kill => reaper::end_after(self.id, KILL_GRACE),
            SupervisorOrder::Signal(_) | SupervisorOrder::SignalForeground(_) => {}
        }
        // A write fails only if the supervisor is gone or stopped; the reaper handles both.
        let _ = (&self.socket).write_all(&order.encode());
    }

    /// Waits until the supervisor and all its descendants have exited, or until some processes are known to survive.
    /// Cancel safe. The future does not keep the supervisor alive.
    pub fn ended(&self) -> impl Future<Output = Survivors> + Send + use<> {
        let mut status = self.status.clone();
        async move {
            match status.wait_for(|tree_status| *tree_status != TreeStatus::Active).await.as_deref() {
                Ok(TreeStatus::Surviving(pids)) => Survivors(pids.clone()),
                // The sender is dropped only after the final status.
                Ok(TreeStatus::Active | TreeStatus::Gone) | Err(_) => Survivors::default(),
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        reaper::end_after(self.id, END_GRACE);
    }
}

/// Receives the reports of a supervisor, in order.
#[derive(Debug)]
pub struct SupervisorReports {
    lines: LineReader<tokio::net::UnixStream>,
    supervisor: Arc<Supervisor>,
}

impl SupervisorReports {
    /// Waits for the first report and returns the program's process id. Continues the supervisor if its program has
    /// stopped it. Ends the supervisor and everything that it started if no report arrives in time, or if the first
    /// report is not [`SupervisorReport::Started`].
    pub async fn started(&mut self) -> Result<i32, SupervisorStartError> {
        let supervisor = Arc::clone(&self.supervisor);
        let first = async {
            loop {
                match timeout(CONTINUE_INTERVAL, self.read()).await {
                    Ok(report) => return report,
                    Err(_) => reaper::wake(),
                }
            }
        };
        let first = timeout(SUPERVISOR_START_TIMEOUT, first).await;
        if let Ok(Some(SupervisorReport::Started(pid))) = first {
            return Ok(pid);
        }
        reaper::end_after(supervisor.id, Duration::ZERO);
        let survivors = supervisor.ended().await;
        let problem = match first {
            _ if !survivors.is_empty() => format!("the program was not started, and {survivors}"),
            Ok(Some(SupervisorReport::Failed(errno))) => {
                return Err(SupervisorStartError::Program(io::Error::from_raw_os_error(errno)));
            }
            Ok(Some(_)) => "the first report of the supervisor was unexpected".to_owned(),
            Ok(None) => "the supervisor exited before it started the program".to_owned(),
            Err(_) => {
                format!(
                    "the supervisor did not report the start of the program within {} s",
                    SUPERVISOR_START_TIMEOUT.as_secs()
                )
            }
        };
        Err(SupervisorStartError::Supervisor(io::Error::other(problem)))
    }

    /// Returns the next report; `None` when the supervisor and all its descendants have exited, or some processes are
    /// known to survive. Cancel safe.
    pub async fn next(&mut self) -> Option<SupervisorReport> {
        let report = self.read().await;
        match &report {
            // Once the program has exited, the supervisor ends the rest of the tree within the grace period.
            Some(SupervisorReport::Exited(_) | SupervisorReport::Killed(_)) => {
                reaper::end_after(self.supervisor.id, END_GRACE)
            }
            Some(_) => {}
            // The socket closes when the supervisor exits, or moments before.
            None => {
                reaper::socket_closed(self.supervisor.id);
                self.supervisor.ended().await;
            }
        }
        report
    }

    /// Reads the next report; `None` when the socket is closed. Cancel safe.
    async fn read(&mut self) -> Option<SupervisorReport> {
        while let Ok(Some(line)) = self.lines.next().await {
            let Line::Complete(line) = line else { continue };
            if let Some(report) = std::str::from_utf8(line).ok().and_then(SupervisorReport::decode) {
                return Some(report);
            }
        }
        None
    }
}
