//! Who descends from whom, and how all who descend from a process are ended.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use nix::poll::PollTimeout;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid};

use crate::pidfd;
use crate::proc::{self, ProcessId};

/// One step of an end: a signal to everything, and how long it has to work before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// What is sent.
    pub signal: Signal,
    /// How long that may take.
    pub grace: Duration,
}

/// Asks everything to end.
pub const TERMINATE: Step = Step { signal: Signal::SIGTERM, grace: Duration::from_millis(1500) };

/// Ends everything. The last step of all; it is repeated, since a process may fork while it is being killed.
pub const KILL: Step = Step { signal: Signal::SIGKILL, grace: Duration::from_millis(50) };

/// The end, in steps, of everything below this process. Its last step is repeated until whoever holds it sees that
/// nothing is left.
#[derive(Debug)]
pub struct Ending {
    steps: &'static [Step],
    due: Instant,
    begun: bool,
}

impl Ending {
    /// Begins at once.
    pub fn new(steps: &'static [Step]) -> Self {
        Self::after(Duration::ZERO, steps)
    }

    /// Begins after a pause.
    pub fn after(pause: Duration, steps: &'static [Step]) -> Self {
        Self { steps, due: Instant::now() + pause, begun: false }
    }

    /// Ends the pause before its first step.
    pub fn hasten(&mut self) {
        if !self.begun {
            self.due = Instant::now();
        }
    }

    /// How long to wait for the next step.
    pub fn timeout(&self) -> PollTimeout {
        // Rounded up: a wait that ends too early would be repeated without a pause.
        let left = self.due.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    }

    /// Takes the next step if it is time.
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
            // A stopped process acts on a signal only once it goes on.
            let _ = pidfd::signal(process, Signal::SIGCONT);
        }
    }
}

/// Pids of every process below `root`, parents before children. Processes whose parent died hang below the nearest
/// subreaper, so nothing that a supervisor's program started is missing.
pub fn below(root: Pid) -> Vec<Pid> {
    processes_below(root).into_iter().map(ProcessId::raw).collect()
}

fn processes_below(root: Pid) -> Vec<ProcessId> {
    let mut children: HashMap<i32, Vec<ProcessId>> = HashMap::new();
    // Whoever ends a tree looks again.
    for (pid, stat) in proc::snapshot().unwrap_or_default() {
        children.entry(stat.parent).or_default().push(ProcessId { pid, started: stat.started });
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

/// The living processes of a process group. The dead that nobody has waited for do not count.
pub fn group(leader: Pid) -> io::Result<Vec<Pid>> {
    let living = |(pid, stat): (i32, proc::Stat)| {
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
