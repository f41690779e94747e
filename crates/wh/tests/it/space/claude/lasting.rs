//! Saved sessions after the end of Claude Code's or wh's process.

use std::fs;

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::{Lab, eventually, process};

use super::super::{answer, ask, chats, finished, option, question, state};
use super::{claude, claude_process, command, model_request_bodies, said, transcripts};

#[test]
fn a_kill_during_a_turn_is_reported_and_the_session_resumes() {
    Lab::inside("space::claude::lasting::a_kill_during_a_turn_is_reported_and_the_session_resumes", |lab| {
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
        let last = model_request_bodies(lab).into_iter().rfind(|body| body.contains("and now?")).unwrap();
        assert!(last.contains("remember the wheel"), "the model is told what was said before");
        assert_eq!(transcripts(lab).len(), 1, "it is the same conversation");
    });
}

#[test]
fn a_session_resumes_in_another_wh() {
    Lab::inside("space::claude::lasting::a_session_resumes_in_another_wh", |lab| {
        let mut first = claude(lab, &[]);
        assert_eq!(ask(&first, "remember the wheel")["stage"], "finished");
        let status = {
            first.signal(Signal::SIGTERM);
            first.wait_exit(wh_testkit::CONDITION_TIMEOUT)
        };
        assert!(status.success() || status.code().is_some(), "{status}");
        let session = transcripts(lab)[0].file_stem().unwrap().to_string_lossy().into_owned();
        for (flags, word) in [(vec!["--resume", session.as_str()], "one"), (vec!["--continue"], "two")] {
            let wh = claude(lab, &flags);
            eventually("what was said before is there", || {
                let history = wh.get("/history").text();
                (history.contains("remember the wheel") && history.contains("echo: remember the wheel")).then_some(())
            });
            assert_eq!(ask(&wh, &format!("number {word}"))["stage"], "finished");
            assert!(said(&command(&wh, "/rewind")).contains("1  remember the wheel"));
            let last =
                model_request_bodies(lab).into_iter().rfind(|body| body.contains(&format!("number {word}"))).unwrap();
            assert!(last.contains("remember the wheel"), "{flags:?} goes on with what was said before");
        }
    });
}

