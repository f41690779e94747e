//! Commands across a kill of the daemon, through every interface: what was accepted is delivered, what was delivered is never
//! repeated, and receipts can still be read.

use serde_json::{Value, json};
use wh_testkit::{Lab, eventually};

use super::{House, Session, stdin};

fn message(house: &House, session: &Session, id: &str, text: &str) -> Value {
    let body = json!({ "message": text, "request_id": id, "literal": true });
    let answer = house.post(&format!("/sessions/{}/message", session.id), body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn stage(house: &House, session: &Session, id: &str) -> Value {
    house.get(&format!("/sessions/{}/control/receipts/{id}", session.id)).json()["stage"].clone()
}

/// Texts of people in the history.
fn said(house: &House, session: &Session) -> Vec<String> {
    let history = house.get(&format!("/sessions/{}/history", session.id)).json();
    let users = history.as_array().unwrap().iter().filter(|entry| entry["role"] == "user");
    users.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
}

/// Kills the daemon while `slow` is being answered and two more messages are queued behind it.
fn killed_with_messages_queued(house: &mut House, session: &Session, slow: &str) {
    message(house, session, "slow", slow);
    eventually("it is being answered", || (stage(house, session, "slow") == "started").then_some(()));
    for (id, text) in [("one", "first mark-1"), ("two", "second mark-2")] {
        assert_eq!(message(house, session, id, text)["stage"], "accepted");
    }
    let third = stdin(session, "three", "third mark-3");
    let ack = house.control(&third);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    assert!(!said(house, session).iter().any(|text| text.contains("mark-")), "nothing of that was handed over");
    house.kill();
    house.start();
    // While the session is being restored, what is queued is neither lost nor cut off.
    eventually("the session is back", || {
        let ack = house.control(&third);
        assert!(ack["result"] == "ok" || ack["result"] == "busy", "{ack}");
        (ack["result"] == "ok").then_some(())
    });
    for id in ["one", "two", "three"] {
        let receipt = house.receipt(session, id);
        assert_eq!(receipt["stage"], "finished", "{receipt}");
    }
    let cut_off = house.receipt(session, "slow");
    assert_eq!((&cut_off["stage"], &cut_off["code"]), (&json!("failed"), &json!("cut_off")), "{cut_off}");
    // A retry is a duplicate, whichever interface it comes through.
    for (id, text) in [("slow", slow), ("one", "first mark-1"), ("three", "third mark-3")] {
        assert_eq!(message(house, session, id, text)["duplicate"], true, "{id}");
    }
    let ack = house.control(&stdin(session, "two", "second mark-2"));
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    let marks: Vec<String> = said(house, session).into_iter().filter(|text| text.contains("mark-")).collect();
    assert_eq!(marks, ["first mark-1", "second mark-2", "third mark-3"]);
}

#[test]
fn what_was_queued_is_delivered_after_a_kill_and_receipts_are_known_on_every_interface() {
    let mut house = House::new();
    let session = house.demo("a", 40);
    let keys = json!({ "text": "a draft", "request_id": "keys" });
    let input = format!("/sessions/{}/control/send_input", session.id);
    assert_eq!(house.post(&input, keys.clone()).json()["duplicate"], false);
    killed_with_messages_queued(&mut house, &session, "/demo slow");
    stopped_with_a_message_queued(&mut house, &session, "/demo slow");
    let repeated = house.post(&input, keys).json();
    assert_eq!((&repeated["duplicate"], &repeated["delivered"]), (&json!(true), &json!(true)), "{repeated}");
    let screen = house.get(&format!("/sessions/{}/control/screen", session.id)).json();
    assert!(!screen["plain"].as_str().unwrap().contains("a draft"), "{screen}");
    let reused = house.post(&input, json!({ "text": "another", "request_id": "one" }));
    assert_eq!((reused.status, reused.json()["code"].clone()), (409, json!("request_id_reused")));

    let wanted = |id: &str| json!({ "session_id": "a", "request_id": id });
    let receipt = |id: &str| house.talk().ask("receipt", &wanted(id))["payload"]["receipt"].clone();
    assert_eq!((&receipt("one")["stage"], &receipt("keys")["stage"]), (&json!("finished"), &json!("delivered")));
    assert_eq!(receipt("nothing"), Value::Null);
    let printed = house.ok(&["receipt", "a", "slow"]);
    assert!(printed.contains("accepted") && printed.contains("reason: cut_off"), "{printed}");
}

/// An orderly stop keeps what is queued, and does not wait for it.
fn stopped_with_a_message_queued(house: &mut House, session: &Session, slow: &str) {
    message(house, session, "slow-2", slow);
    eventually("it is being answered", || (stage(house, session, "slow-2") == "started").then_some(()));
    message(house, session, "kept", "kept mark-4");
    house.ok(&["daemon", "stop"]);
    assert!(!house.said().contains("did not report that it has ended"), "{}", house.said());
    house.ended();
    house.start();
    let receipt = house.receipt(session, "kept");
    assert_eq!(receipt["stage"], "finished", "{receipt}");
    assert_eq!(house.receipt(session, "slow-2")["stage"], "failed");
}

#[test]
fn a_refused_command_is_refused_to_all_who_retry_it_at_once() {
    let house = House::new();
    let session = house.create(json!({ "command": ["cat"], "name": "cat" }));
    let input = format!("/sessions/{}/control/send_input", session.id);
    let click = json!({ "mouse": { "action": "press", "x": 1, "y": 1 }, "request_id": "same" });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..12).map(|_| scope.spawn(|| house.post(&input, click.clone()).status)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses, [409; 12], "the program wants no mouse events");
    let typed = house.post(&input, json!({ "text": "x", "request_id": "same" }));
    assert_eq!((typed.status, typed.json()["duplicate"].clone()), (200, json!(false)), "the id is free");
}

#[test]
fn what_was_typed_into_a_program_is_known_after_it_was_lost() {
    let mut house = House::new();
    let session = house.create(json!({ "command": ["cat"], "name": "cat" }));
    let input = format!("/sessions/{}/control/send_input", session.id);
    let typed = json!({ "text": "hello", "key": "enter", "request_id": "typed" });
    assert_eq!(house.post(&input, typed.clone()).json()["delivered"], true);
    house.kill();
    house.start();
    house.state(&session, "lost");
    let again = house.post(&input, typed);
    assert_eq!((again.status, again.json()["code"].clone()), (409, json!("ended")));
    assert_eq!(stage(&house, &session, "typed"), "delivered");
    let ack = house.control(&stdin(&session, "typed", "hello\n"));
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    let other = house.control(&stdin(&session, "typed", "goodbye\n"));
    assert_eq!((&other["result"], &other["error"]), (&json!("rejected"), &json!("request_id_reused")), "{other}");
    let never = house.control(&stdin(&session, "never", "hello\n"));
    assert_eq!((&never["result"], &never["error"]), (&json!("not_live"), &json!("ended")), "{never}");
}

/// The model is told each message once, in order.
fn the_model_is_told_once(lab: &Lab, agent: &str, mode: Option<&str>) {
    let mut house = House::with(lab.env());
    let mut wanted = json!({ "agent": agent, "name": "a", "cwd": lab.project });
    if let Some(mode) = mode {
        wanted["mode"] = json!(mode);
    }
    let session = house.create(wanted);
    house.state(&session, "idle");
    message(&house, &session, "hello", "hello there");
    assert_eq!(house.receipt(&session, "hello")["stage"], "finished");
    killed_with_messages_queued(&mut house, &session, "slow: 600");
    let prompts = lab.model.prompts();
    let marks: Vec<&String> = prompts.iter().filter(|text| text.contains("mark-")).collect();
    let order: Vec<bool> = ["mark-1", "mark-2", "mark-3"]
        .iter()
        .enumerate()
        .map(|(number, mark)| marks.get(number).is_some_and(|text| text.contains(mark)))
        .collect();
    assert_eq!((marks.len(), order), (3, vec![true; 3]), "{prompts:?}");
    let slow = prompts.iter().filter(|text| text.contains("slow: 600")).count();
    assert!(slow <= 1, "what was cut off is not sent again: {prompts:?}");
    // Another restart of Gemini CLI takes another minute.
    if agent != "gemini" {
        stopped_with_a_message_queued(&mut house, &session, "slow: 700");
        let prompts = lab.model.prompts();
        assert_eq!(prompts.iter().filter(|text| text.contains("mark-4")).count(), 1, "{prompts:?}");
    }
}

#[test]
fn claude_is_given_what_was_queued_once_after_a_kill() {
    Lab::inside("daemon::lasting::claude_is_given_what_was_queued_once_after_a_kill", |lab| {
        the_model_is_told_once(lab, "claude", None);
    });
}

#[test]
fn codex_is_given_what_was_queued_once_after_a_kill() {
    Lab::inside("daemon::lasting::codex_is_given_what_was_queued_once_after_a_kill", |lab| {
        the_model_is_told_once(lab, "codex", Some("untrusted"));
    });
}

#[test]
fn gemini_is_given_what_was_queued_once_after_a_kill() {
    Lab::inside("daemon::lasting::gemini_is_given_what_was_queued_once_after_a_kill", |lab| {
        the_model_is_told_once(lab, "gemini", None);
    });
}
