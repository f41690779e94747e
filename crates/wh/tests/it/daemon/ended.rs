//! No process of a session runs after wh reports its end, whatever the program does to its supervisor.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_pipe::pidfd;
use wh_pipe::proc::{ProcessIdentity, ProcessStat};
use wh_pipe::tree;
use wh_testkit::wh::Wh;
use wh_testkit::{CONDITION_TIMEOUT, eventually, tools};

use super::{TestDaemon, acp_agent};
use crate::WH;

/// Writes the ids of the supervisor, the program and a child in another session to a file.
const FAMILY: &str =
    "trap '' HUP TERM INT; setsid sleep 1000 & echo $PPID $$ $! > \"$FILE.new\"; mv \"$FILE.new\" \"$FILE\"; ";

/// Stops its supervisor once and records that in a file, because wh may continue it at once.
const STOPS_ONCE: &str = "kill -STOP $PPID; : > \"$FILE.stopped\"; ";
/// Stops the supervisor again whenever it is continued.
const STOPS_ON: &str = "while :; do kill -STOP $PPID; sleep 0.01; done";
const WAITS: &str = "while :; do sleep 1; done";

/// Changes its process name to invalid UTF-8.
const STRANGE_NAME: &str = "printf '\\377\\376\\377' > /proc/$$/comm; ";

/// Starts children in other sessions and does not wait for them.
const FORKS: &str = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); setsid sleep 1000 & done; ";

/// Waits for the file and returns the processes in it.
#[track_caller]
fn family(file: &Path) -> Vec<Pid> {
    let text = eventually("the program has written down who there is", || fs::read_to_string(file).ok());
    text.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

/// True while the process runs. False for a zombie. Unlike the testkit's function, it supports names that are not
/// UTF-8.
fn running(pid: Pid) -> bool {
    ProcessStat::of(pid.as_raw()).is_ok_and(|stat| !stat.is_dead())
}

#[track_caller]
fn none_runs(family: &[Pid]) {
    let left: Vec<&Pid> = family.iter().filter(|pid| running(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {family:?} run");
}

/// Returns the processes of a terminal session that runs this script.
#[track_caller]
fn program(daemon: &TestDaemon, name: &str, script: &str) -> Vec<Pid> {
    let file = daemon.work().join(name);
    let script = format!("FILE={}; {FAMILY}{script}", file.display());
    daemon.ok(&["new", "--name", name, "--", "bash", "-c", &script]);
    family(&file)
}

/// Returns the processes of a script that stops its supervisor, after it has.
#[track_caller]
fn stopping_program(daemon: &TestDaemon, name: &str, script: &str) -> Vec<Pid> {
    let family = program(daemon, name, script);
    wait_stopped(&daemon.work().join(name));
    family
}

/// Waits until the program that writes this file has stopped its supervisor.
#[track_caller]
fn wait_stopped(file: &Path) {
    let stopped = format!("{}.stopped", file.display());
    eventually("the supervisor was stopped", || Path::new(&stopped).exists().then_some(()));
}

/// Adds the agent `fake`, which stops its supervisor again and again.
fn add_stopping_agent(daemon: &TestDaemon) {
    let first = format!("FILE=\"$HOME/family.$$\"; {FAMILY}({STOPS_ONCE}{STOPS_ON}) &");
    daemon.add_agent("fake", &acp_agent(&first, ""));
}

/// Returns the processes of a session with that agent, after its supervisor was stopped.
#[track_caller]
fn stopping_agent(daemon: &TestDaemon, name: &str) -> Vec<Pid> {
    daemon.ok(&["new", "--agent", "fake", "--name", name]);
    agent_family(&daemon.root().join("home"))
}

/// Returns the processes of an agent that stops its supervisor, after it has.
#[track_caller]
fn agent_family(home: &Path) -> Vec<Pid> {
    let file = eventually("the agent has written down who there is", || {
        let mut names = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
        names.find(|path| path.file_stem().is_some_and(|stem| stem == "family"))
    });
    wait_stopped(&file);
    let family = family(&file);
    fs::remove_file(file).unwrap();
    family
}

#[test]
fn a_program_that_stops_its_supervisor_ends_with_its_session() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let once = stopping_program(&daemon, "once", &format!("{STOPS_ONCE}{WAITS}"));
    let always = stopping_program(&daemon, "always", &format!("{STRANGE_NAME}{STOPS_ONCE}{STOPS_ON}"));
    // It forks before it stops its supervisor.
    let forks = stopping_program(&daemon, "forks", &format!("{FORKS}{STOPS_ONCE}{STOPS_ON}"));
    for (name, family, at_least) in [("once", &once, 2), ("always", &always, 2), ("forks", &forks, 302)] {
        let below = tree::below(family[0]);
        assert!(below.len() >= at_least, "{name}: {below:?}");
        let said = daemon.ok(&["kill", name, "--now"]);
        assert!(said.contains("has ended"), "{said}");
        none_runs(family);
        none_runs(&below);
    }
}

#[test]
fn stopped_process_trees_and_trees_without_supervisor_end_too() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut daemon = TestDaemon::new();
    let stopped = program(&daemon, "stopped", WAITS);
    let orphaned = program(&daemon, "orphaned", WAITS);
    let last = stopping_program(&daemon, "last", &format!("{STOPS_ONCE}{STOPS_ON}"));
    // Children first, so that a continued supervisor does not affect them.
    stopped.iter().rev().for_each(|pid| kill(*pid, Signal::SIGSTOP).unwrap());
    daemon.ok(&["kill", "stopped", "--now"]);
    none_runs(&stopped);

    kill(orphaned[0], Signal::SIGKILL).unwrap();
    eventually("what outlived its supervisor ends", || (!orphaned.iter().any(|pid| running(*pid))).then_some(()));
    eventually("the session has ended", || daemon.ok(&["ls", "--all"]).contains("unknown status").then_some(()));

    daemon.ok(&["daemon", "stop"]);
    none_runs(&last);
    assert!(daemon.ended().success());
}

#[test]
fn an_agent_that_stops_its_supervisor_ends_with_its_session_or_the_daemon() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut daemon = TestDaemon::empty([]);
    add_stopping_agent(&daemon);
    daemon.start();
    let (killed, stopped) = (stopping_agent(&daemon, "killed"), stopping_agent(&daemon, "stopped"));
    daemon.ok(&["kill", "killed", "--now"]);
    none_runs(&killed);
    daemon.ok(&["daemon", "stop"]);
    none_runs(&stopped);
    assert!(daemon.ended().success());
}

