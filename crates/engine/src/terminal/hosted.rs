//! wh's own UI at a terminal of ours: it runs in this process, and a line takes the place of the terminal. Beside what a
//! program of another process tells, it says when the effect of what was typed is drawn; and the conversation that it
//! shows can be waited for.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tracing::{Instrument, info_span, warn};
use wh_client::{Drawn, Gone, Pulse, ScreenUse, Space, Surface, UiFacts, UiOrder, UiPort};
use wh_core::event::Numbered;
use wh_core::session::Session;
use wh_core::space::event::Event;
use wh_core::space::state::Gauges;
use wh_core::terminal::{Exit, Size};
use wh_pipe::supervisor::{Reports, Supervisor};
use wh_screen::pty::{Order, Program, Report, Terminal};

use super::recorder::{Recorder, RecordingSpec};
use super::{Clock, ScreenSpec, keeper, task};
use crate::ledger::SessionLedger;

/// A terminal for wh's own UI.
pub struct HostSpec {
    /// How the UI is called.
    pub command: Vec<String>,
    /// The terminal's size.
    pub size: Size,
    /// A person's terminal will be attached; what is drawn waits for that.
    pub attended: bool,
    /// How much of the screen is kept; `None`: nobody will look.
    pub screen: Option<ScreenSpec>,
    /// Whether and how it is written down.
    pub recording: Option<RecordingSpec>,
    /// The space that is shown.
    pub space: Space,
    /// Where what is typed with an id is stored; `None` outside a daemon.
    pub ledger: Option<SessionLedger>,
}

/// The terminal, as those outside have it.
#[derive(Debug)]
pub struct Hosted {
    /// The handle on it.
    pub surface: Surface,
    /// How the UI ended, once all that it drew has been seen.
    pub ended: oneshot::Receiver<Exit>,
    /// How the recording ended, if there was one.
    pub recorded: Option<oneshot::Receiver<io::Result<()>>>,
}

/// The terminal, as the UI has it.
#[derive(Debug)]
pub struct Host {
    /// What is typed comes from here, what is drawn goes there.
    pub line: UnixStream,
    /// The terminal's size.
    pub sizes: watch::Receiver<Size>,
    /// Where the UI reports what it has drawn.
    pub drawn: watch::Sender<Drawn>,
    /// Somebody wants the UI to end.
    pub leave: mpsc::Receiver<()>,
    /// Where the UI says how it ended. Closed without a word: it failed.
    pub exit: oneshot::Sender<Exit>,
}

/// Starts a UI on a terminal of ours. The UI ends with the task.
pub type StartUi = Box<dyn Fn(Host, UiPort) -> JoinHandle<()> + Send + Sync>;

/// A UI that runs only while somebody uses its screen.
pub struct OnDemand {
    /// Where the UI hears from outside, and says how it shows the space.
    pub port: UiPort,
    /// Starts it.
    pub start: StartUi,
    /// How much of its screen is kept while it runs.
    pub screen: ScreenSpec,
    /// Time after the last use of its screen at which it is ended.
    pub unused_after: Duration,
}

/// Batches of the space's events that may wait for the surface. Beyond that they wait in the space's own journal.
const BATCHES: usize = 16;

/// Looks at whether a UI is still needed, in the time after which it would be ended.
const UI_CHECKS: u32 = 10;

/// Commands that may wait for a UI that runs on demand. Beyond that they are refused.
const UI_ORDERS: usize = 16;

type Batch = Vec<Arc<Numbered<Event>>>;

/// Follows the space from this moment on: how it stands, and what happens.
async fn follow(space: Space) -> Result<(watch::Receiver<Pulse>, mpsc::Receiver<Batch>), Gone> {
    let watched = space.watch().await?;
    let (pulse, mut bell, mut cursor) = (watched.pulse.clone(), watched.pulse, watched.end);
    let (sender, batches) = mpsc::channel(BATCHES);
    tokio::spawn(async move {
        loop {
            bell.borrow_and_update();
            // Growth is left to those who watch the space itself.
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
                        warn!("the surface was too slow for the space's events; some are not in its journal");
                        cursor = watched.end;
                        if sender.send(Vec::new()).await.is_err() {
                            return;
                        }
                    }
                    Err(Gone) => return,
                },
                Err(Gone) => return,
            }
            if bell.changed().await.is_err() {
                return;
            }
        }
    });
    Ok((pulse, batches))
}

