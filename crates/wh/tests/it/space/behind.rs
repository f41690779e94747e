//! No process remains when wh exits while an agent runs a command. Three real agents, five ways to exit.

use std::fs;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually, process};

use super::{answer, option};
use crate::WH;

/// Ways to end wh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The user quits the UI.
    Left,
    /// The user presses Ctrl+C twice.
    Stopped,
    /// wh receives SIGINT.
    Interrupted,
    /// wh receives SIGTERM.
    Terminated,
    /// wh receives SIGKILL.
    Killed,
}

/// Returns the processes with this word in their command line.
fn named(word: &str) -> Vec<Pid> {
    let all = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    all.filter(has).map(Pid::from_raw).filter(|pid| process::running(*pid)).collect()
}

/// Lets the agent run a command of ten minutes, ends wh, and checks for remaining processes.
fn nothing_is_left(lab: &Lab, agent: &str, way: Way) {
    // A duration that no other command on the machine uses.
    let seconds = format!("600.{}", std::process::id());
    let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
    let mut wh = wh.flags(&["--agent", agent]).start(&[]);
    wh.wait(r#"screen_contains "Type a message""#);
    let sent = wh.post("/message", json!({ "message": format!("tool: sleep {seconds}") }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    let mut asked = false;
    let sleeper = eventually("the command runs", || {
        let open = wh.get("/control/questions").json();
        if let Some(question) = open["questions"].get(0).filter(|_| !asked) {
            let answered = answer(&wh, question["id"].as_str().unwrap(), &option(question, "allow_once"));
            assert_eq!(answered.status, 200, "{}", answered.text());
            asked = true;
        }
        let sleeps = |pid: &Pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line == format!("sleep\0{seconds}\0").as_bytes()
        };
        process::descendants(wh.pid()).into_iter().find(sleeps)
    });
    let all = process::descendants(wh.pid());
    assert!(all.len() >= 3 && all.contains(&sleeper), "a supervisor, the agent and its command: {all:?}");
    match way {
        Way::Left => {
            wh.text("/exit");
            // wh may exit before it responds.
            let _ = wh_testkit::http::TestRequest::post_json("/control/send_input", &json!({ "key": "enter" }))
                .send(wh.port());
        }
        Way::Stopped => {
            // The first interrupts the turn, the second comes before the interrupt is complete.
            let twice = json!({ "text": "\u{3}\u{3}" });
            let _ = wh_testkit::http::TestRequest::post_json("/control/send_input", &twice).send(wh.port());
        }
        Way::Interrupted => wh.signal(Signal::SIGINT),
        Way::Terminated => wh.signal(Signal::SIGTERM),
        Way::Killed => wh.signal(Signal::SIGKILL),
    }
    let status = wh.wait_exit(wh_testkit::CONDITION_TIMEOUT);
    assert_eq!(status.success(), way != Way::Killed, "{status}: {}", wh.stderr());
    eventually("nothing is left", || {
        (all.iter().all(|pid| !process::running(*pid)) && named(&seconds).is_empty()).then_some(())
    });
}

macro_rules! every_agent_and_way {
    ($($agent:ident),*) => { $(
        mod $agent {
            use super::*;

            #[test]
            fn when_the_user_quits() {
                let name = concat!("space::behind::", stringify!($agent), "::when_the_user_quits");
                Lab::inside(name, |lab| nothing_is_left(lab, stringify!($agent), Way::Left));
            }

            #[test]
            fn when_the_user_presses_ctrl_c_twice() {
                let name = concat!("space::behind::", stringify!($agent), "::when_the_user_presses_ctrl_c_twice");
                Lab::inside(name, |lab| nothing_is_left(lab, stringify!($agent), Way::Stopped));
            }

            #[test]
            fn when_wh_is_interrupted() {
                let name = concat!("space::behind::", stringify!($agent), "::when_wh_is_interrupted");
                Lab::inside(name, |lab| nothing_is_left(lab, stringify!($agent), Way::Interrupted));
            }

            #[test]
            fn when_wh_is_terminated() {
                let name = concat!("space::behind::", stringify!($agent), "::when_wh_is_terminated");
                Lab::inside(name, |lab| nothing_is_left(lab, stringify!($agent), Way::Terminated));
            }

            #[test]
            fn when_wh_is_killed() {
                let name = concat!("space::behind::", stringify!($agent), "::when_wh_is_killed");
                Lab::inside(name, |lab| nothing_is_left(lab, stringify!($agent), Way::Killed));
            }
        }
    )* };
}

every_agent_and_way!(claude, codex, gemini);
