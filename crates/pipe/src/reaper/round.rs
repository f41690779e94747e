//! A round of the reaper: scans all processes, continues stopped supervisors, ends overdue trees, and updates their
//! status.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::{KILL_RETRY_INTERVAL, KILL_TIMEOUT, MIN_ROUND_DELAY, Reaper, TreeStatus};
use crate::children;
use crate::proc::{self, ProcessIdentity, ProcessStat};

/// Maximum number of scans while a tree is stopped with SIGSTOP. After the last scan the tree is killed, even if some
/// of its processes still run.
const MAX_STOPPING_SCANS: usize = 16;

/// Grace period for a supervisor to send its last report and exit, once its tree is empty.
const SUPERVISOR_GRACE: Duration = Duration::from_millis(500);

/// Snapshot of all processes of the machine, with the children of each.
struct ProcessSnapshot {
    processes: HashMap<i32, ProcessStat>,
    children: HashMap<i32, Vec<i32>>,
    adopted: Vec<ProcessIdentity>,
}

impl ProcessSnapshot {
    fn take(adopts: bool) -> io::Result<Self> {
        let (processes, adopted) = if adopts { children::survey()? } else { (proc::snapshot()?, Vec::new()) };
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for (pid, stat) in &processes {
            children.entry(stat.parent).or_default().push(*pid);
        }
        Ok(Self { processes, children, adopted })
    }

    fn stat(&self, id: ProcessIdentity) -> Option<ProcessStat> {
        self.processes.get(&id.pid).copied().filter(|stat| stat.started == id.started)
    }

    fn lives(&self, id: ProcessIdentity) -> bool {
        self.stat(id).is_some_and(|stat| !stat.is_dead())
    }

    /// Returns the living processes among `roots` and everything below them.
    fn trees(&self, roots: impl IntoIterator<Item = ProcessIdentity>) -> HashSet<ProcessIdentity> {
        let mut next: Vec<ProcessIdentity> = roots.into_iter().filter(|root| self.lives(*root)).collect();
        let mut found = HashSet::new();
        while let Some(id) = next.pop() {
            if !found.insert(id) {
                continue;
            }
            for pid in self.children.get(&id.pid).into_iter().flatten() {
                if let Some(stat) = self.processes.get(pid).filter(|stat| !stat.is_dead()) {
                    next.push(ProcessIdentity { pid: *pid, started: stat.started });
                }
            }
        }
        found
    }

    /// Returns the living processes below `root`.
    fn below(&self, root: ProcessIdentity) -> HashSet<ProcessIdentity> {
        let mut found = self.trees([root]);
        found.remove(&root);
        found
    }
}

/// Processes to end in one round.
#[derive(Default)]
struct TerminationPlan {
    /// Overdue supervisors. Everything below them is ended.
    overdue: Vec<ProcessIdentity>,
    /// Supervisors that had exited before the first scan.
    dead: HashSet<ProcessIdentity>,
    /// Processes without a supervisor. They and everything below them are ended.
    strays: HashSet<ProcessIdentity>,
}

impl TerminationPlan {
    fn targets(&self, view: &ProcessSnapshot) -> HashSet<ProcessIdentity> {
        let strays = self.strays.iter().chain(&view.adopted).copied();
        let mut targets = view.trees(strays);
        targets.extend(self.overdue.iter().flat_map(|root| view.below(*root)));
        targets
    }
}

impl Reaper {
    /// Runs one round. Returns the time of the next round, if one is due without a wakeup. If processes cannot be
    /// listed, fails and leaves the state unchanged.
    pub(super) fn round(&self, now: Instant) -> io::Result<Option<Instant>> {
        let (known, adopts) = {
            let state = self.state();
            (state.trees.keys().copied().collect::<Vec<_>>(), state.adopts)
        };
        let view = ProcessSnapshot::take(adopts)?;
        for orphan in view.adopted.iter().filter(|id| view.stat(**id).is_some_and(ProcessStat::is_dead)) {
            let _ = waitpid(orphan.raw(), Some(WaitPidFlag::WNOHANG));
        }
        let plan = self.plan(&known, &view, now);
        let (view, ended) = self.end(&plan, view, adopts)?;
        Ok(self.update_status(&known, &plan, &view, &ended, now))
    }

    /// Continues stopped supervisors and determines which processes to end.
    fn plan(&self, known: &[ProcessIdentity], view: &ProcessSnapshot, now: Instant) -> TerminationPlan {
        let mut plan = TerminationPlan::default();
        let mut state = self.state();
        for id in known {
            let Some(tree) = state.trees.get_mut(id) else { continue };
            if !view.lives(*id) {
                plan.dead.insert(*id);
                plan.strays.extend(&tree.members);
                // Calls `waitpid` only until the supervisor has been reaped: afterwards its pid may be reused.
                if tree.registration.is_some()
                    && waitpid(id.raw(), Some(WaitPidFlag::WNOHANG)) != Ok(WaitStatus::StillAlive)
                {
                    tree.registration = None;
                }
            } else if tree.due.is_some_and(|due| due <= now) {
                tree.overdue_since.get_or_insert(now);
                plan.overdue.push(*id);
            } else if view.stat(*id).is_some_and(|stat| stat.state == 'T') {
                tracing::debug!(pid = id.pid, "continuing a stopped supervisor");
                let _ = (self.signal)(*id, Signal::SIGCONT);
            }
        }
        plan
    }

