//! Ends process trees from outside. A program can stop or kill its supervisor. Therefore a dedicated thread continues
//! stopped supervisors, and ends every tree that a supervisor did not end in time. If this process
//! [adopts](adopt_orphans) orphans, the thread kills them too.
//!
//! A tree cannot evade the reaper: its processes are found in `/proc`, stopped so that they cannot fork, and killed by
//! pidfd until two scans in a row find no process.

mod round;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use tokio::signal::unix::SignalKind;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::children::{self, ChildRegistration};
use crate::pidfd;
use crate::proc::ProcessIdentity;

/// Grace period for a supervisor that is ending its tree in steps: HUP 0.5 s, TERM 1.5 s, KILL.
pub(crate) const END_GRACE: Duration = Duration::from_millis(3500);

/// Grace period for a supervisor that kills its tree immediately, or has closed its socket.
pub(crate) const KILL_GRACE: Duration = Duration::from_millis(500);

/// Time after which processes that still live are reported as survivors. The reaper continues to kill them every
/// [`KILL_RETRY_INTERVAL`].
const KILL_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval between two attempts to kill survivors.
const KILL_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum delay between two rounds. The delay grows with the duration of a round, so that a program cannot keep a CPU
/// busy by repeatedly stopping its supervisor.
const MIN_ROUND_DELAY: Duration = Duration::from_millis(5);

/// Ratio of the delay to the duration of the previous round. The delay is at most [`KILL_RETRY_INTERVAL`], since the
/// duration includes time in which this process was stopped.
const DELAY_PER_ROUND: u32 = 4;

/// Maximum wait for the final status of trees, in case the reaper thread is blocked.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Placeholder in [`Survivors`] for processes that could not be listed. No process has this pid.
const UNKNOWN_PID: i32 = 0;

/// Pids of processes that could not be ended, even with SIGKILL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survivors(pub Vec<i32>);

impl Survivors {
    /// Creates the value for a failed process listing: the surviving processes are unknown.
    fn unknown() -> Self {
        Self(vec![UNKNOWN_PID])
    }

    /// True if no process is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Survivors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::unknown() {
            return formatter.write_str("processes could not be listed; some may still be running");
        }
        let pids = self.0.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
        let noun = if self.0.len() == 1 { "process" } else { "processes" };
        write!(formatter, "{noun} {pids} could not be ended")
    }
}

/// Status of one supervisor with its process tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreeStatus {
    /// The supervisor runs, or its tree is being ended.
    Active,
    /// The supervisor and its complete tree have exited.
    Gone,
    /// Processes with these pids could not be ended so far.
    Surviving(Vec<i32>),
}

/// State of one supervisor that this process started.
struct WatchedTree {
    session: Option<String>,
    /// Held until the supervisor has been reaped. Only the reaper calls `waitpid` for supervisors.
    registration: Option<ChildRegistration>,
    /// Time from which the reaper itself ends the tree; `None` if no end is scheduled.
    due: Option<Instant>,
    /// True if the supervisor's socket is closed, which means that the supervisor is about to exit.
    closing: bool,
    /// Start of the reaper's attempt to end the tree, if the reaper has begun.
    overdue_since: Option<Instant>,
    /// Time at which an overdue supervisor was first seen without living descendants.
    empty_since: Option<Instant>,
    /// Processes seen in the tree while the reaper was ending it.
    members: HashSet<ProcessIdentity>,
    status: watch::Sender<TreeStatus>,
}

#[derive(Default)]
struct ReaperState {
    /// True if a round was requested.
    woken: bool,
    /// True if this process is a child subreaper.
    adopts: bool,
    /// True if the reaper thread runs.
    runs: bool,
    trees: HashMap<ProcessIdentity, WatchedTree>,
    /// Living orphans that belong to no known tree, with the time at which each was first seen.
    orphans: HashMap<ProcessIdentity, Instant>,
}

impl ReaperState {
    /// Returns the earliest time at which a supervisor becomes overdue; `None` if no end is scheduled.
    fn earliest_due(&self) -> Option<Instant> {
        self.trees.values().filter(|tree| tree.overdue_since.is_none()).filter_map(|tree| tree.due).min()
    }
}

type SendSignal = dyn Fn(ProcessIdentity, Signal) -> io::Result<()> + Send + Sync;

