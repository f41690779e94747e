//! The process that is asked, as a person knows it: a notice while it is waited for, and what to do if it does not answer.

use std::path::PathBuf;
use std::time::Duration;

use wh_api::Address;
use wh_api::deadline::{Deadline, Elapsed};

use crate::daemon::Place;
use crate::failure::{Failure, code, say};
use crate::runtime::{self, is_stopped};

/// Limit for an answer of the daemon that the command can do without.
pub const OPTIONAL_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Time without an answer, or without the daemon's start or end, after which a notice is printed.
pub const NOTICE_AFTER: Duration = Duration::from_secs(2);

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
    pub fn at(address: &Address) -> Self {
        let (url, port) = (address.url(), address.port());
        if !address.is_local() {
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

    /// Tells the person that it is waited for.
    pub fn say_waiting(&self) {
        say(&format!("wh: still waiting for {}", self.name()));
    }

    /// Where to look if it cannot be reached.
    pub fn look_for(&self) -> &'static str {
        match self {
            Self::Daemon(_) => "wh daemon status tells more",
            Self::Run { .. } => "wh ls lists the runs; start one with: wh run --control-port 0 -- PROGRAM",
        }
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

/// Waits for an answer: reports after [`NOTICE_AFTER`] that it does, and fails at the deadline.
pub async fn answered<T>(
    peer: impl Fn() -> Peer,
    deadline: Deadline,
    answer: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match deadline.answered(NOTICE_AFTER, || peer().say_waiting(), answer).await {
        Ok(answer) => answer,
        Err(Elapsed(time)) => Err(peer().silent(time)),
    }
}
