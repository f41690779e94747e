//! The daemon from outside: where it is, whether it lives, and how it is started and stopped. What it does is in
//! [`serve()`].

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
use wh_pipe::Left;
use wh_wire::socket::{Credential, MAX_CREDENTIALS};

use crate::door::NOTICE_AFTER;
use crate::failure::{Failure, code, say};
use crate::places;
use crate::runtime::{self, process_start};

pub use serve::{Appearance, DaemonArguments, Started, serve, texts};

/// Where a daemon of this user is, whether it lives or not.
#[derive(Debug, Clone)]
pub struct Place {
    runtime: PathBuf,
    state: PathBuf,
    config: PathBuf,
}

/// What a daemon that lives says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DaemonFile {
    /// Its process.
    pub pid: u32,
    /// When that process started, as the system counts.
    pub process_start: u64,
    /// Where its HTTP door is.
    pub url: String,
    /// Since when.
    pub started_at: String,
    /// The version of wh.
    pub version: String,
    /// The options that it was started with.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// It stays in the foreground of whoever started it, as of a service manager.
    #[serde(default)]
    pub foreground: bool,
    /// The damage that was found in the store at the start.
    #[serde(default)]
    pub store_damage: Option<StoreDamage>,
}

impl DaemonFile {
    /// Prints a warning if the store was found damaged at the start.
    pub fn warn_of_damage(&self) {
        if let Some(damage) = &self.store_damage {
            say(&format!("wh: {}", damage.warning()));
        }
    }
}

/// A damaged store that was set aside when the daemon was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreDamage {
    /// Where it is kept.
    pub kept: PathBuf,
    /// The damage, in words.
    pub reason: String,
}

impl StoreDamage {
    /// A warning for the person at the terminal.
    pub fn warning(&self) -> String {
        format!(
            "the store was damaged ({}), and a new one was begun: earlier sessions are not known any more\n    the damaged store is kept as {}",
            self.reason,
            self.kept.display()
        )
    }
}

impl Place {
    /// This user's, in this runtime directory.
    pub fn here() -> Result<Self, Failure> {
        let runtime = runtime::directory().map_err(|error| Failure::new(code::FAILED, error))?;
        let (state, config) = (places::owned_state()?, places::owned_config()?);
        DirBuilder::new().recursive(true).mode(0o700).create(&state).map_err(|error| {
            Failure::new(code::FAILED, format!("state directory {}: {error}", state.display()))
                .hint("set XDG_STATE_HOME to a directory of yours")
        })?;
        Ok(Self { runtime, state, config })
    }

    /// The control socket.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("daemon.sock")
    }

    /// The token of the HTTP door.
    pub fn token(&self) -> PathBuf {
        self.runtime.join("daemon.token")
    }

    /// What the daemon says of itself.
    pub fn file(&self) -> PathBuf {
        self.runtime.join("daemon.json")
    }

    /// The pids of processes that a daemon could not end when it ended.
    fn left(&self) -> PathBuf {
        self.runtime.join("daemon.left")
    }

    /// Notes what could not be ended, for whoever waits for the daemon's end; nothing, if all was.
    pub fn note_left(&self, left: &Left) -> io::Result<()> {
        if left.is_empty() {
            return match fs::remove_file(self.left()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        write_private(&self.left(), serde_json::to_string(&left.0)?.as_bytes())
    }

    /// Takes the note that a daemon has left.
    fn take_left(&self) -> Left {
        let pids = fs::read(self.left()).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let _ = fs::remove_file(self.left());
        Left(pids.unwrap_or_default())
    }

    /// What it writes about what it does.
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// Where what must outlast it is kept.
    pub fn store(&self) -> PathBuf {
        self.state.join("store")
    }

    /// Who is in which team.
    pub fn teams(&self) -> PathBuf {
        self.config.join("teams")
    }

    /// A credential of each team of which this user can read one.
    pub fn credentials(&self) -> Vec<Credential> {
        let tokens = Teams::open(self.teams()).map(|teams| teams.credentials()).unwrap_or_default();
        tokens.into_iter().take(MAX_CREDENTIALS).map(|token| Credential(token.as_str().to_owned())).collect()
    }

    /// What was controlled, and by whom: the daemon's own account.
    pub fn audit(&self) -> PathBuf {
        self.state.join("audit").join("daemon.jsonl")
    }

    /// The same, of those who send.
    pub fn sent(&self) -> PathBuf {
        self.state.join("audit").join("sender.jsonl")
    }

    /// Texts that are too long to be sent on a line.
    pub fn contents(&self) -> PathBuf {
        self.state.join("contents")
    }

    fn lock_file(&self) -> io::Result<File> {
        let path = self.runtime.join("daemon.lock");
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
    }

    /// Becomes the one daemon here; `None`: there is one.
    pub fn claim(&self) -> io::Result<Option<Flock<File>>> {
        match Flock::lock(self.lock_file()?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(error.into()),
        }
    }

    /// The daemon that lives here, if one does. What a dead one has left behind is not believed.
    pub fn living(&self) -> Option<DaemonFile> {
        let file: DaemonFile = serde_json::from_slice(&fs::read(self.file()).ok()?).ok()?;
        (process_start(file.pid) == Some(file.process_start)).then_some(file)
    }

    /// The same, or what to do.
    pub fn needed(&self) -> Result<DaemonFile, Failure> {
        self.living().ok_or_else(|| {
            Failure::new(code::UNREACHABLE, "no daemon runs here").hint("start it with: wh daemon start")
        })
    }

    /// The daemon that lives here; one is started if none does. Says so on standard error.
    pub fn or_started(&self) -> Result<DaemonFile, Failure> {
        if let Some(daemon) = self.living() {
            return Ok(daemon);
        }
        let daemon = self.start(&[])?;
        say(&format!("wh: the daemon was started (process {}); `wh daemon stop` ends it", daemon.pid));
        daemon.warn_of_damage();
        Ok(daemon)
    }
}

/// Receives within the timeout, with a notice after [`NOTICE_AFTER`].
fn receive_with_notice<T>(from: &Receiver<T>, timeout: Duration, notice: &str) -> Result<T, RecvTimeoutError> {
    let rest = timeout.saturating_sub(NOTICE_AFTER);
    match from.recv_timeout(timeout.min(NOTICE_AFTER)) {
        Err(RecvTimeoutError::Timeout) if !rest.is_zero() => {
            say(&format!("wh: {notice}"));
            from.recv_timeout(rest)
        }
        received => received,
    }
}

/// Writes a file that only this user can read, all of it or nothing.
pub fn write_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(text)?;
    fs::rename(&unfinished, path)
}
