//! Process trees: lists the descendants of a process, and ends them in steps.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use nix::poll::PollTimeout;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid};

use crate::pidfd;
use crate::proc::{self, ProcessIdentity};

/// A step of a shutdown: a signal to every process, and the grace period before the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownStep {
    /// Signal sent to every process.
    pub signal: Signal,
    /// Grace period before the next step.
    pub grace: Duration,
}

/// Step that asks every process to exit.
pub const TERMINATE: ShutdownStep = ShutdownStep { signal: Signal::SIGTERM, grace: Duration::from_millis(1500) };

/// Step that kills every process. This is the last step. It is repeated, since a process may fork while it is being
/// killed.
pub const KILL: ShutdownStep = ShutdownStep { signal: Signal::SIGKILL, grace: Duration::from_millis(50) };

/// Ends all descendants of this process in steps. The last step is repeated until the owner of this value finds no
/// process left.
#[derive(Debug)]
pub struct ShutdownSequence {
    steps: &'static [ShutdownStep],
    due: Instant,
    begun: bool,
}

impl ShutdownSequence {
    /// Creates a sequence whose first step is due now.
    pub fn new(steps: &'static [ShutdownStep]) -> Self {
        Self::after(Duration::ZERO, steps)
    }

    /// Creates a sequence whose first step is due after `pause`.
    pub fn after(pause: Duration, steps: &'static [ShutdownStep]) -> Self {
        Self { steps, due: Instant::now() + pause, begun: false }
    }

    /// Makes the first step due now, unless it has already been taken.
    pub fn start_now(&mut self) {
        if !self.begun {
            self.due = Instant::now();
        }
    }

    /// Returns the time until the next step.
    pub fn timeout(&self) -> PollTimeout {
        // Rounded up: a wait that ends too early would make the caller spin.
        let left = self.due.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Takes the next step if it is due.
    pub fn take_due_step(&mut self) {
        let now = Instant::now();
        let (true, Some(step)) = (self.due <= now, self.steps.first()) else { return };
        self.due = now + step.grace;
        self.begun = true;
        if self.steps.len() > 1 {
            self.steps = &self.steps[1..];
        }
        for process in processes_below(getpid()) {
            let _ = pidfd::signal(process, step.signal);
            // A stopped process handles a signal only once it is continued.
            let _ = pidfd::signal(process, Signal::SIGCONT);
        }
    }
}

/// Returns the pids of every process below `root`, parents before children. An orphan counts as a child of the nearest
/// subreaper, so everything that a supervisor's program started is included.
pub fn below(root: Pid) -> Vec<Pid> {
    processes_below(root).into_iter().map(ProcessIdentity::raw).collect()
}

fn processes_below(root: Pid) -> Vec<ProcessIdentity> {
    let mut children: HashMap<i32, Vec<ProcessIdentity>> = HashMap::new();
    // Callers that end a tree repeat the scan, so a failed scan is harmless.
    for (pid, stat) in proc::snapshot().unwrap_or_default() {
        children.entry(stat.parent).or_default().push(ProcessIdentity { pid, started: stat.started });
    }
    let mut found = children.remove(&root.as_raw()).unwrap_or_default();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        if let Some(more) = children.remove(&process.pid) {
            found.extend(more);
        }
        at += 1;
    }
    found
}

/// Returns the living processes of a process group. Zombies are excluded.
pub fn group(leader: Pid) -> io::Result<Vec<Pid>> {
    let living = |(pid, stat): (i32, proc::ProcessStat)| {
        (stat.group == leader.as_raw() && !stat.is_dead()).then_some(Pid::from_raw(pid))
    };
    Ok(proc::snapshot()?.into_iter().filter_map(living).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use nix::sys::wait::{Id, WaitPidFlag, waitid};

    use super::*;

    #[test]
    fn a_child_is_found_below_its_parent_and_in_its_group_until_it_is_dead() {
        let mut child = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert!(below(getpid()).contains(&pid));
        assert_eq!(group(pid).unwrap(), [pid]);
        child.kill().unwrap();
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        assert_eq!(group(pid).unwrap(), []);
        child.wait().unwrap();
    }
}
