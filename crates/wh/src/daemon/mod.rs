//! Files, status, start and stop of the daemon, for other processes. [`serve()`] runs the daemon itself.

mod limits;
mod serve;
mod start;
mod stop;
pub mod watchdog;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use wh_engine::control::teams::Teams;
use wh_pipe::Survivors;
use wh_wire::socket::{Credential, MAX_CREDENTIALS};

use crate::directories;
use crate::failure::{CliFailure, code, print_to_stderr};
use crate::runtime::{self, process_start};
use crate::target::NOTICE_DELAY;

pub use serve::{DaemonArguments, DaemonCommandLine, UiAppearance, serve, texts};

/// Paths of the files of this user's daemon. The paths are the same if no daemon is running.
#[derive(Debug, Clone)]
pub struct DaemonPaths {
    runtime: PathBuf,
    state: PathBuf,
    config: PathBuf,
}

/// Contents of `daemon.json`, which a running daemon writes about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DaemonFile {
    pub pid: u32,
    /// Start time of the process in clock ticks since boot. Distinguishes the process from a later process with the
    /// same id.
    pub process_start: u64,
    /// URL of the HTTP API.
    pub url: String,
    /// Start time in RFC 3339.
    pub started_at: String,
    pub version: String,
    /// Command-line options of the daemon.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// True if the daemon runs in the foreground, for example under a service manager.
    #[serde(default)]
    pub foreground: bool,
    /// Damage that the daemon found in the store when it started.
    #[serde(default)]
    pub store_damage: Option<StoreDamage>,
}

impl DaemonFile {
    /// Prints a warning if the store was found damaged at the start.
    pub fn warn_of_damage(&self) {
        if let Some(damage) = &self.store_damage {
            print_to_stderr(&format!("wh: {}", damage.warning()));
        }
    }
}

/// A damaged store that was renamed when the daemon started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreDamage {
    /// Path of the damaged store.
    #[serde(rename = "kept")]
    pub path: PathBuf,
    /// Description of the damage.
    pub reason: String,
}

impl StoreDamage {
    /// Returns a warning for the user.
    pub fn warning(&self) -> String {
        format!(
            "the store was damaged ({}) and a new store was created; earlier sessions are lost\n    the damaged store is saved as {}",
            self.reason,
            self.path.display()
        )
    }
}

impl DaemonPaths {
    /// Returns the paths for this user and runtime directory.
    pub fn here() -> Result<Self, CliFailure> {
        let runtime = runtime::directory().map_err(|error| CliFailure::new(code::FAILED, error))?;
        let (state, config) = (directories::owned_state()?, directories::owned_config()?);
        DirBuilder::new().recursive(true).mode(0o700).create(&state).map_err(|error| {
            CliFailure::new(code::FAILED, format!("cannot create the state directory {}: {error}", state.display()))
                .hint("set XDG_STATE_HOME to a directory that you own")
        })?;
        Ok(Self { runtime, state, config })
    }

    /// Returns the path of the control socket.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("daemon.sock")
    }

    /// Returns the path of the HTTP API token.
    pub fn token(&self) -> PathBuf {
        self.runtime.join("daemon.token")
    }

    /// Returns the path of the [`DaemonFile`].
    pub fn file(&self) -> PathBuf {
        self.runtime.join("daemon.json")
    }

    /// Returns the path of the list of processes that a daemon could not end.
    fn unended(&self) -> PathBuf {
        self.runtime.join("daemon.left")
    }

    /// Writes the list of processes that could not be ended. [`DaemonPaths::stop`] reads it in another process. Removes
    /// the file if the list is empty.
    pub fn save_unended(&self, left: &Survivors) -> io::Result<()> {
        if left.is_empty() {
            return match fs::remove_file(self.unended()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        write_private(&self.unended(), serde_json::to_string(&left.0)?.as_bytes())
    }

    /// Reads and removes the list of processes that could not be ended.
    fn take_unended(&self) -> Survivors {
        let pids = fs::read(self.unended()).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let _ = fs::remove_file(self.unended());
        Survivors(pids.unwrap_or_default())
    }

    /// Returns the path of the daemon's log.
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// Returns the directory of the store.
    pub fn store(&self) -> PathBuf {
        self.state.join("store")
    }

    /// Returns the directory of the teams and their members.
    pub fn teams(&self) -> PathBuf {
        self.config.join("teams")
    }

    /// Returns the credentials that this user can read, at most one per team.
    pub fn credentials(&self) -> Vec<Credential> {
        let tokens = Teams::open(self.teams()).map(|teams| teams.credentials()).unwrap_or_default();
        tokens.into_iter().take(MAX_CREDENTIALS).map(|token| Credential(token.as_str().to_owned())).collect()
    }

    /// Returns the path of the daemon's audit log.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit").join("daemon.jsonl")
    }

    /// Returns the path of the audit log of this user's `wh control` commands.
    pub fn sent(&self) -> PathBuf {
        self.state.join("audit").join("sender.jsonl")
    }

    /// Returns the directory of texts that are too long to be sent inline.
    pub fn contents(&self) -> PathBuf {
        self.state.join("contents")
    }

    fn lock_file(&self) -> io::Result<File> {
        let path = self.runtime.join("daemon.lock");
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
    }

    /// Takes the lock that ensures a single daemon. `None` if another process holds the lock.
    pub fn claim(&self) -> io::Result<Option<Flock<File>>> {
        match Flock::lock(self.lock_file()?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Returns the contents of the running daemon's file. `None` if no daemon runs, even if a dead daemon left its
    /// file.
    pub fn running_daemon(&self) -> Option<DaemonFile> {
        let file: DaemonFile = serde_json::from_slice(&fs::read(self.file()).ok()?).ok()?;
        (process_start(file.pid) == Some(file.process_start)).then_some(file)
    }

    /// Returns the running daemon, or an error with a hint.
    pub fn require_daemon(&self) -> Result<DaemonFile, CliFailure> {
        self.running_daemon().ok_or_else(|| {
            CliFailure::new(code::UNREACHABLE, "the daemon is not running")
                .hint("start the daemon with: wh daemon start")
        })
    }

    /// Returns the running daemon, or starts a daemon and reports the start on standard error.
    pub fn require_or_start(&self) -> Result<DaemonFile, CliFailure> {
        if let Some(daemon) = self.running_daemon() {
            return Ok(daemon);
        }
        let daemon = self.start(&[])?;
        print_to_stderr(&format!(
            "wh: started the daemon (process {}); to stop the daemon: wh daemon stop",
            daemon.pid
        ));
        daemon.warn_of_damage();
        Ok(daemon)
    }
}

/// Receives a value with a timeout. Prints `notice` if the value has not arrived after [`NOTICE_DELAY`].
fn receive_with_notice<T>(from: &Receiver<T>, timeout: Duration, notice: &str) -> Result<T, RecvTimeoutError> {
    let rest = timeout.saturating_sub(NOTICE_DELAY);
    match from.recv_timeout(timeout.min(NOTICE_DELAY)) {
        Err(RecvTimeoutError::Timeout) if !rest.is_zero() => {
            print_to_stderr(&format!("wh: {notice}"));
            from.recv_timeout(rest)
        }
        received => received,
    }
}

/// Writes a file atomically with mode 0600.
pub fn write_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(text)?;
    fs::rename(&unfinished, path)
}
