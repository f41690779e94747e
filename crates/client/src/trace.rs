//! Finds the session that a caller runs inside: walks `/proc` from the caller's process up to the nearest ancestor that
//! is a supervisor. Does not trust environment variables, and returns [`Origin::Untraceable`] if information is
//! missing. All functions block.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wh_core::caller::Origin;
use wh_pipe::children;
use wh_pipe::pidfd;
use wh_pipe::proc::{self, ProcessIdentity, ProcessStat};
use wh_pipe::supervisor::SupervisorKind;

/// Timeout for tracing a caller. A process can delay the trace by making its own `/proc` files slow to read.
pub const TRACE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of ancestors to walk. A caller with more ancestors is untraceable.
const MAX_ANCESTORS: usize = 512;

/// Process that opened a connection to a Unix socket.
#[derive(Debug, Clone, Default)]
pub struct ConnectionOpener(Option<Arc<TracedProcess>>);

#[derive(Debug)]
struct TracedProcess {
    id: ProcessIdentity,
    origin: Origin,
    /// Pidfd of the process, if the system provides one. Start times have a resolution of 10 ms, so only the pidfd
    /// detects a pid that is reused within that time.
    pidfd: Option<OwnedFd>,
}

impl TracedProcess {
    fn is_alive(&self) -> bool {
        self.id.exists() && !self.pidfd.as_ref().is_some_and(pidfd::has_exited)
    }
}

impl ConnectionOpener {
    /// Traces the process with this pid. `pidfd` proves that the pid was not reused; `None` if the system provides no
    /// pidfd.
    pub fn trace(pid: i32, pidfd: Option<OwnedFd>) -> Self {
        let traced = ProcessIdentity::of(pid).ok().map(|id| TracedProcess { id, origin: origin_of(pid), pidfd });
        Self(traced.filter(TracedProcess::is_alive).map(Arc::new))
    }

    /// Returns the working directory of the process; `None` if unknown.
    pub fn directory(&self) -> Option<PathBuf> {
        own_pid()?;
        let traced = self.0.as_ref()?;
        // Read before the liveness check, which proves that the pid was not reused.
        working_directory(traced.id.pid).filter(|_| traced.is_alive())
    }

    /// Returns the origin of the process. Untraceable once the process has exited, because the owner of the connection
    /// is then unknown.
    pub fn origin(&self) -> Origin {
        match &self.0 {
            Some(traced) if traced.is_alive() => traced.origin.clone(),
            _ => Origin::Untraceable,
        }
    }
}

/// Returns the working directory of a process. `None` if the directory cannot be read (process of another user), was
/// removed, or differs from the directory that wh sees at the same path (another mount namespace or root).
fn working_directory(pid: i32) -> Option<PathBuf> {
    let link = format!("/proc/{pid}/cwd");
    let path = fs::read_link(&link).ok()?;
    let (theirs, ours) = (fs::metadata(&link).ok()?, fs::metadata(&path).ok()?);
    ((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino())).then_some(path)
}

/// Returns the working directory of the process that has a local socket open. `None` if several processes with
/// different working directories have the socket open.
pub fn directory_of_socket(inode: u64) -> Option<PathBuf> {
    let socket = format!("socket:[{inode}]");
    own_pid()?;
    let holders = proc::snapshot().ok()?.into_keys().filter(|pid| holds(*pid, &socket) || threads_hold(*pid, &socket));
    let mut directories: Vec<Option<PathBuf>> = holders.map(working_directory).collect();
    directories.dedup();
    match directories.as_mut_slice() {
        [only] => only.take(),
        _ => None,
    }
}

/// Returns the origin of a process. Walks the ancestors twice; the process is untraceable if the two walks differ.
pub fn origin_of(pid: i32) -> Origin {
    let Some(own) = own_pid() else { return Origin::Untraceable };
    if pid == own {
        return Origin::Outside;
    }
    let walk = || AncestorWalk::of(pid, own, &children::supervisors(), MAX_ANCESTORS);
    match (walk(), walk()) {
        (Some(first), Some(second)) if first == second => first.origin,
        _ => Origin::Untraceable,
    }
}

/// Returns the pid of this process; `None` if `/proc` belongs to another pid namespace and describes other processes.
fn own_pid() -> Option<i32> {
    let own = std::process::id().cast_signed();
    let shown = fs::read_link("/proc/self").ok()?;
    (shown.as_os_str() == OsStr::new(&own.to_string())).then_some(own)
}

