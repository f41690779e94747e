//! "Ended" means ended: whatever a program does to its supervisor, nothing of it runs once wh says so.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_pipe::pidfd;
use wh_pipe::proc::{ProcessId, Stat};
use wh_pipe::tree;
use wh_testkit::wh::Wh;
use wh_testkit::{PATIENCE, eventually, tools};

use super::{House, acp_agent};
use crate::WH;

/// Writes down the supervisor, the program and a child that has left its session.
const FAMILY: &str =
    "trap '' HUP TERM INT; setsid sleep 1000 & echo $PPID $$ $! > \"$FILE.new\"; mv \"$FILE.new\" \"$FILE\"; ";

/// Stops its supervisor once and writes that down: wh may continue it at once, so the state of the process is no evidence.
const STOPS_ONCE: &str = "kill -STOP $PPID; : > \"$FILE.stopped\"; ";
/// Stops it again whenever it is continued.
const STOPS_ON: &str = "while :; do kill -STOP $PPID; sleep 0.01; done";
const WAITS: &str = "while :; do sleep 1; done";

/// Takes a name that is not UTF-8.
const STRANGE_NAME: &str = "printf '\\377\\376\\377' > /proc/$$/comm; ";

/// Starts children that leave its session, and does not wait for any.
const FORKS: &str = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); setsid sleep 1000 & done; ";

/// The processes that a program wrote down, once it has.
#[track_caller]
fn family(file: &Path) -> Vec<Pid> {
    let text = eventually("the program has written down who there is", || fs::read_to_string(file).ok());
    text.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

/// True while the process runs; a zombie does not. Unlike the testkit's, it also finds one whose name is not UTF-8.
fn running(pid: Pid) -> bool {
    Stat::of(pid.as_raw()).is_ok_and(|stat| !stat.is_dead())
}

#[track_caller]
fn none_runs(family: &[Pid]) {
    let left: Vec<&Pid> = family.iter().filter(|pid| running(**pid)).collect();
    assert!(left.is_empty(), "{left:?} of {family:?} run");
}

/// The processes of a terminal session that runs this script.
#[track_caller]
fn program(house: &House, name: &str, script: &str) -> Vec<Pid> {
    let file = house.work().join(name);
    let script = format!("FILE={}; {FAMILY}{script}", file.display());
    house.ok(&["new", "--name", name, "--", "bash", "-c", &script]);
    family(&file)
}

/// The same of a script that stops its supervisor, once it has.
#[track_caller]
fn stopping_program(house: &House, name: &str, script: &str) -> Vec<Pid> {
    let family = program(house, name, script);
    wait_stopped(&house.work().join(name));
    family
}

/// Waits until the program that writes this file has stopped its supervisor.
#[track_caller]
fn wait_stopped(file: &Path) {
    let stopped = format!("{}.stopped", file.display());
    eventually("the supervisor was stopped", || Path::new(&stopped).exists().then_some(()));
}

/// Adds the agent `fake`, which stops its supervisor again and again.
fn add_stopping_agent(house: &House) {
    let first = format!("FILE=\"$HOME/family.$$\"; {FAMILY}({STOPS_ONCE}{STOPS_ON}) &");
    house.add_agent("fake", &acp_agent(&first, ""));
}

/// The processes of a session with that agent, once its supervisor was stopped.
#[track_caller]
fn stopping_agent(house: &House, name: &str) -> Vec<Pid> {
    house.ok(&["new", "--agent", "fake", "--name", name]);
    agent_family(&house.root().join("home"))
}

/// The processes of an agent that stops its supervisor, once it has.
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
    let house = House::new();
    let once = stopping_program(&house, "once", &format!("{STOPS_ONCE}{WAITS}"));
    let always = stopping_program(&house, "always", &format!("{STRANGE_NAME}{STOPS_ONCE}{STOPS_ON}"));
    // It has forked before it stops its supervisor.
    let forks = stopping_program(&house, "forks", &format!("{FORKS}{STOPS_ONCE}{STOPS_ON}"));
    for (name, family, at_least) in [("once", &once, 2), ("always", &always, 2), ("forks", &forks, 302)] {
        let below = tree::below(family[0]);
        assert!(below.len() >= at_least, "{name}: {below:?}");
        let said = house.ok(&["kill", name, "--now"]);
        assert!(said.contains("has ended"), "{said}");
        none_runs(family);
        none_runs(&below);
    }
}

#[test]
fn a_tree_that_was_stopped_and_one_whose_supervisor_was_killed_end_too() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::new();
    let stopped = program(&house, "stopped", WAITS);
    let orphaned = program(&house, "orphaned", WAITS);
    let last = stopping_program(&house, "last", &format!("{STOPS_ONCE}{STOPS_ON}"));
    // Children first: a supervisor that is continued would continue them no more than wh does.
    stopped.iter().rev().for_each(|pid| kill(*pid, Signal::SIGSTOP).unwrap());
    house.ok(&["kill", "stopped", "--now"]);
    none_runs(&stopped);

    kill(orphaned[0], Signal::SIGKILL).unwrap();
    eventually("what outlived its supervisor ends", || (!orphaned.iter().any(|pid| running(*pid))).then_some(()));
    eventually("the session has ended", || house.ok(&["ls", "--all"]).contains("nobody knows how").then_some(()));

    house.ok(&["daemon", "stop"]);
    none_runs(&last);
    assert!(house.ended().success());
}

