//! Terminal sessions. Starts a program in a pseudo-terminal, and the task that owns the session.

mod agent_port;
mod attached;
mod hosted;
mod hub;
mod input_queue;
mod recorder;
mod screened;
mod task;

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use tokio::sync::oneshot;
use tracing::{Instrument, info_span};
use wh_client::Surface;
use wh_core::receipt::{CommandFailure, Receipt, ReceiptStage};
use wh_core::request::RequestId;
use wh_core::session::{DeliveryState, InputReceipt, SessionMachine};
use wh_core::terminal::{Exit, Size};
use wh_pipe::Survivors;
use wh_pipe::supervisor::{self, SupervisorStartError};
use wh_screen::pty::{ProgramSpec, PtyProgram};

use crate::ledger::SessionLedger;
pub use agent_port::SurfaceTerminal;
pub use hosted::{HostedTerminal, OnDemandUiSpec, StartUiFn, UiTerminalEnd, UiTerminalSpec, host, host_on_demand};
pub use recorder::RecordingSpec;

/// Describes a program to run, and its terminal, screen and recording.
pub struct TerminalSpec {
    /// Program and its arguments; must not be empty.
    pub command: Vec<OsString>,
    /// Working directory of the program; `None` for the working directory of this process.
    pub directory: Option<PathBuf>,
    /// Variables added to the environment of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Environment variables of this process that the program does not receive.
    pub withheld: Vec<OsString>,
    /// Id of the daemon's session that the program runs in; `None` outside a daemon.
    pub session: Option<String>,
    pub size: Size,
    /// User's terminal, if one will be attached. Program output is not read until the terminal is attached.
    pub terminal: Option<OwnedFd>,
    /// Amount of screen state to retain. If `None`, program output is not interpreted and the screen cannot be read.
    pub screen: Option<ScreenSpec>,
    /// Recording to write; `None` if the session is not recorded.
    pub recording: Option<RecordingSpec>,
    /// Ledger that stores commands with a request id; `None` outside a daemon.
    pub ledger: Option<SessionLedger>,
}

/// Amount of screen state to retain for readers.
#[derive(Debug, Clone, Copy)]
pub struct ScreenSpec {
    /// Maximum number of scrollback lines.
    pub history_lines: usize,
    /// Maximum number of characters of raw output.
    pub log_characters: usize,
}

/// Running program with its handle, and channels for its exit and recording.
#[derive(Debug)]
pub struct TerminalSession {
    /// Handle through which clients use the session.
    pub surface: Surface,
    pub pid: i32,
    /// Receives the exit of the program, after all of its output has been processed.
    pub ended: oneshot::Receiver<Exit>,
    /// Receives the processes that could not be ended; empty if the program and all its descendants have exited.
    pub empty: oneshot::Receiver<Survivors>,
    /// Receives the result of the recording; `None` if the session is not recorded.
    pub recorded: Option<oneshot::Receiver<io::Result<()>>>,
}

/// Reason why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProgramStartError {
    /// The program cannot be executed.
    #[error("cannot run {program:?}: {source}")]
    Program {
        /// Program name as given.
        program: OsString,
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("cannot enter the working directory {directory:?}: {source}")]
    Directory {
        /// Path as given.
        directory: PathBuf,
        source: io::Error,
    },
    /// No pseudo-terminal could be opened.
    #[error("cannot open a terminal: {0}")]
    Terminal(#[source] io::Error),
}

impl ProgramStartError {
    /// Returns the system error if the program was not found or cannot be executed.
    pub fn program_error(&self) -> Option<&io::Error> {
        match self {
            Self::Program { source, .. } => Some(source),
            Self::Directory { .. } | Self::Terminal(_) => None,
        }
    }
}

/// Start time of a session on the monotonic clock and on the wall clock. Later wall-clock times are computed from the
/// monotonic clock.
#[derive(Debug, Clone, Copy)]
struct StartClock {
    instant: Instant,
    time: SystemTime,
}

impl StartClock {
    fn now() -> Self {
        Self { instant: Instant::now(), time: SystemTime::now() }
    }

    fn time(&self, instant: Instant) -> SystemTime {
        self.time + instant.saturating_duration_since(self.instant)
    }

    /// Creates the receipt of a typed command. [`ReceiptStage::Delivered`] is the last stage of a successful command.
    fn receipt(&self, id: &RequestId, taken: InputReceipt) -> Receipt {
        let mut receipt = Receipt::accepted(id.clone(), self.time(taken.accepted));
        match taken.delivery {
            DeliveryState::Queued => {}
            DeliveryState::Delivered(at) => drop(receipt.reach(ReceiptStage::Delivered, self.time(at))),
            DeliveryState::Lost(loss) => {
                let failure = CommandFailure { reason: loss.reason(), message: loss.to_string() };
                receipt.reach(ReceiptStage::Failed(failure), SystemTime::now());
            }
        }
        receipt
    }
}

/// Starts a program, and the task that owns the session. Must be called within a Tokio runtime.
pub async fn start(spec: TerminalSpec) -> Result<TerminalSession, ProgramStartError> {
    let clock = StartClock::now();
    let shown: Vec<String> = spec.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = spec.command.first().cloned().unwrap_or_default();
    let held = spec.terminal.is_some();
    let directory = spec.directory.map(canonical_directory).transpose()?;
    let mut running = PtyProgram::start(ProgramSpec {
        supervisor: supervisor::own_binary().map_err(ProgramStartError::Terminal)?,
        command: spec.command,
        directory,
        environment: spec.environment,
        removed_variables: spec.withheld,
        session: spec.session,
        size: spec.size,
        terminal: spec.terminal,
    })
    .map_err(ProgramStartError::Terminal)?;
    let pid = running.reports.started().await.map_err(|error| match error {
        SupervisorStartError::Program(source) => ProgramStartError::Program { program, source },
        SupervisorStartError::Supervisor(_) => ProgramStartError::Terminal(io::Error::other(error)),
    })?;
    let (surface, requests) = Surface::new();
    let (ended_sender, ended) = oneshot::channel();
    let (empty_sender, empty) = oneshot::channel();
    let nothing_left = running.supervisor.ended();
    tokio::spawn(async move { empty_sender.send(nothing_left.await) });
    let identity = task::SessionIdentity { id: format!("t{pid}"), size: spec.size, command: shown, pid, clock };
    let session = screened::ScreenedSession::new(spec.size, spec.screen, SessionMachine::new(clock.instant));
    let (recorder, recorded) = match spec.recording {
        Some(recording) => {
            let (recorder, recorded) = recorder::Recorder::start(recording, spec.size, clock.instant);
            (Some(recorder), Some(recorded))
        }
        None => (None, None),
    };
    let span = info_span!("terminal_session", id = identity.id, pid);
    let task = task::TerminalTask::new(identity, running.into(), session, requests, ended_sender);
    tokio::spawn(task.hold_output(held).record(recorder).store(spec.ledger).run().instrument(span));
    Ok(TerminalSession { surface, pid, ended, empty, recorded })
}

/// Returns the canonical path of the working directory, so that the check and the program use the same path.
fn canonical_directory(directory: PathBuf) -> Result<PathBuf, ProgramStartError> {
    let entered = directory
        .canonicalize()
        .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) });
    entered.map_err(|source| ProgramStartError::Directory { directory, source })
}