#[test]
fn a_run_and_a_space_end_with_programs_that_stop_their_supervisors() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::empty([]);
    let file = daemon.work().join("run");
    let script = format!("FILE={}; {FAMILY}{STOPS_ONCE}{STOPS_ON}", file.display());
    let mut run = Wh::start(WH, &["--", "bash", "-c", &script]);
    let of_run = family(&file);
    wait_stopped(&file);
    run.signal(Signal::SIGTERM);
    // A second request kills.
    run.signal(Signal::SIGTERM);
    assert_eq!(run.wait_exit(CONDITION_TIMEOUT).code(), Some(137), "{}", run.stderr());
    none_runs(&of_run);

    let file = daemon.work().join("orphaned");
    let script = format!("FILE={}; {FAMILY}{WAITS}", file.display());
    let mut run = Wh::start(WH, &["--", "bash", "-c", &script]);
    let orphaned = family(&file);
    kill(orphaned[0], Signal::SIGKILL).unwrap();
    assert_eq!(run.wait_exit(CONDITION_TIMEOUT).code(), Some(125), "{}", run.stderr());
    none_runs(&orphaned);

    add_stopping_agent(&daemon);
    let space = Wh::options(WH).space().environment(daemon.environment()).flags(&["--agent", "fake"]);
    let mut space = space.directory(daemon.work()).start(&[]);
    let of_agent = agent_family(&daemon.root().join("home"));
    space.signal(Signal::SIGTERM);
    assert!(space.wait_exit(CONDITION_TIMEOUT).success(), "{}", space.stderr());
    none_runs(&of_agent);
}

