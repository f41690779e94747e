//! Finds and ends the child processes of tests and their descendants.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use nix::sys::signal::{self, SigHandler, SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::unistd::Pid;

use crate::deadline;

/// Returns the process id of a child.
pub fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().expect("a process id fits into pid_t"))
}

/// Resets the signal dispositions of the command. The test runner may ignore some signals, for example if it was
/// started with `nohup` or a shell's `&`. A shell cannot trap a signal that was ignored when the shell started.
pub fn with_default_signals(command: &mut Command) -> &mut Command {
    let reset = || {
        for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
            // SAFETY: the default action runs no code of this program.
            unsafe { signal::signal(signal, SigHandler::SigDfl) }?;
        }
        Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)
    };
    // SAFETY: between fork and exec only async-signal-safe system calls are made, on memory that is already allocated.
    unsafe { command.pre_exec(reset) }
}

/// Returns true if the process is running. A zombie does not count as running.
pub fn running(pid: Pid) -> bool {
    stat(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// Returns all current descendants of `root`. Orphans that were reparented to init are not found.
pub fn descendants(root: Pid) -> Vec<Pid> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).map(Pid::from_raw) else {
            continue;
        };
        if let Some((_, parent)) = stat(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let of_parent = children.remove(&parent).unwrap_or_default();
        next.extend(&of_parent);
        found.extend(of_parent);
    }
    found
}

/// Sends SIGTERM to `child`, and waits until the child and its descendants have exited. Kills processes that are still
/// running after `grace`, and returns an error that describes these processes. Does nothing if the child has already
/// exited.
pub fn terminate(child: &mut Child, grace: Duration) -> Result<(), String> {
    if matches!(child.try_wait(), Ok(Some(_))) {
        return Ok(());
    }
    let root = pid(child);
    let mut family = descendants(root);
    let _ = kill(root, Signal::SIGTERM);
    if wait(child, grace).is_none() {
        family.extend(descendants(root));
        let _ = child.kill();
        let _ = child.wait();
        kill_all(&family);
        return Err(format!("process {root} did not exit within {grace:?} after SIGTERM"));
    }
    let gone = deadline::wait_until(grace, || (!family.iter().any(|&pid| running(pid))).then_some(()));
    if gone.is_none() {
        let left = kill_all(&family);
        return Err(format!("process {root} exited but left descendants: {}", left.join(", ")));
    }
    Ok(())
}

/// Kills the processes that are still running. Returns the pid and name of each.
fn kill_all(family: &[Pid]) -> Vec<String> {
    let mut killed = Vec::new();
    for &pid in family.iter().filter(|&&pid| running(pid)) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        killed.push(format!("{pid} ({})", name.trim_end()));
        let _ = kill(pid, Signal::SIGKILL);
    }
    killed
}

/// Waits until `child` exits. Returns `None` if it is still running after `timeout`.
pub fn wait(child: &mut Child, timeout: Duration) -> Option<ExitStatus> {
    deadline::wait_until(timeout, || child.try_wait().expect("a direct child can be waited for"))
}

/// Reads the state letter and the parent of a process from `/proc/PID/stat`. The process name, which is the second
/// field, may contain spaces and parentheses.
fn stat(pid: Pid) -> Option<(char, Pid)> {
    // The process name may contain invalid UTF-8.
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let line = String::from_utf8_lossy(&line);
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    Some((state, Pid::from_raw(parent)))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::eventually;

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().expect("sh is there")
    }

    #[test]
    fn a_child_can_trap_a_signal_that_the_tests_ignore() {
        // SAFETY: ignoring a signal runs no code of this program, and no other test uses this signal.
        unsafe { signal::signal(Signal::SIGUSR2, SigHandler::SigIgn) }.unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "trap 'exit 7' USR2; kill -USR2 $$; exit 0"]);
        assert_eq!(command.status().unwrap().code(), Some(0), "it is ignored");
        assert_eq!(with_default_signals(&mut command).status().unwrap().code(), Some(7));
    }

    #[test]
    fn a_polite_program_ends_by_sigterm() {
        let mut child = shell("exec sleep 600");
        assert_eq!(terminate(&mut child, deadline::CONDITION_TIMEOUT), Ok(()));
        assert!(!running(pid(&child)));
    }

    #[test]
    fn a_stubborn_program_ends_with_its_children() {
        let mut child = shell("trap '' TERM; setsid sleep 600 & while :; do wait; done");
        let root = pid(&child);
        let sleeper = eventually("sh starts its child", || descendants(root).first().copied());
        let forced = terminate(&mut child, Duration::from_millis(50)).unwrap_err();
        assert!(forced.contains("did not exit"), "{forced}");
        eventually("the child is gone", || (!running(sleeper)).then_some(()));
    }

    #[test]
    fn descendants_of_a_program_are_named_and_killed() {
        let mut child = shell("setsid sleep 600 & wait");
        let root = pid(&child);
        let sleeper = eventually("sh starts its child", || {
            descendants(root)
                .into_iter()
                .find(|&pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n"))
        });
        let forced = terminate(&mut child, Duration::from_millis(50)).unwrap_err();
        assert!(forced.ends_with(&format!("left descendants: {sleeper} (sleep)")), "{forced}");
        eventually("the child is gone", || (!running(sleeper)).then_some(()));
    }
}
