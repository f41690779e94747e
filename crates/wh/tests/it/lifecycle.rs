//! Life and death: of the program, of wh, of everything that the program started.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_pipe::{Exit, Launch, Line, Lines, lines};
use wh_testkit::process::{descendants, running};
use wh_testkit::wh::Wh;
use wh_testkit::{PATIENCE, eventually};

use crate::WH;

/// A program that will not hear of its end, and whose child has left its session.
const STUBBORN: &str = "trap '' HUP TERM INT; setsid sh -c \"trap '' HUP TERM INT; echo grandchild; while :; do sleep 1; done\" & echo ready; while :; do sleep 1; done";

fn program_of(wh: &Wh) -> Pid {
    let pid = wh.get("/control/state").json()["session"]["pid"].as_i64().unwrap();
    Pid::from_raw(i32::try_from(pid).unwrap())
}

fn all_gone(what: &str, family: &[Pid]) {
    eventually(what, || (!family.iter().any(|pid| running(*pid))).then_some(()));
}

fn stubborn() -> (Wh, Vec<Pid>) {
    let wh = Wh::start(WH, &["--", "sh", "-c", STUBBORN]);
    wh.wait(r#"screen_contains "ready" and screen_contains "grandchild""#);
    let family = descendants(wh.pid());
    assert!(family.len() >= 3, "a supervisor, a program and its child: {family:?}");
    (wh, family)
}

#[test]
fn when_the_program_is_killed_wh_says_so_and_ends() {
    let mut wh = Wh::start(WH, &["--", "cat"]);
    kill(program_of(&wh), Signal::SIGKILL).unwrap();
    assert_eq!(wh.wait_exit(PATIENCE).code(), Some(137));
}

#[test]
fn when_wh_is_killed_nothing_is_left() {
    let (wh, family) = stubborn();
    wh.signal(Signal::SIGKILL);
    all_gone("the program and its child end", &family);
}

#[test]
fn when_the_supervisor_is_killed_the_program_does_not_live_on_and_wh_says_so() {
    let mut wh = Wh::start(WH, &["--", "cat"]);
    let program = program_of(&wh);
    let supervisor = descendants(wh.pid()).into_iter().find(|pid| *pid != program).unwrap();
    kill(supervisor, Signal::SIGKILL).unwrap();
    assert_eq!(wh.wait_exit(PATIENCE).code(), Some(125));
    all_gone("the program ends", &[program]);
}

#[test]
fn each_signal_that_asks_wh_to_end_ends_everything_in_steps() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (mut wh, family) = stubborn();
        wh.signal(signal);
        assert_eq!(wh.wait_exit(PATIENCE).code(), Some(137), "{signal}: a program that heeds nothing is killed");
        all_gone("everything ends", &family);
    }
    let mut polite =
        Wh::start(WH, &["--", "sh", "-c", "trap 'echo bye; exit 5' HUP; echo ready; while :; do sleep 0.1; done"]);
    polite.wait(r#"screen_contains "ready""#);
    polite.signal(Signal::SIGTERM);
    assert_eq!(polite.wait_exit(PATIENCE).code(), Some(5), "a program that heeds the hangup ends as it wants to");
}

#[test]
fn what_the_program_leaves_behind_ends_with_it() {
    let mut wh = Wh::start(WH, &["--", "sh", "-c", "setsid sleep 1000 & echo ready; read line; exit 3"]);
    wh.wait(r#"screen_contains "ready""#);
    let family = descendants(wh.pid());
    wh.key("enter");
    assert_eq!(wh.wait_exit(PATIENCE).code(), Some(3));
    all_gone("the child ends", &family);
}

#[tokio::test]
async fn wh_keeps_a_program_behind_pipes_and_what_it_leaves_behind() {
    let mut launch = Launch::new("sh");
    launch.arguments = vec!["-c".into(), "setsid sleep 1000 & echo $!; read line; exit 3".into()];
    launch.supervisor = Some(vec![WH.into(), "__keep".into()]);
    let mut child = launch.start().await.unwrap();
    let mut lines = Lines::new(child.stdout.take().unwrap(), lines::MAX);
    let Some(Line::Whole(left)) = lines.next().await.unwrap() else { panic!("the program says whom it leaves behind") };
    let left = Pid::from_raw(std::str::from_utf8(left).unwrap().parse().unwrap());
    assert_eq!(child.end(PATIENCE).await, Exit::Code(3));
    assert!(!running(left));
}

/// Resident memory in KiB.
fn memory(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_program_that_prints_300_mb_without_pause_neither_blocks_nor_fills_wh() {
    let flood = "read go; yes 'a line of text that is neither short nor long, with some \x1b[31mcolour\x1b[0m in it' | head -c 300000000; echo; echo the-end; exec cat";
    let wh = Wh::start(WH, &["--", "sh", "-c", flood]);
    let idle = memory(wh.pid());
    wh.key("enter");
    let mut answers = 0;
    let mut most = 0;
    // Asks all the while; each answer must come, whatever the program does.
    eventually_through(&wh, || {
        assert_eq!(wh.get("/control/health").status, 200);
        assert_eq!(wh.post("/control/wait", json!({"condition": "exited", "timeout": 1})).status, 408);
        answers += 1;
        most = most.max(memory(wh.pid()));
    });
    assert!(answers >= 3, "wh answered {answers} times meanwhile");
    assert!(most < idle + 64 * 1024, "wh had {idle} KiB before and {most} KiB meanwhile");
    let state = wh.get("/control/state").json();
    assert!(state["terminal"]["outputBytes"].as_u64().unwrap() >= 300_000_000);
}

/// Repeats `ask` until the flood's end is on the screen.
fn eventually_through(wh: &Wh, mut ask: impl FnMut()) {
    wh_testkit::eventually_within(Duration::from_secs(300), "the flood ends", || {
        ask();
        wh.plain().contains("the-end").then_some(())
    });
}

#[test]
fn questions_that_nobody_reads_the_answers_to_do_not_fill_wh() {
    let flood =
        "stty raw -echo; yes $(printf '\\033[c\\033[6n') | head -c 20000000; stty sane; echo; echo the-end; sleep 1000";
    let wh = Wh::start(WH, &["--", "sh", "-c", flood]);
    eventually_through(&wh, || {});
    let queued = wh.get("/control/state").json()["session"]["queuedInput"].as_u64().unwrap();
    assert!(queued <= 1 << 20, "{queued}");
    assert!(memory(wh.pid()) < 100 * 1024);
}

#[test]
fn who_asks_wh_to_end_while_it_clears_up_behind_the_program_is_not_made_to_wait() {
    let stubborn = "(trap '' HUP TERM; echo ready; while :; do sleep 1; done) & read x; exit 3";
    let mut wh = Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", stubborn]);
    wh.wait(r#"screen_contains "ready""#);
    wh.key("enter");
    wh.wait("exited");
    wh.signal(Signal::SIGTERM);
    assert_eq!(wh.wait_exit(PATIENCE).code(), Some(3));
}
