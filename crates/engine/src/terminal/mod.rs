//! A terminal session: started here, run by a task of its own.

mod attached;
mod hosted;
mod hub;
mod keeper;
mod outbox;
mod recorder;
mod task;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use tokio::sync::oneshot;
use tracing::{Instrument, info_span};
use wh_client::Surface;
use wh_core::receipt::{Failure, Receipt, Stage};
use wh_core::request::RequestId;
use wh_core::session::{Fate, Session, Taken};
use wh_core::terminal::{Exit, Size};
use wh_pipe::Left;
use wh_pipe::supervisor::{self, NotStarted};
use wh_screen::pty::{Program, ProgramSpec};

use crate::ledger::SessionLedger;
pub use hosted::{Host, HostSpec, Hosted, OnDemand, StartUi, host, host_on_demand};
pub use recorder::RecordingSpec;

/// What to run and how to watch it.
pub struct TerminalSpec {
    /// The program and its arguments; not empty.
    pub command: Vec<OsString>,
    /// Where it runs; where we run when absent.
    pub directory: Option<PathBuf>,
    /// Variables set for it, over those that we have.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables that it must not see.
    pub withheld: Vec<OsString>,
    /// Session of the daemon that it runs in; `None` outside a daemon.
    pub session: Option<String>,
    /// The terminal's size.
    pub size: Size,
    /// The person's terminal, if one will be attached: the program's output waits for that.
    pub terminal: Option<OwnedFd>,
    /// How much of the screen is kept; `None`: nobody will look, and the program's bytes are not interpreted.
    pub screen: Option<ScreenSpec>,
    /// Whether and how the session is written down.
    pub recording: Option<RecordingSpec>,
    /// Where its commands with an id are stored; `None` outside a daemon.
    pub ledger: Option<SessionLedger>,
}

/// How much of the screen is kept.
#[derive(Debug, Clone, Copy)]
pub struct ScreenSpec {
    /// Lines above the screen.
    pub history_lines: usize,
    /// Characters of raw output.
    pub log_characters: usize,
}

/// A program that runs.
#[derive(Debug)]
pub struct TerminalSession {
    /// The handle on it.
    pub surface: Surface,
    /// Its process id.
    pub pid: i32,
    /// How it ended, once it has and all of its output has been seen.
    pub ended: oneshot::Receiver<Exit>,
    /// Resolves when neither the program nor anything that it started exists any more, or it is known what could not be ended.
    pub empty: oneshot::Receiver<Left>,
    /// How the recording ended, if there was one.
    pub recorded: Option<oneshot::Receiver<io::Result<()>>>,
}

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error("cannot run {program:?}: {source}")]
    Program {
        /// Its name.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// Its directory cannot be entered.
    #[error("cannot run in {directory:?}: {source}")]
    Directory {
        /// Its path.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no terminal for it.
    #[error("cannot open a terminal: {0}")]
    Terminal(#[source] io::Error),
}

impl StartError {
    /// Whether the program itself was not found or could not be executed, with the system's error.
    pub fn program_error(&self) -> Option<&io::Error> {
        match self {
            Self::Program { source, .. } => Some(source),
            Self::Directory { .. } | Self::Terminal(_) => None,
        }
    }
}

/// The time at the start, by both clocks: all later times are told by the steady one.
#[derive(Debug, Clone, Copy)]
struct Clock {
    instant: Instant,
    time: SystemTime,
}

impl Clock {
    fn now() -> Self {
        Self { instant: Instant::now(), time: SystemTime::now() }
    }

    fn time(&self, instant: Instant) -> SystemTime {
        self.time + instant.saturating_duration_since(self.instant)
    }

    /// The receipt of a command that was typed. A terminal knows no later stage than the delivery.
    fn receipt(&self, id: &RequestId, taken: Taken) -> Receipt {
        let mut receipt = Receipt::accepted(id.clone(), self.time(taken.accepted));
        match taken.fate {
            Fate::Waits => {}
            Fate::Delivered(at) => drop(receipt.reach(Stage::Delivered, self.time(at))),
            Fate::Lost(loss) => {
                let failure = Failure { reason: loss.reason(), words: loss.to_string() };
                receipt.reach(Stage::Failed(failure), SystemTime::now());
            }
        }
        receipt
    }
}

/// Starts a program and the task that serves it. Must be called within a runtime.
pub async fn start(spec: TerminalSpec) -> Result<TerminalSession, StartError> {
    let clock = Clock::now();
    let shown: Vec<String> = spec.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = spec.command.first().cloned().unwrap_or_default();
    let held = spec.terminal.is_some();
    let directory = spec.directory.map(enter).transpose()?;
    let mut running = Program::start(ProgramSpec {
        supervisor: supervisor::own_binary().map_err(StartError::Terminal)?,
        command: spec.command,
        directory,
        environment: spec.environment,
        withheld: spec.withheld,
        session: spec.session,
        size: spec.size,
        terminal: spec.terminal,
    })
    .map_err(StartError::Terminal)?;
    let pid = running.reports.started().await.map_err(|error| match error {
        NotStarted::Program(source) => StartError::Program { program, source },
        NotStarted::Supervisor(_) => StartError::Terminal(io::Error::other(error)),
    })?;
    let (surface, requests) = Surface::new();
    let (tell_ended, ended) = oneshot::channel();
    let (tell_empty, empty) = oneshot::channel();
    let nothing_left = running.supervisor.ended();
    tokio::spawn(async move { tell_empty.send(nothing_left.await) });
    let identity = task::Identity { id: format!("t{pid}"), size: spec.size, command: shown, pid, clock };
    let keeper = keeper::Keeper::new(spec.size, spec.screen, Session::new(clock.instant));
    let (recorder, recorded) = match spec.recording {
        Some(recording) => {
            let (recorder, recorded) = recorder::Recorder::start(recording, spec.size, clock.instant);
            (Some(recorder), Some(recorded))
        }
        None => (None, None),
    };
    let span = info_span!("terminal_session", id = identity.id, pid);
    let task = task::Task::new(identity, running.into(), keeper, requests, tell_ended);
    tokio::spawn(task.hold(held).record(recorder).store(spec.ledger).run().instrument(span));
    Ok(TerminalSession { surface, pid, ended, empty, recorded })
}

/// The directory by its one true name, so that what is checked is what is entered.
fn enter(directory: PathBuf) -> Result<PathBuf, StartError> {
    let entered = directory
        .canonicalize()
        .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) });
    entered.map_err(|source| StartError::Directory { directory, source })
}
