//! Records of ended runs. When a run ends, it stores a record with the exit status and the last screen in the runtime
//! directory. Clients ignore records that are older than one minute.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use wh_wire::control::{ClientState, ExitBody, ScreenBody};

/// Age after which a record is ignored.
pub const MAX_RECORD_AGE: SignedDuration = SignedDuration::from_secs(60);

/// Maximum size of a record in bytes, for writing and reading.
pub const MAX_RECORD_BYTES: usize = 1 << 20;

/// Entry of a run in the runtime directory. Every run with a control port has an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegisteredRun {
    /// Process id of the `wh` process that controls the run.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot. Distinguishes the process from a later process with the
    /// same id.
    pub process_start: u64,
    /// Control port of the run.
    pub port: u16,
    /// URL of the HTTP API.
    pub url: String,
    /// Program with its arguments.
    pub command: Vec<String>,
    /// Start time of the run (ISO 8601, UTC).
    pub started_at: String,
    /// Version of wh, for example `0.1.0`.
    pub version: String,
}

/// Record of an ended run. Clients ignore a record after one minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedRun {
    /// Entry of the run that was in the runtime directory until the run ended.
    #[serde(flatten)]
    pub run: RegisteredRun,
    /// End time of the run (ISO 8601, UTC).
    pub ended_at: String,
    /// State at the end of the run, in the format of `GET /control/state`. The fields of a conversation are empty.
    pub state: ClientState,
    /// Last screen of the run. `None` if the run required a token or if the screen would make the record too large.
    pub screen: Option<ScreenBody>,
}

impl EndedRun {
    /// Returns the exit status of the program. `None` if wh ended before the program.
    pub fn exit(&self) -> Option<&ExitBody> {
        self.state.session.as_ref()?.exit.as_ref()
    }
}

/// Returns the path of the runtime directory: `$XDG_RUNTIME_DIR/wheelhouse`, or `wheelhouse-UID` in the temporary
/// directory.
pub fn runtime_directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|base| !base.is_empty()) {
        Some(base) => PathBuf::from(base).join("wheelhouse"),
        None => std::env::temp_dir().join(format!("wheelhouse-{}", geteuid())),
    }
}

/// Checks that only the current user has access to a runtime directory. Other users could otherwise add entries with
/// false addresses.
pub fn check_directory(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other("the path must be a directory that you own, with mode 0700"))
}

/// Returns true if the file name is the name of a record.
pub fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ended-") && name.ends_with(".json")
}

/// Returns the records in a runtime directory that are not older than [`MAX_RECORD_AGE`], newest first.
pub fn records(directory: &Path, now: Timestamp) -> Vec<(PathBuf, EndedRun)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| is_record(path));
    let mut records: Vec<_> = paths.filter_map(|path| Some((read(&path, now)?, path))).collect();
    records.sort_by(|(one, _), (other, _)| other.ended_at.cmp(&one.ended_at));
    records.into_iter().map(|(record, path)| (path, record)).collect()
}

fn read(path: &Path, now: Timestamp) -> Option<EndedRun> {
    if fs::metadata(path).ok()?.len() > MAX_RECORD_BYTES as u64 {
        return None;
    }
    let record: EndedRun = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let ended: Timestamp = record.ended_at.parse().ok()?;
    // A time in the future means that the clock was changed. Without `abs`, such a record would stay valid too long.
    (now.duration_since(ended).abs() <= MAX_RECORD_AGE).then_some(record)
}

/// Returns the record of the most recently ended run on a port. Returns `None` if other users have access to the
/// runtime directory.
pub fn find_record(directory: &Path, port: u16) -> Option<EndedRun> {
    check_directory(directory).ok()?;
    records(directory, Timestamp::now()).into_iter().map(|(_, record)| record).find(|record| record.run.port == port)
}
