//! Records of runs that have ended: how, and their last screen. A record lives for a minute in the runtime directory, so that
//! a command that comes after the end can still read it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use wh_wire::control::{ClientState, ScreenBody};

use crate::runtime::{self, RunFile};

/// Age at which a record is removed.
const RECORD_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

/// Records that are kept; the oldest are removed.
const MAX_RECORDS: usize = 16;

/// Size of a record. A screen that does not fit is left out.
const MAX_RECORD_BYTES: usize = 1 << 20;

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedRun {
    /// As it was entered while it lived.
    #[serde(flatten)]
    pub run: RunFile,
    /// When it ended.
    pub ended_at: String,
    /// What `GET /control/state` said at the end, without the conversation.
    pub state: ClientState,
    /// Its last screen; absent if the run had a token, or if it is too large.
    pub screen: Option<ScreenBody>,
}

/// Keeps the end of a run, and removes records that are old or too many. Without a screen the record says how the program
/// ended and nothing of what it showed.
pub fn keep(run: &RunFile, mut state: ClientState, screen: Option<ScreenBody>) -> io::Result<()> {
    let directory = runtime::directory()?;
    for (path, _) in records(&directory, Timestamp::now()).into_iter().skip(MAX_RECORDS - 1) {
        let _ = fs::remove_file(path);
    }
    if screen.is_none() {
        state.terminal = None;
    }
    let mut record = FinishedRun { run: run.clone(), ended_at: runtime::now(), state, screen };
    let mut bytes = serde_json::to_vec(&record)?;
    if bytes.len() > MAX_RECORD_BYTES {
        record.screen = None;
        bytes = serde_json::to_vec(&record)?;
    }
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(io::Error::other(format!("the record has {} bytes", bytes.len())));
    }
    runtime::write_whole(&directory.join(format!("ended-{}.json", run.pid)), &bytes)
}

/// Removes the records of runs that had this port: another run has it now.
pub fn forget(directory: &Path, port: u16) {
    for (path, record) in records(directory, Timestamp::now()) {
        if record.run.port == port {
            let _ = fs::remove_file(path);
        }
    }
}

/// The run on this port that ended last.
pub fn on_port(port: u16) -> Option<FinishedRun> {
    listed().into_iter().find(|record| record.run.port == port)
}

/// The run that ended last, unless another was started since.
pub fn last() -> Option<FinishedRun> {
    let started = runtime::last_start().ok()?;
    listed().into_iter().next().filter(|record| started.is_none_or(|started| started <= record.ended_at))
}

fn listed() -> Vec<FinishedRun> {
    let Ok(directory) = runtime::directory() else { return Vec::new() };
    records(&directory, Timestamp::now()).into_iter().map(|(_, record)| record).collect()
}

/// The records, newest first. Removes those that are too old or cannot be read.
fn records(directory: &Path, now: Timestamp) -> Vec<(PathBuf, FinishedRun)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut records = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("ended-") && name.ends_with(".json")) {
            continue;
        }
        let fits = fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_RECORD_BYTES as u64);
        let bytes = if fits { fs::read(&path).ok() } else { None };
        let record = bytes.and_then(|bytes| serde_json::from_slice::<FinishedRun>(&bytes).ok());
        // A time that lies ahead means that the clock was set: such a record would stay for ever.
        let young = |record: &FinishedRun| {
            let ended = record.ended_at.parse::<Timestamp>();
            ended.is_ok_and(|ended| now.duration_since(ended).abs() <= RECORD_LIFETIME)
        };
        match record.filter(young) {
            Some(record) => records.push((path, record)),
            None => drop(fs::remove_file(&path)),
        }
    }
    records.sort_by(|(_, one), (_, other)| other.ended_at.cmp(&one.ended_at));
    records
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn write(directory: &Path, pid: u32, ended_at: Timestamp) {
        let run = RunFile {
            pid,
            process_start: 1,
            port: u16::try_from(pid).unwrap(),
            url: String::new(),
            command: vec![],
            started_at: String::new(),
            version: String::new(),
        };
        let record = FinishedRun { run, ended_at: ended_at.to_string(), state: ClientState::default(), screen: None };
        let path = directory.join(format!("ended-{pid}.json"));
        runtime::write_whole(&path, &serde_json::to_vec(&record).unwrap()).unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    fn pids(directory: &Path, now: Timestamp) -> Vec<u32> {
        records(directory, now).into_iter().map(|(_, record)| record.run.pid).collect()
    }

    #[test]
    fn records_are_removed_when_they_are_a_minute_old_or_their_port_is_used_again() {
        let directory = tempfile::tempdir().unwrap();
        let now = Timestamp::now();
        for (pid, age) in [(1, 0), (2, 59), (3, 61), (4, -61)] {
            write(directory.path(), pid, now - SignedDuration::from_secs(age));
        }
        fs::write(directory.path().join("ended-5.json"), "{").unwrap();
        fs::write(directory.path().join("run-6.json"), "{}").unwrap();
        assert_eq!(pids(directory.path(), now), [1, 2]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
        forget(directory.path(), 1);
        assert_eq!(pids(directory.path(), now), [2]);
    }
}
