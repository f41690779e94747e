//! Records of ended runs: exit status and last screen. A record stays in the runtime directory for one minute, so that
//! later commands can read it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use wh_api::EndedRun;
use wh_api::ended::{self, MAX_RECORD_BYTES, RegisteredRun};
use wh_wire::control::{ClientState, ScreenBody};

use crate::runtime;

/// Maximum number of records. The oldest records are removed.
const MAX_RECORDS: usize = 16;

/// Saves the record of an ended run and removes old or excess records. If `screen` is `None`, the record does not
/// contain the state of the terminal. If the record would be too large, the screen is omitted.
pub fn save(run: &RegisteredRun, mut state: ClientState, screen: Option<ScreenBody>) -> io::Result<()> {
    let directory = runtime::directory()?;
    for (path, _) in records(&directory, Timestamp::now()).into_iter().skip(MAX_RECORDS - 1) {
        let _ = fs::remove_file(path);
    }
    if screen.is_none() {
        state.terminal = None;
    }
    let mut record = EndedRun { run: run.clone(), ended_at: runtime::now(), state, screen };
    let mut bytes = serde_json::to_vec(&record)?;
    if bytes.len() > MAX_RECORD_BYTES {
        record.screen = None;
        bytes = serde_json::to_vec(&record)?;
    }
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(io::Error::other(format!("the record is too large: {} bytes", bytes.len())));
    }
    runtime::write_atomically(&directory.join(format!("ended-{}.json", run.pid)), &bytes)
}

/// Removes the records of ended runs that used this port, because a new run now uses the port.
pub fn forget(directory: &Path, port: u16) {
    for (path, record) in records(directory, Timestamp::now()) {
        if record.run.port == port {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes expired records.
pub fn sweep() {
    drop(listed());
}

/// Returns the record of the run that ended last; `None` if another run has started since.
pub fn last() -> Option<EndedRun> {
    let started = runtime::last_start().ok()?;
    listed().into_iter().next().filter(|record| started.is_none_or(|started| started <= record.ended_at))
}

fn listed() -> Vec<EndedRun> {
    let Ok(directory) = runtime::directory() else { return Vec::new() };
    records(&directory, Timestamp::now()).into_iter().map(|(_, record)| record).collect()
}

/// Returns the records, newest first. Removes expired and unreadable records.
fn records(directory: &Path, now: Timestamp) -> Vec<(PathBuf, EndedRun)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    // Lists the paths before it reads the records, so that a record that another process writes meanwhile is not
    // removed.
    let paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| ended::is_record(path)).collect();
    let records = ended::records(directory, now);
    for path in paths.iter().filter(|path| !records.iter().any(|(young, _)| young == *path)) {
        let _ = fs::remove_file(path);
    }
    records
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use jiff::SignedDuration;

    use super::*;

    fn write(directory: &Path, pid: u32, ended_at: Timestamp) {
        let run = RegisteredRun {
            pid,
            process_start: 1,
            port: u16::try_from(pid).unwrap(),
            url: String::new(),
            command: vec![],
            started_at: String::new(),
            version: String::new(),
        };
        let record = EndedRun { run, ended_at: ended_at.to_string(), state: ClientState::default(), screen: None };
        let path = directory.join(format!("ended-{pid}.json"));
        runtime::write_atomically(&path, &serde_json::to_vec(&record).unwrap()).unwrap();
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
