//! Ends process trees from outside. Supervisors end what is below them; but what runs below one can stop or kill it. So their
//! owner has a thread of its own that continues supervisors that were stopped, ends every tree whose supervisor did not do so
//! in time, and ends the orphans that this process adopted, if it [adopts](adopt_orphans) any.
//!
//! It depends on nothing that a tree can influence: processes are found in `/proc`, stopped so that none can fork meanwhile, and
//! killed by pidfd, until two walks in a row find nothing.

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

use crate::children::{self, Registration};
use crate::pidfd;
use crate::proc::ProcessId;

/// Grace period for a supervisor that is ending its tree in steps: HUP 0.5 s, TERM 1.5 s, KILL.
pub(crate) const END_GRACE: Duration = Duration::from_millis(3500);

/// Grace period for a supervisor that kills its tree at once, or has closed its line.
pub(crate) const KILL_GRACE: Duration = Duration::from_millis(500);

/// After this long, what still lives counts as left. It is tried again every [`RETRY`].
const KILL_LIMIT: Duration = Duration::from_secs(3);

/// Pause between two attempts to kill what is left.
const RETRY: Duration = Duration::from_secs(1);

/// Shortest pause between two rounds. It grows with the time that a round takes, so that a program that stops and continues its
/// supervisor all the time cannot keep a processor busy with rounds.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// A pause takes this many times as long as the round before, within bounds: the time of a round includes time in which this
/// process was stopped.
const PAUSE_PER_ROUND: u32 = 4;

/// Longest wait for a verdict, should the reaper be kept from working.
const VERDICT_LIMIT: Duration = Duration::from_secs(10);

/// In a [`Left`], stands for processes that could not be listed. No process has this pid.
const UNKNOWN_PID: i32 = 0;

/// Processes that could not be ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left(pub Vec<i32>);

impl Left {
    /// There may be processes, but they could not be listed.
    fn unknown() -> Self {
        Self(vec![UNKNOWN_PID])
    }

    /// True when nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Left {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::unknown() {
            return formatter.write_str("it is not known whether every process has ended");
        }
        let pids = self.0.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
        let noun = if self.0.len() == 1 { "process" } else { "processes" };
        write!(formatter, "{noun} {pids} could not be ended")
    }
}

/// State of one supervisor with its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The supervisor runs, or its tree is being ended.
    Open,
    /// Neither the supervisor nor anything of its tree exists.
    Gone,
    /// These could not be ended so far.
    Left(Vec<i32>),
}

/// One supervisor that this process started.
struct Case {
    session: Option<String>,
    /// Held until the supervisor has been waited for. Only the reaper waits for supervisors.
    registration: Option<Registration>,
    /// When the owner ends the tree itself.
    due: Option<Instant>,
    /// Its line is closed: it is about to end.
    closing: bool,
    /// Since when the owner has been ending the tree.
    late: Option<Instant>,
    /// Since when nothing lives below a supervisor that is late.
    cleared: Option<Instant>,
    /// Processes that were seen in its tree while that was being ended.
    members: HashSet<ProcessId>,
    verdict: watch::Sender<Verdict>,
}

#[derive(Default)]
struct State {
    /// Something happened that a round has to look at.
    woken: bool,
    /// This process is a child subreaper.
    adopts: bool,
    /// The thread runs.
    runs: bool,
    cases: HashMap<ProcessId, Case>,
    /// Living orphans that belong to no known tree, and since when.
    orphans: HashMap<ProcessId, Instant>,
}

impl State {
    /// The next time at which a supervisor is late.
    fn earliest_due(&self) -> Option<Instant> {
        self.cases.values().filter(|case| case.late.is_none()).filter_map(|case| case.due).min()
    }
}

type SendSignal = dyn Fn(ProcessId, Signal) -> io::Result<()> + Send + Sync;

struct Reaper {
    state: Mutex<State>,
    changed: Condvar,
    /// Number of rounds that are over and have seen every process.
    rounds: watch::Sender<u64>,
    signal: Box<SendSignal>,
}

static REAPER: LazyLock<Arc<Reaper>> = LazyLock::new(|| Arc::new(Reaper::new(Box::new(pidfd::signal))));

