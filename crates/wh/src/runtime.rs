//! The runtime directory. Contains one file for each run with an HTTP API, so that other commands can find the run.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wh_api::ended::{RegisteredRun, check_directory, runtime_directory};
use wh_core::time::iso;
use wh_pipe::proc::ProcessStat;

use crate::ended_runs;

/// File of this run in the runtime directory. Removed when dropped.
#[derive(Debug)]
pub struct RunEntry {
    path: PathBuf,
    run: RegisteredRun,
}

impl RunEntry {
    /// Creates the file of this run and removes stale files of other runs.
    pub fn enter(port: u16, url: String, command: Vec<String>) -> io::Result<Self> {
        let directory = directory()?;
        let _ = list(&directory, true);
        ended_runs::forget(&directory, port);
        let pid = std::process::id();
        let run = RegisteredRun {
            pid,
            process_start: process_start(pid).unwrap_or(0),
            port,
            url,
            command,
            started_at: now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let path = directory.join(format!("run-{pid}.json"));
        write_atomically(&path, &serde_json::to_vec(&run)?)?;
        Ok(Self { path, run })
    }

    /// Returns the contents of this run's file.
    pub fn run(&self) -> &RegisteredRun {
        &self.run
    }
}

/// Writes a file atomically with mode 0600.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("json.new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    fs::rename(&unfinished, path)
}

impl Drop for RunEntry {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the start time of the newest run, including killed runs whose files remain.
pub fn last_start() -> io::Result<Option<String>> {
    let files = fs::read_dir(directory()?)?.flatten().map(|entry| entry.path()).filter(|path| is_entry(path));
    let starts = files.filter_map(|path| serde_json::from_slice::<RegisteredRun>(&fs::read(path).ok()?).ok());
    Ok(starts.map(|run| run.started_at).max())
}

fn is_entry(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("run-") && name.ends_with(".json")
}

/// Lists live runs, oldest first.
pub fn live() -> io::Result<Vec<RegisteredRun>> {
    list(&directory()?, false)
}

fn list(directory: &Path, remove_stale: bool) -> io::Result<Vec<RegisteredRun>> {
    let mut runs = Vec::new();
    for path in fs::read_dir(directory)?.flatten().map(|entry| entry.path()) {
        if !is_entry(&path) {
            continue;
        }
        let run = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<RegisteredRun>(&bytes).ok());
        match run.filter(|run| process_start(run.pid) == Some(run.process_start)) {
            Some(run) => runs.push(run),
            None if remove_stale => drop(fs::remove_file(&path)),
            None => {}
        }
    }
    runs.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    Ok(runs)
}

/// Returns the runtime directory and creates it if missing. Refuses a directory that other users can write to, because
/// they could add files that point to their own servers.
pub fn directory() -> io::Result<PathBuf> {
    let path = runtime_directory();
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(explain(&path, &error.to_string())),
        _ => {}
    }
    check_directory(&path).map_err(|error| explain(&path, &error.to_string()))?;
    Ok(path)
}

fn explain(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!(
        "runtime directory {}: {problem}; set XDG_RUNTIME_DIR to another directory",
        path.display()
    ))
}

/// Returns the current time in the timestamp format of the runtime files.
pub fn now() -> String {
    iso(SystemTime::now())
}

/// True if a process is stopped, e.g. by SIGSTOP.
pub fn is_stopped(pid: u32) -> bool {
    ProcessStat::of(pid.cast_signed()).is_ok_and(|stat| matches!(stat.state, 'T' | 't'))
}

/// Returns the start time of a process in clock ticks since boot. `None` if the process does not exist or is dead.
pub fn process_start(pid: u32) -> Option<u64> {
    ProcessStat::of(pid.cast_signed()).ok().filter(|stat| !stat.is_dead()).map(|stat| stat.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_live_only_as_long_as_its_own_process_is() {
        let directory = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let run = |pid: u32, process_start: u64| RegisteredRun {
            pid,
            process_start,
            port: 1,
            url: String::new(),
            command: vec![],
            started_at: pid.to_string(),
            version: String::new(),
        };
        let write = |name: &str, run: &RegisteredRun| {
            fs::write(directory.path().join(name), serde_json::to_vec(run).unwrap()).unwrap()
        };
        let live = run(own, process_start(own).unwrap());
        write("run-1.json", &live);
        write("run-2.json", &run(own, 1));
        write("run-3.json", &run(u32::MAX, 1));
        fs::write(directory.path().join("run-4.json"), "{").unwrap();
        assert_eq!(list(directory.path(), true).unwrap(), [live]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
