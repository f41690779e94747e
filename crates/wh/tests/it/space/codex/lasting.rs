//! What is left when a process goes: Codex's, or wh's own.

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::{Lab, eventually, process};

use super::super::{ask, finished, state};
use super::{codex, codex_processes, conversation, rollouts, told_the_model};

#[test]
fn killed_in_a_turn_it_says_so_and_goes_on_in_the_same_conversation() {
    Lab::inside("space::codex::lasting::killed_in_a_turn_it_says_so_and_goes_on_in_the_same_conversation", |lab| {
        let wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        // The script in front, and then the program itself.
        for (number, word) in ["one", "two"].into_iter().enumerate() {
            let request = format!("slow-{number}");
            wh.post("/message", json!({ "message": "slow: 600", "request_id": request }));
            eventually("it speaks", || {
                let state = state(&wh);
                (state["sessions"]["codex"]["status"] == "working").then_some(())
            });
            kill(codex_processes(&wh)[number], Signal::SIGKILL).unwrap();
            let receipt = finished(&wh, &request);
            assert_eq!(receipt["stage"], "failed");
            assert!(receipt["reason"].as_str().unwrap().contains("Codex is gone"), "{receipt}");
            assert_eq!(ask(&wh, &format!("and now {word}"))["stage"], "finished");
            let told = told_the_model(lab, &format!("and now {word}"));
            assert!(told.contains("remember the wheel"), "the model is told what was said before");
        }
        assert_eq!(rollouts(lab).len(), 1, "it is the same conversation");
    });
}

#[test]
fn a_conversation_goes_on_in_another_wh() {
    Lab::inside("space::codex::lasting::a_conversation_goes_on_in_another_wh", |lab| {
        let mut first = codex(lab, &[]);
        assert_eq!(ask(&first, "remember the wheel")["stage"], "finished");
        first.signal(Signal::SIGTERM);
        first.wait_exit(wh_testkit::PATIENCE);
        let conversation = conversation(lab);
        for (flags, word) in [(vec!["--resume", conversation.as_str()], "one"), (vec!["--continue"], "two")] {
            let wh = codex(lab, &flags);
            assert_eq!(ask(&wh, &format!("number {word}"))["stage"], "finished");
            let told = told_the_model(lab, &format!("number {word}"));
            assert!(told.contains("remember the wheel"), "{flags:?} goes on with what was said before");
        }
    });
}

#[test]
fn a_conversation_that_there_is_not_is_an_error() {
    Lab::inside("space::codex::lasting::a_conversation_that_there_is_not_is_an_error", |lab| {
        let wh = codex(lab, &["--resume", "00000000-0000-4000-8000-000000000000"]);
        wh.wait(r#"screen_contains "codex is gone""#);
        assert!(wh.plain().contains("no rollout found"), "{}", wh.plain());
    });
}

#[test]
fn nothing_of_it_outlives_wh() {
    Lab::inside("space::codex::lasting::nothing_of_it_outlives_wh", |lab| {
        let mut wh = codex(lab, &[]);
        wh.post("/message", json!({ "message": "tool: sleep 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "sleep 600""#);
        codex_processes(&wh);
        let all = process::descendants(wh.pid());
        assert!(all.len() >= 3, "a supervisor, and Codex in two");
        wh.signal(Signal::SIGKILL);
        wh.wait_exit(wh_testkit::PATIENCE);
        eventually("nothing is left", || all.iter().all(|pid| !process::running(*pid)).then_some(()));
    });
}

#[test]
fn a_new_conversation_is_begun_on_request() {
    Lab::inside("space::codex::lasting::a_new_conversation_is_begun_on_request", |lab| {
        let wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        let before = codex_processes(&wh);
        let done = wh.post("/control/command", json!({ "command": "/restart" }));
        assert_eq!(done.status, 200, "{}", done.text());
        assert!(codex_processes(&wh).iter().all(|pid| !before.contains(pid)));
        assert!(before.iter().all(|pid| !process::running(*pid)), "the one before has ended");
        assert_eq!(ask(&wh, "who are you")["stage"], "finished");
        assert!(!told_the_model(lab, "who are you").contains("remember the wheel"));
    });
}
