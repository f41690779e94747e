//! A daemon whose runtime does not run any more ends itself, and the next one restores its sessions.

use std::fs;

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use wh_testkit::process::{descendants, running};
use wh_testkit::{eventually, tools};

use super::house::House;

/// Stops every thread of a process but its first and the watchdog, until the calling thread ends or the process does. None: the
/// system does not allow that.
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
    let mut house = House::new();
    let session = house.demo("a", 1);
    house.ok(&["send", "a", "hello"]);
    eventually("it has answered", || (house.chats(&session).len() == 2).then_some(()));
    house.ok(&["new", "--name", "t", "--", "sleep", "6000"]);
    let family = descendants(house.pid());
    let Some(frozen) = freeze_workers(house.pid()) else {
        return tools::skip("the daemon may not be traced here", true);
    };
    assert!(!frozen.is_empty());
    // A traced thread is gone only once its tracer has waited for it, and the process only then.
    eventually("the daemon has ended", || {
        let gone =
            |thread: &Pid| waitpid(*thread, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) == Err(Errno::ECHILD);
        frozen.iter().all(gone).then_some(())
    });
    assert_eq!(house.ended().code(), Some(7));
    let log = house.said();
    assert!(log.contains("the runtime has not run a task for"), "{log}");
    eventually("nothing of it is left", || (!family.iter().any(|pid| running(*pid))).then_some(()));
    house.start();
    house.state(&session, "idle");
    assert_eq!(house.chats(&session).len(), 2);
}
