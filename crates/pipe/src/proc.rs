//! Process inspection through `/proc`: parents, process groups, start times and command lines. Fields are read as
//! bytes, since a process chooses its own name, which may not be UTF-8.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};

use nix::unistd::Pid;

/// Initial buffer size for a file of `/proc`, which reports no length.
const READ_BUFFER_BYTES: usize = 4096;

/// Identifies a process. The start time distinguishes it from a later process with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// Process id (pid).
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub started: u64,
}

impl ProcessIdentity {
    /// Identifies the process that has this pid now.
    pub fn of(pid: i32) -> io::Result<Self> {
        Ok(Self { pid, started: ProcessStat::of(pid)?.started })
    }

    /// True while this process exists, including as a zombie.
    pub fn exists(self) -> bool {
        ProcessStat::of(self.pid).is_ok_and(|stat| stat.started == self.started)
    }

    /// Returns the pid as a [`Pid`] of the `nix` crate.
    pub fn raw(self) -> Pid {
        Pid::from_raw(self.pid)
    }
}

/// Selected fields of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// State of the process: `R`, `S`, `T`, `Z` and so on, as in proc(5).
    pub state: char,
    /// Pid of the parent.
    pub parent: i32,
    /// Process group id.
    pub group: i32,
    /// CPU time used so far, in clock ticks (100 a second).
    pub cpu: u64,
    /// Number of threads. The first thread may have exited before the others.
    pub threads: u32,
    /// Start time in clock ticks since boot.
    pub started: u64,
}

impl ProcessStat {
    /// Reads the record of one process. Fails with `NotFound` if there is no such process.
    pub fn of(pid: i32) -> io::Result<Self> {
        Self::decode(&read(pid, "stat")?).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// Reads the record of one thread of the calling process.
    pub fn of_own_thread(thread: i32) -> io::Result<Self> {
        let record = fs::read(format!("/proc/self/task/{thread}/stat"))?;
        Self::decode(&record).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// True if any thread of a process runs, or waits for a CPU or a disk. False if there is no such process.
    pub fn any_thread_runs(pid: i32) -> bool {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let mut records = threads.filter_map(|thread| fs::read(thread.path().join("stat")).ok());
        records.any(|record| Self::decode(&record).is_some_and(|stat| matches!(stat.state, 'R' | 'D')))
    }

    /// Decodes one record. The process name in it may contain any bytes, including brackets and invalid UTF-8.
    fn decode(record: &[u8]) -> Option<Self> {
        let behind_name = record.iter().rposition(|byte| *byte == b')')? + 1;
        let mut fields = record.get(behind_name..)?.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let state = char::from(*fields.next()?.first()?);
        let parent = number(fields.next()?)?;
        let group = number(fields.next()?)?;
        // Fields are counted from 1 in proc(5): the state is 3, the group 5, the user and system times 14 and 15, the
        // number of threads 20, the start time 22.
        let cpu = number::<u64>(fields.nth(8)?)? + number::<u64>(fields.next()?)?;
        let threads = number(fields.nth(4)?)?;
        let started = number(fields.nth(1)?)?;
        Some(Self { state, parent, group, cpu, threads, started })
    }

    /// True for a process that has exited and has not been reaped. The state describes only the first thread, so a
    /// process with other running threads is not dead.
    pub fn is_dead(self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Returns every process of the machine, by pid. Not atomic: processes start and end during the scan. Fails if no file
/// descriptor or no memory is free to read a process. Otherwise the process would seem to have exited. Processes that
/// are not visible to this process are omitted.
pub fn snapshot() -> io::Result<HashMap<i32, ProcessStat>> {
    let mut processes = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        match ProcessStat::of(pid) {
            Ok(stat) => drop(processes.insert(pid, stat)),
            Err(error) if is_shortage(&error) => return Err(error),
            // The process has exited in the meantime, or is not visible to this process.
            Err(_) => {}
        }
    }
    Ok(processes)
}

/// True for errors that are unrelated to the file: no descriptor or no memory is left to open it.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE | nix::libc::ENOMEM))
}

/// Returns the first arguments of a process, beginning with the program's name. Reads at most 4 KiB, since a command
/// line can have any length. Empty for a zombie and for a kernel thread.
pub fn command_line_start(pid: i32) -> io::Result<Vec<Vec<u8>>> {
    let mut bytes = vec![0; READ_BUFFER_BYTES];
    let length = File::open(format!("/proc/{pid}/cmdline"))?.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(arguments(&bytes))
}

fn arguments(line: &[u8]) -> Vec<Vec<u8>> {
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    if line.is_empty() {
        return Vec::new();
    }
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

fn read(pid: i32, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(READ_BUFFER_BYTES);
    File::open(format!("/proc/{pid}/{name}"))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD_TAIL: &[u8] = b" S 7 43 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";

    fn record(name: &[u8]) -> Vec<u8> {
        [b"42 (", name, b")", RECORD_TAIL].concat()
    }

    #[test]
    fn no_name_hides_the_parent() {
        let expected = ProcessStat { state: 'S', parent: 7, group: 43, cpu: 11, threads: 1, started: 987_654 };
        for name in [&b"sh"[..], b"a) S 1 (b", b"\xff\xfe\xff", b"two words", b""] {
            assert_eq!(ProcessStat::decode(&record(name)), Some(expected), "{name:?}");
        }
        assert_eq!(ProcessStat::decode(b"garbage"), None);
        assert_eq!(ProcessStat::decode(b"1 (x) S 7 43"), None);
    }

    #[test]
    fn a_process_whose_first_thread_ended_is_not_dead() {
        let stat = ProcessStat { state: 'Z', parent: 7, group: 43, cpu: 11, threads: 1, started: 1 };
        assert!(stat.is_dead());
        assert!(!ProcessStat { threads: 2, ..stat }.is_dead());
    }

    #[test]
    fn this_process_is_found_with_its_command_line() {
        let own = i32::try_from(std::process::id()).unwrap();
        let id = ProcessIdentity::of(own).unwrap();
        assert!(id.exists());
        assert!(!ProcessIdentity { started: id.started + 1, ..id }.exists(), "another process with the same pid");
        assert_eq!(snapshot().unwrap()[&own].started, id.started);
        assert_eq!(ProcessStat::of(i32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
