//! Records of runs that have ended. A run leaves one in the runtime directory, where it is kept for a minute, so that a client that
//! comes after the end learns how the program ended and what it showed last.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use wh_wire::control::{ClientState, ExitBody, ScreenBody};

/// Age after which a record is ignored.
pub const RECORD_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

/// Largest record that is written and read.
pub const MAX_RECORD_BYTES: usize = 1 << 20;

/// A run with a control plane, as it is entered in the runtime directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// Process id of its wh.
    pub pid: u32,
    /// Start time of that process in clock ticks since boot: tells it from a later one with the same id.
    pub process_start: u64,
    /// Port of the control plane.
    pub port: u16,
    /// URL of the control plane.
    pub url: String,
    /// The program with its arguments.
    pub command: Vec<String>,
    /// Start of the run.
    pub started_at: String,
    /// Version of wh.
    pub version: String,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedRun {
    /// The run while it lived.
    #[serde(flatten)]
    pub run: RunFile,
    /// End of the run.
    pub ended_at: String,
    /// Last answer of `GET /control/state`, without the conversation.
    pub state: ClientState,
    /// Last screen; absent if the run had a token, or if it is too large.
    pub screen: Option<ScreenBody>,
}

impl EndedRun {
    /// Exit code and signal of the program, if it ended before wh did.
    pub fn exit(&self) -> Option<&ExitBody> {
        self.state.session.as_ref()?.exit.as_ref()
    }
}

/// Path of the runtime directory: `$XDG_RUNTIME_DIR/wheelhouse`, or else `wheelhouse-UID` in the temporary directory.
pub fn runtime_directory() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|base| !base.is_empty()) {
        Some(base) => PathBuf::from(base).join("wheelhouse"),
        None => std::env::temp_dir().join(format!("wheelhouse-{}", geteuid())),
    }
}

/// Refuses a runtime directory that others can write to: they could enter addresses of their own.
pub fn check_directory(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other("it must be a directory that is yours alone (mode 0700)"))
}

/// True if a file has the name of a record.
pub fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ended-") && name.ends_with(".json")
}

/// The records in a runtime directory that are not older than [`RECORD_LIFETIME`], newest first.
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
    // A time that lies ahead means that the clock was set: such a record would stay for ever.
    (now.duration_since(ended).abs() <= RECORD_LIFETIME).then_some(record)
}

/// The last run on this port that has ended, by its record in a runtime directory of this user.
pub fn on_port(directory: &Path, port: u16) -> Option<EndedRun> {
    check_directory(directory).ok()?;
    records(directory, Timestamp::now()).into_iter().map(|(_, record)| record).find(|record| record.run.port == port)
}