/// Runs a function at the end of a test, even if the test fails.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn processes_that_cannot_be_ended_are_listed_and_fail_the_command() {
    if !tools::present(&["bash", "setpriv"]) {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        return tools::skip("only root can make a program that another user may not end", true);
    }
    let daemon = TestDaemon::unprivileged([]);
    let path = std::env::var_os("PATH").unwrap();
    let setpriv = std::env::split_paths(&path).map(|folder| folder.join("setpriv")).find(|file| file.is_file());
    let become_root = daemon.root().join("become-root");
    fs::copy(setpriv.unwrap(), &become_root).unwrap();
    fs::set_permissions(&become_root, Permissions::from_mode(0o4755)).unwrap();
    let wh = |arguments: &[&str]| {
        let output = daemon.run(arguments);
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code(), said)
    };
    // Runs as root, so the user cannot signal it. The rest of its process tree ends.
    let script = |file: &str| {
        let (program, file) = (become_root.display(), daemon.work().join(file));
        // The kernel sends the hangup of the terminal and may signal any process.
        format!(
            "trap '' HUP; {program} --reuid=0 sleep 1000 & sleep 1000 & echo $! $$ > {file}.new; mv {file}.new {file}; ",
            file = file.display()
        )
    };
    let roots = |family: &[Pid]| -> Vec<Pid> {
        let parent = |pid: &Pid| ProcessStat::of(pid.as_raw()).is_ok_and(|stat| stat.parent == family[1].as_raw());
        tree::below(family[1]).into_iter().filter(|pid| *pid != family[0] && parent(pid)).collect()
    };

    let (code, said) = wh(&["new", "--name", "a", "--", "bash", "-c", &format!("{}wait", script("a"))]);
    assert_eq!(code, Some(0), "{said}");
    let of_session = family(&daemon.work().join("a"));
    let root = eventually("it runs as root", || {
        let found = roots(&of_session).first().copied()?;
        let status = fs::read_to_string(format!("/proc/{found}/status")).ok()?;
        (status.contains("Name:\tsleep") && status.contains("Uid:\t0\t0\t0"))
            .then(|| ProcessIdentity::of(found.as_raw()).ok())?
    });
    let _kill = AtEnd(|| drop(pidfd::signal(root, Signal::SIGKILL)));
    let named = format!("process {} could not be ended", root.pid);
    let (code, said) = wh(&["kill", "a", "--now"]);
    assert!(code != Some(0) && said.contains(&named), "{code:?}: {said}");
    none_runs(&of_session);
    let (_, listed) = wh(&["ls", "--all"]);
    assert!(listed.contains(&named), "{listed}");
    let (code, said) = wh(&["daemon", "stop"]);
    assert!(code == Some(125) && said.contains(&named), "{code:?}: {said}");
    pidfd::signal(root, Signal::SIGKILL).expect("it still runs");

    let (code, said) = wh(&["run", "--", "bash", "-c", &format!("{}exit 0", script("run"))]);
    let pid = said.split("process ").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|pid| pid.parse().ok());
    let left = ProcessIdentity::of(pid.unwrap_or_else(|| panic!("{said}"))).expect("it still runs");
    let _kill_left = AtEnd(|| drop(pidfd::signal(left, Signal::SIGKILL)));
    let named = format!("process {} could not be ended", left.pid);
    assert!(code == Some(125) && said.contains(&named), "{code:?}: {said}");
    pidfd::signal(left, Signal::SIGKILL).unwrap();
    assert!([root, left].into_iter().all(|id| pidfd::wait(id, CONDITION_TIMEOUT)), "what was left ends");
}

#[test]
fn a_session_that_fails_to_start_leaves_no_process() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut daemon = TestDaemon::empty([]);
    // It exits without output and leaves a child.
    let text = format!("#!/bin/bash\nFILE=\"$HOME/family.$$\"; {FAMILY}{STOPS_ONCE}exit 1\n");
    daemon.add_agent("fake", &text);
    daemon.start();
    daemon.create(json!({ "agent": "fake", "name": "a" }));
    let family = agent_family(&daemon.root().join("home"));
    eventually("the session has ended", || daemon.ok(&["ls", "--all"]).contains("ended").then_some(()));
    none_runs(&family);
}
