//! A daemon with a stalled runtime exits, and the next one restores its sessions.

use std::fs;

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use wh_testkit::process::{descendants, running};
use wh_testkit::{eventually, tools};

use super::test_daemon::TestDaemon;

/// Stops all threads of a process except its main thread and the watchdog, until the calling thread or the process
/// ends. `None` if the system does not allow that.
fn freeze_workers(process: Pid) -> Option<Vec<Pid>> {
    let mut frozen = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
        let thread = Pid::from_raw(entry.file_name().to_str().unwrap().parse().unwrap());
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if thread == process || name.trim() == "wh-watchdog" {
            continue;
        }
        match ptrace::seize(thread, ptrace::Options::empty()) {
            Ok(()) => ptrace::interrupt(thread).unwrap(),
            Err(Errno::EPERM) => return None,
            Err(error) => panic!("thread {thread} ({}): {error}", name.trim()),
        }
        frozen.push(thread);
    }
    Some(frozen)
}

#[test]
fn a_stalled_daemon_exits_with_its_own_code_and_the_next_one_restores_its_sessions() {
    let mut daemon = TestDaemon::new();
    let session = daemon.demo("a", 1);
    daemon.ok(&["send", "a", "hello"]);
    eventually("it has answered", || (daemon.chats(&session).len() == 2).then_some(()));
    daemon.ok(&["new", "--name", "t", "--", "sleep", "6000"]);
    let family = descendants(daemon.pid());
    let Some(frozen) = freeze_workers(daemon.pid()) else {
        return tools::skip("the daemon may not be traced here", true);
    };
    assert!(!frozen.is_empty());
    // A traced process has exited only after its tracer has waited for the thread.
    eventually("the daemon has ended", || {
        let gone =
            |thread: &Pid| waitpid(*thread, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) == Err(Errno::ECHILD);
        frozen.iter().all(gone).then_some(())
    });
    assert_eq!(daemon.ended().code(), Some(7));
    let log = daemon.said();
    assert!(log.contains("the runtime has not run a task for"), "{log}");
    eventually("nothing of it is left", || (!family.iter().any(|pid| running(*pid))).then_some(()));
    daemon.start();
    daemon.state(&session, "idle");
    assert_eq!(daemon.chats(&session).len(), 2);
}
