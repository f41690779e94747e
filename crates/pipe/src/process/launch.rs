//! What to start, and how that can fail.

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
use crate::Leash;
use crate::children::{self, Role};
use crate::find::{candidates, is_executable, names_a_place};
use crate::leash::Hold;
use crate::supervisor::{NotStarted, Reports, Supervisor};
use crate::tail::Tail;

/// How much of a program's standard error is kept, unless told otherwise.
pub const STDERR: usize = 64 * 1024;

/// What to start, and where.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// What to run: a name that is looked for on the path that the program gets, or a place.
    pub program: OsString,
    /// What follows it on the command line.
    pub arguments: Vec<OsString>,
    /// Where it runs; where we run when absent.
    pub directory: Option<PathBuf>,
    /// What its environment has beside ours; `None` takes a variable away.
    pub environment: BTreeMap<OsString, Option<OsString>>,
    /// Command of a [supervisor](crate::supervisor) for pipes. Without one, the program's group ends with the [`Child`], but
    /// not when we are killed.
    pub supervisor: Option<Vec<OsString>>,
    /// Session of the owner that the supervisor is registered for: callers below the supervisor are traced to it, and end
    /// with it.
    pub session: Option<String>,
    /// How many bytes of its standard error are kept.
    pub stderr: usize,
    /// Marks the lines of its standard error that a [`Link`](crate::Link) passes on as events: those that contain this
    /// text. None are passed on when absent.
    pub stderr_marker: Option<String>,
    /// What kills it, whoever else holds it.
    pub leash: Option<Leash>,
}

