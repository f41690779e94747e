//! The runtime directory: one small file for each run with a control plane, by which other commands find it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wh_api::ended::{RunFile, check_directory, runtime_directory};
use wh_core::time::iso;
use wh_pipe::proc::Stat;

use crate::finished;

/// A run's entry in the runtime directory, for as long as it lives.
#[derive(Debug)]
pub struct Entry {
    path: PathBuf,
    run: RunFile,
}

impl Entry {
    /// Enters this process, and clears away what others have left behind.
    pub fn enter(port: u16, url: String, command: Vec<String>) -> io::Result<Self> {
        let directory = directory()?;
        let _ = list(&directory, true);
        finished::forget(&directory, port);
        let pid = std::process::id();
        let run = RunFile {
            pid,
            process_start: process_start(pid).unwrap_or(0),
            port,
            url,
            command,
            started_at: now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let path = directory.join(format!("run-{pid}.json"));
        write_whole(&path, &serde_json::to_vec(&run)?)?;
        Ok(Self { path, run })
    }

    /// The run as it is entered.
    pub fn run(&self) -> &RunFile {
        &self.run
    }
}

/// Writes a file that only this user can read; others find all of it or nothing.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("json.new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    fs::rename(&unfinished, path)
}

impl Drop for Entry {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// When the last run that is entered was started, also one that was killed and is still entered.
pub fn last_start() -> io::Result<Option<String>> {
    let files = fs::read_dir(directory()?)?.flatten().map(|entry| entry.path()).filter(|path| is_entry(path));
    let starts = files.filter_map(|path| serde_json::from_slice::<RunFile>(&fs::read(path).ok()?).ok());
    Ok(starts.map(|run| run.started_at).max())
}

fn is_entry(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("run-") && name.ends_with(".json")
}

/// The runs that live, oldest first.
pub fn live() -> io::Result<Vec<RunFile>> {
    list(&directory()?, false)
}

fn list(directory: &Path, remove_stale: bool) -> io::Result<Vec<RunFile>> {
    let mut runs = Vec::new();
    for path in fs::read_dir(directory)?.flatten().map(|entry| entry.path()) {
        if !is_entry(&path) {
            continue;
        }
        let run = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<RunFile>(&bytes).ok());
        match run.filter(|run| process_start(run.pid) == Some(run.process_start)) {
            Some(run) => runs.push(run),
            None if remove_stale => drop(fs::remove_file(&path)),
            None => {}
        }
    }
    runs.sort_by(|one, other| one.started_at.cmp(&other.started_at));
    Ok(runs)
}

/// The directory for what lives as long as its processes, made if need be. One that others could write to is not used: they could name doors of their own there.
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
    io::Error::other(format!("runtime directory {}: {problem}; set XDG_RUNTIME_DIR to another", path.display()))
}

/// This moment, as the files here tell it.
pub fn now() -> String {
    iso(SystemTime::now())
}

/// True if a process is stopped, as by SIGSTOP.
pub fn is_stopped(pid: u32) -> bool {
    Stat::of(pid.cast_signed()).is_ok_and(|stat| matches!(stat.state, 'T' | 't'))
}

/// Start time of a process in clock ticks since boot; `None` if there is no such process, or it is dead.
pub fn process_start(pid: u32) -> Option<u64> {
    Stat::of(pid.cast_signed()).ok().filter(|stat| !stat.is_dead()).map(|stat| stat.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_live_only_as_long_as_its_own_process_is() {
        let directory = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let run = |pid: u32, process_start: u64| RunFile {
            pid,
            process_start,
            port: 1,
            url: String::new(),
            command: vec![],
            started_at: pid.to_string(),
            version: String::new(),
        };
        let write = |name: &str, run: &RunFile| {
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
