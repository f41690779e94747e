//! Programs with a supervisor: no process outlives the owner, whatever the program has started and however the owner
//! ended.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wh_pipe::{Child, Exit, KillSwitch, LaunchSpec};
use wh_testkit::eventually;
use wh_testkit::process::{descendants, running};

use crate::{IGNORED_GRACE, TEST_TIMEOUT, gone, line, output, pid, script, supervised};

/// A program that ignores all signals to end, with a child that has left its session and group. Both print their pids.
const STUBBORN: &str = "trap '' HUP TERM INT; \
    setsid sh -c \"trap '' HUP TERM INT; echo \\$\\$; while :; do sleep 1; done\" & \
    echo $$; while :; do sleep 1; done";

/// A program that stops its supervisor when its input ends and ignores all signals to end, with a child that has left
/// its session and group. Both print their pids.
const STOPS_ONCE: &str = "trap '' HUP TERM INT; setsid sleep 1000 & echo $!; echo $$; read line; kill -STOP $PPID; \
    while :; do sleep 1; done";

/// Like [`STOPS_ONCE`], but it stops its supervisor repeatedly.
const STOPS_ALWAYS: &str = "trap '' HUP TERM INT; setsid sleep 1000 & echo $!; echo $$; read line; \
    while :; do kill -STOP $PPID; sleep 0.01; done";

/// Environment variable with a script: makes a copy of this test binary an owner, which is then killed.
const OWNER: &str = "WH_PIPE_TEST_OWNER";

#[tokio::test]
async fn the_end_reaches_processes_that_left_the_group() {
    let mut child = supervised(STUBBORN).start().await.unwrap();
    let mut lines = output(&mut child);
    let family = [pid(&mut lines).await, pid(&mut lines).await];
    assert_eq!(child.end(IGNORED_GRACE).await, Exit::Signal(Signal::SIGKILL as i32));
    assert!(!family.iter().any(|pid| running(*pid)));
}

#[tokio::test]
async fn when_the_program_ends_its_descendants_end_and_the_output_closes() {
    let left_behind = "setsid sh -c \"trap '' TERM; echo \\$\\$; while :; do sleep 1; done\" & read line; exit 3";
    let mut child = supervised(left_behind).start().await.unwrap();
    let mut lines = output(&mut child);
    let left = pid(&mut lines).await;
    drop(child.stdin.take());
    assert_eq!(child.exited().await, Exit::Code(3));
    assert_eq!(line(&mut lines).await, None, "no process holds the output");
    gone("what was left running ends", &[left]);
    assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(3));
}

#[tokio::test]
async fn a_dropped_program_ends_with_its_descendants() {
    let mut child = supervised(STUBBORN).start().await.unwrap();
    let mut lines = output(&mut child);
    let family = [pid(&mut lines).await, pid(&mut lines).await];
    drop(child);
    gone("everything ends", &family);
}

#[tokio::test]
async fn when_the_supervisor_is_killed_the_program_ends_with_an_unknown_status() {
    let mut child = supervised("echo $PPID; exec sleep 1000").start().await.unwrap();
    let supervisor = pid(&mut output(&mut child)).await;
    kill(supervisor, Signal::SIGKILL).unwrap();
    assert_eq!(child.exited().await, Exit::Unknown);
    gone("the program ends", &[Pid::from_raw(child.pid())]);
    assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Unknown);
}

#[tokio::test]
async fn the_program_sees_neither_the_socket_nor_the_supervisor_s_copies() {
    let mut child = supervised("ls -l /proc/self/fd | grep -c socket; readlink /proc/$PPID/fd/0 || echo hidden")
        .start()
        .await
        .unwrap();
    let mut lines = output(&mut child);
    assert_eq!(line(&mut lines).await.unwrap(), "0");
    // Only root can inspect a process that is not dumpable.
    let expected = if nix::unistd::geteuid().is_root() { "/dev/null" } else { "hidden" };
    assert_eq!(line(&mut lines).await.unwrap(), expected);
    assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(0));
}

/// Child process of the tests below: an owner that will be killed.
#[tokio::test]
async fn owner() {
    if std::env::var_os(OWNER).is_none() {
        return;
    }
    let text = std::env::var(OWNER).unwrap();
    let mut child = supervised(&text).start().await.unwrap();
    let mut lines = output(&mut child);
    println!("family {} {}", pid(&mut lines).await, pid(&mut lines).await);
    drop(child.stdin.take());
    std::future::pending::<()>().await;
}

#[test]
fn when_the_owner_is_killed_no_process_is_left() {
    killed_owner(STUBBORN, false);
}

#[test]
fn when_the_owner_is_killed_a_stopped_supervisor_is_continued_and_ends_everything() {
    killed_owner(STOPS_ONCE, true);
}

/// Kills the owner of a program, which may have stopped its supervisor.
fn killed_owner(text: &str, stopped: bool) {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "supervising::owner", "--nocapture"])
        .env(OWNER, text)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let line = lines.map(Result::unwrap).find(|line| line.contains("family ")).expect("the owner starts its program");
    let pids = line.split_once("family ").unwrap().1;
    let program: Vec<Pid> = pids.split(' ').map(|pid| Pid::from_raw(pid.parse().unwrap())).collect();
    let mut family = descendants(wh_testkit::process::pid(&owner));
    assert!(program.iter().all(|pid| family.contains(pid)), "{program:?} {family:?}");
    assert!(family.len() >= 3, "a supervisor, a program and its child: {family:?}");
    if stopped {
        eventually("its supervisor is stopped", || family.iter().any(|pid| state(*pid) == Some('T')).then_some(()));
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    family.extend(program);
    gone("the supervisor, the program and its child end", &family);
}

