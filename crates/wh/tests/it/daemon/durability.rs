//! Commands across a kill of the daemon, over every interface: accepted commands are delivered, delivered ones are not
//! repeated, and receipts survive.

use serde_json::{Value, json};
use wh_testkit::{Lab, eventually};

use super::{Session, TestDaemon, stdin};

fn message(daemon: &TestDaemon, session: &Session, id: &str, text: &str) -> Value {
    let body = json!({ "message": text, "request_id": id, "literal": true });
    let answer = daemon.post(&format!("/sessions/{}/message", session.id), body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn stage(daemon: &TestDaemon, session: &Session, id: &str) -> Value {
    daemon.get(&format!("/sessions/{}/control/receipts/{id}", session.id)).json()["stage"].clone()
}

/// Returns the user messages of the history.
fn said(daemon: &TestDaemon, session: &Session) -> Vec<String> {
    let history = daemon.get(&format!("/sessions/{}/history", session.id)).json();
    let users = history.as_array().unwrap().iter().filter(|entry| entry["role"] == "user");
    users.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
}

/// Kills the daemon while `slow` is being answered and two more messages are queued.
fn killed_with_messages_queued(daemon: &mut TestDaemon, session: &Session, slow: &str) {
    message(daemon, session, "slow", slow);
    eventually("it is being answered", || (stage(daemon, session, "slow") == "started").then_some(()));
    for (id, text) in [("one", "first mark-1"), ("two", "second mark-2")] {
        assert_eq!(message(daemon, session, id, text)["stage"], "accepted");
    }
    let third = stdin(session, "three", "third mark-3");
    let ack = daemon.control(&third);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    assert!(!said(daemon, session).iter().any(|text| text.contains("mark-")), "nothing of that was handed over");
    daemon.kill();
    daemon.start();
    // During the restore, queued messages are neither lost nor interrupted.
    eventually("the session is back", || {
        let ack = daemon.control(&third);
        assert!(ack["result"] == "ok" || ack["result"] == "busy", "{ack}");
        (ack["result"] == "ok").then_some(())
    });
    for id in ["one", "two", "three"] {
        let receipt = daemon.receipt(session, id);
        assert_eq!(receipt["stage"], "finished", "{receipt}");
    }
    let cut_off = daemon.receipt(session, "slow");
    assert_eq!((&cut_off["stage"], &cut_off["code"]), (&json!("failed"), &json!("cut_off")), "{cut_off}");
    // A retry over any interface is a duplicate.
    for (id, text) in [("slow", slow), ("one", "first mark-1"), ("three", "third mark-3")] {
        assert_eq!(message(daemon, session, id, text)["duplicate"], true, "{id}");
    }
    let ack = daemon.control(&stdin(session, "two", "second mark-2"));
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    let marks: Vec<String> = said(daemon, session).into_iter().filter(|text| text.contains("mark-")).collect();
    assert_eq!(marks, ["first mark-1", "second mark-2", "third mark-3"]);
}

#[test]
fn queued_messages_are_delivered_after_a_kill_and_receipts_survive() {
    let mut daemon = TestDaemon::new();
    let session = daemon.demo("a", 40);
    let keys = json!({ "text": "a draft", "request_id": "keys" });
    let input = format!("/sessions/{}/control/send_input", session.id);
    assert_eq!(daemon.post(&input, keys.clone()).json()["duplicate"], false);
    killed_with_messages_queued(&mut daemon, &session, "/demo slow");
    stopped_with_a_message_queued(&mut daemon, &session, "/demo slow");
    let repeated = daemon.post(&input, keys).json();
    assert_eq!((&repeated["duplicate"], &repeated["delivered"]), (&json!(true), &json!(true)), "{repeated}");
    let screen = daemon.get(&format!("/sessions/{}/control/screen", session.id)).json();
    assert!(!screen["plain"].as_str().unwrap().contains("a draft"), "{screen}");
    let reused = daemon.post(&input, json!({ "text": "another", "request_id": "one" }));
    assert_eq!((reused.status, reused.json()["code"].clone()), (409, json!("request_id_reused")));

    let wanted = |id: &str| json!({ "session_id": "a", "request_id": id });
    let receipt = |id: &str| daemon.connect().ask("receipt", &wanted(id))["payload"]["receipt"].clone();
    assert_eq!((&receipt("one")["stage"], &receipt("keys")["stage"]), (&json!("finished"), &json!("delivered")));
    assert_eq!(receipt("nothing"), Value::Null);
    let printed = daemon.ok(&["receipt", "a", "slow"]);
    assert!(printed.contains("accepted") && printed.contains("reason: cut_off"), "{printed}");
}

/// Stops the daemon while a message is queued. A clean stop keeps queued messages and does not wait for them.
fn stopped_with_a_message_queued(daemon: &mut TestDaemon, session: &Session, slow: &str) {
    message(daemon, session, "slow-2", slow);
    eventually("it is being answered", || (stage(daemon, session, "slow-2") == "started").then_some(()));
    message(daemon, session, "kept", "kept mark-4");
    daemon.ok(&["daemon", "stop"]);
    assert!(!daemon.said().contains("did not report its end in time"), "{}", daemon.said());
    daemon.ended();
    daemon.start();
    let receipt = daemon.receipt(session, "kept");
    assert_eq!(receipt["stage"], "finished", "{receipt}");
    assert_eq!(daemon.receipt(session, "slow-2")["stage"], "failed");
}

#[test]
fn concurrent_retries_of_a_refused_command_are_all_refused() {
    let daemon = TestDaemon::new();
    let session = daemon.create(json!({ "command": ["cat"], "name": "cat" }));
    let input = format!("/sessions/{}/control/send_input", session.id);
    let click = json!({ "mouse": { "action": "press", "x": 1, "y": 1 }, "request_id": "same" });
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..12).map(|_| scope.spawn(|| daemon.post(&input, click.clone()).status)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses, [409; 12], "the program wants no mouse events");
    let typed = daemon.post(&input, json!({ "text": "x", "request_id": "same" }));
    assert_eq!((typed.status, typed.json()["duplicate"].clone()), (200, json!(false)), "the id is free");
}

#[test]
fn receipts_of_typed_input_survive_a_lost_program() {
    let mut daemon = TestDaemon::new();
    let session = daemon.create(json!({ "command": ["cat"], "name": "cat" }));
    let input = format!("/sessions/{}/control/send_input", session.id);
    let typed = json!({ "text": "hello", "key": "enter", "request_id": "typed" });
    assert_eq!(daemon.post(&input, typed.clone()).json()["delivered"], true);
    daemon.kill();
    daemon.start();
    daemon.state(&session, "lost");
    let again = daemon.post(&input, typed);
    assert_eq!((again.status, again.json()["code"].clone()), (409, json!("ended")));
    assert_eq!(stage(&daemon, &session, "typed"), "delivered");
    let ack = daemon.control(&stdin(&session, "typed", "hello\n"));
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    let other = daemon.control(&stdin(&session, "typed", "goodbye\n"));
    assert_eq!((&other["result"], &other["error"]), (&json!("rejected"), &json!("request_id_reused")), "{other}");
    let never = daemon.control(&stdin(&session, "never", "hello\n"));
    assert_eq!((&never["result"], &never["error"]), (&json!("not_live"), &json!("ended")), "{never}");
}

/// Checks that the model receives each message once, in order.
fn the_model_gets_each_message_once(lab: &Lab, agent: &str, mode: Option<&str>) {
    let mut daemon = TestDaemon::with(lab.env());
    let mut wanted = json!({ "agent": agent, "name": "a", "cwd": lab.project });
    if let Some(mode) = mode {
        wanted["mode"] = json!(mode);
    }
    let session = daemon.create(wanted);
    daemon.state(&session, "idle");
    message(&daemon, &session, "hello", "hello there");
    assert_eq!(daemon.receipt(&session, "hello")["stage"], "finished");
    killed_with_messages_queued(&mut daemon, &session, "slow: 600");
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
        stopped_with_a_message_queued(&mut daemon, &session, "slow: 700");
        let prompts = lab.model.prompts();
        assert_eq!(prompts.iter().filter(|text| text.contains("mark-4")).count(), 1, "{prompts:?}");
    }
}

#[test]
fn claude_gets_queued_messages_once_after_a_kill() {
    Lab::inside("daemon::durability::claude_gets_queued_messages_once_after_a_kill", |lab| {
        the_model_gets_each_message_once(lab, "claude", None);
    });
}

#[test]
fn codex_gets_queued_messages_once_after_a_kill() {
    Lab::inside("daemon::durability::codex_gets_queued_messages_once_after_a_kill", |lab| {
        the_model_gets_each_message_once(lab, "codex", Some("untrusted"));
    });
}

#[test]
fn gemini_gets_queued_messages_once_after_a_kill() {
    Lab::inside("daemon::durability::gemini_gets_queued_messages_once_after_a_kill", |lab| {
        the_model_gets_each_message_once(lab, "gemini", None);
    });
}
