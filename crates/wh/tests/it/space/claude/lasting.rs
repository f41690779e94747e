//! What is left when a process goes: Claude Code's, or wh's own.

use std::fs;

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::{Lab, eventually, process};

use super::super::{ask, finished, state};
use super::{asked_of_the_model, claude, claude_process, transcripts};

#[test]
fn killed_in_a_turn_it_says_so_and_goes_on_in_the_same_conversation() {
    Lab::inside("space::claude::lasting::killed_in_a_turn_it_says_so_and_goes_on_in_the_same_conversation", |lab| {
        let wh = claude(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r2" }));
        wh.wait(r#"screen_contains "word3""#);
        kill(claude_process(&wh), Signal::SIGKILL).unwrap();
        let receipt = finished(&wh, "r2");
        assert_eq!(receipt["stage"], "failed");
        assert!(receipt["reason"].as_str().unwrap().contains("SIGKILL"), "{receipt}");
        wh.wait(r#"screen_contains "Claude Code is gone""#);
        assert_eq!(ask(&wh, "and now?")["stage"], "finished");
        let last = asked_of_the_model(lab).into_iter().rfind(|body| body.contains("and now?")).unwrap();
        assert!(last.contains("remember the wheel"), "the model is told what was said before");
        assert_eq!(transcripts(lab).len(), 1, "it is the same conversation");
    });
}

#[test]
fn a_conversation_goes_on_in_another_wh() {
    Lab::inside("space::claude::lasting::a_conversation_goes_on_in_another_wh", |lab| {
        let mut first = claude(lab, &[]);
        assert_eq!(ask(&first, "remember the wheel")["stage"], "finished");
        let status = {
            first.signal(Signal::SIGTERM);
            first.wait_exit(wh_testkit::PATIENCE)
        };
        assert!(status.success() || status.code().is_some(), "{status}");
        let session = transcripts(lab)[0].file_stem().unwrap().to_string_lossy().into_owned();
        for (flags, word) in [(vec!["--resume", session.as_str()], "one"), (vec!["--continue"], "two")] {
            let wh = claude(lab, &flags);
            assert_eq!(ask(&wh, &format!("number {word}"))["stage"], "finished");
            let last =
                asked_of_the_model(lab).into_iter().rfind(|body| body.contains(&format!("number {word}"))).unwrap();
            assert!(last.contains("remember the wheel"), "{flags:?} goes on with what was said before");
        }
    });
}

#[test]
fn a_conversation_that_there_is_not_is_an_error() {
    Lab::inside("space::claude::lasting::a_conversation_that_there_is_not_is_an_error", |lab| {
        let wh = claude(lab, &["--resume", "00000000-0000-4000-8000-000000000000"]);
        wh.wait(r#"screen_contains "claude is gone""#);
        assert!(wh.plain().contains("No conversation found"), "{}", wh.plain());
    });
}

#[test]
fn nothing_of_it_outlives_wh() {
    Lab::inside("space::claude::lasting::nothing_of_it_outlives_wh", |lab| {
        let mut wh = claude(lab, &["--mode", "acceptEdits"]);
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "word3""#);
        let all = process::descendants(wh.pid());
        assert!(all.len() >= 2, "a keeper and Claude Code");
        wh.signal(Signal::SIGKILL);
        wh.wait_exit(wh_testkit::PATIENCE);
        eventually("nothing is left", || all.iter().all(|pid| !process::running(*pid)).then_some(()));
    });
}

#[test]
fn a_new_conversation_is_begun_on_request() {
    Lab::inside("space::claude::lasting::a_new_conversation_is_begun_on_request", |lab| {
        let wh = claude(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        let before = claude_process(&wh);
        let done = wh.post("/control/command", json!({ "command": "/restart" }));
        assert_eq!(done.status, 200, "{}", done.text());
        assert_ne!(claude_process(&wh), before);
        assert!(fs::metadata(format!("/proc/{before}")).is_err(), "the one before has ended");
        eventually("it is ready", || (state(&wh)["sessions"]["claude"]["status"] == "idle").then_some(()));
        assert_eq!(ask(&wh, "who are you")["stage"], "finished");
        let last = asked_of_the_model(lab).into_iter().rfind(|body| body.contains("who are you")).unwrap();
        assert!(!last.contains("remember the wheel"));
    });
}