/// Values of the environment may be secrets: only names are shown.
impl fmt::Debug for Launch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Launch")
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

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It is not there.
    #[error("there is no program {0:?}{where_looked}", where_looked = if names_a_place(.0) { "" } else { " on the path" })]
    NotFound(OsString),
    /// It is there, but cannot be run: a right is missing, or what its first line names.
    #[error("{} cannot be executed: {source}", path.display())]
    NotExecutable {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory that it was to run in cannot be entered.
    #[error("cannot enter the directory {}: {source}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The supervisor could not be started, or did not work.
    #[error("the supervisor {command:?} does not work: {source}")]
    Supervisor {
        /// What was to be run.
        command: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// Something else.
    #[error("{program:?} could not be started: {source}")]
    Other {
        /// What was to be run.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
}

impl Launch {
    /// This program, without arguments, where we run, without a supervisor.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: None,
            environment: BTreeMap::new(),
            supervisor: None,
            session: None,
            stderr: STDERR,
            stderr_marker: None,
            leash: None,
        }
    }

    /// Starts it. Must be called within a runtime of tokio that has IO and time.
    pub async fn start(&self) -> Result<Child, StartError> {
        let place = self.place()?;
        if let Some(directory) = &self.directory {
            let source = match std::fs::metadata(directory) {
                Ok(found) if found.is_dir() => None,
                Ok(_) => Some(Errno::ENOTDIR.into()),
                Err(error) => Some(error),
            };
            if let Some(source) = source {
                return Err(StartError::Directory { path: directory.clone(), source });
            }
        }
        let hold = self.leash.as_ref().map(Leash::hold);
        let child = match &self.supervisor {
            Some(command) => self.start_supervised(command, &place, hold).await,
            None => self.start_alone(&place, hold),
        }?;
        if let Some(leash) = self.leash.clone() {
            let (leader, exited) = (Arc::downgrade(&child.leader), child.exited());
            tokio::spawn(async move {
                tokio::select! {
                    () = leash.pulled() => leader.upgrade().into_iter().for_each(|leader| leader.kill()),
                    _ = exited => {}
                }
            });
        }
        tracing::debug!(pid = child.pid, program = %place.display(), supervised = self.supervisor.is_some(), "started");
        Ok(child)
    }

    fn start_alone(&self, place: &Path, hold: Option<Hold>) -> Result<Child, StartError> {
        let failed = |source| self.failed(place, source);
        let deaths = signal(SignalKind::child()).map_err(failed)?;
        let mut command = Command::new(place);
        self.set_up(command.args(&self.arguments)).process_group(0);
        let (mut process, registration) = children::spawn(&mut command, Role::Program).map_err(failed)?;
        let pid = registration.id().raw();
        // From here on whatever fails, the leader ends what was started: nobody else holds it before all has worked.
        let leader = Leader::program(registration, hold);
        let (tell, exit) = watch::channel(None);
        let child = self.hold(&mut process, pid.as_raw(), leader, exit).map_err(failed)?;
        tokio::spawn(watch_program(Arc::clone(&child.leader), deaths, tell));
        Ok(child)
    }

    async fn start_supervised(
        &self,
        command: &[OsString],
        place: &Path,
        hold: Option<Hold>,
    ) -> Result<Child, StartError> {
        let first = command.first().cloned().unwrap_or_default();
        let broken = |source| StartError::Supervisor { command: first.clone(), source };
        let (mut process, supervisor, mut reports) = self.spawn_supervisor(command, place).map_err(broken)?;
        if let Some(hold) = hold {
            // A task of its own: this future may be dropped, and whoever holds the child may drop that.
            let ended = supervisor.ended();
            tokio::spawn(async move {
                ended.await;
                drop(hold);
            });
        }
        let (tell, exit) = watch::channel(None);
        let pid = reports.started().await.map_err(|error| match error {
            NotStarted::Program(source) => self.failed(place, source),
            NotStarted::Supervisor(source) => broken(source),
        })?;
        let child = self.hold(&mut process, pid, Arc::new(Leader::Supervisor(supervisor)), exit).map_err(broken)?;
        tokio::spawn(watch_supervisor(reports, tell));
        Ok(child)
    }

    fn spawn_supervisor(
        &self,
        command: &[OsString],
        place: &Path,
    ) -> io::Result<(process::Child, Arc<Supervisor>, Reports)> {
        let (first, rest) = command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let (ours, theirs) = UnixStream::pair()?;
        let line = theirs.as_raw_fd();
        let mut command = Command::new(first);
        command.args(rest).arg(line.to_string()).arg(place).args(&self.arguments);
        self.set_up(&mut command);
        let lead_session = move || {
            setsid()?;
            // SAFETY: whoever spawns holds the descriptor open until the command has been spawned.
            let line = unsafe { BorrowedFd::borrow_raw(line) };
            fcntl(line, FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        };
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on memory that is already there.
        unsafe { command.pre_exec(lead_session) };
        let started = Supervisor::start(&mut command, self.session.clone(), ours);
        drop(theirs);
        started
    }

    fn set_up<'a>(&self, command: &'a mut Command) -> &'a mut Command {
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

    fn hold(
        &self,
        process: &mut process::Child,
        pid: i32,
        leader: Arc<Leader>,
        exit: watch::Receiver<Option<Exit>>,
    ) -> io::Result<Child> {
        let missing = || io::Error::other("a pipe is missing");
        let stdin = pipe::Sender::from_owned_fd(OwnedFd::from(process.stdin.take().ok_or_else(missing)?))?;
        let stdout = pipe::Receiver::from_owned_fd(OwnedFd::from(process.stdout.take().ok_or_else(missing)?))?;
        let stderr = pipe::Receiver::from_owned_fd(OwnedFd::from(process.stderr.take().ok_or_else(missing)?))?;
        let (stderr, reading) = Tail::of(stderr, self.stderr);
        Ok(Child { stdin: Some(stdin), stdout: Some(stdout), stderr, _reading: reading, pid, leader, exit })
    }

    /// Where the program is. What it names by a place may be meant from the directory that it runs in.
    fn place(&self) -> Result<PathBuf, StartError> {
        let path = match self.environment.get(OsStr::new("PATH")) {
            Some(path) => path.clone(),
            None => std::env::var_os("PATH"),
        };
        let program = match &self.directory {
            Some(directory) if names_a_place(&self.program) => directory.join(&self.program).into_os_string(),
            _ => self.program.clone(),
        };
        let mut there = None;
        for place in candidates(&program, &path.unwrap_or_default()) {
            // The program is run from its directory: only a whole path means the same there.
            let place = std::path::absolute(&place).unwrap_or(place);
            if is_executable(&place) {
                return Ok(place);
            }
            if there.is_none() && place.exists() {
                there = Some(place);
            }
        }
        Err(match there {
            Some(path) => StartError::NotExecutable { path, source: Errno::EACCES.into() },
            None => StartError::NotFound(self.program.clone()),
        })
    }

    fn failed(&self, place: &Path, source: io::Error) -> StartError {
        match source.raw_os_error().map(Errno::from_raw) {
            // It was there a moment ago: what is missing is what runs it.
            Some(Errno::ENOENT | Errno::EACCES | Errno::ENOEXEC | Errno::EPERM) => {
                StartError::NotExecutable { path: place.to_owned(), source }
            }
            _ => StartError::Other { program: self.program.clone(), source },
        }
    }
}
