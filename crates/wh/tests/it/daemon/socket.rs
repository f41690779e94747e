//! The socket without `control`: discovery, several requests per connection, idempotent session creation, and resumable
//! events.

use serde_json::{Value, json};

use super::{Session, TestDaemon, stdin};

#[test]
fn one_connection_serves_many_requests_and_lists_commands() {
    let daemon = TestDaemon::new();
    let mut talk = daemon.connect();
    let health = talk.ask("health", &json!({}));
    assert_eq!(
        (&health["status"], &health["request_id"], &health["payload"]["ok"]),
        (&json!("ok"), &json!("sock-1"), &json!(true))
    );
    let capabilities = talk.ask("capabilities", &json!({}))["payload"].clone();
    assert_eq!(capabilities["control"]["actions"], json!(["stdin", "interrupt", "answer"]));
    assert_eq!(capabilities["control"]["v"], json!([1]));
    let limits = &capabilities["limits"];
    assert_eq!(
        (&limits["soft_bytes"], &limits["hard_bytes"], &limits["line_bytes"]),
        (&json!(65_536), &json!(1_048_576), &json!(8_388_608))
    );
    assert!(
        limits["dedupe_secs"].as_u64()
            >= Some(limits["max_age_secs"].as_u64().unwrap() + limits["max_skew_secs"].as_u64().unwrap())
    );
    // Every listed command exists.
    for command in capabilities["commands"].as_array().unwrap() {
        let answer = daemon.connect().ask(command.as_str().unwrap(), &json!({}));
        assert_ne!(answer["error"]["code"], "UNKNOWN_COMMAND", "{command}: {answer}");
    }
    for (payload, code) in [
        (json!({}), "MISSING_PARAMETER"),
        (json!([]), "INVALID_PAYLOAD"),
        (json!({ "session_id": 7 }), "INVALID_PAYLOAD"),
    ] {
        assert_eq!(talk.ask("session", &payload)["error"]["code"], code, "{payload}");
    }
    assert_eq!(talk.ask("list", &json!({}))["payload"]["sessions"], json!([]));
}

#[test]
fn a_repeated_create_request_creates_one_session() {
    let daemon = TestDaemon::new();
    let mut talk = daemon.connect();
    let wish = json!({ "agent": "demo", "name": "a", "cwd": daemon.work(), "request_id": "wish-1" });
    let made = talk.ask("create", &wish)["payload"].clone();
    assert_eq!(made["duplicate"], false, "{made}");
    let again = talk.ask("create", &wish)["payload"].clone();
    assert_eq!((&again["duplicate"], &again["session"]["session_id"]), (&json!(true), &made["session"]["session_id"]));
    let other =
        talk.ask("create", &json!({ "agent": "demo", "name": "a", "cwd": daemon.work(), "request_id": "wish-2" }));
    assert!(other["error"]["message"].as_str().unwrap().contains("is already running"), "{other}");
    // A failed create request can be retried with the same key.
    daemon.ok(&["kill", "a"]);
    let after =
        talk.ask("create", &json!({ "agent": "demo", "name": "a", "cwd": daemon.work(), "request_id": "wish-2" }));
    assert_eq!(after["payload"]["duplicate"], false, "{after}");
    for (wish, code) in [
        (json!({}), "MISSING_PARAMETER"),
        (json!({ "agent": "demo", "command": ["true"] }), "INVALID_PAYLOAD"),
        (json!({ "agent": "nobody" }), "AGENT_NOT_FOUND"),
        (json!({ "command": ["true"], "cwd": "nowhere" }), "INVALID_PAYLOAD"),
        (json!({ "command": ["true"], "name": "a b" }), "INVALID_PAYLOAD"),
        (json!({ "command": ["echo", "a\0b"] }), "INVALID_PAYLOAD"),
        (json!({ "command": ["echo", "x".repeat(3 << 20)] }), "INVALID_PAYLOAD"),
        (json!({ "command": vec!["x".repeat(100_000); 70] }), "INVALID_PAYLOAD"),
        (json!({ "agent": "demo", "model": "a\0b" }), "INVALID_PAYLOAD"),
    ] {
        assert_eq!(talk.ask("create", &wish)["error"]["code"], code, "{wish}");
    }
    for body in [json!({ "command": ["echo", "a\0b"] }), json!({ "command": ["echo", "x".repeat(200_000)] })] {
        let answer = daemon.post("/sessions", body);
        assert_eq!((answer.status, &answer.json()["error"]), (400, &json!("Invalid request")), "{}", answer.text());
    }
    let listed = talk.ask("list", &json!({ "team": "nobody's" }));
    assert_eq!(listed["payload"]["sessions"], json!([]));
}

/// Returns the lines of a subscription up to the end of this request.
fn until(talk: &mut super::test_daemon::SocketClient, request_id: &str) -> Vec<Value> {
    let mut lines = Vec::new();
    loop {
        let line = talk.line();
        let done = line["event"] == "receipt" && line["request_id"] == request_id && line["stage"] == "finished";
        lines.push(line);
        if done {
            return lines;
        }
    }
}

#[test]
fn events_are_numbered_and_a_subscription_resumes() {
    let daemon = TestDaemon::new();
    let session: Session = daemon.demo("a", 0);
    let mut watcher = daemon.connect();
    let subscribed = watcher.ask("subscribe", &json!({ "session_id": session.id }))["payload"].clone();
    assert_eq!(subscribed["streaming"], true);
    assert_eq!(watcher.line()["kind"], "reset", "the state comes first");
    assert_eq!(daemon.control(&stdin(&session, "one", "hello"))["result"], "ok");
    let lines = until(&mut watcher, "one");
    let numbers: Vec<u64> =
        lines.iter().filter(|line| line["kind"] == "event").map(|line| line["seq"].as_u64().unwrap()).collect();
    let first = subscribed["seq"].as_u64().unwrap() + 1;
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>(), "each once, in order");
    drop(watcher);
    assert_eq!(daemon.control(&stdin(&session, "two", "meanwhile"))["result"], "ok");
    daemon.receipt(&session, "two");
    let cursor = json!({ "epoch": subscribed["epoch"], "seq": numbers.last().unwrap() });
    let mut again = daemon.connect();
    again.ask("subscribe", &json!({ "session_id": session.id, "after": cursor }));
    let lines = until(&mut again, "two");
    assert_eq!(
        (&lines[0]["kind"], &lines[0]["seq"]),
        (&json!("event"), &json!(numbers.last().unwrap() + 1)),
        "nothing was missed"
    );
    // A cursor of an earlier daemon restarts with a reset.
    let mut lost = daemon.connect();
    lost.ask("subscribe", &json!({ "session_id": session.id, "after": { "epoch": "another", "seq": 3 } }));
    let line = lost.line();
    assert_eq!(line["kind"], "reset", "{line}");
    assert!(line["state"]["messages"].is_array());
}