/// Path from a process to its supervisor, or to the root of the process tree.
#[derive(Debug, PartialEq, Eq)]
struct AncestorWalk {
    passed: Vec<ProcessIdentity>,
    origin: Origin,
}

impl AncestorWalk {
    /// Walks from the process `start` up to its ancestors. Recognises supervisors that this process has started by pid
    /// and start time, and other supervisors by their command line. `None` if the walk cannot be completed.
    fn of(
        start: i32,
        own: i32,
        supervisors: &HashMap<ProcessIdentity, Option<String>>,
        max_ancestors: usize,
    ) -> Option<Self> {
        let mut passed: Vec<ProcessIdentity> = Vec::new();
        let mut pid = start;
        while passed.len() < max_ancestors {
            let stat = ProcessStat::of(pid).ok()?;
            let id = ProcessIdentity { pid, started: stat.started };
            // A parent is never younger than its child. A younger process has reused the pid of a parent that exited.
            if passed.last().is_some_and(|child| child.started < id.started) {
                return None;
            }
            passed.push(id);
            if let Some(session) = supervisors.get(&id) {
                return Some(Self { passed, origin: session.clone().map_or(Origin::Elsewhere, Origin::Session) });
            }
            if pid == own || is_supervisor(pid)? {
                return Some(Self { passed, origin: Origin::Elsewhere });
            }
            // The root: pid 1, or a process whose parent is in an enclosing pid namespace. No session of this daemon
            // can be in that namespace.
            if stat.parent == 0 {
                return Some(Self { passed, origin: Origin::Outside });
            }
            pid = stat.parent;
        }
        None
    }
}

/// True if the command line of the process is that of a supervisor, regardless of the parent process. `None` if the
/// command line cannot be read.
fn is_supervisor(pid: i32) -> Option<bool> {
    let line = proc::command_line_start(pid).ok()?;
    let argument = line.get(1).map(|argument| OsStr::from_bytes(argument));
    Some(SupervisorKind::from_argument(argument).is_some())
}

/// Returns the origin of the process that has a local socket open. If several processes have the socket open, a process
/// inside a session takes precedence. A socket without a visible owner, for example in transit between processes, is
/// untraceable.
pub fn origin_of_socket(inode: u64) -> Origin {
    let socket = format!("socket:[{inode}]");
    let Some(own) = own_pid() else { return Origin::Untraceable };
    let Ok((inside, others)) = partition(own) else { return Origin::Untraceable };
    for pid in inside {
        if holds(pid, &socket) || threads_hold(pid, &socket) {
            return match origin_of(pid) {
                Origin::Outside => Origin::Untraceable,
                origin => origin,
            };
        }
    }
    let mut holders: Vec<i32> = others.iter().copied().filter(|pid| holds(*pid, &socket)).collect();
    if holders.is_empty() {
        holders = others.into_iter().filter(|pid| threads_hold(*pid, &socket)).collect();
    }
    let mut origins = holders.into_iter().map(origin_of);
    let Some(first) = origins.next() else { return Origin::Untraceable };
    // Another process that has the socket open may run inside another daemon's session, or inside a `wh run`.
    if first == Origin::Outside { origins.find(|origin| *origin != Origin::Outside).unwrap_or(first) } else { first }
}

/// Splits all processes into two lists: descendants of this process, and other processes. The descendants include all
/// processes of the daemon's sessions.
fn partition(own: i32) -> io::Result<(Vec<i32>, Vec<i32>)> {
    let all = proc::snapshot()?;
    let is_below = |pid: &i32| {
        let mut next = *pid;
        for _ in 0..MAX_ANCESTORS {
            match all.get(&next) {
                Some(stat) if stat.parent == own => return true,
                Some(stat) if stat.parent == 0 => return false,
                Some(stat) => next = stat.parent,
                None => break,
            }
        }
        // A process with unknown ancestors is treated as a descendant.
        true
    };
    Ok(all.keys().copied().partition(is_below))
}

fn holds(pid: i32, socket: &str) -> bool {
    links_to(Path::new(&format!("/proc/{pid}/fd")), socket)
}

