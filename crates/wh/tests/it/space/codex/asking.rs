//! Questions of Codex and the effect of the answers.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::super::{answer, ask, finished, option, question};
use super::{codex, last_model_request};

/// Sends a message that makes the agent ask, and returns the question.
fn asked(wh: &Wh, message: &str, id: &str) -> Value {
    let sent = wh.post("/message", json!({ "message": message, "request_id": id }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    question(wh)
}

fn id(question: &Value) -> &str {
    question["id"].as_str().unwrap()
}

#[test]
fn a_permission_shows_the_command_and_is_granted() {
    Lab::inside("space::codex::asking::a_permission_shows_the_command_and_is_granted", |lab| {
        let wh = codex(lab, &["--mode", "untrusted"]);
        let asked = asked(&wh, "tool: touch granted.txt", "r1");
        assert_eq!(asked["kind"], "permission");
        assert_eq!(asked["details"][0], json!({"type": "command", "command": "touch granted.txt"}));
        wh.wait(r#"screen_contains "touch granted.txt" and screen_contains "May Codex run this command?""#);
        assert_eq!(answer(&wh, id(&asked), &option(&asked, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(lab.project.join("granted.txt").exists());
        assert_eq!(answer(&wh, id(&asked), "accept").status, 409, "it is closed");
    });
}

#[test]
fn the_model_sees_why_a_permission_was_denied() {
    Lab::inside("space::codex::asking::the_model_sees_why_a_permission_was_denied", |lab| {
        let wh = codex(lab, &["--mode", "untrusted"]);
        let asked = asked(&wh, "tool: touch denied.txt", "r1");
        let body =
            json!({ "id": id(&asked), "option": option(&asked, "reject_once"), "text": "rather call it other.txt" });
        assert_eq!(wh.post("/control/answer", body).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished", "the turn goes on");
        assert!(!lab.project.join("denied.txt").exists());
        last_model_request(lab, "rather call it other.txt");
        let messages = wh.get("/control/messages?limit=100").text();
        assert!(messages.contains("denied"), "the call is shown as denied: {messages}");
    });
}

/// Prompt that makes the model create one file and change a line of another.
fn patch() -> String {
    let patch =
        "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** Update File: old.txt\n@@\n one\n-two\n+2\n*** End Patch";
    format!("call: exec_command {}", json!({ "cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF\n") }))
}

#[test]
fn a_permission_for_a_file_change_shows_the_diff() {
    Lab::inside("space::codex::asking::a_permission_for_a_file_change_shows_the_diff", |lab| {
        fs::write(lab.project.join("old.txt"), "one\ntwo\n").unwrap();
        let wh = codex(lab, &["--mode", "untrusted"]);
        let asked = asked(&wh, &patch(), "r1");
        assert_eq!(asked["title"], "May Codex change these files?");
        let details = asked["details"].as_array().unwrap();
        let sides: Vec<_> = details.iter().map(|detail| (&detail["old"], &detail["new"])).collect();
        let (new, old) = ((&json!(null), &json!("hello\n")), (&json!("one\ntwo\n"), &json!("one\n2\n")));
        assert_eq!(sides, [new, old]);
        assert_eq!(answer(&wh, id(&asked), &option(&asked, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert_eq!(fs::read_to_string(lab.project.join("old.txt")).unwrap(), "one\n2\n");
        assert_eq!(fs::read_to_string(lab.project.join("new.txt")).unwrap(), "hello\n");
    });
}

#[test]
fn deny_and_stop_cancels_the_turn() {
    Lab::inside("space::codex::asking::deny_and_stop_cancels_the_turn", |lab| {
        let wh = codex(lab, &["--mode", "untrusted"]);
        let asked = asked(&wh, "tool: touch never.txt", "r1");
        assert_eq!(answer(&wh, id(&asked), "cancel").status, 200);
        let receipt = finished(&wh, "r1");
        assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
        assert!(!lab.project.join("never.txt").exists());
    });
}

#[test]
fn an_always_allowed_action_is_not_asked_again() {
    Lab::inside("space::codex::asking::an_always_allowed_action_is_not_asked_again", |lab| {
        let wh = codex(lab, &["--mode", "untrusted"]);
        let asked = asked(&wh, "tool: touch always.txt", "r1");
        assert_eq!(answer(&wh, id(&asked), &option(&asked, "allow_always")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        fs::remove_file(lab.project.join("always.txt")).unwrap();
        assert_eq!(ask(&wh, "tool: touch always.txt")["stage"], "finished");
        assert!(lab.project.join("always.txt").exists(), "it ran without a question");
    });
}

#[test]
fn an_interrupt_during_streaming_cancels_the_turn() {
    Lab::inside("space::codex::asking::an_interrupt_during_streaming_cancels_the_turn", |lab| {
        let wh = codex(lab, &[]);
        wh.post("/message", json!({ "message": "slow: 600", "request_id": "r1" }));
        wh.wait(r#"screen_contains "word3""#);
        let start = Instant::now();
        assert_eq!(wh.post("/control/interrupt", json!({})).status, 200);
        let receipt = finished(&wh, "r1");
        eprintln!("interrupted while streaming: cancelled after {:?}", start.elapsed());
        assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
    });
}

#[test]
fn esc_interrupts_and_the_open_question_closes_by_itself() {
    Lab::inside("space::codex::asking::esc_interrupts_and_the_open_question_closes_by_itself", |lab| {
        let wh = codex(lab, &["--mode", "untrusted"]);
        let asked = asked(&wh, "tool: touch never.txt", "r1");
        wh.wait(r#"screen_contains "May Codex run this command?""#);
        let start = Instant::now();
        wh.key("escape");
        let receipt = finished(&wh, "r1");
        eprintln!("interrupted with a question open: cancelled after {:?}", start.elapsed());
        assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
        eventually("no question is open", || {
            (wh.get("/control/questions").json()["questions"] == json!([])).then_some(())
        });
        assert_eq!(answer(&wh, id(&asked), "accept").status, 409);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert!(!lab.project.join("never.txt").exists());
    });
}

#[test]
fn codex_asks_the_user_regardless_of_its_configuration() {
    Lab::inside("space::codex::asking::codex_asks_the_user_regardless_of_its_configuration", |lab| {
        let file = lab.home.join(".codex/config.toml");
        let configuration = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("approvals_reviewer = \"auto_review\"\n{configuration}")).unwrap();
        let wh = codex(lab, &[]);
        let call = json!({"cmd": "touch x.txt", "sandbox_permissions": "require_escalated", "justification": "x"});
        let asked = asked(&wh, &format!("call: exec_command {call}"), "r1");
        assert!(asked["details"].to_string().contains("touch x.txt"), "{asked}");
        assert_eq!(answer(&wh, id(&asked), &option(&asked, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(lab.project.join("x.txt").exists());
    });
}