impl Reaper {
    fn new(signal: Box<SendSignal>) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), rounds: watch::Sender::new(0), signal }
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
            // Tried again with the next supervisor.
            Err(error) => tracing::error!(%error, "process trees cannot be watched"),
        }
    }

    fn run(&self) {
        let mut next = None;
        loop {
            self.wait(next);
            let pause;
            (next, pause) = self.attempt(Instant::now());
            thread::sleep(pause);
        }
    }

    /// Does one round. The result is the time of the next one, if it needs no reason from outside, and the pause that comes
    /// first in any case. A round that failed has looked at nothing, so it does not count.
    fn attempt(&self, begun: Instant) -> (Option<Instant>, Duration) {
        match self.round(begun) {
            Ok(next) => {
                self.rounds.send_modify(|rounds| *rounds += 1);
                (next, (begun.elapsed() * PAUSE_PER_ROUND).clamp(SHORTEST_PAUSE, RETRY))
            }
            Err(error) => {
                tracing::warn!(%error, "the processes of the machine cannot be listed; it is tried again");
                (Some(begun + RETRY), RETRY)
            }
        }
    }

    /// Waits until a round is due or somebody asks for one.
    fn wait(&self, next: Option<Instant>) {
        let mut state = self.state();
        while !state.woken {
            let next = next.into_iter().chain(state.earliest_due()).min();
            let left = next.map(|next| next.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => break,
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.woken = false;
    }

    fn wake(&self) {
        self.state().woken = true;
        self.changed.notify_one();
    }

    fn add(&self, registration: Registration, session: Option<String>) -> watch::Receiver<Verdict> {
        let (verdict, verdicts) = watch::channel(Verdict::Open);
        let id = registration.id();
        let registration = Some(registration);
        let (due, late, cleared) = (None, None, None);
        let case = Case { session, registration, due, closing: false, late, cleared, members: HashSet::new(), verdict };
        self.state().cases.insert(id, case);
        verdicts
    }

    /// Ends a supervisor's tree at this time, unless that was to happen sooner.
    fn schedule(&self, wanted: impl Fn(ProcessId, &Case) -> bool, at: Instant) {
        let mut state = self.state();
        let cases = state.cases.iter_mut().filter(|(id, case)| wanted(**id, case));
        cases.for_each(|(_, case)| case.due = Some(case.due.map_or(at, |due| due.min(at))));
        drop(state);
        self.changed.notify_one();
    }

    /// The processes of some cases that are known to be left, and those of which that is not known yet.
    fn standing(&self, wanted: &impl Fn(&Case) -> bool, with_orphans: bool) -> (Vec<i32>, Vec<i32>) {
        let (mut left, mut open) = (Vec::new(), Vec::new());
        let state = self.state();
        for (id, case) in state.cases.iter().filter(|(_, case)| wanted(case)) {
            match &*case.verdict.borrow() {
                Verdict::Open => open.push(id.pid),
                Verdict::Gone => {}
                Verdict::Left(pids) => left.extend(pids),
            }
        }
        if with_orphans {
            let now = Instant::now();
            for (id, since) in &state.orphans {
                let is_new = now.saturating_duration_since(*since) < KILL_LIMIT;
                if is_new { open.push(id.pid) } else { left.push(id.pid) }
            }
        }
        (left, open)
    }

    /// True if no supervisor is known, and two walks in a row find no orphan.
    fn has_nothing(&self) -> bool {
        let adopts = {
            let state = self.state();
            if !state.cases.is_empty() {
                return false;
            }
            state.adopts
        };
        !adopts || (0..2).all(|_| children::adopted().is_ok_and(|adopted| adopted.is_empty()))
    }

    /// Waits until nothing is left of some cases, or it is known what is.
    async fn settled(&self, wanted: impl Fn(&Case) -> bool, with_orphans: bool) -> Left {
        let mut rounds = self.rounds.subscribe();
        // The present round may have begun before; two walks in a row have to find nothing.
        let enough = *rounds.borrow() + 3;
        let (mut left, mut open) = (Vec::new(), Vec::new());
        let settled = async {
            loop {
                let done = *rounds.borrow_and_update();
                (left, open) = self.standing(&wanted, with_orphans);
                if open.is_empty() && (done >= enough || !with_orphans) {
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
        let in_time = timeout(VERDICT_LIMIT, settled).await.is_ok();
        left.extend(open);
        if !in_time {
            tracing::error!("it is not known whether every process has ended");
            if left.is_empty() {
                return Left::unknown();
            }
        }
        left.sort_unstable();
        left.dedup();
        Left(left)
    }
}

/// Makes this process a child subreaper: what outlives its supervisor becomes its child, and is ended at once. Children that it
/// has already are left alone. To be called once, within a runtime of tokio, before anything is started.
pub fn adopt_orphans() -> io::Result<()> {
    children::register_inherited()?;
    prctl::set_child_subreaper(true)?;
    let mut changes = tokio::signal::unix::signal(SignalKind::child())?;
    REAPER.state().adopts = true;
    REAPER.start();
    // A supervisor that stops or ends raises the signal; what it leaves behind is ours by then.
    tokio::spawn(async move {
        while changes.recv().await.is_some() {
            REAPER.wake();
        }
    });
    Ok(())
}

/// Ends whatever still runs for a session, after a short grace period, and waits for it.
pub async fn end_session(session: &str) -> Left {
    let of_session = |case: &Case| case.session.as_deref() == Some(session);
    REAPER.schedule(|_, case| of_session(case), Instant::now() + KILL_GRACE);
    REAPER.settled(of_session, false).await
}

/// Ends everything that this process has started under a supervisor, and every orphan that it adopted. For the end of the
/// process; whatever is to end in an orderly way has to be ended before.
pub async fn end_everything() -> Left {
    // Mostly everything has ended before; then nobody waits for rounds.
    if REAPER.has_nothing() {
        return Left::default();
    }
    REAPER.schedule(|_, _| true, Instant::now());
    REAPER.settled(|_| true, true).await
}

/// Watches over a supervisor that was just started.
pub(crate) fn watch_over(registration: Registration, session: Option<String>) -> watch::Receiver<Verdict> {
    REAPER.start();
    REAPER.add(registration, session)
}

/// Has the owner end a supervisor's tree after a grace period, unless the supervisor has.
pub(crate) fn end_after(id: ProcessId, grace: Duration) {
    REAPER.schedule(|one, _| one == id, Instant::now() + grace);
}

/// Asks for a round, in which stopped supervisors are continued.
pub(crate) fn wake() {
    REAPER.wake();
}

/// Notes that a supervisor's line is closed: it has ended, or is about to.
pub(crate) fn line_closed(id: ProcessId) {
    if let Some(case) = REAPER.state().cases.get_mut(&id) {
        case.closing = true;
    }
    end_after(id, KILL_GRACE);
    REAPER.wake();
}
