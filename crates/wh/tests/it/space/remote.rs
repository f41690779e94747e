//! The small remote control: its verification plan, and its answers.

use serde_json::{Value, json};
use wh_testkit::eventually;
use wh_testkit::wh::Wh;

use super::{ask, space};
use crate::WH;

#[test]
fn a_message_is_shown_answered_and_in_the_history() {
    let wh = space();
    let sent = wh.post("/message", json!({ "message": "list files" }));
    assert_eq!((sent.status, sent.json()["status"].clone()), (200, json!("Message submitted")), "{}", sent.text());
    wh.wait(r#"screen_contains "list files""#);
    let history = eventually("both are in the history", || {
        let history = wh.get("/history").json();
        (history.as_array().unwrap().len() >= 2).then_some(history)
    });
    assert_eq!(history[0], json!({ "role": "user", "text": "list files" }));
    assert_eq!(history[1]["role"], "model");
}

#[test]
fn a_look_after_a_message_shows_it() {
    let wh = space();
    for number in 1..=30 {
        let text = format!("message number {number}.");
        assert_eq!(wh.post("/message", json!({ "message": text })).status, 200);
        let screen = wh.get("/control/screen").json();
        assert!(screen["plain"].as_str().unwrap().contains(&text), "{}", screen["plain"]);
    }
}

#[test]
fn the_history_is_limited_from_its_end() {
    let wh = space();
    for number in 1..=3 {
        ask(&wh, &format!("message {number}"));
    }
    let all = wh.get("/history").json();
    let all = all.as_array().unwrap();
    let last: Vec<Value> = all[all.len() - 2..].to_vec();
    assert_eq!(wh.get("/history?limit=2").json(), Value::Array(last));
    for every in ["/history?limit=0", "/history?limit=abc", "/history?limit=1000"] {
        assert_eq!(wh.get(every).json().as_array().unwrap(), all, "{every}");
    }
    assert!(all.iter().all(|entry| entry.as_object().unwrap().len() == 2), "{all:?}");
}

#[test]
fn what_is_no_message_is_refused_in_the_originals_words() {
    let wh = space();
    for (body, error) in
        [("{}", "Message is required"), (r#"{"message":""}"#, "Message is required"), ("{", "Invalid JSON")]
    {
        let refused = wh.send(&wh_testkit::http::Request::post("/message", body));
        assert_eq!((refused.status, refused.json()["error"].clone()), (400, json!(error)), "{body}");
    }
    assert_eq!(wh.get("/nowhere").status, 404);
}

#[test]
fn a_plain_program_has_no_conversation() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for answer in [wh.post("/message", json!({ "message": "hi" })), wh.get("/history")] {
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert_eq!(answer.json()["error"], "TUI bridge is not yet registered");
    }
    let empty = wh.post("/message", json!({ "message": "" }));
    assert_eq!(empty.status, 400, "what is wrong is told before that nobody is there");
    assert_eq!(wh.get("/control/questions").json(), json!({ "questions": [] }));
}
