//! Whether a process runs inside a session. Everything that a session starts has the session's id in its environment, and the
//! guard and the keeper, to whom orphans fall, have it too. A process may take it out of its own environment, but not out of
//! those of its ancestors.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;

/// The variable by which everything that runs in a session is known to do so.
pub const SESSION_VARIABLE: &str = "WH_SESSION";

/// Ancestors that are looked at: more than any tree of processes has.
const DEEPEST: usize = 4096;

/// Bytes of what the system says about a process that are read at once.
const PIECE: usize = 4096;

/// A process, told apart from a later one of the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pid: i32,
    /// When it started, as the system counts.
    born: u64,
    /// The sessions that it runs in, innermost first. Known from the first look on: a process may lose ancestors, and forget what it was
    /// started with, but it comes into no session later.
    sessions: Arc<[String]>,
}

impl Process {
    /// The one that has this id now.
    pub fn of(pid: i32) -> Option<Self> {
        let born_first = born(pid)?;
        let sessions = sessions_of(pid).into();
        (born(pid) == Some(born_first)).then_some(Self { pid, born: born_first, sessions })
    }

    /// The sessions that it runs in, innermost first. `None`: it is gone, and nobody can say. Whoever has taken over a connection of
    /// its, a child say, is then as unknown.
    pub fn sessions(&self) -> Option<&[String]> {
        (born(self.pid) == Some(self.born)).then_some(&*self.sessions)
    }
}

/// The sessions that a process runs in, innermost first.
pub fn sessions_of(pid: i32) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = Some(pid);
    for _ in 0..DEEPEST {
        let Some(pid) = next.filter(|pid| *pid > 1) else { break };
        if let Some(id) = variable(pid)
            && !found.contains(&id)
        {
            found.push(id);
        }
        next = parent(pid);
    }
    found
}

/// Every process that runs in this session now. Each is looked at once.
pub fn processes_in(session: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let family: HashMap<i32, (Option<i32>, bool)> =
        pids.map(|pid| (pid, (parent(pid), variable(pid).as_deref() == Some(session)))).collect();
    let is_inside = |pid: i32| {
        let mut next = Some(pid);
        for _ in 0..DEEPEST {
            match next.and_then(|pid| family.get(&pid)) {
                Some((_, true)) => return true,
                Some((parent, false)) => next = *parent,
                None => return false,
            }
        }
        false
    };
    family.keys().copied().filter(|pid| is_inside(*pid)).collect()
}

fn variable(pid: i32) -> Option<String> {
    let environment = read(pid, "environ").ok()?;
    let prefix = format!("{SESSION_VARIABLE}=");
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
    String::from_utf8(value.to_vec()).ok()
}

/// A field of what the system says about a process, counted from the one behind its name, which may hold blanks and brackets.
fn field<T: std::str::FromStr>(pid: i32, number: usize) -> Option<T> {
    let stat = String::from_utf8(read(pid, "stat").ok()?).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(number)?.parse().ok()
}

/// What the system says about a process. It does not say how long that is, so it is asked for in pieces of a good size.
fn read(pid: i32, what: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(PIECE);
    File::open(format!("/proc/{pid}/{what}"))?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parent(pid: i32) -> Option<i32> {
    field(pid, 1)
}

fn born(pid: i32) -> Option<u64> {
    field(pid, 19)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_inside_though_it_has_cleared_its_own_environment() {
        let mut child = Command::new("sh")
            .args(["-c", "env -i sh -c 'echo $$; read line; true'; true"])
            .env(SESSION_VARIABLE, "s-test")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = io::BufReader::new(child.stdout.take().unwrap());
        io::BufRead::read_line(&mut out, &mut line).unwrap();
        let inner: i32 = line.trim().parse().unwrap();
        assert_ne!(inner, i32::try_from(child.id()).unwrap());
        assert!(sessions_of(inner).contains(&"s-test".to_owned()));
        assert!(processes_in("s-test").contains(&inner) && !processes_in("s-other").contains(&inner));
        let process = Process::of(inner).unwrap();
        assert!(process.sessions().unwrap().contains(&"s-test".to_owned()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(process.sessions(), None, "it is gone");
        assert!(sessions_of(i32::MAX).is_empty());
    }
}