fn state(pid: Pid) -> Option<char> {
    wh_pipe::proc::ProcessStat::of(pid.as_raw()).ok().map(|stat| stat.state)
}

/// Starts a program that has stopped its supervisor, and is not stopped itself.
async fn stopping(kill_switch: &KillSwitch) -> (Child, [Pid; 2]) {
    let mut child =
        LaunchSpec { kill_switch: Some(kill_switch.clone()), ..supervised(STOPS_ALWAYS) }.start().await.unwrap();
    let mut lines = output(&mut child);
    let family = [pid(&mut lines).await, pid(&mut lines).await];
    drop(child.stdin.take());
    let supervisor = wh_pipe::proc::ProcessStat::of(child.pid()).unwrap().parent;
    eventually("its supervisor is stopped", || (state(Pid::from_raw(supervisor)) == Some('T')).then_some(()));
    (child, family)
}

#[tokio::test]
async fn a_program_that_stopped_its_supervisor_ends_with_all_that_it_started() {
    let kill_switch = KillSwitch::default();
    let (child, family) = stopping(&kill_switch).await;
    assert_eq!(
        child.end(IGNORED_GRACE).await,
        Exit::Signal(Signal::SIGKILL as i32),
        "the supervisor could still report it"
    );
    assert!(!family.iter().any(|pid| running(*pid)));

    let (child, family) = stopping(&kill_switch).await;
    drop(child);
    gone("a dropped program and its child end", &family);

    let (child, family) = stopping(&kill_switch).await;
    kill_switch.trigger();
    assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Signal(Signal::SIGKILL as i32));
    assert!(!family.iter().any(|pid| running(*pid)));
}

#[test]
fn a_program_that_stopped_its_supervisor_does_not_outlive_its_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let family = runtime.block_on(async {
        let (child, family) = stopping(&KillSwitch::default()).await;
        tokio::spawn(async move {
            let _child = child;
            std::future::pending::<()>().await;
        });
        family
    });
    drop(runtime);
    gone("it ends", &family);
}

#[tokio::test]
async fn a_kill_switch_kills_the_program_and_its_descendants() {
    for supervisor in [supervised("").supervisor, None] {
        let kill_switch = KillSwitch::default();
        let text = "trap '' TERM; sleep 1000 & echo $!; echo $$; while :; do wait; done";
        let mut child =
            LaunchSpec { kill_switch: Some(kill_switch.clone()), supervisor, ..script(text) }.start().await.unwrap();
        let mut lines = output(&mut child);
        let family = [pid(&mut lines).await, pid(&mut lines).await];
        kill_switch.trigger();
        assert_eq!(tokio::time::timeout(TEST_TIMEOUT, child.exited()).await.unwrap(), Exit::Signal(9));
        gone("the program and its child", &family);
        let late = LaunchSpec { kill_switch: Some(kill_switch.clone()), ..script("sleep 1000") }.start().await.unwrap();
        assert_eq!(
            tokio::time::timeout(TEST_TIMEOUT, late.exited()).await.unwrap(),
            Exit::Signal(9),
            "it is too late to start"
        );
    }
}

#[tokio::test]
async fn a_kill_switch_has_ended_only_when_no_process_of_its_programs_is_left() {
    let kill_switch = KillSwitch::default();
    let mut child =
        LaunchSpec { kill_switch: Some(kill_switch.clone()), ..supervised(STUBBORN) }.start().await.unwrap();
    let mut lines = output(&mut child);
    let family = [pid(&mut lines).await, pid(&mut lines).await];
    drop(child);
    tokio::time::timeout(TEST_TIMEOUT, kill_switch.ended()).await.unwrap();
    assert!(!family.iter().any(|pid| running(*pid)), "a dropped program and its child have ended");

    let mut child = LaunchSpec { kill_switch: Some(kill_switch.clone()), ..script("echo $$; exec sleep 1000") }
        .start()
        .await
        .unwrap();
    let program = pid(&mut output(&mut child)).await;
    drop(child);
    tokio::time::timeout(TEST_TIMEOUT, kill_switch.ended()).await.unwrap();
    assert!(!running(program), "one without a supervisor has ended");
}

#[tokio::test]
async fn a_kill_switch_counts_a_program_whose_start_was_dropped() {
    let kill_switch = KillSwitch::default();
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let text = format!(
        "echo $$ > '{0}.new'; mv '{0}.new' '{0}'; trap '' HUP TERM; while :; do sleep 1; done",
        started.display()
    );
    let launch = LaunchSpec { kill_switch: Some(kill_switch.clone()), ..supervised(&text) };
    let mut start = Box::pin(launch.start());
    std::future::poll_fn(|context| {
        assert!(start.as_mut().poll(context).is_pending(), "the supervisor has to report first");
        std::task::Poll::Ready(())
    })
    .await;
    let program: i32 =
        eventually("the program runs", || std::fs::read_to_string(&started).ok()).trim().parse().unwrap();
    drop(start);
    tokio::time::timeout(TEST_TIMEOUT, kill_switch.ended()).await.unwrap();
    assert!(!running(Pid::from_raw(program)));
}
