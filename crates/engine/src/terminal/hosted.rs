//! Terminals for wh's own UI, which runs in this process. A socket pair replaces the pseudo-terminal. Unlike other
//! programs, the UI reports when it has drawn the effect of typed input. A wait request for its terminal may also have
//! conditions on the conversation that the UI shows.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{Instrument, info_span, warn};
use wh_client::{ChangeNotice, DrawProgress, ScreenUseGuard, SessionGone, Space, Surface, UiFacts, UiOrder, UiPort};
use wh_core::event::NumberedEvent;
use wh_core::session::SessionMachine;
use wh_core::space::event::SpaceEvent;
use wh_core::space::state::SpaceGauges;
use wh_core::terminal::{Exit, Size};
use wh_pipe::supervisor::{Supervisor, SupervisorReports};
use wh_screen::pty::{PtyMaster, PtyProgram, SupervisorOrder, SupervisorReport};

use super::recorder::{Recorder, RecordingSpec};
use super::{ScreenSpec, StartClock, screened, task};
use crate::ledger::SessionLedger;

/// Describes a terminal for wh's own UI.
pub struct UiTerminalSpec {
    /// Command line shown for the UI.
    pub command: Vec<String>,
    pub size: Size,
    /// True if a user's terminal will be attached. The UI's output is not read until the terminal is attached.
    pub attended: bool,
    /// Amount of screen state to retain; `None` if the screen is never read.
    pub screen: Option<ScreenSpec>,
    /// Recording to write; `None` if the session is not recorded.
    pub recording: Option<RecordingSpec>,
    /// Space that the UI shows.
    pub space: Space,
    /// Ledger that stores typed commands with a request id; `None` outside a daemon.
    pub ledger: Option<SessionLedger>,
}

/// Client's end of a terminal for wh's own UI.
#[derive(Debug)]
pub struct HostedTerminal {
    /// Handle through which clients use the terminal.
    pub surface: Surface,
    /// Receives the exit of the UI, after all of its output has been processed.
    pub ended: oneshot::Receiver<Exit>,
    /// Receives the result of the recording; `None` if the session is not recorded.
    pub recorded: Option<oneshot::Receiver<io::Result<()>>>,
}

/// UI's end of a terminal for wh's own UI.
#[derive(Debug)]
pub struct UiTerminalEnd {
    /// Stream to the terminal's task: the UI reads typed input from it, and writes output to it.
    pub line: UnixStream,
    /// Current size of the terminal.
    pub sizes: watch::Receiver<Size>,
    /// Publishes the progress of the UI's drawing.
    pub drawn: watch::Sender<DrawProgress>,
    /// Receiver of requests to end the UI.
    pub leave: mpsc::Receiver<()>,
    /// Sends the exit of the UI. Dropping the sender counts as a failure of the UI.
    pub exit: oneshot::Sender<Exit>,
}

/// Function that starts a UI on a [`UiTerminalEnd`]. The UI ends when the returned task ends.
pub type StartUiFn = Box<dyn Fn(UiTerminalEnd, UiPort) -> JoinHandle<()> + Send + Sync>;

/// Settings of a UI that runs only while its screen is in use.
pub struct OnDemandUiSpec {
    /// Port through which the UI receives commands and reports facts.
    pub port: UiPort,
    pub start: StartUiFn,
    /// Amount of screen state to retain while the UI runs.
    pub screen: ScreenSpec,
    /// Idle timeout: time from the last use of the screen until the UI is ended.
    pub unused_after: Duration,
}

/// Maximum number of batches of space events queued for the terminal's task. Further events stay in the space's
/// journal.
const MAX_QUEUED_EVENT_BATCHES: usize = 16;

/// Number of checks per idle period. A check ends the UI if the screen is unused.
const UI_CHECKS_PER_IDLE_PERIOD: u32 = 10;

/// Maximum number of commands queued for a UI that runs on demand; further commands are refused.
const MAX_QUEUED_UI_ORDERS: usize = 16;

type EventBatch = Vec<Arc<NumberedEvent<SpaceEvent>>>;

/// Gauges and new events of the space that a terminal shows.
pub(super) struct SpaceFeed {
    notices: watch::Receiver<ChangeNotice>,
    batches: mpsc::Receiver<EventBatch>,
}