/// Makes a terminal for wh's own UI, and the task that serves it. Must be called within a runtime.
pub async fn host(spec: HostSpec) -> io::Result<(Hosted, Host)> {
    let (sizes, _) = watch::channel(spec.size);
    let (terminal, host, running) = line(&sizes, 0)?;
    let (pulse, batches) = follow(spec.space.clone()).await.map_err(io::Error::other)?;
    let ui = Ui { sizes, pulse, batches, running: Some(running), on_demand: None };
    Ok((serve(spec, Line { terminal, behind: Behind::Ui(Box::new(ui)) }), host))
}

/// Makes a terminal whose UI is started when its screen is first used, and ended when nobody has used it for a while and
/// nothing is lost with it. [`HostSpec::screen`] does not count. Must be called within a runtime.
pub async fn host_on_demand(spec: HostSpec, on_demand: OnDemand) -> io::Result<Hosted> {
    let (sizes, _) = watch::channel(spec.size);
    // The other end is closed: a line for each UI takes its place.
    let terminal = Terminal::line(OwnedFd::from(StdUnixStream::pair()?.0))?;
    let (pulse, batches) = follow(spec.space.clone()).await.map_err(io::Error::other)?;
    let on_demand =
        Some(Demand { spec: on_demand, used: Instant::now(), check_at: None, screen_use: ScreenUse::default() });
    let ui = Ui { sizes, pulse, batches, running: None, on_demand };
    Ok(serve(HostSpec { screen: None, ..spec }, Line { terminal, behind: Behind::Ui(Box::new(ui)) }))
}

fn serve(spec: HostSpec, line: Line) -> Hosted {
    let clock = Clock::now();
    let (surface, requests) = Surface::new();
    let (tell_ended, ended) = oneshot::channel();
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let identity = task::Identity { id: format!("t{pid}"), size: spec.size, command: spec.command, pid, clock };
    let keeper = keeper::Keeper::new(spec.size, spec.screen, Session::hosted(clock.instant));
    let (recorder, recorded) =
        spec.recording.map(|recording| Recorder::start(recording, spec.size, clock.instant)).unzip();
    let task = task::Task::new(identity, line, keeper, requests, tell_ended);
    tokio::spawn(
        task.hold(spec.attended).record(recorder).store(spec.ledger).run().instrument(info_span!("ui_terminal")),
    );
    Hosted { surface, ended, recorded }
}

/// A line to a UI: our end, what the UI needs, and what is known of it. `typed` bytes were typed to earlier UIs.
fn line(sizes: &watch::Sender<Size>, typed: u64) -> io::Result<(Terminal, Host, RunningUi)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let terminal = Terminal::line(OwnedFd::from(ours))?;
    let (tell_drawn, drawn) = watch::channel(Drawn::default());
    let (tell_leave, leave) = mpsc::channel(1);
    let (exit, exited) = oneshot::channel();
    let host = Host { line: UnixStream::from_std(theirs)?, sizes: sizes.subscribe(), drawn: tell_drawn, leave, exit };
    let running = RunningUi {
        drawn,
        told: Drawn { typed, beat: 0 },
        typed_before: typed,
        has_drawn: false,
        leave: tell_leave,
        exited: Some(exited),
        orders: None,
        task: None,
    };
    Ok((terminal, host, running))
}

/// A terminal and who is behind it.
pub(super) struct Line {
    pub terminal: Terminal,
    pub behind: Behind,
}

impl From<Program> for Line {
    fn from(program: Program) -> Self {
        Self { terminal: program.terminal, behind: Behind::Program(Box::new((program.reports, program.supervisor))) }
    }
}

/// Who is behind a terminal.
pub(super) enum Behind {
    /// A program with its supervisor.
    Program(Box<(Reports, Arc<Supervisor>)>),
    /// wh's own UI.
    Ui(Box<Ui>),
}

/// What is heard from behind a terminal.
pub(super) enum News {
    Report(Option<Report>),
    Drawn(Drawn),
    Gauged(Gauges),
    Happened(Batch),
    /// A command for a UI that runs on demand.
    Ordered(UiOrder),
}

