//! The state is valid according to the contract at every moment.

use serde_json::{Value, json};
use wh_testkit::eventually;

use super::{ask, paced, question, say, space, state};
use crate::snapshot::assert_valid;

/// Polls the state until `holds` is true. Validates every polled state.
fn when(wh: &wh_testkit::wh::Wh, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || {
        let state = state(wh);
        assert_valid(&state);
        holds(&state).then_some(state)
    })
}

#[test]
fn fresh() {
    let wh = space();
    let state = when(&wh, "the agent is ready", |state| state["sessions"]["demo"]["status"] == "idle");
    assert_eq!(state["participants"], json!(["demo", "human", "system"]));
    assert_eq!(state["ui"]["terminalWidth"], 120);
    assert_eq!(state["pauseState"], Value::Null);
    assert!(!state["toolCatalog"]["demo"].as_array().unwrap().is_empty());
}

#[test]
fn chatting() {
    let wh = space();
    say(&wh, "hello there");
    let state = when(&wh, "both have spoken", |state| {
        let chats = state["messages"].as_array().unwrap().iter().filter(|one| one["kind"] == "chat");
        chats.count() >= 2
    });
    let first = state["messages"].as_array().unwrap().iter().find(|one| one["kind"] == "chat").unwrap().clone();
    assert_eq!(
        (&first["from"], &first["sent"], &first["payload"]["text"]),
        (&json!("human"), &json!(true), &json!("hello there"))
    );
}

#[test]
fn reasoning() {
    let wh = paced(40);
    say(&wh, "/demo think");
    let state = when(&wh, "it thinks aloud", |state| {
        state["ui"]["reasoning"]["active"] == true && state["ui"]["reasoning"]["preview"].is_string()
    });
    assert_eq!(state["ui"]["reasoning"]["participant"], "demo");
    assert!(state["ui"]["reasoning"]["tokens"].is_u64(), "{}", state["ui"]["reasoning"]);
    let waited = wh.wait("reasoning_active");
    assert_eq!(waited["matched"], true);
    let screen = wh.plain();
    assert!(screen.chars().any(|one| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(one)), "{screen}");
}

#[test]
fn stream_open() {
    let wh = paced(20);
    say(&wh, "/demo stream");
    let state = when(&wh, "a stream is open and something came", |state| {
        !state["streams"]["active"].as_array().unwrap().is_empty()
            && !state["streams"]["recentFrames"].as_array().unwrap().is_empty()
    });
    assert_eq!(state["streams"]["active"][0]["openedBy"], "demo");
}

#[test]
fn acknowledgement_pending() {
    let wh = space();
    ask(&wh, "/demo ack");
    let state = when(&wh, "it waits for an acknowledgement", |state| {
        !state["acknowledgements"]["myPending"].as_array().unwrap().is_empty()
    });
    assert_eq!(state["acknowledgements"]["pending"][0]["to"], "human");
    assert_eq!(state["ui"]["signalBoard"]["ackCount"], 1);
    say(&wh, "/ack");
    when(&wh, "it is acknowledged", |state| state["ui"]["signalBoard"]["ackCount"] == 0);
}

#[test]
fn paused() {
    let wh = space();
    let done = wh.post("/control/command", json!({ "command": "/pause demo 60 lunch" }));
    assert_eq!(done.status, 200, "{}", done.text());
    let state = when(&wh, "it is paused", |state| state["pauseState"].is_object());
    assert_eq!((&state["pauseState"]["active"], &state["pauseState"]["reason"]), (&json!(true), &json!("lunch")));
    assert!(state["pauseState"]["expiresAt"].is_string());
    assert_eq!(state["ui"]["signalBoard"]["pauseState"]["participant"], "demo");
    wh.post("/control/command", json!({ "command": "/resume demo" }));
    when(&wh, "it goes on", |state| state["pauseState"].is_null());
}

#[test]
fn question_pending() {
    let wh = space();
    say(&wh, "/demo ask");
    let asked = question(&wh);
    let state = when(&wh, "an operation is pending", |state| state["ui"]["pendingOperation"].is_object());
    assert_eq!(state["ui"]["pendingOperation"]["id"], asked["id"]);
    assert_eq!(state["ui"]["pendingOperation"]["requestedBy"], "demo");
    assert_eq!(state["sessions"]["demo"]["status"], "waiting");
}

#[test]
fn signal_board_open() {
    let wh = space();
    say(&wh, "/ui board open");
    let state = when(&wh, "the board is open", |state| state["ui"]["signalBoard"]["expanded"] == true);
    assert_eq!(state["ui"]["signalBoard"]["override"], "open");
    let screen = wh.plain();
    assert!(screen.contains('│') && screen.contains("Signal Board"), "{screen}");
    let closed = wh.post("/control/command", json!({ "command": "/ui board close" }));
    assert_eq!(closed.status, 200, "{}", closed.text());
    let state = super::state(&wh);
    assert_eq!(state["ui"]["signalBoard"]["override"], "close");
    assert_eq!(state["ui"]["signalBoard"]["expanded"], false);
}