#[test]
fn an_unknown_conversation_is_an_error() {
    Lab::inside("space::claude::lasting::an_unknown_conversation_is_an_error", |lab| {
        let wh = claude(lab, &["--resume", "00000000-0000-4000-8000-000000000000"]);
        wh.wait(r#"screen_contains "claude is gone""#);
        assert!(wh.plain().contains("No conversation found"), "{}", wh.plain());
    });
}

#[test]
fn no_process_of_claude_outlives_wh() {
    Lab::inside("space::claude::lasting::no_process_of_claude_outlives_wh", |lab| {
        let mut wh = claude(lab, &["--mode", "acceptEdits"]);
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "word3""#);
        let all = process::descendants(wh.pid());
        assert!(all.len() >= 2, "a supervisor and Claude Code");
        wh.signal(Signal::SIGKILL);
        wh.wait_exit(wh_testkit::CONDITION_TIMEOUT);
        eventually("nothing is left", || all.iter().all(|pid| !process::running(*pid)).then_some(()));
    });
}

#[test]
fn a_new_conversation_is_started_on_request() {
    Lab::inside("space::claude::lasting::a_new_conversation_is_started_on_request", |lab| {
        let wh = claude(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        let before = claude_process(&wh);
        let done = wh.post("/control/command", json!({ "command": "/restart" }));
        assert_eq!(done.status, 200, "{}", done.text());
        assert_ne!(claude_process(&wh), before);
        assert!(fs::metadata(format!("/proc/{before}")).is_err(), "the one before has ended");
        eventually("it is ready", || (state(&wh)["sessions"]["claude"]["status"] == "idle").then_some(()));
        assert_eq!(ask(&wh, "who are you")["stage"], "finished");
        let last = model_request_bodies(lab).into_iter().rfind(|body| body.contains("who are you")).unwrap();
        assert!(!last.contains("remember the wheel"));
    });
}

#[test]
fn choices_apply_to_the_next_process() {
    Lab::inside("space::claude::lasting::choices_apply_to_the_next_process", |lab| {
        let wh = claude(lab, &[]);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        command(&wh, "/model sonnet");
        command(&wh, "/mode plan");
        let chosen = || {
            let session = state(&wh)["sessions"]["claude"].clone();
            (session["model"] == "sonnet" && session["mode"] == "plan").then_some(())
        };
        eventually("both are chosen", chosen);
        kill(claude_process(&wh), Signal::SIGKILL).unwrap();
        wh.wait(r#"screen_contains "Claude Code is gone""#);
        assert_eq!(ask(&wh, "and now?")["stage"], "finished");
        assert!(chosen().is_some(), "{}", state(&wh)["sessions"]["claude"]);
        let last = lab.model.requests().into_iter().rfind(|one| one.body.to_string().contains("and now?")).unwrap();
        assert!(last.body["model"].as_str().unwrap().contains("sonnet"), "{}", last.body["model"]);
    });
}

#[test]
fn an_agent_killed_before_its_first_turn_is_restarted() {
    Lab::inside("space::claude::lasting::an_agent_killed_before_its_first_turn_is_restarted", |lab| {
        let wh = claude(lab, &[]);
        eventually("it is ready", || (state(&wh)["sessions"]["claude"]["status"] == "idle").then_some(()));
        kill(claude_process(&wh), Signal::SIGKILL).unwrap();
        wh.wait(r#"screen_contains "Claude Code is gone""#);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert_eq!(lab.model.prompts(), ["hello there"]);
    });
}

#[test]
fn queued_messages_fail_at_once_when_the_agent_is_killed() {
    Lab::inside("space::claude::lasting::queued_messages_fail_at_once_when_the_agent_is_killed", |lab| {
        let wh = claude(lab, &[]);
        eventually("it is ready", || (state(&wh)["sessions"]["claude"]["status"] == "idle").then_some(()));
        let process = claude_process(&wh);
        kill(process, Signal::SIGSTOP).unwrap();
        std::thread::scope(|scope| {
            let asking =
                scope.spawn(|| wh.post("/control/command", json!({ "command": "/mcp", "request_id": "held" })));
            eventually("it is asked", || {
                (wh.get("/control/receipts/held").json()["stage"] == "delivered").then_some(())
            });
            kill(process, Signal::SIGKILL).unwrap();
            let refused = asking.join().unwrap();
            assert_eq!(refused.status, 409, "{}", refused.text());
            assert!(
                refused.text().contains("SIGKILL"),
                "it says why, and not that time has passed: {}",
                refused.text()
            );
        });
    });
}

#[test]
fn a_new_conversation_ends_commands_of_the_old_one() {
    Lab::inside("space::claude::lasting::a_new_conversation_ends_commands_of_the_old_one", |lab| {
        let wh = claude(lab, &[]);
        let sent = wh.post("/message", json!({ "message": "tool: sleep 600; touch late.txt", "request_id": "r1" }));
        assert_eq!(sent.status, 200, "{}", sent.text());
        let asked = question(&wh);
        assert_eq!(answer(&wh, asked["id"].as_str().unwrap(), &option(&asked, "allow_once")).status, 200);
        let sleeps = || {
            process::descendants(wh.pid())
                .into_iter()
                .any(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x00600")))
        };
        eventually("the command runs", || sleeps().then_some(()));
        assert_eq!(wh.post("/control/command", json!({ "command": "/restart" })).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "failed");
        eventually("the command has ended", || (!sleeps()).then_some(()));
        assert_eq!(ask(&wh, "hello again")["stage"], "finished");
        let said: Vec<String> =
            chats(&wh).into_iter().filter(|(from, _)| from == "claude").map(|(_, text)| text).collect();
        assert_eq!(said, ["echo: hello again"], "nothing of the old one is mixed in");
    });
}

#[test]
fn the_end_of_a_slash_command_does_not_finish_a_prompt() {
    Lab::inside("space::claude::lasting::the_end_of_a_slash_command_does_not_finish_a_prompt", |lab| {
        let wh = claude(lab, &[]);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert_eq!(wh.post("/control/command", json!({ "command": "/clear" })).status, 200);
        assert_eq!(ask(&wh, "slow: 12")["stage"], "finished");
        let last = chats(&wh).pop().unwrap();
        assert!(last.1.contains("word11"), "it has said everything when it is finished: {last:?}");
        let last = model_request_bodies(lab).into_iter().rfind(|body| body.contains("slow: 12")).unwrap();
        assert!(!last.contains("hello there"), "it has forgotten");
    });
}
