//! Stopping the daemon from outside, with all that it has started.

use std::fs;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wh_pipe::proc::ProcessId;
use wh_pipe::{Left, pidfd, tree};

use super::{Place, receive_with_notice};
use crate::failure::{Failure, code};
use crate::runtime::process_start;

/// The signal that ends the sessions, too, and not only their processes.
pub const END_SESSIONS: Signal = Signal::SIGUSR1;

/// Limit for processes that outlast the daemon: its supervisors end them.
const LONGEST_END: Duration = Duration::from_secs(5);

fn described(processes: &[ProcessId]) -> String {
    let named = |process: &ProcessId| {
        let name = fs::read(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
        format!("{} ({})", process.pid, String::from_utf8_lossy(&name).trim())
    };
    processes.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// True while this very process runs; a zombie does not.
fn runs(process: &ProcessId) -> bool {
    process_start(process.pid.cast_unsigned()) == Some(process.started)
}

impl Place {
    /// Stops the daemon, and returns once it and all that it has started are gone. With `end_sessions` its sessions end for
    /// good. False: none runs here.
    pub fn stop(&self, end_sessions: bool, timeout: Duration) -> Result<bool, Failure> {
        let Some(daemon) = self.living() else { return Ok(false) };
        let failed =
            |error: &dyn std::fmt::Display| Failure::new(code::FAILED, format!("cannot stop the daemon: {error}"));
        let pid = Pid::from_raw(i32::try_from(daemon.pid).map_err(|error| failed(&error))?);
        let below = tree::below(pid).into_iter().filter_map(|pid| ProcessId::of(pid.as_raw()).ok());
        let mut processes: Vec<ProcessId> = below.collect();
        // A daemon that does not know the signal would be killed by it; its SIGTERM ends the sessions.
        let order = if end_sessions && catches(daemon.pid, END_SESSIONS) { END_SESSIONS } else { Signal::SIGTERM };
        kill(pid, order).map_err(|error| failed(&error))?;
        // One that is stopped acts on a signal once it continues.
        kill(pid, Signal::SIGCONT).map_err(|error| failed(&error))?;
        // Its lock is free when it is gone. A thread waits for that, so that the wait has a limit.
        let file = self.lock_file().map_err(|error| failed(&error))?;
        let (tell, gone) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let lock = Flock::lock(file, FlockArg::LockExclusive);
            let _ = tell.send(lock.map(drop).is_ok());
        });
        let notice = format!("still waiting for the daemon (process {}) to end", daemon.pid);
        if receive_with_notice(&gone, timeout, &notice) != Ok(true) {
            let own = ProcessId::of(pid.as_raw()).ok();
            let left: Vec<ProcessId> = own.into_iter().chain(processes).filter(runs).collect();
            let message = format!("the daemon (process {}) has not ended within {timeout:?}", daemon.pid);
            return Err(Failure::new(code::TIMEOUT, message).hint(format!(
                "still running: {}\nits log is {}\nend it with: kill -9 {}",
                described(&left),
                self.log().display(),
                daemon.pid
            )));
        }
        // What started since, and could not be ended, the daemon has noted.
        let noted = self.take_left().0.into_iter().filter_map(|pid| ProcessId::of(pid).ok());
        let noted: Vec<ProcessId> = noted.filter(|one| !processes.contains(one)).collect();
        processes.extend(noted);
        let left = outlasting(processes);
        if left.is_empty() {
            return Ok(true);
        }
        let pids = Left(left.iter().map(|one| one.pid).collect());
        let message = format!("the daemon has ended, but {pids}");
        Err(Failure::new(code::FAILED, message).hint(format!("still running: {}", described(&left))))
    }
}

/// Waits for processes to end, and returns those that do not within [`LONGEST_END`].
fn outlasting(mut processes: Vec<ProcessId>) -> Vec<ProcessId> {
    let deadline = Instant::now() + LONGEST_END;
    processes
        .retain(|process| runs(process) && !pidfd::wait(*process, deadline.saturating_duration_since(Instant::now())));
    processes
}

/// True if a process has a handler for a signal.
fn catches(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal as u32 - 1)) != 0
}
