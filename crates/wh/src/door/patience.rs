//! The time that an answer may take: a notice after two seconds, a failure after ten, and what to do then.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::daemon::Place;
use crate::failure::{Failure, code, say};
use crate::runtime::{self, is_stopped};

/// Limit for an answer of the daemon or a run, unless `--timeout` says otherwise.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Limit for an answer of the daemon that the command can do without.
pub const OPTIONAL_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Time without an answer, or without the daemon's start or end, after which a notice is printed.
pub const NOTICE_AFTER: Duration = Duration::from_secs(2);

/// The time that an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// The time that what was asked for may take: a wait for a condition, the start of an agent.
    duration: Duration,
    /// The time beyond that which the process that is asked may take to answer.
    pub timeout: Duration,
}

impl Patience {
    /// For what is answered at once.
    pub fn of(timeout: Duration) -> Self {
        Self { duration: Duration::ZERO, timeout }
    }

    /// For what may itself take this long.
    pub fn after(self, duration: Duration) -> Self {
        Self { duration, ..self }
    }
}

/// The process that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// The daemon, by its process.
    Daemon(u32),
    /// A single run at this address, by its process where that is known.
    Run { url: String, pid: Option<u32> },
}

impl Peer {
    /// The process at an address.
    pub fn at(host: &str, port: u16) -> Self {
        let url = format!("http://{}:{port}", if host.contains(':') { format!("[{host}]") } else { host.to_owned() });
        let local = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        if !local {
            return Self::Run { url, pid: None };
        }
        let daemon = Place::here().ok().and_then(|place| place.living());
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

    /// The failure that it has not answered.
    pub fn silent(&self, limit: Duration) -> Failure {
        let mut hints = Vec::new();
        if let Some(pid) = self.pid().filter(|pid| is_stopped(*pid)) {
            hints.push(format!("process {pid} is stopped; continue it with: kill -CONT {pid}"));
        }
        match self {
            Self::Daemon(pid) => {
                let log = Place::here().map_or_else(|_| PathBuf::from("daemon.log"), |place| place.log());
                hints.push(format!("wh daemon status tells more; its log is {}", log.display()));
                hints.push("wait longer with --timeout, or end it with: wh daemon stop".to_owned());
                hints.push(format!("if that fails too: kill -9 {pid}; wh daemon start restores the agent sessions"));
            }
            Self::Run { pid, .. } => {
                hints.push("wait longer with --timeout; wh ls lists the runs".to_owned());
                hints.extend(pid.map(|pid| format!("end it with: kill {pid}")));
            }
        }
        let limit = if limit.subsec_millis() == 0 { format!("{} s", limit.as_secs()) } else { format!("{limit:?}") };
        Failure::new(code::UNREACHABLE, format!("{} did not answer within {limit}", self.name())).hint(hints.join("\n"))
    }
}

/// Waits for an answer: reports after [`NOTICE_AFTER`] that it does, and fails at the limit.
pub async fn answered<T>(
    peer: impl Fn() -> Peer,
    patience: Patience,
    answer: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Patience { duration, timeout } = patience;
    tokio::pin!(answer);
    let quiet = duration.saturating_add(timeout.min(NOTICE_AFTER));
    if let Ok(answer) = tokio::time::timeout(quiet, &mut answer).await {
        return answer;
    }
    let rest = timeout.saturating_sub(NOTICE_AFTER);
    if !rest.is_zero() {
        say(&format!("wh: still waiting for {}", peer().name()));
        if let Ok(answer) = tokio::time::timeout(rest, answer).await {
            return answer;
        }
    }
    Err(peer().silent(duration.saturating_add(timeout)))
}
