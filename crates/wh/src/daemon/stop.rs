//! Stops the daemon and all of its processes from another process.

use std::fs;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wh_pipe::proc::ProcessIdentity;
use wh_pipe::{Survivors, pidfd, tree};

use super::{DaemonPaths, receive_with_notice};
use crate::failure::{CliFailure, code};
use crate::runtime::process_start;

/// Signal that makes the daemon end its sessions permanently and exit. With SIGTERM, the daemon ends only the processes
/// of its sessions, so that the next daemon can restore agent sessions.
pub const END_SESSIONS: Signal = Signal::SIGUSR1;

/// Maximum time to wait for processes that outlive the daemon. The supervisors of these processes end them.
const LEFTOVER_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

fn process_names(processes: &[ProcessIdentity]) -> String {
    let named = |process: &ProcessIdentity| {
        let name = fs::read(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
        format!("{} ({})", process.pid, String::from_utf8_lossy(&name).trim())
    };
    processes.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// True while the process with this pid and start time runs. False for a zombie.
fn is_running(process: &ProcessIdentity) -> bool {
    process_start(process.pid.cast_unsigned()) == Some(process.started)
}

impl DaemonPaths {
    /// Stops the daemon and returns when it and all of its processes have ended. If `end_sessions` is true, the
    /// sessions end permanently. Returns false if the daemon is not running.
    pub fn stop(&self, end_sessions: bool, timeout: Duration) -> Result<bool, CliFailure> {
        let Some(daemon) = self.running_daemon() else { return Ok(false) };
        let failed =
            |error: &dyn std::fmt::Display| CliFailure::new(code::FAILED, format!("cannot stop the daemon: {error}"));
        let pid = Pid::from_raw(i32::try_from(daemon.pid).map_err(|error| failed(&error))?);
        let below = tree::below(pid).into_iter().filter_map(|pid| ProcessIdentity::of(pid.as_raw()).ok());
        let mut processes: Vec<ProcessIdentity> = below.collect();
        // END_SESSIONS would kill an older daemon, which has no handler for it. An older daemon ends its sessions
        // permanently on SIGTERM.
        let order = if end_sessions && has_handler(daemon.pid, END_SESSIONS) { END_SESSIONS } else { Signal::SIGTERM };
        kill(pid, order).map_err(|error| failed(&error))?;
        // A stopped process handles the signal only after it continues.
        kill(pid, Signal::SIGCONT).map_err(|error| failed(&error))?;
        // The daemon holds the lock until it exits. A separate thread waits for the lock, so that the wait can time
        // out.
        let file = self.lock_file().map_err(|error| failed(&error))?;
        let (tell, gone) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let lock = Flock::lock(file, FlockArg::LockExclusive);
            let _ = tell.send(lock.map(drop).is_ok());
        });
        let notice = format!("still waiting for the daemon (process {}) to end", daemon.pid);
        if receive_with_notice(&gone, timeout, &notice) != Ok(true) {
            let own = ProcessIdentity::of(pid.as_raw()).ok();
            let left: Vec<ProcessIdentity> = own.into_iter().chain(processes).filter(is_running).collect();
            let message = format!("the daemon (process {}) has not ended within {timeout:?}", daemon.pid);
            return Err(CliFailure::new(code::TIMEOUT, message).hint(format!(
                "still running: {}\nthe log of the daemon is {}\nend the daemon with: kill -9 {}",
                process_names(&left),
                self.log().display(),
                daemon.pid
            )));
        }
        // The daemon has saved a list of processes that it could not end. Some of them may have started after
        // `processes` was collected.
        let noted = self.take_unended().0.into_iter().filter_map(|pid| ProcessIdentity::of(pid).ok());
        let noted: Vec<ProcessIdentity> = noted.filter(|one| !processes.contains(one)).collect();
        processes.extend(noted);
        let left = wait_for_exit(processes);
        if left.is_empty() {
            return Ok(true);
        }
        let pids = Survivors(left.iter().map(|one| one.pid).collect());
        let message = format!("the daemon has ended, but {pids}");
        Err(CliFailure::new(code::FAILED, message).hint(format!("still running: {}", process_names(&left))))
    }
}

/// Waits for processes to end. Returns the processes that still run after [`LEFTOVER_EXIT_TIMEOUT`].
fn wait_for_exit(mut processes: Vec<ProcessIdentity>) -> Vec<ProcessIdentity> {
    let deadline = Instant::now() + LEFTOVER_EXIT_TIMEOUT;
    processes.retain(|process| {
        is_running(process) && !pidfd::wait(*process, deadline.saturating_duration_since(Instant::now()))
    });
    processes
}

/// True if the process has a handler for the signal.
fn has_handler(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal as u32 - 1)) != 0
}
