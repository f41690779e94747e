//! One round of the reaper: looks at every process, continues or ends what has to be, and says what is left.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::{KILL_LIMIT, RETRY, Reaper, SHORTEST_PAUSE, Verdict};
use crate::children;
use crate::proc::{self, ProcessId, Stat};

/// Maximum number of walks that stop a tree. After the last one it is killed, stopped or not.
const MAX_STOPPING_WALKS: usize = 16;

/// Grace period for a supervisor to see that nothing is left below it, and to report that.
const SUPERVISOR_GRACE: Duration = Duration::from_millis(500);

/// Every process at one moment.
struct View {
    processes: HashMap<i32, Stat>,
    children: HashMap<i32, Vec<i32>>,
    adopted: Vec<ProcessId>,
}

impl View {
    fn take(adopts: bool) -> io::Result<Self> {
        let (processes, adopted) = if adopts { children::survey()? } else { (proc::snapshot()?, Vec::new()) };
        let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
        for (pid, stat) in &processes {
            children.entry(stat.parent).or_default().push(*pid);
        }
        Ok(Self { processes, children, adopted })
    }

    fn stat(&self, id: ProcessId) -> Option<Stat> {
        self.processes.get(&id.pid).copied().filter(|stat| stat.started == id.started)
    }

    fn lives(&self, id: ProcessId) -> bool {
        self.stat(id).is_some_and(|stat| !stat.is_dead())
    }

    /// Living processes among these and everything below them.
    fn trees(&self, roots: impl IntoIterator<Item = ProcessId>) -> HashSet<ProcessId> {
        let mut next: Vec<ProcessId> = roots.into_iter().filter(|root| self.lives(*root)).collect();
        let mut found = HashSet::new();
        while let Some(id) = next.pop() {
            if !found.insert(id) {
                continue;
            }
            for pid in self.children.get(&id.pid).into_iter().flatten() {
                if let Some(stat) = self.processes.get(pid).filter(|stat| !stat.is_dead()) {
                    next.push(ProcessId { pid: *pid, started: stat.started });
                }
            }
        }
        found
    }

    /// Living processes below one.
    fn below(&self, root: ProcessId) -> HashSet<ProcessId> {
        let mut found = self.trees([root]);
        found.remove(&root);
        found
    }
}

/// Trees to end.
#[derive(Default)]
struct Plan {
    /// Supervisors that are late: everything below them.
    late: Vec<ProcessId>,
    /// Supervisors that had ended before the first walk.
    dead: HashSet<ProcessId>,
    /// Processes that have lost their supervisor: they and everything below them.
    strays: HashSet<ProcessId>,
}

impl Plan {
    fn targets(&self, view: &View) -> HashSet<ProcessId> {
        let strays = self.strays.iter().chain(&view.adopted).copied();
        let mut targets = view.trees(strays);
        targets.extend(self.late.iter().flat_map(|root| view.below(*root)));
        targets
    }
}

impl Reaper {
    /// Does what there is to do now. The result is the time of the next round, if there is to be one without a reason from
    /// outside. Fails, and decides nothing, when the processes cannot be listed.
    pub(super) fn round(&self, now: Instant) -> io::Result<Option<Instant>> {
        let (known, adopts) = {
            let state = self.state();
            (state.cases.keys().copied().collect::<Vec<_>>(), state.adopts)
        };
        let view = View::take(adopts)?;
        for orphan in view.adopted.iter().filter(|id| view.stat(**id).is_some_and(Stat::is_dead)) {
            let _ = waitpid(orphan.raw(), Some(WaitPidFlag::WNOHANG));
        }
        let plan = self.plan(&known, &view, now);
        let (view, ended) = self.end(&plan, view, adopts)?;
        Ok(self.judge(&known, &plan, &view, &ended, now))
    }

    /// Continues the supervisors that were stopped, and finds what has to be ended.
    fn plan(&self, known: &[ProcessId], view: &View, now: Instant) -> Plan {
        let mut plan = Plan::default();
        let mut state = self.state();
        for id in known {
            let Some(case) = state.cases.get_mut(id) else { continue };
            if !view.lives(*id) {
                plan.dead.insert(*id);
                plan.strays.extend(&case.members);
                // Once it has been waited for, its pid may be another's.
                if case.registration.is_some()
                    && waitpid(id.raw(), Some(WaitPidFlag::WNOHANG)) != Ok(WaitStatus::StillAlive)
                {
                    case.registration = None;
                }
            } else if case.due.is_some_and(|due| due <= now) {
                case.late.get_or_insert(now);
                plan.late.push(*id);
            } else if view.stat(*id).is_some_and(|stat| stat.state == 'T') {
                tracing::debug!(pid = id.pid, "a stopped supervisor is continued");
                let _ = (self.signal)(*id, Signal::SIGCONT);
            }
        }
        plan
    }

