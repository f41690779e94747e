//! Finds the agent that called a hook, from the process that connected to the listener. Agents that an agent starts
//! inherit the variable with the socket, so messages must be attributed to a process.

use std::fs;
use std::path::Path;

use wh_pipe::proc::ProcessStat;

/// Maximum number of shells between a hook process and its agent.
const MAX_SHELLS: usize = 8;

/// Programs through which agents start hooks.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"];

/// Returns the pid of the agent that started the hook process `pid`: its nearest ancestor that is not a shell. `None`
/// if the hook process or an ancestor has exited. Blocks.
pub(super) fn agent_process(pid: i32) -> Option<i32> {
    let mut ancestor = parent(pid)?;
    for _ in 0..MAX_SHELLS {
        if !is_shell(ancestor) {
            return Some(ancestor);
        }
        ancestor = parent(ancestor)?;
    }
    None
}

/// Returns the parent of a process; `None` for a process whose parent has exited.
fn parent(pid: i32) -> Option<i32> {
    ProcessStat::of(pid).ok().map(|stat| stat.parent).filter(|parent| *parent > 1)
}

fn is_shell(pid: i32) -> bool {
    let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else { return false };
    program.file_name().is_some_and(|name| SHELLS.iter().any(|shell| Path::new(shell) == Path::new(name)))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test is not a child subreaper and ends its own children")]
    fn shells_between_the_hook_and_its_agent_are_skipped() {
        // The subshell is a shell below a shell, and both wait.
        let mut shell =
            Command::new("sh").args(["-c", "(read line; :); :"]).stdin(Stdio::piped()).spawn().expect("sh is there");
        let pid = i32::try_from(shell.id()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(agent_process(pid), Some(own));
        let inner = loop {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            match children.split_whitespace().next() {
                Some(inner) => break inner.parse().unwrap(),
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(agent_process(inner), Some(own));
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(agent_process(pid), None);
    }
}
