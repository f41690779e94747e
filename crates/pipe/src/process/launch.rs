//! Describes a program to start, and starts it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::setsid;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::leader::{Leader, watch_program, watch_supervisor};
use super::{Child, Exit};
use crate::KillSwitch;
use crate::children::{self, ChildRole};
use crate::executable::{candidates, has_slash, is_executable};
use crate::kill_switch::ProgramGuard;
use crate::supervisor::{Supervisor, SupervisorReports, SupervisorStartError};
use crate::tail::StderrTail;

/// Default number of bytes of standard error that are retained.
pub const DEFAULT_STDERR_BYTES: usize = 64 * 1024;

/// Describes a program to start and its environment.
#[derive(Clone, PartialEq, Eq)]
pub struct LaunchSpec {
    /// Program to run: a path, or a name to look up on the program's `PATH`.
    pub program: OsString,
    /// Command-line arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// Working directory; `None` inherits it.
    pub directory: Option<PathBuf>,
    /// Changes to the inherited environment; `None` removes a variable.
    pub environment: BTreeMap<OsString, Option<OsString>>,
    /// Command of a [supervisor](crate::supervisor) for pipes. Without a supervisor, the program's group is killed when
    /// the [`Child`] is dropped, but keeps running if this process is killed.
    pub supervisor: Option<Vec<OsString>>,
    /// Session that the supervisor is registered for. Requests from processes below the supervisor are attributed to
    /// this session. When the session ends, all processes below the supervisor are ended.
    pub session: Option<String>,
    /// Number of bytes of standard error to retain.
    pub stderr: usize,
    /// Text that marks lines of standard error. A [`Link`](crate::Link) delivers lines that contain this text as
    /// events. `None` delivers no lines.
    pub stderr_marker: Option<String>,
    /// Kill switch that can end the program, if any.
    pub kill_switch: Option<KillSwitch>,
}

/// Shows only the names of environment variables, since values may be secrets.
impl fmt::Debug for LaunchSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LaunchSpec")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("supervisor", &self.supervisor)
            .field("session", &self.session)
            .field("stderr", &self.stderr)
            .field("stderr_marker", &self.stderr_marker)
            .finish()
    }
}

/// Reason why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program does not exist.
    #[error("program {0:?} not found{where_looked}", where_looked = if has_slash(.0) { "" } else { " in PATH" })]
    NotFound(OsString),
    /// The program exists but cannot be executed: the execute permission or the interpreter named in its first line
    /// is missing.
    #[error("{} cannot be executed: {source}", path.display())]
    NotExecutable {
        /// Path of the program.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("cannot enter the directory {}: {source}", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The supervisor could not be started, or failed.
    #[error("the supervisor {command:?} failed: {source}")]
    Supervisor {
        /// First word of the supervisor's command.
        command: OsString,
        /// Error of the system.
        source: io::Error,
    },
    /// Any other system error.
    #[error("{program:?} could not be started: {source}")]
    Other {
        /// Program as specified in [`LaunchSpec::program`].
        program: OsString,
        /// Error of the system.
        source: io::Error,
    },
}

