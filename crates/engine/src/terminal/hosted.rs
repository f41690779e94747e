//! wh's own UI at a terminal of ours: it runs in this process, and a line takes the place of the terminal. Beside what a
//! program of another process tells, it says when the effect of what was typed is drawn; and the conversation that it
//! shows can be waited for.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{Instrument, info_span, warn};
use wh_client::{Drawn, Gone, Pulse, Space, Surface};
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

/// Batches of the space's events that may wait for the surface. Beyond that they wait in the space's own journal.
const BATCHES: usize = 16;

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
    let clock = Clock::now();
    let (ours, theirs) = StdUnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let line = UnixStream::from_std(theirs)?;
    let (sizes, size) = watch::channel(spec.size);
    let (tell_drawn, drawn) = watch::channel(Drawn::default());
    let (tell_leave, leave) = mpsc::channel(1);
    let (exit, exited) = oneshot::channel();
    let (pulse, batches) = follow(spec.space).await.map_err(io::Error::other)?;
    let behind = Behind::Ui(Box::new(Ui {
        sizes,
        drawn,
        told: Drawn::default(),
        pulse,
        batches,
        leave: tell_leave,
        exited: Some(exited),
    }));
    let line_to_ui = Line { terminal: Terminal::line(OwnedFd::from(ours))?, behind };
    let (surface, requests) = Surface::new();
    let (tell_ended, ended) = oneshot::channel();
    let pid = i32::try_from(std::process::id()).unwrap_or_default();
    let identity = task::Identity { id: format!("t{pid}"), size: spec.size, command: spec.command, pid, clock };
    let keeper = keeper::Keeper::new(spec.size, spec.screen, Session::hosted(clock.instant));
    let (recorder, recorded) =
        spec.recording.map(|recording| Recorder::start(recording, spec.size, clock.instant)).unzip();
    let task = task::Task::new(identity, line_to_ui, keeper, requests, tell_ended);
    tokio::spawn(
        task.hold(spec.attended).record(recorder).store(spec.ledger).run().instrument(info_span!("ui_terminal")),
    );
    Ok((Hosted { surface, ended, recorded }, Host { line, sizes: size, drawn: tell_drawn, leave, exit }))
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
}

pub(super) struct Ui {
    sizes: watch::Sender<Size>,
    drawn: watch::Receiver<Drawn>,
    /// The newest of `drawn` that the terminal was told.
    told: Drawn,
    pulse: watch::Receiver<Pulse>,
    batches: mpsc::Receiver<Batch>,
    leave: mpsc::Sender<()>,
    exited: Option<oneshot::Receiver<Exit>>,
}

impl Ui {
    async fn next(&mut self) -> News {
        let Some(exited) = &mut self.exited else { return News::Report(None) };
        tokio::select! {
            // What was drawn is told before the end.
            biased;
            Ok(()) = self.drawn.changed() => {
                self.told = *self.drawn.borrow_and_update();
                News::Drawn(self.told)
            }
            Some(batch) = self.batches.recv() => News::Happened(batch),
            Ok(()) = self.pulse.changed() => News::Gauged(self.pulse.borrow_and_update().gauges),
            exit = exited => {
                self.exited = None;
                News::Report(Some(match exit {
                    Ok(Exit::Code(code)) => Report::Exited(code),
                    Ok(Exit::Signal(signal)) => Report::Killed(signal),
                    Ok(Exit::Unknown) | Err(_) => Report::Exited(1),
                }))
            }
        }
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

    /// How the conversation stands this moment, if there is one.
    pub fn gauges(&self) -> Option<Gauges> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => Some(ui.pulse.borrow().gauges),
        }
    }

    /// The beat of the space that its UI has not drawn yet, if there is one.
    pub fn undrawn_beat(&self) -> Option<u64> {
        match self {
            Self::Program(_) => None,
            Self::Ui(ui) => {
                let beat = ui.pulse.borrow().beat;
                (ui.exited.is_some() && ui.told.beat < beat).then_some(beat)
            }
        }
    }

    /// Tells a UI its size; a program hears it from its terminal.
    pub fn resize(&self, size: Size) -> bool {
        match self {
            Self::Program(_) => false,
            Self::Ui(ui) => ui.sizes.send(size).is_ok(),
        }
    }

    pub fn give(&self, order: Order) {
        match self {
            Self::Program(program) => program.1.give(order),
            // Signals are refused by the machine; what is left asks for an end. One that waits already is enough.
            Self::Ui(ui) => drop(ui.leave.try_send(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use wh_client::{Attachment, Look, ToTerminal};

    use super::*;
    use crate::space::RunningSpace;

    const SIZE: Size = Size { columns: 40, rows: 5 };

    async fn hosted(attended: bool) -> (Hosted, Host, RunningSpace) {
        let running = RunningSpace::start("test", "human".into());
        let spec = HostSpec {
            command: vec!["wh".into()],
            size: SIZE,
            attended,
            screen: Some(ScreenSpec { history_lines: 10, log_characters: 100 }),
            recording: None,
            space: running.space.clone(),
            ledger: None,
        };
        let (hosted, host) = host(spec).await.unwrap();
        (hosted, host, running)
    }

    async fn beat(running: &RunningSpace) -> u64 {
        running.space.watch().await.unwrap().beat
    }

    #[tokio::test]
    async fn output_before_a_terminal_is_attached_waits_for_it() {
        let (hosted, mut host, running) = hosted(true).await;
        host.line.write_all(b"enter and the first frame").await.unwrap();
        host.drawn.send_replace(Drawn { typed: 0, beat: beat(&running).await });
        // A look comes after the report, and shows that nothing was read.
        let shown = hosted.surface.look(Look::default()).await.unwrap();
        assert_eq!(wh_screen::render::plain(&shown.frame).trim(), "");
        let ((output, mut terminal), (_input, input), (_changes, changes)) =
            (mpsc::channel(8), mpsc::channel(1), mpsc::channel(1));
        hosted.surface.attach(Attachment { size: SIZE, output, input, changes }).await.unwrap();
        let Some(ToTerminal::Output(bytes)) = terminal.recv().await else { panic!("it is told what was drawn") };
        assert_eq!(&bytes[..], b"enter and the first frame");
    }

    #[tokio::test]
    async fn a_look_waits_until_the_ui_has_drawn_what_happened_before() {
        let (hosted, mut host, running) = hosted(false).await;
        let looking = tokio::spawn(async move { hosted.surface.look(Look::default()).await.unwrap() });
        tokio::task::yield_now().await;
        host.line.write_all(b"the newest frame").await.unwrap();
        host.drawn.send_replace(Drawn { typed: 0, beat: beat(&running).await });
        let shown = looking.await.unwrap();
        assert_eq!(wh_screen::render::plain(&shown.frame).trim(), "the newest frame");
    }
}
