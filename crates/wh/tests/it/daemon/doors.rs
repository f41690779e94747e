//! What one door has carried out under a name, and what another makes of that name.

use serde_json::{Value, json};

use super::{House, Session, message, stdin, with};

fn interrupt(session: &Session, request_id: &str) -> Value {
    with(message(session, request_id), json!({ "type": "control.interrupt.request", "signal": "interrupt" }))
}

#[track_caller]
fn is(ack: &Value, result: &str, duplicate: bool, error: &str) {
    let told = (ack["result"].as_str().unwrap(), &ack["duplicate"], ack["error"].as_str().unwrap_or_default());
    assert_eq!(told, (result, &json!(duplicate), error), "{ack}");
}

#[test]
fn the_same_command_through_another_interface_is_a_duplicate_and_another_one_is_refused() {
    let house = House::new();
    let program = house.create(json!({ "command": ["cat"], "name": "cat" }));
    let typed = json!({ "text": "by http", "request_id": "same" });
    assert_eq!(house.post(&format!("/sessions/{}/control/send_input", program.id), typed).status, 200);
    house.wait(&program, r#"screen_contains "by http""#);
    is(&house.control(&stdin(&program, "same", "by the socket")), "rejected", false, "request_id_reused");
    is(&house.control(&stdin(&program, "same", "by http")), "ok", true, "");
    is(&house.control(&stdin(&program, "another", "by the socket")), "ok", false, "");
    house.wait(&program, r#"screen_contains "by httpby the socket""#);
    let path = format!("/sessions/{}/control/wait", program.id);
    let idle = house.post(&path, json!({ "condition": "idle", "timeout": 60_000 }));
    assert_eq!((idle.status, idle.json()["error"].clone()), (409, json!("No conversation")));

    let agent = house.demo("a", 200);
    is(&house.control(&stdin(&agent, "first", "/demo slow")), "ok", false, "");
    house.state(&agent, "working");
    let body = json!({ "participant": "demo", "request_id": "stop" });
    assert_eq!(house.post(&format!("/sessions/{}/control/interrupt", agent.id), body).status, 200);
    house.state(&agent, "idle");
    is(&house.control(&stdin(&agent, "second", "/demo slow")), "ok", false, "");
    house.state(&agent, "working");
    is(&house.control(&interrupt(&agent, "stop")), "ok", true, "");
    house.state(&agent, "working");
    let path = format!("/sessions/{}/message", agent.id);
    let repeated = house.post(&path, json!({ "message": "/demo slow", "literal": true, "request_id": "second" }));
    assert_eq!((repeated.status, repeated.json()["duplicate"].clone()), (200, json!(true)), "{}", repeated.text());
    let reused = house.post(&path, json!({ "message": "something else", "request_id": "second" }));
    assert_eq!((reused.status, reused.json()["code"].clone()), (409, json!("request_id_reused")));
    is(&house.control(&interrupt(&agent, "stop-2")), "ok", false, "");
    house.state(&agent, "idle");
}

#[test]
fn what_interrupts_nothing_and_says_nothing_has_used_nothing_up() {
    let house = House::new();
    let agent = house.demo("a", 0);
    let blank = with(stdin(&agent, "blank", " "), json!({ "interrupt": true }));
    for _ in 0..2 {
        is(&house.control(&blank), "rejected", false, "empty");
    }
    let program = house.create(json!({ "command": ["cat"], "name": "cat" }));
    is(&house.control(&stdin(&program, "blank", " \n")), "rejected", false, "empty");
}

#[test]
fn a_text_that_interrupts_comes_after_what_it_has_stopped() {
    let house = House::new();
    let agent = house.demo("a", 200);
    is(&house.control(&stdin(&agent, "slow", "/demo slow")), "ok", false, "");
    house.state(&agent, "working");
    let text = with(stdin(&agent, "text", "hello"), json!({ "interrupt": true }));
    is(&house.control(&text), "ok", false, "");
    is(&house.control(&text), "ok", true, "");
    assert_eq!(house.receipt(&agent, "slow")["reason"], "cancelled");
    assert_eq!(house.receipt(&agent, "text")["stage"], "finished");
}