    /// Stops and then kills what the plan names. The result is the last view and everything that was found; at least two walks
    /// looked for it.
    fn end(&self, plan: &Plan, view: View, adopts: bool) -> io::Result<(View, HashSet<ProcessId>)> {
        let mut view = view;
        let mut stopped = HashSet::new();
        let mut targets = plan.targets(&view);
        for walk in 0..MAX_STOPPING_WALKS {
            let running: Vec<ProcessId> = targets.difference(&stopped).copied().collect();
            if running.is_empty() && walk > 0 {
                break;
            }
            for id in running {
                let _ = (self.signal)(id, Signal::SIGSTOP);
                stopped.insert(id);
            }
            view = View::take(adopts)?;
            targets = plan.targets(&view);
        }
        for id in &targets {
            let _ = (self.signal)(*id, Signal::SIGKILL);
        }
        stopped.extend(targets);
        Ok((view, stopped))
    }

    /// Decides what has ended, and what is left after too long.
    fn judge(
        &self,
        known: &[ProcessId],
        plan: &Plan,
        view: &View,
        ended: &HashSet<ProcessId>,
        now: Instant,
    ) -> Option<Instant> {
        let mut state = self.state();
        let (soon, retry) = (now + SHORTEST_PAUSE, now + RETRY);
        let mut next: Option<Instant> = None;
        let mut at = |time: Instant| next = Some(next.map_or(time, |next| next.min(time)));
        let claimed: HashSet<ProcessId> = state.cases.values().flat_map(|case| case.members.iter().copied()).collect();
        let below_late: HashSet<ProcessId> = plan.late.iter().flat_map(|root| view.below(*root)).collect();
        // Orphans of no known tree may be of any whose supervisor is gone and that is not settled.
        let unclaimed: HashSet<ProcessId> =
            ended.iter().filter(|id| !claimed.contains(id) && !below_late.contains(id)).copied().collect();
        let mut any_claims = false;
        for id in known {
            let Some(case) = state.cases.get_mut(id) else { continue };
            if view.lives(*id) {
                if !plan.late.contains(id) {
                    if case.closing {
                        at(soon);
                    }
                    continue;
                }
                let below = view.below(*id);
                case.members.extend(&below);
                case.members.retain(|member| view.lives(*member));
                // It may still report how its program ended, before it is killed too.
                let report_by = if below.is_empty() {
                    *case.cleared.get_or_insert(now) + SUPERVISOR_GRACE
                } else {
                    case.late.unwrap_or(now) + KILL_LIMIT / 2
                };
                let _ = (self.signal)(*id, if now < report_by { Signal::SIGCONT } else { Signal::SIGKILL });
            } else {
                if *case.verdict.borrow() == Verdict::Open {
                    case.members.extend(&unclaimed);
                    any_claims = true;
                }
                // Not after the retain: what has died in this round may have forked before, and is looked for again.
                let nothing_found = case.members.is_empty() && plan.dead.contains(id);
                case.members.retain(|member| view.lives(*member));
                if case.registration.is_some() {
                    at(soon);
                }
                if nothing_found {
                    case.verdict.send_if_modified(|verdict| {
                        let news = *verdict != Verdict::Gone;
                        *verdict = Verdict::Gone;
                        news
                    });
                    continue;
                }
            }
            let late = *case.late.get_or_insert(now);
            if now.saturating_duration_since(late) < KILL_LIMIT {
                at(soon);
                continue;
            }
            let mut pids: Vec<i32> = case.members.iter().map(|member| member.pid).collect();
            pids.extend(view.lives(*id).then_some(id.pid));
            pids.sort_unstable();
            at(if pids.is_empty() { soon } else { retry });
            if !pids.is_empty() && *case.verdict.borrow() != Verdict::Left(pids.clone()) {
                tracing::error!(?pids, session = case.session, "processes could not be ended");
                case.verdict.send_replace(Verdict::Left(pids));
            }
        }
        state.cases.retain(|_, case| case.registration.is_some() || *case.verdict.borrow() != Verdict::Gone);
        let orphans = if any_claims { HashSet::new() } else { unclaimed };
        state.orphans.retain(|id, _| orphans.contains(id) && view.lives(*id));
        for id in orphans.into_iter().filter(|id| view.lives(*id)) {
            let since = *state.orphans.entry(id).or_insert(now);
            at(if now.saturating_duration_since(since) < KILL_LIMIT { soon } else { retry });
        }
        next
    }
}
