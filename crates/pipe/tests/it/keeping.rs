//! What only a keeper does: nothing outlives the owner, whatever the program has started and however the owner went.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wh_pipe::{Exit, Launch, Leash};
use wh_testkit::process::{descendants, running};

use crate::{LONG, SHORT, gone, kept, line, output, pid, script};

/// A program that will not hear of its end, and whose child has left its session and group. Both say who they are.
const STUBBORN: &str = "trap '' HUP TERM INT; \
    setsid sh -c \"trap '' HUP TERM INT; echo \\$\\$; while :; do sleep 1; done\" & \
    echo $$; while :; do sleep 1; done";

/// Set for a copy of this test binary that is to be an owner, and then be killed.
const OWNER: &str = "WH_PIPE_TEST_OWNER";

#[tokio::test]
async fn the_end_reaches_those_who_left_the_group() {
    let mut child = kept(STUBBORN).start().await.unwrap();
    let mut lines = output(&mut child);
    let family = [pid(&mut lines).await, pid(&mut lines).await];
    assert_eq!(child.end(SHORT).await, Exit::Signal(Signal::SIGKILL as i32));
    assert!(!family.iter().any(|pid| running(*pid)));
}

#[tokio::test]
async fn when_the_program_ends_what_it_left_running_ends_and_the_output_with_it() {
    let left_behind = "setsid sh -c \"trap '' TERM; echo \\$\\$; while :; do sleep 1; done\" & read line; exit 3";
    let mut child = kept(left_behind).start().await.unwrap();
    let mut lines = output(&mut child);
    let left = pid(&mut lines).await;
    drop(child.stdin.take());
    assert_eq!(child.exited().await, Exit::Code(3));
    assert_eq!(line(&mut lines).await, None, "nobody holds the output any more");
    gone("what was left running ends", &[left]);
    assert_eq!(child.end(LONG).await, Exit::Code(3));
}

#[tokio::test]
async fn a_dropped_program_takes_all_with_it() {
    let mut child = kept(STUBBORN).start().await.unwrap();
    let mut lines = output(&mut child);
    let family = [pid(&mut lines).await, pid(&mut lines).await];
    drop(child);
    gone("everything ends", &family);
}

#[tokio::test]
async fn when_the_keeper_is_killed_the_program_does_not_live_on_and_nobody_knows_how_it_ended() {
    let mut child = kept("echo $PPID; exec sleep 1000").start().await.unwrap();
    let keeper = pid(&mut output(&mut child)).await;
    kill(keeper, Signal::SIGKILL).unwrap();
    assert_eq!(child.exited().await, Exit::Unknown);
    gone("the program ends", &[Pid::from_raw(child.pid())]);
    assert_eq!(child.end(LONG).await, Exit::Unknown);
}

#[tokio::test]
async fn the_program_sees_neither_the_line_nor_the_keeper_s_copies() {
    let mut child = kept("ls -l /proc/self/fd | grep -c socket; readlink /proc/$PPID/fd/0").start().await.unwrap();
    let mut lines = output(&mut child);
    assert_eq!(line(&mut lines).await.unwrap(), "0");
    assert_eq!(line(&mut lines).await.unwrap(), "/dev/null");
    assert_eq!(child.end(LONG).await, Exit::Code(0));
}

/// Not a test by itself: what a killed owner does before.
#[tokio::test]
async fn owner() {
    if std::env::var_os(OWNER).is_none() {
        return;
    }
    let mut child = kept(STUBBORN).start().await.unwrap();
    let mut lines = output(&mut child);
    println!("family {} {}", pid(&mut lines).await, pid(&mut lines).await);
    std::future::pending::<()>().await;
}

#[test]
fn when_the_owner_is_killed_nothing_is_left() {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "keeping::owner", "--nocapture"])
        .env(OWNER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(owner.stdout.take().unwrap()).lines();
    let said = said.map(Result::unwrap).find(|line| line.contains("family ")).expect("the owner starts its program");
    let said = said.split_once("family ").unwrap().1;
    let program: Vec<Pid> = said.split(' ').map(|pid| Pid::from_raw(pid.parse().unwrap())).collect();
    let mut family = descendants(wh_testkit::process::pid(&owner));
    assert!(program.iter().all(|pid| family.contains(pid)), "{program:?} {family:?}");
    assert!(family.len() >= 3, "a keeper, a program and its child: {family:?}");
    owner.kill().unwrap();
    owner.wait().unwrap();
    family.extend(program);
    gone("the keeper, the program and its child end", &family);
}

#[tokio::test]
async fn a_leash_kills_all_of_it_whoever_else_holds_it() {
    for keeper in [kept("").keeper, None] {
        let leash = Leash::default();
        let text = "trap '' TERM; sleep 1000 & echo $!; echo $$; while :; do wait; done";
        let mut child = Launch { leash: Some(leash.clone()), keeper, ..script(text) }.start().await.unwrap();
        let mut lines = output(&mut child);
        let family = [pid(&mut lines).await, pid(&mut lines).await];
        leash.pull();
        assert_eq!(tokio::time::timeout(LONG, child.exited()).await.unwrap(), Exit::Signal(9));
        gone("the program and its child", &family);
        let late = Launch { leash: Some(leash.clone()), ..script("sleep 1000") }.start().await.unwrap();
        assert_eq!(
            tokio::time::timeout(LONG, late.exited()).await.unwrap(),
            Exit::Signal(9),
            "it is too late to start"
        );
    }
}