/// True if a thread of the process has the socket open. Threads may have separate descriptor tables.
fn threads_hold(pid: i32, socket: &str) -> bool {
    let threads: Vec<_> = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().collect();
    threads.len() > 1 && threads.iter().any(|thread| links_to(&thread.path().join("fd"), socket))
}

fn links_to(descriptors: &Path, socket: &str) -> bool {
    let links = fs::read_dir(descriptors).into_iter().flatten().flatten();
    links.into_iter().any(|link| fs::read_link(link.path()).is_ok_and(|target| target.as_os_str() == socket))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use wh_pipe::children::ChildRole;

    use super::*;

    #[test]
    fn a_process_belongs_to_the_nearest_supervisor_above_it() {
        let role = ChildRole::Supervisor { session: Some("s1".to_owned()) };
        // The inner shell clears its environment and leaves its process group; its child prints its pid.
        let mut command = Command::new("sh");
        command.args(["-c", "env -i setsid sh -c 'sh -c \"echo \\$\\$; read line; true\"; true'; true"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let (mut child, registration) = children::spawn(&mut command, role).unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let inner: i32 = line.trim().parse().unwrap();
        assert_eq!(origin_of(inner), Origin::Session("s1".to_owned()));
        let opener = ConnectionOpener::trace(inner, None);
        assert_eq!(opener.origin(), Origin::Session("s1".to_owned()));
        let own = std::process::id().cast_signed();
        assert_eq!(AncestorWalk::of(inner, own, &children::supervisors(), 1), None, "its ancestors are too many");
        // Without the registry the ancestor is only known as this process.
        let unknown = AncestorWalk::of(inner, own, &HashMap::new(), MAX_ANCESTORS).unwrap();
        assert_eq!(unknown.origin, Origin::Elsewhere);
        drop(child.stdin.take());
        child.wait().unwrap();
        drop(registration);
        assert_eq!(opener.origin(), Origin::Untraceable, "it is gone");
    }

    #[test]
    fn supervisors_of_other_processes_and_versions_are_recognised_by_their_command_line() {
        for (argument, expected) in [("__guard", true), ("__keep", true), ("run", false)] {
            let mut command = Command::new("grep");
            command.args([argument, "--line-buffered"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            // The command line is available once the program has started.
            writeln!(child.stdin.as_ref().unwrap(), "{argument}").unwrap();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
            assert_eq!(is_supervisor(child.id().cast_signed()), Some(expected), "{argument}");
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }

    #[test]
    fn the_working_directory_of_a_caller_is_known_while_it_lives_and_the_directory_exists() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let mut child = Command::new("cat").current_dir(&path).stdin(Stdio::piped()).spawn().unwrap();
        let opener = ConnectionOpener::trace(child.id().cast_signed(), None);
        assert_eq!(opener.directory(), Some(path.clone()));
        fs::remove_dir(&path).unwrap();
        assert_eq!(opener.directory(), None, "it was removed");
        fs::create_dir(&path).unwrap();
        assert_eq!(opener.directory(), None, "it is another one");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(opener.directory(), None, "it is gone");
        assert_eq!(ConnectionOpener::default().directory(), None);
        assert_eq!(directory_of_socket(u64::MAX), None);
    }

    #[test]
    fn a_pid_that_is_used_again_is_not_taken_for_the_opener() {
        let own = std::process::id().cast_signed();
        let mut child = Command::new("true").spawn().unwrap();
        let gone = pidfd::open(child.id().cast_signed()).unwrap();
        child.wait().unwrap();
        assert_eq!(ConnectionOpener::trace(own, None).origin(), Origin::Outside);
        assert_eq!(ConnectionOpener::trace(own, Some(gone)).origin(), Origin::Untraceable, "the opener has ended");
    }

    #[test]
    fn only_a_walk_to_the_root_is_outside() {
        let own = std::process::id().cast_signed();
        assert_eq!(origin_of(own), Origin::Outside);
        assert_eq!(origin_of(1), Origin::Outside);
        let parent = std::os::unix::process::parent_id().cast_signed();
        assert_eq!(origin_of(parent), Origin::Outside, "the tests must not run inside a session");
        for nobody in [0, -1, i32::MAX] {
            assert_eq!(origin_of(nobody), Origin::Untraceable);
            assert_eq!(ConnectionOpener::trace(nobody, None).origin(), Origin::Untraceable);
        }
        assert_eq!(origin_of_socket(u64::MAX), Origin::Untraceable);
    }
}
