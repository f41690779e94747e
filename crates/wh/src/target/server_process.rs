//! Describes the process that serves a request: notices while waiting for it, and hints if it does not answer.

use std::path::PathBuf;
use std::time::Duration;

use wh_api::Address;
use wh_api::deadline::{Deadline, DeadlineElapsed};

use crate::daemon::DaemonPaths;
use crate::failure::{CliFailure, code, print_to_stderr};
use crate::runtime::{self, is_stopped};

/// Timeout for an optional response of the daemon. Without the response, the command continues.
pub const OPTIONAL_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Delay before the notice that wh is still waiting for a response, or for the daemon to start or end.
pub const NOTICE_DELAY: Duration = Duration::from_secs(2);

/// Process that serves a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerProcess {
    /// The daemon, with its process id.
    Daemon(u32),
    /// A run at this URL, with its process id if known.
    Run { url: String, pid: Option<u32> },
}

impl ServerProcess {
    /// Finds the process that serves an address.
    pub fn at(address: &Address) -> Self {
        let (url, port) = (address.url(), address.port());
        if !address.is_local() {
            return Self::Run { url, pid: None };
        }
        let daemon = DaemonPaths::here().ok().and_then(|paths| paths.running_daemon());
        match daemon.filter(|daemon| daemon.url.rsplit_once(':').is_some_and(|(_, own)| own == port.to_string())) {
            Some(daemon) => Self::Daemon(daemon.pid),
            None => {
                let runs = runtime::live().unwrap_or_default();
                Self::Run { url, pid: runs.iter().find(|run| run.port == port).map(|run| run.pid) }
            }
        }
    }

    fn pid(&self) -> Option<u32> {
        match self {
            Self::Daemon(pid) => Some(*pid),
            Self::Run { pid, .. } => *pid,
        }
    }

    fn name(&self) -> String {
        let name = match self {
            Self::Daemon(_) => "the daemon".to_owned(),
            Self::Run { url, .. } => format!("the run at {url}"),
        };
        self.pid().map_or_else(|| name.clone(), |pid| format!("{name} (process {pid})"))
    }

    /// Prints a notice that wh is waiting for this process.
    pub fn print_waiting_notice(&self) {
        print_to_stderr(&format!("wh: still waiting for {}", self.name()));
    }

    /// Returns a hint for a process that cannot be reached.
    pub fn unreachable_hint(&self) -> &'static str {
        match self {
            Self::Daemon(_) => "see: wh daemon status",
            Self::Run { .. } => "`wh ls` lists the runs; start one with: wh run --control-port 0 -- PROGRAM",
        }
    }

    /// Returns the failure for a timeout.
    pub fn timeout_failure(&self, limit: Duration) -> CliFailure {
        let mut hints = Vec::new();
        if let Some(pid) = self.pid().filter(|pid| is_stopped(*pid)) {
            hints.push(format!("process {pid} is stopped; continue it with: kill -CONT {pid}"));
        }
        match self {
            Self::Daemon(pid) => {
                let log = DaemonPaths::here().map_or_else(|_| PathBuf::from("daemon.log"), |paths| paths.log());
                hints.push(format!("see `wh daemon status`; the log of the daemon is {}", log.display()));
                hints.push("wait longer with --timeout, or stop the daemon with: wh daemon stop".to_owned());
                hints.push(format!(
                    "if `wh daemon stop` fails too, run: kill -9 {pid}; then `wh daemon start` restores the agent sessions"
                ));
            }
            Self::Run { pid, .. } => {
                hints.push("wait longer with --timeout; `wh ls` lists the runs".to_owned());
                hints.extend(pid.map(|pid| format!("end the run with: kill {pid}")));
            }
        }
        let limit = if limit.subsec_millis() == 0 { format!("{} s", limit.as_secs()) } else { format!("{limit:?}") };
        CliFailure::new(code::UNREACHABLE, format!("{} did not answer within {limit}", self.name()))
            .hint(hints.join("\n"))
    }
}

/// Waits for a response. Prints a notice after [`NOTICE_DELAY`] and fails at the deadline.
pub async fn answered<T>(
    server: impl Fn() -> ServerProcess,
    deadline: Deadline,
    answer: impl Future<Output = Result<T, CliFailure>>,
) -> Result<T, CliFailure> {
    match deadline.await_response(NOTICE_DELAY, || server().print_waiting_notice(), answer).await {
        Ok(answer) => answer,
        Err(DeadlineElapsed(time)) => Err(server().timeout_failure(time)),
    }
}
