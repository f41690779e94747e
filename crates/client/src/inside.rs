//! Whether a process runs inside a session. Everything that a session starts has the session's id in its environment, and the
//! guard and the keeper, to whom orphans fall, have it too. A process may take it out of its own environment, but not out of
//! those of its ancestors.

use std::fs;

/// The variable by which everything that runs in a session is known to do so.
pub const SESSION_VARIABLE: &str = "WH_SESSION";

/// Ancestors that are looked at: more than any tree of processes has.
const DEEPEST: usize = 4096;

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

fn variable(pid: i32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{SESSION_VARIABLE}=");
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
    String::from_utf8(value.to_vec()).ok()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold blanks and brackets; the parent is the second field after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
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
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let inner: i32 = line.trim().parse().unwrap();
        assert_ne!(inner, i32::try_from(child.id()).unwrap());
        assert!(sessions_of(inner).contains(&"s-test".to_owned()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(sessions_of(i32::MAX).is_empty());
    }
}
