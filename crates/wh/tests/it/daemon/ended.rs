//! "Ended" means ended: whatever a program does to its supervisor, nothing of it runs once wh says so.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::process::{self, running};
use wh_testkit::wh::Wh;
use wh_testkit::{PATIENCE, eventually, tools};

use super::House;
use crate::WH;

/// Writes down the supervisor, the program and a child that has left its session.
const FAMILY: &str =
    "trap '' HUP TERM INT; setsid sleep 1000 & echo $PPID $$ $! > \"$FILE.new\"; mv \"$FILE.new\" \"$FILE\"; ";

/// Stops its supervisor as soon as it can, and again whenever that is continued.
const STOPS_AT_ONCE: &str = "kill -STOP $PPID; ";
const STOPS_ALWAYS: &str = "while :; do kill -STOP $PPID; sleep 0.01; done";
const WAITS: &str = "while :; do sleep 1; done";

/// Takes a name that is not UTF-8.
const STRANGE_NAME: &str = "printf '\\377\\376\\377' > /proc/$$/comm; ";

/// Starts children that leave its session, and does not wait for any.
const FORKS: &str = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); setsid sleep 1000 & done; ";

/// An agent of the Agent Client Protocol that stops its keeper.
const AGENT: &str = r#"
reply() { echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
(while :; do kill -STOP $PPID; sleep 0.01; done) &
while read -r line; do
  id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"initialize"'*) reply '{"protocolVersion":1}';;
    *'"session/new"'*) reply '{"sessionId":"s"}';;
  esac
done
"#;

/// The processes that a program wrote down, once it has.
#[track_caller]
fn family(file: &Path) -> Vec<Pid> {
    let text = eventually("the program has written down who there is", || fs::read_to_string(file).ok());
    text.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
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

/// Adds the agent to what a daemon knows.
fn add_agent(house: &House) {
    let program = house.work().join("agent");
    let text = format!("#!/bin/bash\nFILE=\"$HOME/family.$$\"; {FAMILY}{AGENT}");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let folder = house.root().join("config/wheelhouse");
    fs::create_dir_all(&folder).unwrap();
    let agents = format!("[agents.fake]\ncommand = {:?}\n", program.display().to_string());
    fs::write(folder.join("agents.toml"), agents).unwrap();
}

/// The processes of a session with that agent.
#[track_caller]
fn agent(house: &House, name: &str) -> Vec<Pid> {
    house.ok(&["new", "--agent", "fake", "--name", name]);
    agent_family(&house.root().join("home"))
}

#[track_caller]
fn agent_family(home: &Path) -> Vec<Pid> {
    let file = eventually("the agent has written down who there is", || {
        let mut names = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
        names.find(|path| {
            path.file_stem().is_some_and(|stem| stem == "family") && path.extension().is_some_and(|pid| pid != "new")
        })
    });
    let family = family(&file);
    fs::remove_file(file).unwrap();
    family
}

#[test]
fn a_program_that_stops_its_guard_ends_with_its_session() {
    if !tools::present(&["bash"]) {
        return;
    }
    let house = House::new();
    let at_once = program(&house, "at-once", &format!("{STOPS_AT_ONCE}{WAITS}"));
    let later = program(&house, "later", &format!("{STRANGE_NAME}sleep 0.2; {STOPS_ALWAYS}"));
    let forks = program(&house, "forks", &format!("{FORKS}{STOPS_ALWAYS}"));
    for (name, family) in [("at-once", &at_once), ("later", &later), ("forks", &forks)] {
        let below = process::descendants(family[0]);
        let said = house.ok(&["kill", name, "--now"]);
        assert!(said.contains("has ended"), "{said}");
        none_runs(family);
        none_runs(&below);
    }
}

#[test]
fn a_tree_that_was_stopped_and_one_whose_guard_was_killed_end_too() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::new();
    let stopped = program(&house, "stopped", WAITS);
    let orphaned = program(&house, "orphaned", WAITS);
    let last = program(&house, "last", STOPS_ALWAYS);
    // Children first: a guard that is continued would continue them no more than wh does.
    stopped.iter().rev().for_each(|pid| kill(*pid, Signal::SIGSTOP).unwrap());
    house.ok(&["kill", "stopped", "--now"]);
    none_runs(&stopped);

    kill(orphaned[0], Signal::SIGKILL).unwrap();
    eventually("what outlived its guard ends", || (!orphaned.iter().any(|pid| running(*pid))).then_some(()));
    eventually("the session has ended", || house.ok(&["ls", "--all"]).contains("nobody knows how").then_some(()));

    house.ok(&["daemon", "stop"]);
    none_runs(&last);
    assert!(house.ended().success());
}

#[test]
fn an_agent_that_stops_its_keeper_ends_with_its_session_or_the_daemon() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::empty([]);
    add_agent(&house);
    house.start();
    let (killed, stopped) = (agent(&house, "killed"), agent(&house, "stopped"));
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
    let script = format!("FILE={}; {FAMILY}{STOPS_AT_ONCE}{STOPS_ALWAYS}", file.display());
    let mut run = Wh::start(WH, &["--", "bash", "-c", &script]);
    let of_run = family(&file);
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

    add_agent(&house);
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

