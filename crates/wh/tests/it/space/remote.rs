//! The Gemini CLI remote control: its verification plan and its responses.

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
fn the_screen_shows_a_message_after_it_is_sent() {
    let wh = space();
    for number in 1..=30 {
        let text = format!("message number {number}.");
        assert_eq!(wh.post("/message", json!({ "message": text })).status, 200);
        let screen = wh.get("/control/screen").json();
        assert!(screen["plain"].as_str().unwrap().contains(&text), "{}", screen["plain"]);
    }
}

#[test]
fn the_history_limit_returns_the_newest_messages() {
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
fn an_invalid_message_is_refused_with_the_original_error() {
    let wh = space();
    for (body, error) in
        [("{}", "Message is required"), (r#"{"message":""}"#, "Message is required"), ("{", "Invalid JSON")]
    {
        let refused = wh.send(&wh_testkit::http::TestRequest::post("/message", body));
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

#[test]
fn a_message_acts_like_typed_input_unless_it_is_literal() {
    let wh = space();
    let help = wh.post("/message", json!({ "message": "/help", "request_id": "help" })).json();
    assert_eq!((&help["stage"], &help["lines"][0]), (&json!("finished"), &json!("Available Commands")));
    let again = wh.post("/message", json!({ "message": "/help", "request_id": "help" })).json();
    assert_eq!(again["duplicate"], true, "{again}");
    assert_eq!(wh.post("/message", json!({ "message": "/verbose", "request_id": "ui" })).status, 200);
    let code = |body| {
        let answer = wh.post("/message", body);
        (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(code(json!({ "message": "/nosuch" })), (404, "unknown_command".to_owned()));
    assert_eq!(code(json!({ "message": "/ui nonsense" })), (400, "invalid_command".to_owned()));
    assert_eq!(code(json!({ "message": "{\"kind\": \"bogus/x\"}" })), (400, "invalid_envelope".to_owned()));
    assert_eq!(code(json!({ "message": " !ls" })), (409, "shell_not_allowed".to_owned()));
    let hidden = r#"{"kind": "chat", "payload": {"text": "!ls"}}"#;
    assert_eq!(code(json!({ "message": hidden })), (409, "shell_not_allowed".to_owned()));
    assert_eq!(code(json!({ "message": "!ls", "allow_shell": true })).0, 200);
    assert_eq!(code(json!({ "message": "/help me", "literal": true })).0, 200);
    eventually("the agent was told", || {
        let history = wh.get("/history").text();
        (history.contains("/help me") && history.contains("!ls")).then_some(())
    });
}

#[test]
fn history_details_pair_messages_with_their_answers() {
    let wh = space();
    for text in ["one", "two"] {
        assert_eq!(wh.post("/message", json!({ "message": text })).status, 200);
    }
    let entries = eventually("both are answered", || {
        let all = wh.get("/history?details=1").json();
        (all.as_array().unwrap().iter().filter(|entry| entry["role"] == "model").count() >= 2).then_some(all)
    });
    let entries = entries.as_array().unwrap();
    assert!(
        entries.iter().all(|entry| entry["id"].is_string() && entry["at"].is_string() && entry["from"].is_string())
    );
    for text in ["one", "two"] {
        let asked = entries.iter().find(|entry| entry["text"] == text).unwrap();
        let of_turn = |entry: &&Value| entry["role"] == "model" && entry["turns"] == asked["turns"];
        let answer = entries.iter().find(of_turn).unwrap_or_else(|| panic!("{text} has no answer in {entries:?}"));
        assert!(answer["text"].as_str().unwrap().contains(text), "{answer}");
    }
    let plain = wh.get("/history?limit=1").json();
    assert_eq!(plain[0].as_object().unwrap().len(), 2, "{plain}");
}

#[test]
fn messages_and_typed_input_share_request_ids() {
    let wh = space();
    let code = |path: &str, body: Value| {
        let answer = wh.post(path, body);
        (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(code("/message", json!({ "message": "hello", "request_id": "said" })).0, 200);
    assert_eq!(code("/control/send_input", json!({ "text": "x", "request_id": "typed" })).0, 200);
    let reused = (409, "request_id_reused".to_owned());
    assert_eq!(code("/control/send_input", json!({ "text": "hello", "request_id": "said" })), reused);
    assert_eq!(code("/message", json!({ "message": "x", "request_id": "typed" })), reused);
    assert_eq!(code("/control/interrupt", json!({ "request_id": "typed" })), reused);
    // A refused message does not consume its request id.
    assert_eq!(code("/message", json!({ "message": "/nosuch", "request_id": "free" })).0, 404);
    assert_eq!(code("/control/send_input", json!({ "text": "y", "request_id": "free" })).0, 200);
}
