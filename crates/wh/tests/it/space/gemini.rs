//! The real Gemini CLI, as an example of an Agent Client Protocol agent, in a space, offline with the scripted model.

mod lasting;

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use wh_testkit::deadline::eventually_within;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually, process};

use super::{answer, ask, chats, finished, option, question, state};
use crate::WH;

/// More than a minute: Gemini CLI cannot resume a session within its first minute.
const OVER_A_MINUTE: Duration = Duration::from_secs(120);

/// Starts a space with Gemini CLI in the lab.
fn gemini(lab: &Lab, flags: &[&str]) -> Wh {
    let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
    let wh = wh.flags(&["--agent", "gemini"]).flags(flags).start(&[]);
    wh.wait(r#"screen_contains "Type a message""#);
    wh
}

/// Sends a message that makes the agent ask, and returns the question.
fn asked(wh: &Wh, message: &str, id: &str) -> Value {
    let sent = wh.post("/message", json!({ "message": message, "request_id": id }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    question(wh)
}

/// Returns the last model request that contains this text.
fn request(lab: &Lab, text: &str) -> String {
    let bodies: Vec<String> = lab.model.requests().iter().map(|request| request.body.to_string()).collect();
    bodies.into_iter().rfind(|body| body.contains(text)).unwrap_or_else(|| panic!("the model was asked {text}"))
}

/// Returns arguments and response of the last call of this tool.
fn call_of(wh: &Wh, tool: &str) -> (Value, Value) {
    let messages = wh.get("/control/messages?limit=1000").json()["messages"].as_array().unwrap().clone();
    let is_call = |one: &&Value| one["kind"] == "mcp/request" && one["payload"]["params"]["name"] == tool;
    let request = messages.iter().rfind(is_call).unwrap_or_else(|| panic!("no call of {tool} in {messages:?}"));
    let end = format!("{}.end", request["id"].as_str().unwrap());
    let is_response = |one: &&Value| one["kind"] == "mcp/response" && one["id"] == end;
    let response = messages.iter().find(is_response).unwrap_or_else(|| panic!("the call is open in {messages:?}"));
    (request["payload"]["params"]["arguments"].clone(), response["payload"].clone())
}

/// Grants the next permission and waits for the end of the turn.
fn granted(wh: &Wh, message: &str, id: &str) {
    let asked = asked(wh, message, id);
    assert_eq!(answer(wh, asked["id"].as_str().unwrap(), &option(&asked, "allow_once")).status, 200);
    assert_eq!(finished(wh, id)["stage"], "finished");
}

fn session(wh: &Wh) -> Value {
    state(wh)["sessions"]["gemini"].clone()
}

/// Returns the process of Gemini CLI, below wh and its supervisor.
fn process_of(wh: &Wh) -> Pid {
    eventually("Gemini CLI runs", || {
        process::descendants(wh.pid()).into_iter().rfind(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains("--acp") && !line.contains("__keep")
        })
    })
}

#[test]
fn two_turns_are_one_conversation() {
    Lab::inside("space::gemini::two_turns_are_one_conversation", |lab| {
        let wh = gemini(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        assert_eq!(ask(&wh, "and now?")["stage"], "finished");
        assert!(chats(&wh).contains(&("gemini".to_owned(), "echo: and now?".to_owned())), "{:?}", chats(&wh));
        assert!(request(lab, "and now?").contains("remember the wheel"), "the model is told what was said before");
        wh.wait(r#"screen_contains "echo: and now?""#);
        let commands = wh.post("/control/command", json!({ "command": "/status" })).text();
        assert!(commands.contains("Gemini CLI 0."), "{commands}");
    });
}

#[test]
fn a_permission_shows_the_command_and_is_granted() {
    Lab::inside("space::gemini::a_permission_shows_the_command_and_is_granted", |lab| {
        let wh = gemini(lab, &[]);
        let asked = asked(&wh, "tool: touch granted.txt", "r1");
        assert_eq!(asked["kind"], "permission");
        assert_eq!(asked["details"][0], json!({"type": "command", "command": "touch granted.txt"}));
        wh.wait(r#"screen_contains "May Gemini CLI run this command?""#);
        assert_eq!(answer(&wh, asked["id"].as_str().unwrap(), &option(&asked, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(lab.project.join("granted.txt").exists());
    });
}

#[test]
fn a_denied_action_does_not_happen() {
    Lab::inside("space::gemini::a_denied_action_does_not_happen", |lab| {
        let wh = gemini(lab, &[]);
        let command = asked(&wh, "tool: touch denied.txt", "r1");
        assert_eq!(answer(&wh, command["id"].as_str().unwrap(), &option(&command, "reject_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(!lab.project.join("denied.txt").exists());
        assert_eq!(call_of(&wh, "run_shell_command").1["status"], "denied");
        let change = asked(&wh, "edit: made.txt some words", "r2");
        let detail = &change["details"][0];
        assert_eq!((&detail["type"], &detail["new"]), (&json!("diff"), &json!("some words")), "{change}");
        assert_eq!(answer(&wh, change["id"].as_str().unwrap(), &option(&change, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r2")["stage"], "finished");
        assert_eq!(fs::read_to_string(lab.project.join("made.txt")).unwrap(), "some words");
    });
}

#[test]
fn calls_are_shown_with_their_arguments() {
    Lab::inside("space::gemini::calls_are_shown_with_their_arguments", |lab| {
        let wh = gemini(lab, &[]);
        granted(&wh, "tool: touch granted.txt && true", "r1");
        let (arguments, response) = call_of(&wh, "run_shell_command");
        assert_eq!(arguments, json!({ "command": "touch granted.txt && true" }));
        assert_eq!(response["status"], "completed", "{response}");
        assert_eq!(response["result"]["content"], json!([]), "a description is no output");

        granted(&wh, "edit: made.txt some words", "r2");
        let path = lab.project.join("made.txt");
        let (arguments, _) = call_of(&wh, "write_file");
        assert_eq!(arguments, json!({ "file_path": path, "content": "some words" }));

        let call = format!("call: read_file {}", json!({ "file_path": path }));
        assert_eq!(ask(&wh, &call)["stage"], "finished");
        let (arguments, response) = call_of(&wh, "read_file");
        assert_eq!((arguments, &response["status"]), (json!({ "file_path": path }), &json!("completed")));
    });
}

#[test]
fn an_interrupt_cancels_the_turn_and_its_questions() {
    Lab::inside("space::gemini::an_interrupt_cancels_the_turn_and_its_questions", |lab| {
        let wh = gemini(lab, &[]);
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "word3""#);
        assert_eq!(wh.post("/control/interrupt", json!({})).status, 200);
        let receipt = finished(&wh, "r1");
        assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
        asked(&wh, "tool: touch never.txt", "r2");
        wh.key("escape");
        let receipt = finished(&wh, "r2");
        assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
        eventually("no question is open", || {
            (wh.get("/control/questions").json()["questions"] == json!([])).then_some(())
        });
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert!(!lab.project.join("never.txt").exists());
    });
}

#[test]
fn modes_and_models_are_changed_and_one_mode_needs_a_flag() {
    Lab::inside("space::gemini::modes_and_models_are_changed_and_one_mode_needs_a_flag", |lab| {
        let wh = gemini(lab, &[]);
        let command = |line: &str| wh.post("/control/command", json!({ "command": line }));
        eventually("it is ready", || (session(&wh)["mode"] == "default").then_some(()));
        let modes = command("/mode").text();
        assert!(modes.contains("autoEdit") && !modes.contains("yolo"), "{modes}");
        assert!(command("/mode yolo").text().contains("no mode"));
        assert_eq!(command("/mode autoEdit").status, 200);
        eventually("it is in another mode", || (session(&wh)["mode"] == "autoEdit").then_some(()));
        assert_eq!(ask(&wh, "edit: made.txt some words")["stage"], "finished");
        assert!(lab.project.join("made.txt").exists(), "it edits without a question");
        assert!(!chats(&wh).iter().any(|(_, text)| text.contains("MODE_UPDATE")), "{:?}", chats(&wh));

        assert_eq!(command("/model gemini-2.5-pro").status, 200);
        eventually("it has another model", || (session(&wh)["model"] == "gemini-2.5-pro").then_some(()));
        assert_eq!(ask(&wh, "hello again")["stage"], "finished");
        let paths: Vec<String> = lab.model.requests().iter().map(|request| request.path.clone()).collect();
        assert!(paths.iter().any(|path| path.contains("gemini-2.5-pro:")), "the model was asked at {paths:?}");

        let wild = ["--agent", "gemini", "--mode", "yolo", "--headless", "--control-port", "0"];
        let output = lab.command(WH).args(wild).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains("--allow-skipping-permissions"), "{error}");
    });
}

#[test]
fn the_flag_disables_permission_questions() {
    Lab::inside("space::gemini::the_flag_disables_permission_questions", |lab| {
        let wh = gemini(lab, &["--allow-skipping-permissions", "--mode", "yolo"]);
        assert_eq!(ask(&wh, "tool: touch unasked.txt")["stage"], "finished");
        assert!(lab.project.join("unasked.txt").exists());
    });
}

#[test]
fn a_kill_during_a_turn_is_reported_and_the_session_resumes() {
    Lab::inside("space::gemini::a_kill_during_a_turn_is_reported_and_the_session_resumes", |lab| {
        let wh = gemini(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r2" }));
        wh.wait(r#"screen_contains "word3""#);
        kill(process_of(&wh), Signal::SIGKILL).unwrap();
        let receipt = finished(&wh, "r2");
        assert_eq!(receipt["stage"], "failed");
        wh.wait(r#"screen_contains "Gemini CLI is gone""#);
        wh.post("/message", json!({ "message": "and now?", "request_id": "r3" }));
        let receipt = eventually_within(OVER_A_MINUTE, "the next message is answered", || {
            let receipt = wh.get("/control/receipts/r3").json();
            matches!(receipt["stage"].as_str(), Some("finished" | "failed")).then_some(receipt)
        });
        assert_eq!(receipt["stage"], "finished", "{receipt}");
        assert!(request(lab, "and now?").contains("remember the wheel"), "the model is told what was said before");
        let said = chats(&wh).into_iter().filter(|(_, text)| text.contains("remember the wheel")).count();
        assert_eq!(said, 2, "what was said before is not told again: {:?}", chats(&wh));
    });
}

#[test]
fn an_error_of_the_model_fails_the_turn() {
    Lab::inside("space::gemini::an_error_of_the_model_fails_the_turn", |lab| {
        let wh = gemini(lab, &[]);
        let receipt = ask(&wh, "fail: 400");
        assert_eq!(receipt["stage"], "failed");
        assert_eq!(receipt["reason"], "the model answered with HTTP 400: scripted failure 400");
        let receipt = ask(&wh, "fail: 403");
        let reason = receipt["reason"].as_str().unwrap();
        assert!(reason.starts_with("the model answered with HTTP 403: scripted failure 403; run `gemini`"), "{reason}");
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
    });
}

#[test]
fn a_retry_is_reported_while_it_happens() {
    Lab::inside("space::gemini::a_retry_is_reported_while_it_happens", |lab| {
        let wh = gemini(lab, &[]);
        wh.post("/message", json!({ "message": "fail: 500", "request_id": "r1" }));
        wh.wait(r#"screen_contains "the model answered with HTTP 500; attempt 2 of 10""#);
        assert_eq!(wh.post("/control/interrupt", json!({})).status, 200);
        assert_eq!(finished(&wh, "r1")["reason"], "cancelled");
        kill(process_of(&wh), Signal::SIGKILL).unwrap();
        wh.wait(r#"screen_contains "Gemini CLI is gone: it exited with 1; the next message""#);
        let messages = wh.get("/control/messages?limit=1000").text();
        assert!(
            !messages.contains("[DEBUG]") && !messages.contains("[WARN]"),
            "no line of its log is shown: {messages}"
        );
    });
}

#[test]
fn compact_is_refused_with_a_reason() {
    Lab::inside("space::gemini::compact_is_refused_with_a_reason", |lab| {
        let wh = gemini(lab, &[]);
        eventually("it is ready", || (session(&wh)["mode"] == "default").then_some(()));
        let refused = wh.post("/control/command", json!({ "command": "/compact" })).text();
        assert!(refused.contains("Gemini CLI compacts conversations automatically"), "{refused}");
    });
}

#[test]
fn no_process_of_gemini_outlives_wh() {
    Lab::inside("space::gemini::no_process_of_gemini_outlives_wh", |lab| {
        let mut wh = gemini(lab, &[]);
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "word3""#);
        let all = process::descendants(wh.pid());
        wh.signal(Signal::SIGKILL);
        wh.wait_exit(wh_testkit::CONDITION_TIMEOUT);
        eventually("nothing is left", || all.iter().all(|pid| !process::running(*pid)).then_some(()));
    });
}

#[test]
fn a_missing_installation_has_an_install_hint() {
    for (agent, hint) in [("gemini", "npm install -g @google/gemini-cli"), ("cursor", "cursor.com/install")] {
        let mut wh = std::process::Command::new(WH);
        let output = wh
            .args(["--agent", agent, "--headless", "--control-port", "0"])
            .env("PATH", "/nowhere")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(error.contains("not installed") && error.contains(hint), "{error}");
    }
}