pub(super) struct Ui {
    sizes: watch::Sender<Size>,
    pulse: watch::Receiver<Pulse>,
    batches: mpsc::Receiver<Batch>,
    running: Option<RunningUi>,
    on_demand: Option<Demand>,
}

/// A UI that runs.
struct RunningUi {
    drawn: watch::Receiver<Drawn>,
    /// The newest of `drawn` that the terminal was told.
    told: Drawn,
    /// Bytes that were typed to earlier UIs.
    typed_before: u64,
    /// Its first frame is drawn.
    has_drawn: bool,
    leave: mpsc::Sender<()>,
    /// `None` once its end was told.
    exited: Option<oneshot::Receiver<Exit>>,
    /// Commands for it, if it runs on demand.
    orders: Option<mpsc::Sender<UiOrder>>,
    task: Option<JoinHandle<()>>,
}

impl Drop for RunningUi {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

/// A UI that runs on demand, and its use.
struct Demand {
    spec: OnDemand,
    /// Last use of its screen.
    used: Instant,
    /// Next look at whether it is still needed.
    check_at: Option<Instant>,
    /// Held by those who watch its screen.
    screen_use: ScreenUse,
}

impl Ui {
    /// The next of what is heard. Cancel safe.
    async fn next(&mut self) -> News {
        let Self { pulse, batches, running, on_demand, .. } = self;
        if on_demand.is_none() && running.as_ref().is_none_or(|running| running.exited.is_none()) {
            return News::Report(None);
        }
        let (drawn, exited) = running.as_mut().map(|running| (&mut running.drawn, running.exited.as_mut())).unzip();
        let exit = tokio::select! {
            // What was drawn is told before the end.
            biased;
            () = changed(drawn) => None,
            Some(batch) = batches.recv() => return News::Happened(batch),
            Ok(()) = pulse.changed() => return News::Gauged(pulse.borrow_and_update().gauges),
            order = next_order(on_demand) => return News::Ordered(order),
            exit = ended(exited.flatten()) => Some(exit),
        };
        match (running, exit) {
            (Some(running), None) => News::Drawn(running.note_drawn()),
            (Some(running), Some(exit)) => {
                running.exited = None;
                News::Report(Some(exit))
            }
            (None, _) => News::Report(None),
        }
    }
}

impl RunningUi {
    fn note_drawn(&mut self) -> Drawn {
        let drawn = *self.drawn.borrow_and_update();
        self.told = Drawn { typed: self.typed_before + drawn.typed, ..drawn };
        self.has_drawn = true;
        self.told
    }
}

async fn changed(drawn: Option<&mut watch::Receiver<Drawn>>) {
    match drawn {
        Some(drawn) => {
            if drawn.changed().await.is_err() {
                std::future::pending().await
            }
        }
        None => std::future::pending().await,
    }
}

async fn ended(exited: Option<&mut oneshot::Receiver<Exit>>) -> Report {
    match exited {
        Some(exited) => match exited.await {
            Ok(Exit::Code(code)) => Report::Exited(code),
            Ok(Exit::Signal(signal)) => Report::Killed(signal),
            Ok(Exit::Unknown) | Err(_) => Report::Exited(1),
        },
        None => std::future::pending().await,
    }
}

async fn next_order(on_demand: &mut Option<Demand>) -> UiOrder {
    match on_demand {
        Some(demand) => match demand.spec.port.orders.recv().await {
            Some(order) => order,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

impl Behind {
    /// The next of what is heard. Cancel safe.
    pub async fn next(&mut self) -> News {
        match self {
            Self::Program(program) => News::Report(program.0.next().await),
            Self::Ui(ui) => ui.next().await,
        }
    }

    pub fn is_hosted(&self) -> bool {
        matches!(self, Self::Ui(_))
    }

    /// False for a UI that runs on demand and does not run now.
    pub fn is_running(&self) -> bool {
        match self {
            Self::Program(_) => true,
            Self::Ui(ui) => ui.running.is_some(),
        }
    }

    /// How the conversation stands this moment, if there is one.
    pub fn gauges(&self) -> Option<Gauges> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => Some(ui.pulse.borrow().gauges),
        }
    }

    /// The beat of the space that its UI has not drawn yet, if there is one.
    pub fn undrawn_beat(&self) -> Option<u64> {
        let Self::Ui(ui) = self else { return None };
        let running = ui.running.as_ref()?;
        let beat = ui.pulse.borrow().beat;
        (running.exited.is_some() && running.told.beat < beat).then_some(beat)
    }

    /// Tells a UI its size; a program hears it from its terminal.
    pub fn resize(&self, size: Size) -> bool {
        match self {
            Self::Program(_) => false,
            Self::Ui(ui) => {
                ui.sizes.send_replace(size);
                true
            }
        }
    }

    pub fn give(&self, order: Order) {
        match self {
            Self::Program(program) => program.1.give(order),
            // Signals are refused by the machine; what is left asks for an end. One that waits already is enough.
            Self::Ui(ui) => {
                if let Some(running) = &ui.running {
                    let _ = running.leave.try_send(());
                }
            }
        }
    }
}

/// The part of a UI that runs on demand.
impl Behind {
    fn demand(&mut self) -> Option<(&mut Demand, &mut Option<RunningUi>, &watch::Sender<Size>)> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => ui.on_demand.as_mut().map(|demand| (demand, &mut ui.running, &ui.sizes)),
        }
    }

