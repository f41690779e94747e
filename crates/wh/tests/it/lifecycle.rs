//! Exit and cleanup of the program, of wh, and of all processes that the program started.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_pipe::{Exit, LaunchSpec, Line, LineReader, lines};
use wh_testkit::process::{descendants, running};
use wh_testkit::wh::Wh;
use wh_testkit::{CONDITION_TIMEOUT, eventually};

use crate::WH;

/// Program that ignores signals and has a child in another session.
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
fn wh_reports_a_killed_program_and_exits() {
    let mut wh = Wh::start(WH, &["--", "cat"]);
    kill(program_of(&wh), Signal::SIGKILL).unwrap();
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(137));
}

#[test]
fn no_process_remains_when_wh_is_killed() {
    let (wh, family) = stubborn();
    wh.signal(Signal::SIGKILL);
    all_gone("the program and its child end", &family);
}

#[test]
fn wh_reports_a_killed_supervisor_and_the_program_ends() {
    let mut wh = Wh::start(WH, &["--", "cat"]);
    let program = program_of(&wh);
    let supervisor = descendants(wh.pid()).into_iter().find(|pid| *pid != program).unwrap();
    kill(supervisor, Signal::SIGKILL).unwrap();
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(125));
    all_gone("the program ends", &[program]);
}

#[test]
fn each_termination_signal_ends_all_processes_in_steps() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let (mut wh, family) = stubborn();
        wh.signal(signal);
        assert_eq!(
            wh.wait_exit(CONDITION_TIMEOUT).code(),
            Some(137),
            "{signal}: a program that heeds nothing is killed"
        );
        all_gone("everything ends", &family);
    }
    let mut polite =
        Wh::start(WH, &["--", "sh", "-c", "trap 'echo bye; exit 5' HUP; echo ready; while :; do sleep 0.1; done"]);
    polite.wait(r#"screen_contains "ready""#);
    polite.signal(Signal::SIGTERM);
    assert_eq!(
        polite.wait_exit(CONDITION_TIMEOUT).code(),
        Some(5),
        "a program that heeds the hangup ends as it wants to"
    );
}

#[test]
fn leftover_processes_end_with_the_program() {
    let mut wh = Wh::start(WH, &["--", "sh", "-c", "setsid sleep 1000 & echo ready; read line; exit 3"]);
    wh.wait(r#"screen_contains "ready""#);
    let family = descendants(wh.pid());
    wh.key("enter");
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
    all_gone("the child ends", &family);
}

#[tokio::test]
async fn the_supervisor_ends_leftover_processes_of_a_program_with_pipes() {
    let mut launch = LaunchSpec::new("sh");
    launch.arguments = vec!["-c".into(), "setsid sleep 1000 & echo $!; read line; exit 3".into()];
    launch.supervisor = Some(vec![WH.into(), "__keep".into()]);
    let mut child = launch.start().await.unwrap();
    let mut lines = LineReader::new(child.stdout.take().unwrap(), lines::MAX_LINE_BYTES);
    let Some(Line::Complete(left)) = lines.next().await.unwrap() else {
        panic!("the program says whom it leaves behind")
    };
    let left = Pid::from_raw(std::str::from_utf8(left).unwrap().parse().unwrap());
    assert_eq!(child.end(CONDITION_TIMEOUT).await, Exit::Code(3));
    assert!(!running(left));
}

/// Returns the resident memory in KiB.
fn memory(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn three_hundred_mb_of_output_neither_block_wh_nor_fill_its_memory() {
    let flood = "read go; yes 'a line of text that is neither short nor long, with some \x1b[31mcolour\x1b[0m in it' | head -c 300000000; echo; echo the-end; exec cat";
    let wh = Wh::start(WH, &["--", "sh", "-c", flood]);
    let idle = memory(wh.pid());
    wh.key("enter");
    let mut answers = 0;
    let mut most = 0;
    // Requests must be answered during the flood.
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

/// Repeats `ask` until the end of the flood is on the screen.
fn eventually_through(wh: &Wh, mut ask: impl FnMut()) {
    wh_testkit::eventually_within(Duration::from_secs(300), "the flood ends", || {
        ask();
        wh.plain().contains("the-end").then_some(())
    });
}

#[test]
fn unread_replies_to_terminal_queries_use_bounded_memory() {
    let flood =
        "stty raw -echo; yes $(printf '\\033[c\\033[6n') | head -c 20000000; stty sane; echo; echo the-end; sleep 1000";
    let wh = Wh::start(WH, &["--", "sh", "-c", flood]);
    eventually_through(&wh, || {});
    let queued = wh.get("/control/state").json()["session"]["queuedInput"].as_u64().unwrap();
    assert!(queued <= 1 << 20, "{queued}");
    assert!(memory(wh.pid()) < 100 * 1024);
}

#[test]
fn a_signal_during_cleanup_ends_wh_at_once() {
    let stubborn = "(trap '' HUP TERM; echo ready; while :; do sleep 1; done) & read x; exit 3";
    let mut wh = Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", stubborn]);
    wh.wait(r#"screen_contains "ready""#);
    wh.key("enter");
    wh.wait("exited");
    wh.signal(Signal::SIGTERM);
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
}