/// A user that is neither root nor anybody's.
const NOBODY: u32 = 65534;

#[test]
fn what_cannot_be_ended_is_named_and_no_success_is_reported() {
    if !tools::present(&["bash", "setpriv"]) {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        return tools::skip("only root can make a program that another user may not end", false);
    }
    let folder = tempfile::Builder::new().prefix("wh-left.").tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["runtime", "state", "config", "home"] {
        fs::create_dir(at(name)).unwrap();
        chown(at(name), Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(at(name), Permissions::from_mode(0o700)).unwrap();
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    // The path to the binary may be closed to others.
    fs::copy(WH, at("wh")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let setpriv = std::env::split_paths(&path).map(|folder| folder.join("setpriv")).find(|file| file.is_file());
    fs::copy(setpriv.unwrap(), at("become-root")).unwrap();
    fs::set_permissions(at("become-root"), Permissions::from_mode(0o4755)).unwrap();
    let wh = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        let user = NOBODY.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(at("wh")).args(arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", at("home"));
        command.env("XDG_RUNTIME_DIR", at("runtime")).env("XDG_STATE_HOME", at("state"));
        command.env("XDG_CONFIG_HOME", at("config")).current_dir(at("home"));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code(), said)
    };
    let _stop = AtEnd(|| drop(wh(&["daemon", "stop"])));
    // Runs as root, so that its user may not signal it; everything else of its tree ends.
    let script = |file: &str| {
        let (program, file) = (at("become-root"), at("home").join(file));
        // A hangup of the terminal comes from the kernel, which may signal everybody.
        format!(
            "trap '' HUP; {} --reuid=0 sleep 1000 & sleep 1000 & echo $! $$ > {file}.new; mv {file}.new {file}; ",
            program.display(),
            file = file.display()
        )
    };
    let roots = |family: &[Pid]| -> Vec<Pid> {
        let parent =
            |pid: &Pid| wh_pipe::proc::Stat::of(pid.as_raw()).is_ok_and(|stat| stat.parent == family[1].as_raw());
        process::descendants(family[1]).into_iter().filter(|pid| *pid != family[0] && parent(pid)).collect()
    };

    let (code, said) = wh(&["new", "--name", "a", "--", "bash", "-c", &format!("{}wait", script("a"))]);
    assert_eq!(code, Some(0), "{said}");
    let of_session = family(&at("home").join("a"));
    let root = eventually("it runs as root", || {
        let found = roots(&of_session).first().copied()?;
        let status = fs::read_to_string(format!("/proc/{found}/status")).ok()?;
        (status.contains("Name:\tsleep") && status.contains("Uid:\t0\t0\t0")).then_some(found)
    });
    let _kill = AtEnd(|| assert!(kill(root, Signal::SIGKILL).is_ok() || !running(root)));
    let named = format!("process {root} could not be ended");
    let (code, said) = wh(&["kill", "a", "--now"]);
    assert!(code != Some(0) && said.contains(&named), "{code:?}: {said}");
    none_runs(&of_session);
    let (_, listed) = wh(&["ls", "--all"]);
    assert!(listed.contains(&named), "{listed}");
    let (code, said) = wh(&["daemon", "stop"]);
    assert!(code == Some(125) && said.contains(&named), "{code:?}: {said}");
    assert!(running(root));
    kill(root, Signal::SIGKILL).unwrap();

    let (code, said) = wh(&["run", "--", "bash", "-c", &format!("{}exit 0", script("run"))]);
    let pid = said.split("process ").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|pid| pid.parse().ok());
    let pid = Pid::from_raw(pid.unwrap_or_else(|| panic!("{said}")));
    assert!(code == Some(125) && said.contains(&format!("process {pid} could not be ended")), "{code:?}: {said}");
    kill(pid, Signal::SIGKILL).unwrap();
    eventually("what was left is gone", || (!running(root) && !running(pid)).then_some(()));
}

#[test]
fn a_session_that_could_not_be_started_leaves_nothing() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::empty([]);
    let folder = house.root().join("config/wheelhouse");
    fs::create_dir_all(&folder).unwrap();
    let program = house.work().join("agent");
    // It ends before it has said anything, and leaves somebody behind.
    let text = format!("#!/bin/bash\nFILE=\"$HOME/family.$$\"; {FAMILY}{STOPS_AT_ONCE}exit 1\n");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let agents = format!("[agents.fake]\ncommand = {:?}\n", program.display().to_string());
    fs::write(folder.join("agents.toml"), agents).unwrap();
    house.start();
    house.create(json!({ "agent": "fake", "name": "a" }));
    let family = agent_family(&house.root().join("home"));
    eventually("the session has ended", || house.ok(&["ls", "--all"]).contains("ended").then_some(()));
    none_runs(&family);
}