    /// Stops and then kills the processes of the plan. Makes at least two scans. Returns the last snapshot, and all
    /// processes found.
    fn end(
        &self,
        plan: &TerminationPlan,
        view: ProcessSnapshot,
        adopts: bool,
    ) -> io::Result<(ProcessSnapshot, HashSet<ProcessIdentity>)> {
        let mut view = view;
        let mut stopped = HashSet::new();
        let mut targets = plan.targets(&view);
        for scan in 0..MAX_STOPPING_SCANS {
            let running: Vec<ProcessIdentity> = targets.difference(&stopped).copied().collect();
            if running.is_empty() && scan > 0 {
                break;
            }
            for id in running {
                let _ = (self.signal)(id, Signal::SIGSTOP);
                stopped.insert(id);
            }
            view = ProcessSnapshot::take(adopts)?;
            targets = plan.targets(&view);
        }
        for id in &targets {
            let _ = (self.signal)(*id, Signal::SIGKILL);
        }
        stopped.extend(targets);
        Ok((view, stopped))
    }

    /// Updates the status of each tree, and returns the time of the next round if one is due without a wakeup.
    fn update_status(
        &self,
        known: &[ProcessIdentity],
        plan: &TerminationPlan,
        view: &ProcessSnapshot,
        ended: &HashSet<ProcessIdentity>,
        now: Instant,
    ) -> Option<Instant> {
        let mut state = self.state();
        let (soon, retry) = (now + MIN_ROUND_DELAY, now + KILL_RETRY_INTERVAL);
        let mut next: Option<Instant> = None;
        let mut at = |time: Instant| next = Some(next.map_or(time, |next| next.min(time)));
        let claimed: HashSet<ProcessIdentity> =
            state.trees.values().flat_map(|tree| tree.members.iter().copied()).collect();
        let below_overdue: HashSet<ProcessIdentity> = plan.overdue.iter().flat_map(|root| view.below(*root)).collect();
        // An orphan without a known tree may come from any active tree whose supervisor is gone.
        let unclaimed: HashSet<ProcessIdentity> =
            ended.iter().filter(|id| !claimed.contains(id) && !below_overdue.contains(id)).copied().collect();
        let mut any_claims = false;
        for id in known {
            let Some(tree) = state.trees.get_mut(id) else { continue };
            if view.lives(*id) {
                if !plan.overdue.contains(id) {
                    if tree.closing {
                        at(soon);
                    }
                    continue;
                }
                let below = view.below(*id);
                tree.members.extend(&below);
                tree.members.retain(|member| view.lives(*member));
                // Before the supervisor is killed, it gets time to report the exit status of its program.
                let report_by = if below.is_empty() {
                    *tree.empty_since.get_or_insert(now) + SUPERVISOR_GRACE
                } else {
                    tree.overdue_since.unwrap_or(now) + KILL_TIMEOUT / 2
                };
                let _ = (self.signal)(*id, if now < report_by { Signal::SIGCONT } else { Signal::SIGKILL });
            } else {
                if *tree.status.borrow() == TreeStatus::Active {
                    tree.members.extend(&unclaimed);
                    any_claims = true;
                }
                // Checked before `retain`: a process that died in this round may have forked before, so another scan is
                // needed.
                let nothing_found = tree.members.is_empty() && plan.dead.contains(id);
                tree.members.retain(|member| view.lives(*member));
                if tree.registration.is_some() {
                    at(soon);
                }
                if nothing_found {
                    tree.status.send_if_modified(|status| {
                        let news = *status != TreeStatus::Gone;
                        *status = TreeStatus::Gone;
                        news
                    });
                    continue;
                }
            }
            let since = *tree.overdue_since.get_or_insert(now);
            if now.saturating_duration_since(since) < KILL_TIMEOUT {
                at(soon);
                continue;
            }
            let mut pids: Vec<i32> = tree.members.iter().map(|member| member.pid).collect();
            pids.extend(view.lives(*id).then_some(id.pid));
            pids.sort_unstable();
            at(if pids.is_empty() { soon } else { retry });
            if !pids.is_empty() && *tree.status.borrow() != TreeStatus::Surviving(pids.clone()) {
                tracing::error!(?pids, session = tree.session, "processes could not be ended");
                tree.status.send_replace(TreeStatus::Surviving(pids));
            }
        }
        state.trees.retain(|_, tree| tree.registration.is_some() || *tree.status.borrow() != TreeStatus::Gone);
        let orphans = if any_claims { HashSet::new() } else { unclaimed };
        state.orphans.retain(|id, _| orphans.contains(id) && view.lives(*id));
        for id in orphans.into_iter().filter(|id| view.lives(*id)) {
            let since = *state.orphans.entry(id).or_insert(now);
            at(if now.saturating_duration_since(since) < KILL_TIMEOUT { soon } else { retry });
        }
        next
    }
}
