//! Saved sessions after the end of Codex's or wh's process.

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::{Lab, eventually, process};

use super::super::{ask, finished, state};
use super::{codex, codex_processes, conversation, last_model_request, rollouts};

#[test]
fn a_kill_during_a_turn_is_reported_and_the_session_resumes() {
    Lab::inside("space::codex::lasting::a_kill_during_a_turn_is_reported_and_the_session_resumes", |lab| {
        let wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        // The launcher script first, then the program.
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
            let told = last_model_request(lab, &format!("and now {word}"));
            assert!(told.contains("remember the wheel"), "the model is told what was said before");
        }
        assert_eq!(rollouts(lab).len(), 1, "it is the same conversation");
    });
}

#[test]
fn a_session_resumes_in_another_wh() {
    Lab::inside("space::codex::lasting::a_session_resumes_in_another_wh", |lab| {
        let mut first = codex(lab, &[]);
        assert_eq!(ask(&first, "remember the wheel")["stage"], "finished");
        first.signal(Signal::SIGTERM);
        first.wait_exit(wh_testkit::CONDITION_TIMEOUT);
        let conversation = conversation(lab);
        for (flags, word) in [(vec!["--resume", conversation.as_str()], "one"), (vec!["--continue"], "two")] {
            let wh = codex(lab, &flags);
            assert_eq!(ask(&wh, &format!("number {word}"))["stage"], "finished");
            let told = last_model_request(lab, &format!("number {word}"));
            assert!(told.contains("remember the wheel"), "{flags:?} goes on with what was said before");
        }
    });
}

#[test]
fn an_unknown_conversation_is_an_error() {
    Lab::inside("space::codex::lasting::an_unknown_conversation_is_an_error", |lab| {
        let wh = codex(lab, &["--resume", "00000000-0000-4000-8000-000000000000"]);
        wh.wait(r#"screen_contains "codex is gone""#);
        assert!(wh.plain().contains("no rollout found"), "{}", wh.plain());
    });
}

#[test]
fn no_process_of_codex_outlives_wh() {
    Lab::inside("space::codex::lasting::no_process_of_codex_outlives_wh", |lab| {
        let mut wh = codex(lab, &[]);
        wh.post("/message", json!({ "message": "tool: sleep 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "sleep 600""#);
        codex_processes(&wh);
        let all = process::descendants(wh.pid());
        assert!(all.len() >= 3, "a supervisor, and Codex in two");
        wh.signal(Signal::SIGKILL);
        wh.wait_exit(wh_testkit::CONDITION_TIMEOUT);
        eventually("nothing is left", || all.iter().all(|pid| !process::running(*pid)).then_some(()));
    });
}

#[test]
fn a_new_conversation_is_started_on_request() {
    Lab::inside("space::codex::lasting::a_new_conversation_is_started_on_request", |lab| {
        let wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        let before = codex_processes(&wh);
        let done = wh.post("/control/command", json!({ "command": "/restart" }));
        assert_eq!(done.status, 200, "{}", done.text());
        assert!(codex_processes(&wh).iter().all(|pid| !before.contains(pid)));
        assert!(before.iter().all(|pid| !process::running(*pid)), "the one before has ended");
        assert_eq!(ask(&wh, "who are you")["stage"], "finished");
        assert!(!last_model_request(lab, "who are you").contains("remember the wheel"));
    });
}