    /// The screen is used: it has to be there. `typed` bytes were typed so far.
    pub fn use_screen(&mut self, typed: u64) -> Screen {
        let Some((demand, running, sizes)) = self.demand() else { return Screen::Drawn };
        demand.used = Instant::now();
        if let Some(running) = running {
            return if running.has_drawn { Screen::Drawn } else { Screen::Starting };
        }
        let (terminal, host, mut ui) = match line(sizes, typed) {
            Ok(line) => line,
            Err(error) => {
                warn!(%error, "the UI cannot be started");
                return Screen::Drawn;
            }
        };
        let (orders, ordered) = mpsc::channel(UI_ORDERS);
        ui.orders = Some(orders);
        let port = UiPort { facts: demand.spec.port.facts.clone(), orders: ordered };
        ui.task = Some((demand.spec.start)(host, port));
        demand.check_at = Some(demand.used + demand.spec.unused_after);
        *running = Some(ui);
        Screen::Started(terminal, demand.spec.screen)
    }

    /// Passes a command on to the UI. One that it does not take is dropped, and its sender is told by that.
    pub fn order(&mut self, order: UiOrder) {
        if let Some((_, Some(RunningUi { orders: Some(orders), .. }), _)) = self.demand() {
            drop(orders.try_send(order));
        }
    }

    /// What keeps the UI while it is held.
    pub fn screen_use(&mut self) -> Option<ScreenUse> {
        self.demand().map(|(demand, ..)| demand.screen_use.clone())
    }

    /// The first frame takes too long: nobody waits for it any more.
    pub fn take_as_drawn(&mut self) {
        if let Self::Ui(ui) = self {
            ui.running.iter_mut().for_each(|running| running.has_drawn = true);
        }
    }

    /// Time of the next look at whether the UI is still needed.
    pub fn check_at(&self) -> Option<Instant> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => ui.on_demand.as_ref()?.check_at.filter(|_| ui.running.is_some()),
        }
    }

    /// Ends a UI that nobody has used for [`OnDemand::unused_after`], unless something would be lost with it. True if it has ended.
    pub fn end_unused(&mut self, now: Instant) -> bool {
        let Some((demand, running, _)) = self.demand() else { return false };
        if running.is_none() || demand.check_at.is_none_or(|at| now < at) {
            return false;
        }
        let (after, used) = (demand.spec.unused_after, demand.used);
        let unused_at = used + after;
        let is_needed = demand.screen_use.is_shared() || !demand.spec.port.facts.borrow().at_rest;
        if now < unused_at || is_needed {
            demand.check_at = Some(unused_at.max(now + after / UI_CHECKS));
            return false;
        }
        (*running, demand.check_at) = (None, None);
        demand.spec.port.facts.send_replace(UiFacts::default());
        true
    }
}

/// The screen of a UI that is about to be used.
pub(super) enum Screen {
    /// It is there.
    Drawn,
    /// The UI has not drawn its first frame yet.
    Starting,
    /// The UI was started just now, on this line.
    Started(Terminal, ScreenSpec),
}

#[cfg(test)]
mod tests;