struct Reaper {
    state: Mutex<ReaperState>,
    changed: Condvar,
    /// Number of completed rounds that could list all processes.
    rounds: watch::Sender<u64>,
    signal: Box<SendSignal>,
}

static REAPER: LazyLock<Arc<Reaper>> = LazyLock::new(|| Arc::new(Reaper::new(Box::new(pidfd::signal))));

impl Reaper {
    fn new(signal: Box<SendSignal>) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), rounds: watch::Sender::new(0), signal }
    }

    fn state(&self) -> MutexGuard<'_, ReaperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>) {
        let mut state = self.state();
        if state.runs {
            return;
        }
        let own = Arc::clone(self);
        match thread::Builder::new().name("wh-reaper".to_owned()).spawn(move || own.run()) {
            Ok(_) => state.runs = true,
            // Retried with the next supervisor.
            Err(error) => tracing::error!(%error, "cannot start the reaper thread; process trees are not watched"),
        }
    }

    fn run(&self) {
        let mut next = None;
        loop {
            self.wait(next);
            let pause;
            (next, pause) = self.try_round(Instant::now());
            thread::sleep(pause);
        }
    }

    /// Runs one round. Returns the time of the next round, if one is due without a wakeup, and the minimum delay before
    /// it. A failed round is not counted in `rounds`.
    fn try_round(&self, begun: Instant) -> (Option<Instant>, Duration) {
        match self.round(begun) {
            Ok(next) => {
                self.rounds.send_modify(|rounds| *rounds += 1);
                (next, (begun.elapsed() * DELAY_PER_ROUND).clamp(MIN_ROUND_DELAY, KILL_RETRY_INTERVAL))
            }
            Err(error) => {
                tracing::warn!(%error, "cannot list processes; retrying");
                (Some(begun + KILL_RETRY_INTERVAL), KILL_RETRY_INTERVAL)
            }
        }
    }

    /// Waits until a round is due or requested.
    fn wait(&self, next: Option<Instant>) {
        let mut state = self.state();
        while !state.woken {
            let next = next.into_iter().chain(state.earliest_due()).min();
            let remaining = next.map(|next| next.saturating_duration_since(Instant::now()));
            state = match remaining {
                Some(Duration::ZERO) => break,
                Some(remaining) => {
                    self.changed.wait_timeout(state, remaining).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.woken = false;
    }

    fn wake(&self) {
        self.state().woken = true;
        self.changed.notify_one();
    }

    fn add(&self, registration: ChildRegistration, session: Option<String>) -> watch::Receiver<TreeStatus> {
        let (sender, receiver) = watch::channel(TreeStatus::Active);
        let id = registration.id();
        let registration = Some(registration);
        let tree = WatchedTree {
            session,
            registration,
            due: None,
            closing: false,
            overdue_since: None,
            empty_since: None,
            members: HashSet::new(),
            status: sender,
        };
        self.state().trees.insert(id, tree);
        receiver
    }

    /// Schedules the end of all trees for which `wanted` is true. A tree that is due earlier keeps its time.
    fn schedule(&self, wanted: impl Fn(ProcessIdentity, &WatchedTree) -> bool, at: Instant) {
        let mut state = self.state();
        let matching = state.trees.iter_mut().filter(|(id, tree)| wanted(**id, tree));
        matching.for_each(|(_, tree)| tree.due = Some(tree.due.map_or(at, |due| due.min(at))));
        drop(state);
        self.changed.notify_one();
    }

    /// Checks the trees for which `wanted` is true, and the orphans if `with_orphans` is true. Returns the pids of
    /// surviving processes, and the pids of supervisors and orphans that may still exit.
    fn unfinished(&self, wanted: &impl Fn(&WatchedTree) -> bool, with_orphans: bool) -> (Vec<i32>, Vec<i32>) {
        let (mut surviving, mut active) = (Vec::new(), Vec::new());
        let state = self.state();
        for (id, tree) in state.trees.iter().filter(|(_, tree)| wanted(tree)) {
            match &*tree.status.borrow() {
                TreeStatus::Active => active.push(id.pid),
                TreeStatus::Gone => {}
                TreeStatus::Surviving(pids) => surviving.extend(pids),
            }
        }
        if with_orphans {
            let now = Instant::now();
            for (id, since) in &state.orphans {
                let is_new = now.saturating_duration_since(*since) < KILL_TIMEOUT;
                if is_new { active.push(id.pid) } else { surviving.push(id.pid) }
            }
        }
        (surviving, active)
    }

    /// True if no supervisor is registered, and two scans in a row find no orphan.
    fn is_idle(&self) -> bool {
        let adopts = {
            let state = self.state();
            if !state.trees.is_empty() {
                return false;
            }
            state.adopts
        };
        !adopts || (0..2).all(|_| children::adopted().is_ok_and(|adopted| adopted.is_empty()))
    }

    /// Waits until the trees for which `wanted` is true have ended or are known to survive.
    async fn settled(&self, wanted: impl Fn(&WatchedTree) -> bool, with_orphans: bool) -> Survivors {
        let mut rounds = self.rounds.subscribe();
        // The current round may have begun before this call, so it does not count. The next two rounds must find no
        // process.
        let enough = *rounds.borrow() + 3;
        let (mut surviving, mut active) = (Vec::new(), Vec::new());
        let settled = async {
            loop {
                let done = *rounds.borrow_and_update();
                (surviving, active) = self.unfinished(&wanted, with_orphans);
                if active.is_empty() && (done >= enough || !with_orphans) {
                    return;
                }
                if done < enough {
                    self.wake();
                }
                if rounds.changed().await.is_err() {
                    return;
                }
            }
        };
        let in_time = timeout(SETTLE_TIMEOUT, settled).await.is_ok();
        surviving.extend(active);
        if !in_time {
            tracing::error!("timed out waiting for processes to end; some may still be running");
            if surviving.is_empty() {
                return Survivors::unknown();
            }
        }
        surviving.sort_unstable();
        surviving.dedup();
        Survivors(surviving)
    }
}

/// Makes this process a child subreaper. Processes that outlive their supervisor become children of this process and
/// are killed immediately. Existing children are not affected. Must be called once, within a tokio runtime, before any
/// child is started.
pub fn adopt_orphans() -> io::Result<()> {
    children::register_inherited()?;
    prctl::set_child_subreaper(true)?;
    let mut changes = tokio::signal::unix::signal(SignalKind::child())?;
    REAPER.state().adopts = true;
    REAPER.start();
    // SIGCHLD also arrives when a supervisor stops or exits. At that time, this process has already adopted the
    // supervisor's orphans.
    tokio::spawn(async move {
        while changes.recv().await.is_some() {
            REAPER.wake();
        }
    });
    Ok(())
}

/// Ends all processes of a session after a short grace period, and waits for their end. Returns the processes that
/// could not be ended.
pub async fn end_session(session: &str) -> Survivors {
    let of_session = |tree: &WatchedTree| tree.session.as_deref() == Some(session);
    REAPER.schedule(|_, tree| of_session(tree), Instant::now() + KILL_GRACE);
    REAPER.settled(of_session, false).await
}

/// Ends all processes that this process has started under a supervisor, and all adopted orphans. Must be called at the
/// end of this process, after every orderly shutdown.
pub async fn end_everything() -> Survivors {
    // Usually all processes have exited already, and no round is needed.
    if REAPER.is_idle() {
        return Survivors::default();
    }
    REAPER.schedule(|_, _| true, Instant::now());
    REAPER.settled(|_| true, true).await
}

/// Registers a supervisor that was just started.
pub(crate) fn register(registration: ChildRegistration, session: Option<String>) -> watch::Receiver<TreeStatus> {
    REAPER.start();
    REAPER.add(registration, session)
}

/// Ends a supervisor's tree after a grace period, unless the supervisor does so before.
pub(crate) fn end_after(id: ProcessIdentity, grace: Duration) {
    REAPER.schedule(|one, _| one == id, Instant::now() + grace);
}

/// Requests a round, which continues stopped supervisors.
pub(crate) fn wake() {
    REAPER.wake();
}

/// Records that the socket of a supervisor is closed, because the supervisor has exited or is about to exit.
pub(crate) fn socket_closed(id: ProcessIdentity) {
    if let Some(tree) = REAPER.state().trees.get_mut(&id) {
        tree.closing = true;
    }
    end_after(id, KILL_GRACE);
    REAPER.wake();
}