#[test]
fn an_agent_that_stops_its_supervisor_ends_with_its_session_or_the_daemon() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::empty([]);
    add_stopping_agent(&house);
    house.start();
    let (killed, stopped) = (stopping_agent(&house, "killed"), stopping_agent(&house, "stopped"));
    house.ok(&["kill", "killed", "--now"]);
    none_runs(&killed);
    house.ok(&["daemon", "stop"]);
    none_runs(&stopped);
    assert!(house.ended().success());
}

#[test]
fn a_run_and_a_space_end_with_programs_that_stop_their_supervisors() {
    if !tools::present(&["bash"]) {
        return;
    }
    let house = House::empty([]);
    let file = house.work().join("run");
    let script = format!("FILE={}; {FAMILY}{STOPS_ONCE}{STOPS_ON}", file.display());
    let mut run = Wh::start(WH, &["--", "bash", "-c", &script]);
    let of_run = family(&file);
    wait_stopped(&file);
    run.signal(Signal::SIGTERM);
    // Who asks again means it.
    run.signal(Signal::SIGTERM);
    assert_eq!(run.wait_exit(PATIENCE).code(), Some(137), "{}", run.stderr());
    none_runs(&of_run);

    let file = house.work().join("orphaned");
    let script = format!("FILE={}; {FAMILY}{WAITS}", file.display());
    let mut run = Wh::start(WH, &["--", "bash", "-c", &script]);
    let orphaned = family(&file);
    kill(orphaned[0], Signal::SIGKILL).unwrap();
    assert_eq!(run.wait_exit(PATIENCE).code(), Some(125), "{}", run.stderr());
    none_runs(&orphaned);

    add_stopping_agent(&house);
    let space = Wh::options(WH).space().environment(house.environment()).flags(&["--agent", "fake"]);
    let mut space = space.directory(house.work()).start(&[]);
    let of_agent = agent_family(&house.root().join("home"));
    space.signal(Signal::SIGTERM);
    assert!(space.wait_exit(PATIENCE).success(), "{}", space.stderr());
    none_runs(&of_agent);
}

/// Does something at the end of a test, also of one that fails.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn what_cannot_be_ended_is_named_and_no_success_is_reported() {
    if !tools::present(&["bash", "setpriv"]) {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        return tools::skip("only root can make a program that another user may not end", true);
    }
    let house = House::unprivileged([]);
    let path = std::env::var_os("PATH").unwrap();
    let setpriv = std::env::split_paths(&path).map(|folder| folder.join("setpriv")).find(|file| file.is_file());
    let become_root = house.root().join("become-root");
    fs::copy(setpriv.unwrap(), &become_root).unwrap();
    fs::set_permissions(&become_root, Permissions::from_mode(0o4755)).unwrap();
    let wh = |arguments: &[&str]| {
        let output = house.run(arguments);
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code(), said)
    };
    // Runs as root, so that its user may not signal it; everything else of its tree ends.
    let script = |file: &str| {
        let (program, file) = (become_root.display(), house.work().join(file));
        // A hangup of the terminal comes from the kernel, which may signal everybody.
        format!(
            "trap '' HUP; {program} --reuid=0 sleep 1000 & sleep 1000 & echo $! $$ > {file}.new; mv {file}.new {file}; ",
            file = file.display()
        )
    };
    let roots = |family: &[Pid]| -> Vec<Pid> {
        let parent = |pid: &Pid| Stat::of(pid.as_raw()).is_ok_and(|stat| stat.parent == family[1].as_raw());
        tree::below(family[1]).into_iter().filter(|pid| *pid != family[0] && parent(pid)).collect()
    };

    let (code, said) = wh(&["new", "--name", "a", "--", "bash", "-c", &format!("{}wait", script("a"))]);
    assert_eq!(code, Some(0), "{said}");
    let of_session = family(&house.work().join("a"));
    let root = eventually("it runs as root", || {
        let found = roots(&of_session).first().copied()?;
        let status = fs::read_to_string(format!("/proc/{found}/status")).ok()?;
        (status.contains("Name:\tsleep") && status.contains("Uid:\t0\t0\t0"))
            .then(|| ProcessId::of(found.as_raw()).ok())?
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
    let left = ProcessId::of(pid.unwrap_or_else(|| panic!("{said}"))).expect("it still runs");
    let _kill_left = AtEnd(|| drop(pidfd::signal(left, Signal::SIGKILL)));
    let named = format!("process {} could not be ended", left.pid);
    assert!(code == Some(125) && said.contains(&named), "{code:?}: {said}");
    pidfd::signal(left, Signal::SIGKILL).unwrap();
    assert!([root, left].into_iter().all(|id| pidfd::wait(id, PATIENCE)), "what was left ends");
}

#[test]
fn a_session_that_could_not_be_started_leaves_nothing() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::empty([]);
    // It ends before it has said anything, and leaves a child behind.
    let text = format!("#!/bin/bash\nFILE=\"$HOME/family.$$\"; {FAMILY}{STOPS_ONCE}exit 1\n");
    house.add_agent("fake", &text);
    house.start();
    house.create(json!({ "agent": "fake", "name": "a" }));
    let family = agent_family(&house.root().join("home"));
    eventually("the session has ended", || house.ok(&["ls", "--all"]).contains("ended").then_some(()));
    none_runs(&family);
}