impl SpaceFeed {
    /// Waits for the next change. Cancel safe.
    async fn next(&mut self) -> PeerEvent {
        tokio::select! {
            biased;
            Some(batch) = self.batches.recv() => PeerEvent::SpaceEvents(batch),
            Ok(()) = self.notices.changed() => PeerEvent::Gauged(self.gauges()),
            else => std::future::pending().await,
        }
    }

    fn gauges(&mut self) -> SpaceGauges {
        self.notices.borrow_and_update().gauges
    }
}

/// Subscribes to the gauges and new events of a space.
pub(super) async fn follow(space: Space) -> Result<SpaceFeed, SessionGone> {
    let watched = space.watch().await?;
    let (notices, mut changes, mut cursor) = (watched.changes.clone(), watched.changes, watched.end);
    let (sender, batches) = mpsc::channel(MAX_QUEUED_EVENT_BATCHES);
    tokio::spawn(async move {
        loop {
            changes.borrow_and_update();
            // Revision `u64::MAX` excludes growing items, so that only events are returned.
            match space.updates(cursor.clone(), u64::MAX).await {
                Ok(Ok(updates)) => {
                    if let Some(last) = updates.events.last() {
                        cursor.seq = last.seq;
                        if sender.send(updates.events).await.is_err() {
                            return;
                        }
                        continue;
                    }
                }
                Ok(Err(_)) => match space.watch().await {
                    Ok(watched) => {
                        warn!("the terminal fell behind the space; its journal lacks some space events");
                        cursor = watched.end;
                        if sender.send(Vec::new()).await.is_err() {
                            return;
                        }
                    }
                    Err(SessionGone) => return,
                },
                Err(SessionGone) => return,
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    });
    Ok(SpaceFeed { notices, batches })
}

/// Creates a terminal for wh's own UI, and the task that owns the terminal. Must be called within a Tokio runtime.
pub async fn host(spec: UiTerminalSpec) -> io::Result<(HostedTerminal, UiTerminalEnd)> {
    let (sizes, _) = watch::channel(spec.size);
    let (terminal, host, running) = connect(&sizes, 0)?;
    let feed = follow(spec.space.clone()).await.map_err(io::Error::other)?;
    let ui = HostedUi { sizes, feed, running: Some(running), on_demand: None };
    Ok((serve(spec, TerminalWithPeer { terminal, peer: TerminalPeer::Ui(Box::new(ui)) }), host))
}

/// Creates a terminal whose UI starts on the first use of its screen. After [`OnDemandUiSpec::unused_after`] without
/// use, the UI is ended if it is [at rest](UiFacts::at_rest). [`UiTerminalSpec::screen`] is ignored. Must be called
/// within a Tokio runtime.
pub async fn host_on_demand(spec: UiTerminalSpec, on_demand: OnDemandUiSpec) -> io::Result<HostedTerminal> {
    let (sizes, _) = watch::channel(spec.size);
    // Placeholder with a closed peer. Each UI gets a new socket pair.
    let terminal = PtyMaster::from_socket(OwnedFd::from(StdUnixStream::pair()?.0))?;
    let feed = follow(spec.space.clone()).await.map_err(io::Error::other)?;
    let on_demand = Some(OnDemandUi {
        spec: on_demand,
        used: Instant::now(),
        check_at: None,
        screen_use: ScreenUseGuard::default(),
    });
    let ui = HostedUi { sizes, feed, running: None, on_demand };
    Ok(serve(
        UiTerminalSpec { screen: None, ..spec },
        TerminalWithPeer { terminal, peer: TerminalPeer::Ui(Box::new(ui)) },
    ))
}

fn serve(spec: UiTerminalSpec, terminal: TerminalWithPeer) -> HostedTerminal {
    let clock = StartClock::now();
    let (surface, requests) = Surface::new();
    let (ended_sender, ended) = oneshot::channel();
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let identity = task::SessionIdentity { id: format!("t{pid}"), size: spec.size, command: spec.command, pid, clock };
    let session = screened::ScreenedSession::new(spec.size, spec.screen, SessionMachine::hosted(clock.instant));
    let (recorder, recorded) =
        spec.recording.map(|recording| Recorder::start(recording, spec.size, clock.instant)).unzip();
    let task = task::TerminalTask::new(identity, terminal, session, requests, ended_sender);
    tokio::spawn(
        task.hold_output(spec.attended).record(recorder).store(spec.ledger).run().instrument(info_span!("ui_terminal")),
    );
    HostedTerminal { surface, ended, recorded }
}

/// Connects a new UI. Returns the client's end of the terminal, the UI's end, and the state of the UI. `typed` is the
/// number of input bytes sent to earlier UIs.
fn connect(sizes: &watch::Sender<Size>, typed: u64) -> io::Result<(PtyMaster, UiTerminalEnd, RunningUi)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let terminal = PtyMaster::from_socket(OwnedFd::from(ours))?;
    let (drawn_sender, drawn) = watch::channel(DrawProgress::default());
    let (leave_sender, leave) = mpsc::channel(1);
    let (exit, exited) = oneshot::channel();
    let host = UiTerminalEnd {
        line: UnixStream::from_std(theirs)?,
        sizes: sizes.subscribe(),
        drawn: drawn_sender,
        leave,
        exit,
    };
    let running = RunningUi {
        drawn,
        reported: DrawProgress { typed, change_count: 0 },
        typed_before: typed,
        has_drawn: false,
        leave: leave_sender,
        exited: Some(exited),
        orders: None,
        task: None,
    };
    Ok((terminal, host, running))
}

/// Terminal and the process or UI at its other end.
pub(super) struct TerminalWithPeer {
    pub terminal: PtyMaster,
    pub peer: TerminalPeer,
}

impl From<PtyProgram> for TerminalWithPeer {
    fn from(program: PtyProgram) -> Self {
        Self {
            terminal: program.terminal,
            peer: TerminalPeer::Program(Box::new(ProgramPeer {
                reports: program.reports,
                supervisor: program.supervisor,
                feed: None,
            })),
        }
    }
}

/// Process or UI at the other end of a terminal.
pub(super) enum TerminalPeer {
    Program(Box<ProgramPeer>),
    /// UI of wh in this process.
    Ui(Box<HostedUi>),
}

/// Program at the other end of a terminal, with its supervisor.
pub(super) struct ProgramPeer {
    reports: SupervisorReports,
    supervisor: Arc<Supervisor>,
    /// Space of an agent that runs in its own terminal UI; `None` for any other program.
    feed: Option<SpaceFeed>,
}

impl ProgramPeer {
    /// Waits for the next report of the supervisor or change of the space. Cancel safe.
    async fn next(&mut self) -> PeerEvent {
        match &mut self.feed {
            Some(feed) => tokio::select! {
                report = self.reports.next() => PeerEvent::Report(report),
                change = feed.next() => change,
            },
            None => PeerEvent::Report(self.reports.next().await),
        }
    }
}

/// Event from the other end of a terminal.
pub(super) enum PeerEvent {
    Report(Option<SupervisorReport>),
    Drawn(DrawProgress),
    Gauged(SpaceGauges),
    SpaceEvents(EventBatch),
    /// Command for a UI that runs on demand.
    Ordered(UiOrder),
}

pub(super) struct HostedUi {
    sizes: watch::Sender<Size>,
    feed: SpaceFeed,
    running: Option<RunningUi>,
    on_demand: Option<OnDemandUi>,
}

struct RunningUi {
    drawn: watch::Receiver<DrawProgress>,
    /// Newest drawing progress reported to the terminal's task.
    reported: DrawProgress,
    /// Number of input bytes sent to earlier UIs.
    typed_before: u64,
    /// True once the first frame is drawn.
    has_drawn: bool,
    leave: mpsc::Sender<()>,
    /// Receiver of the UI's exit; `None` once the exit was reported.
    exited: Option<oneshot::Receiver<Exit>>,
    /// Sender of commands to a UI that runs on demand.
    orders: Option<mpsc::Sender<UiOrder>>,
    task: Option<JoinHandle<()>>,
}

impl Drop for RunningUi {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

/// Settings and screen use of a UI that runs on demand.
struct OnDemandUi {
    spec: OnDemandUiSpec,
    /// Time of the last use of the screen.
    used: Instant,
    /// Time of the next check whether the UI is still needed.
    check_at: Option<Instant>,
    /// Guard shared with the watchers of the screen. While a watcher holds the guard, the UI keeps running.
    screen_use: ScreenUseGuard,
}

impl HostedUi {
    /// Waits for the next event of the UI or its space. Cancel safe.
    async fn next(&mut self) -> PeerEvent {
        let Self { feed, running, on_demand, .. } = self;
        if on_demand.is_none() && running.as_ref().is_none_or(|running| running.exited.is_none()) {
            return PeerEvent::Report(None);
        }
        let (drawn, exited) = running.as_mut().map(|running| (&mut running.drawn, running.exited.as_mut())).unzip();
        let exit = tokio::select! {
            // Drawn frames are reported before the exit.
            biased;
            () = changed(drawn) => None,
            change = feed.next() => return change,
            order = next_order(on_demand) => return PeerEvent::Ordered(order),
            exit = ended(exited.flatten()) => Some(exit),
        };
        match (running, exit) {
            (Some(running), None) => PeerEvent::Drawn(running.note_drawn()),
            (Some(running), Some(exit)) => {
                running.exited = None;
                PeerEvent::Report(Some(exit))
            }
            (None, _) => PeerEvent::Report(None),
        }
    }
}

impl RunningUi {
    fn note_drawn(&mut self) -> DrawProgress {
        let drawn = *self.drawn.borrow_and_update();
        self.reported = DrawProgress { typed: self.typed_before + drawn.typed, ..drawn };
        self.has_drawn = true;
        self.reported
    }
}

async fn changed(drawn: Option<&mut watch::Receiver<DrawProgress>>) {
    match drawn {
        Some(drawn) => {
            if drawn.changed().await.is_err() {
                std::future::pending().await
            }
        }
        None => std::future::pending().await,
    }
}

async fn ended(exited: Option<&mut oneshot::Receiver<Exit>>) -> SupervisorReport {
    match exited {
        Some(exited) => match exited.await {
            Ok(Exit::Code(code)) => SupervisorReport::Exited(code),
            Ok(Exit::Signal(signal)) => SupervisorReport::Killed(signal),
            Ok(Exit::Unknown) | Err(_) => SupervisorReport::Exited(1),
        },
        None => std::future::pending().await,
    }
}

async fn next_order(on_demand: &mut Option<OnDemandUi>) -> UiOrder {
    match on_demand {
        Some(demand) => match demand.spec.port.orders.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

impl TerminalPeer {
    /// Waits for the next event of the program or UI. Cancel safe.
    pub async fn next(&mut self) -> PeerEvent {
        match self {
            Self::Program(program) => program.next().await,
            Self::Ui(ui) => ui.next().await,
        }
    }

    pub fn is_hosted(&self) -> bool {
        matches!(self, Self::Ui(_))
    }

    /// True for a program, and for a UI that is running.
    pub fn is_running(&self) -> bool {
        match self {
            Self::Program(_) => true,
            Self::Ui(ui) => ui.running.is_some(),
        }
    }

    /// Returns the current gauges of the conversation that the terminal shows; `None` for a program without one.
    pub fn gauges(&self) -> Option<SpaceGauges> {
        match self {
            Self::Program(program) => program.feed.as_ref().map(|feed| feed.notices.borrow().gauges),
            Self::Ui(ui) => Some(ui.feed.notices.borrow().gauges),
        }
    }

    /// Reports the changes of this space. Does nothing for wh's own UI, which shows a space from its start.
    pub fn show_space(&mut self, feed: SpaceFeed) {
        if let Self::Program(program) = self {
            program.feed = Some(feed);
        }
    }

    /// Returns the number of the newest change of the space if the running UI has not drawn this change yet.
    pub fn undrawn_change(&self) -> Option<u64> {
        let Self::Ui(ui) = self else { return None };
        let running = ui.running.as_ref()?;
        let change_count = ui.feed.notices.borrow().change_count;
        (running.exited.is_some() && running.reported.change_count < change_count).then_some(change_count)
    }

    /// Sends the new terminal size to a UI. Returns false for a program, which gets the size from its terminal.
    pub fn resize(&self, size: Size) -> bool {
        match self {
            Self::Program(_) => false,
            Self::Ui(ui) => {
                ui.sizes.send_replace(size);
                true
            }
        }
    }

    pub fn give(&self, order: SupervisorOrder) {
        match self {
            Self::Program(program) => program.supervisor.send_order(order),
            // Every order is a request to end the UI, because the machine refuses signals for a UI. One queued request
            // is enough.
            Self::Ui(ui) => {
                if let Some(running) = &ui.running {
                    let _ = running.leave.try_send(());
                }
            }
        }
    }
}

/// Methods for a UI that runs on demand.
impl TerminalPeer {
    fn demand(&mut self) -> Option<(&mut OnDemandUi, &mut Option<RunningUi>, &watch::Sender<Size>)> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => ui.on_demand.as_mut().map(|demand| (demand, &mut ui.running, &ui.sizes)),
        }
    }

    /// Records a use of the screen, and starts the UI if it is not running. `typed` is the number of input bytes sent
    /// so far.
    pub fn use_screen(&mut self, typed: u64) -> ScreenReadiness {
        let Some((demand, running, sizes)) = self.demand() else { return ScreenReadiness::Drawn };
        demand.used = Instant::now();
        if let Some(running) = running {
            return if running.has_drawn { ScreenReadiness::Drawn } else { ScreenReadiness::Starting };
        }
        let (terminal, host, mut ui) = match connect(sizes, typed) {
            Ok(connected) => connected,
            Err(error) => {
                warn!(%error, "cannot start the UI");
                return ScreenReadiness::Drawn;
            }
        };
        let (orders, ordered) = mpsc::channel(MAX_QUEUED_UI_ORDERS);
        ui.orders = Some(orders);
        let port = UiPort { facts: demand.spec.port.facts.clone(), orders: ordered };
        ui.task = Some((demand.spec.start)(host, port));
        demand.check_at = Some(demand.used + demand.spec.unused_after);
        *running = Some(ui);
        ScreenReadiness::Started(terminal, demand.spec.screen)
    }

    /// Forwards a command to the UI. If the command cannot be queued, it is dropped, which closes its reply channel.
    pub fn order(&mut self, order: UiOrder) {
        if let Some((_, Some(RunningUi { orders: Some(orders), .. }), _)) = self.demand() {
            drop(orders.try_send(order));
        }
    }

    /// Returns a guard that keeps the UI running until the guard is dropped; `None` if the UI does not run on demand.
    pub fn screen_use(&mut self) -> Option<ScreenUseGuard> {
        self.demand().map(|(demand, ..)| demand.screen_use.clone())
    }

    /// Treats the first frame as drawn. Called when the timeout for the first frame has passed.
    pub fn assume_drawn(&mut self) {
        if let Self::Ui(ui) = self {
            ui.running.iter_mut().for_each(|running| running.has_drawn = true);
        }
    }

    /// Returns the time of the next check whether the UI is still needed; `None` if no UI runs on demand.
    pub fn check_at(&self) -> Option<Instant> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => ui.on_demand.as_ref()?.check_at.filter(|_| ui.running.is_some()),
        }
    }

    /// Ends the UI if its screen was not used for [`OnDemandUiSpec::unused_after`] and the UI is at rest. Returns true
    /// if the UI was ended.
    pub fn end_if_unused(&mut self, now: Instant) -> bool {
        let Some((demand, running, _)) = self.demand() else { return false };
        if running.is_none() || demand.check_at.is_none_or(|at| now < at) {
            return false;
        }
        let (after, used) = (demand.spec.unused_after, demand.used);
        let unused_at = used + after;
        let is_needed = demand.screen_use.is_shared() || !demand.spec.port.facts.borrow().at_rest;
        if now < unused_at || is_needed {
            demand.check_at = Some(unused_at.max(now + after / UI_CHECKS_PER_IDLE_PERIOD));
            return false;
        }
        (*running, demand.check_at) = (None, None);
        demand.spec.port.facts.send_replace(UiFacts::default());
        true
    }
}

/// Readiness of a UI's screen.
pub(super) enum ScreenReadiness {
    /// The screen can be read: the first frame is drawn.
    Drawn,
    /// The UI has not drawn its first frame yet.
    Starting,
    /// The UI was just started on this terminal. A new screen must be opened with these settings.
    Started(PtyMaster, ScreenSpec),
}

#[cfg(test)]
mod tests;
