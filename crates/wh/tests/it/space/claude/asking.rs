//! Questions of Claude Code and the effect of the answers.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::super::{answer, ask, finished, option, question, state};
use super::{claude, model_request_bodies};
use crate::WH;

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
    Lab::inside("space::claude::asking::a_permission_shows_the_command_and_is_granted", |lab| {
        let wh = claude(lab, &[]);
        let asked = asked(&wh, "tool: touch granted.txt", "r1");
        assert_eq!(asked["kind"], "permission");
        assert_eq!(asked["details"][0], json!({"type": "command", "command": "touch granted.txt"}));
        wh.wait(r#"screen_contains "touch granted.txt" and screen_contains "May Claude use Bash?""#);
        assert_eq!(answer(&wh, id(&asked), &option(&asked, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(lab.project.join("granted.txt").exists());
        assert_eq!(answer(&wh, id(&asked), "allow").status, 409, "it is closed");
    });
}

#[test]
fn the_model_sees_why_a_permission_was_denied() {
    Lab::inside("space::claude::asking::the_model_sees_why_a_permission_was_denied", |lab| {
        let wh = claude(lab, &[]);
        let asked = asked(&wh, "tool: touch denied.txt", "r1");
        let body = json!({ "id": id(&asked), "option": "deny", "text": "rather call it other.txt" });
        assert_eq!(wh.post("/control/answer", body).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(!lab.project.join("denied.txt").exists());
        let last = model_request_bodies(lab).pop().unwrap();
        assert!(last.contains("rather call it other.txt"), "the reason goes to the model");
        let messages = wh.get("/control/messages?limit=100").text();
        assert!(messages.contains("denied"), "the call is shown as denied: {messages}");
    });
}

#[test]
fn an_always_allowed_action_is_not_asked_again() {
    Lab::inside("space::claude::asking::an_always_allowed_action_is_not_asked_again", |lab| {
        let wh = claude(lab, &[]);
        let asked = asked(&wh, "tool: touch always.txt", "r1");
        assert_eq!(answer(&wh, id(&asked), &option(&asked, "allow_always")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        fs::remove_file(lab.project.join("always.txt")).unwrap();
        assert_eq!(ask(&wh, "tool: touch always.txt")["stage"], "finished");
        assert!(lab.project.join("always.txt").exists(), "it ran without a question");
    });
}

#[test]
fn a_choice_is_answered_by_its_option() {
    Lab::inside("space::claude::asking::a_choice_is_answered_by_its_option", |lab| {
        let wh = claude(lab, &[]);
        let asked = asked(&wh, "ask: Which colour?", "r1");
        assert_eq!((&asked["kind"], &asked["preselects"]), (&json!("choice"), &json!(false)));
        assert!(asked["title"].as_str().unwrap().contains("Which colour?"), "{asked}");
        assert_eq!(answer(&wh, id(&asked), "Blue").status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        let last = model_request_bodies(lab).pop().unwrap();
        assert!(last.contains("Blue"), "the choice goes to the model");
    });
}

#[test]
fn an_interrupt_during_streaming_cancels_the_turn() {
    Lab::inside("space::claude::asking::an_interrupt_during_streaming_cancels_the_turn", |lab| {
        let wh = claude(lab, &[]);
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
    Lab::inside("space::claude::asking::esc_interrupts_and_the_open_question_closes_by_itself", |lab| {
        let wh = claude(lab, &[]);
        let asked = asked(&wh, "tool: touch never.txt", "r1");
        wh.wait(r#"screen_contains "May Claude use Bash?""#);
        let start = Instant::now();
        wh.key("escape");
        let receipt = finished(&wh, "r1");
        eprintln!("interrupted with a question open: cancelled after {:?}", start.elapsed());
        assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
        eventually("no question is open", || {
            (wh.get("/control/questions").json()["questions"] == json!([])).then_some(())
        });
        assert_eq!(answer(&wh, id(&asked), "allow").status, 409);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        assert!(!lab.project.join("never.txt").exists());
    });
}

#[test]
fn its_own_settings_cannot_skip_permissions_without_the_flag() {
    Lab::inside("space::claude::asking::its_own_settings_cannot_skip_permissions_without_the_flag", |lab| {
        let settings = json!({"permissions": {"defaultMode": "bypassPermissions"}});
        fs::create_dir_all(lab.home.join(".claude")).unwrap();
        fs::write(lab.home.join(".claude/settings.json"), settings.to_string()).unwrap();
        // Without this it does not skip permissions for root.
        let claude = |flags: &[&str]| {
            let wh = Wh::options(WH).space().environment(lab.env()).env("IS_SANDBOX", "1").directory(&lab.project);
            wh.flags(&["--agent", "claude"]).flags(flags).start(&[])
        };
        let wh = claude(&[]);
        let question = asked(&wh, "tool: touch asked.txt", "r1");
        assert_eq!(question["details"][0]["command"], "touch asked.txt");
        assert_eq!(state(&wh)["sessions"]["claude"]["mode"], "default");
        assert!(!lab.project.join("asked.txt").exists());
        drop(wh);

        let wh = claude(&["--allow-skipping-permissions"]);
        assert_eq!(ask(&wh, "tool: touch unasked.txt")["stage"], "finished");
        assert_eq!(state(&wh)["sessions"]["claude"]["mode"], "bypassPermissions", "whoever may is let");
        assert!(lab.project.join("unasked.txt").exists());
    });
}
