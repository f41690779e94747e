//! Request ids across interfaces: a request executed over one is known to the others.

use serde_json::{Value, json};

use super::{Session, TestDaemon, message, stdin, with};

fn interrupt(session: &Session, request_id: &str) -> Value {
    with(message(session, request_id), json!({ "type": "control.interrupt.request", "signal": "interrupt" }))
}

#[track_caller]
fn is(ack: &Value, result: &str, duplicate: bool, error: &str) {
    let told = (ack["result"].as_str().unwrap(), &ack["duplicate"], ack["error"].as_str().unwrap_or_default());
    assert_eq!(told, (result, &json!(duplicate), error), "{ack}");
}

#[test]
fn a_repeated_command_over_another_interface_is_a_duplicate_and_a_different_one_is_refused() {
    let daemon = TestDaemon::new();
    let program = daemon.create(json!({ "command": ["cat"], "name": "cat" }));
    let typed = json!({ "text": "by http", "request_id": "same" });
    assert_eq!(daemon.post(&format!("/sessions/{}/control/send_input", program.id), typed).status, 200);
    daemon.wait(&program, r#"screen_contains "by http""#);
    is(&daemon.control(&stdin(&program, "same", "by the socket")), "rejected", false, "request_id_reused");
    is(&daemon.control(&stdin(&program, "same", "by http")), "ok", true, "");
    is(&daemon.control(&stdin(&program, "another", "by the socket")), "ok", false, "");
    daemon.wait(&program, r#"screen_contains "by httpby the socket""#);
    let path = format!("/sessions/{}/control/wait", program.id);
    let idle = daemon.post(&path, json!({ "condition": "idle", "timeout": 60_000 }));
    assert_eq!((idle.status, idle.json()["error"].clone()), (409, json!("No conversation")));

    let agent = daemon.demo("a", 200);
    is(&daemon.control(&stdin(&agent, "first", "/demo slow")), "ok", false, "");
    daemon.state(&agent, "working");
    let body = json!({ "participant": "demo", "request_id": "stop" });
    assert_eq!(daemon.post(&format!("/sessions/{}/control/interrupt", agent.id), body).status, 200);
    daemon.state(&agent, "idle");
    is(&daemon.control(&stdin(&agent, "second", "/demo slow")), "ok", false, "");
    daemon.state(&agent, "working");
    is(&daemon.control(&interrupt(&agent, "stop")), "ok", true, "");
    daemon.state(&agent, "working");
    let path = format!("/sessions/{}/message", agent.id);
    let repeated = daemon.post(&path, json!({ "message": "/demo slow", "literal": true, "request_id": "second" }));
    assert_eq!((repeated.status, repeated.json()["duplicate"].clone()), (200, json!(true)), "{}", repeated.text());
    let reused = daemon.post(&path, json!({ "message": "something else", "request_id": "second" }));
    assert_eq!((reused.status, reused.json()["code"].clone()), (409, json!("request_id_reused")));
    is(&daemon.control(&interrupt(&agent, "stop-2")), "ok", false, "");
    daemon.state(&agent, "idle");
}

#[test]
fn a_refused_interrupt_does_not_consume_its_request_id() {
    let daemon = TestDaemon::new();
    let agent = daemon.demo("a", 0);
    let blank = with(stdin(&agent, "blank", " "), json!({ "interrupt": true }));
    for _ in 0..2 {
        is(&daemon.control(&blank), "rejected", false, "empty");
    }
    let program = daemon.create(json!({ "command": ["cat"], "name": "cat" }));
    is(&daemon.control(&stdin(&program, "blank", " \n")), "rejected", false, "empty");
}

#[test]
fn an_interrupting_text_cancels_the_turn_and_is_then_delivered() {
    let daemon = TestDaemon::new();
    let agent = daemon.demo("a", 200);
    is(&daemon.control(&stdin(&agent, "slow", "/demo slow")), "ok", false, "");
    daemon.state(&agent, "working");
    let text = with(stdin(&agent, "text", "hello"), json!({ "interrupt": true }));
    is(&daemon.control(&text), "ok", false, "");
    is(&daemon.control(&text), "ok", true, "");
    assert_eq!(daemon.receipt(&agent, "slow")["reason"], "cancelled");
    assert_eq!(daemon.receipt(&agent, "text")["stage"], "finished");
}