impl LaunchSpec {
    /// Creates a launch of this program without arguments or a supervisor, in the inherited working directory.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: None,
            environment: BTreeMap::new(),
            supervisor: None,
            session: None,
            stderr: DEFAULT_STDERR_BYTES,
            stderr_marker: None,
            kill_switch: None,
        }
    }

    /// Starts the program. Must be called within a tokio runtime with IO and time enabled.
    pub async fn start(&self) -> Result<Child, LaunchError> {
        let place = self.resolve_program()?;
        if let Some(directory) = &self.directory {
            let source = match std::fs::metadata(directory) {
                Ok(found) if found.is_dir() => None,
                Ok(_) => Some(Errno::ENOTDIR.into()),
                Err(error) => Some(error),
            };
            if let Some(source) = source {
                return Err(LaunchError::Directory { path: directory.clone(), source });
            }
        }
        let hold = self.kill_switch.as_ref().map(KillSwitch::count_program);
        let child = match &self.supervisor {
            Some(command) => self.start_supervised(command, &place, hold).await,
            None => self.start_alone(&place, hold),
        }?;
        if let Some(kill_switch) = self.kill_switch.clone() {
            let (leader, exited) = (Arc::downgrade(&child.leader), child.exited());
            tokio::spawn(async move {
                tokio::select! {
                    () = kill_switch.triggered() => leader.upgrade().into_iter().for_each(|leader| leader.kill()),
                    _ = exited => {}
                }
            });
        }
        tracing::debug!(pid = child.pid, program = %place.display(), supervised = self.supervisor.is_some(), "started");
        Ok(child)
    }

    fn start_alone(&self, place: &Path, hold: Option<ProgramGuard>) -> Result<Child, LaunchError> {
        let failed = |source| self.failed(place, source);
        let deaths = signal(SignalKind::child()).map_err(failed)?;
        let mut command = Command::new(place);
        self.configure(command.args(&self.arguments)).process_group(0);
        let (mut process, registration) = children::spawn(&mut command, ChildRole::Program).map_err(failed)?;
        let pid = registration.id().raw();
        // If a later step fails, dropping the leader kills the program.
        let leader = Leader::program(registration, hold);
        let (publish, exit) = watch::channel(None);
        let child = self.take_pipes(&mut process, pid.as_raw(), leader, exit).map_err(failed)?;
        tokio::spawn(watch_program(Arc::clone(&child.leader), deaths, publish));
        Ok(child)
    }

    async fn start_supervised(
        &self,
        command: &[OsString],
        place: &Path,
        hold: Option<ProgramGuard>,
    ) -> Result<Child, LaunchError> {
        let first = command.first().cloned().unwrap_or_default();
        let broken = |source| LaunchError::Supervisor { command: first.clone(), source };
        let (mut process, supervisor, mut reports) = self.spawn_supervisor(command, place).map_err(broken)?;
        if let Some(hold) = hold {
            // Runs in its own task, since this future and the child may be dropped.
            let ended = supervisor.ended();
            tokio::spawn(async move {
                ended.await;
                drop(hold);
            });
        }
        let (publish, exit) = watch::channel(None);
        let pid = reports.started().await.map_err(|error| match error {
            SupervisorStartError::Program(source) => self.failed(place, source),
            SupervisorStartError::Supervisor(source) => broken(source),
        })?;
        let child =
            self.take_pipes(&mut process, pid, Arc::new(Leader::Supervisor(supervisor)), exit).map_err(broken)?;
        tokio::spawn(watch_supervisor(reports, publish));
        Ok(child)
    }

    fn spawn_supervisor(
        &self,
        command: &[OsString],
        place: &Path,
    ) -> io::Result<(process::Child, Arc<Supervisor>, SupervisorReports)> {
        let (first, rest) = command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let (ours, theirs) = UnixStream::pair()?;
        let line = theirs.as_raw_fd();
        let mut command = Command::new(first);
        command.args(rest).arg(line.to_string()).arg(place).args(&self.arguments);
        self.configure(&mut command);
        let lead_session = move || {
            setsid()?;
            // SAFETY: the caller keeps the descriptor open until the command has been spawned.
            let line = unsafe { BorrowedFd::borrow_raw(line) };
            fcntl(line, FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        };
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on memory that is already
        // allocated.
        unsafe { command.pre_exec(lead_session) };
        let started = Supervisor::start(&mut command, self.session.clone(), ours);
        drop(theirs);
        started
    }

    fn configure<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
    }

    fn take_pipes(
        &self,
        process: &mut process::Child,
        pid: i32,
        leader: Arc<Leader>,
        exit: watch::Receiver<Option<Exit>>,
    ) -> io::Result<Child> {
        let missing = || io::Error::other("a standard stream of the program is not a pipe");
        let stdin = pipe::Sender::from_owned_fd(OwnedFd::from(process.stdin.take().ok_or_else(missing)?))?;
        let stdout = pipe::Receiver::from_owned_fd(OwnedFd::from(process.stdout.take().ok_or_else(missing)?))?;
        let stderr = pipe::Receiver::from_owned_fd(OwnedFd::from(process.stderr.take().ok_or_else(missing)?))?;
        let (stderr, reading) = StderrTail::of(stderr, self.stderr);
        Ok(Child { stdin: Some(stdin), stdout: Some(stdout), stderr, _reading: reading, pid, leader, exit })
    }

    /// Resolves the path of the program. A relative path that contains a slash is relative to the working directory of
    /// the program.
    fn resolve_program(&self) -> Result<PathBuf, LaunchError> {
        let path = match self.environment.get(OsStr::new("PATH")) {
            Some(path) => path.clone(),
            None => std::env::var_os("PATH"),
        };
        let program = match &self.directory {
            Some(directory) if has_slash(&self.program) => directory.join(&self.program).into_os_string(),
            _ => self.program.clone(),
        };
        let mut there = None;
        for place in candidates(&program, &path.unwrap_or_default()) {
            // The program starts in its own working directory, where a relative path may refer to another file.
            let place = std::path::absolute(&place).unwrap_or(place);
            if is_executable(&place) {
                return Ok(place);
            }
            if there.is_none() && place.exists() {
                there = Some(place);
            }
        }
        Err(match there {
            Some(path) => LaunchError::NotExecutable { path, source: Errno::EACCES.into() },
            None => LaunchError::NotFound(self.program.clone()),
        })
    }

    fn failed(&self, place: &Path, source: io::Error) -> LaunchError {
        match source.raw_os_error().map(Errno::from_raw) {
            // The program existed a moment ago, so its interpreter or a permission is missing.
            Some(Errno::ENOENT | Errno::EACCES | Errno::ENOEXEC | Errno::EPERM) => {
                LaunchError::NotExecutable { path: place.to_owned(), source }
            }
            _ => LaunchError::Other { program: self.program.clone(), source },
        }
    }
}
