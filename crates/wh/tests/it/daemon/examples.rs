//! The protocol's examples unchanged, both of its message shapes, cases that another receiver answered wrongly, and all
//! acknowledgement results.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wh_testkit::{eventually, tools};

use super::{Session, TestDaemon, acp_agent, message, moment, stdin, with};

/// Fields of every acknowledgement.
const REQUIRED: [&str; 9] =
    ["type", "v", "request_id", "team", "session_id", "agent_id", "acked_at", "result", "duplicate"];

/// Checks that all fields of sections 3.2 and 3.4 are present and no others.
#[track_caller]
fn complete(ack: &Value, kind: &str, message: &Value) {
    for field in REQUIRED {
        assert!(!ack[field].is_null(), "{field} in {ack}");
    }
    let optional = ["detail", "error"];
    let known = |name: &String| REQUIRED.contains(&name.as_str()) || optional.contains(&name.as_str());
    assert!(ack.as_object().unwrap().keys().all(known), "{ack}");
    assert_eq!((&ack["type"], &ack["v"]), (&json!(format!("control.{kind}.ack")), &json!(1)));
    for field in ["request_id", "team", "session_id", "agent_id"] {
        assert_eq!(ack[field], message[field], "{field}");
    }
    let acked_at: jiff::Timestamp = ack["acked_at"].as_str().unwrap().parse().unwrap();
    let ago = jiff::Timestamp::now().duration_since(acked_at);
    assert!(ago.as_secs().abs() < 60, "{ack}");
}

/// Returns a message of the specification with this session and the current time.
fn adapted(text: &str, session: &Session) -> Value {
    let mut example: Value = serde_json::from_str(text).unwrap();
    example["session_id"] = json!(session.id);
    example["agent_id"] = json!(session.agent_id);
    example["sent_at"] = json!(moment(0));
    example
}

#[test]
fn the_examples_of_the_protocol_are_accepted_as_written() {
    let daemon = TestDaemon::new();
    let credential = daemon.member("atm-dev", "arch-ctm");
    let session =
        daemon.create(json!({ "agent": "demo", "team": "atm-dev", "arguments": ["--pace", "0", "--seed", "7"] }));
    daemon.state(&session, "idle");
    let mut talk = daemon.connect();

    let inline = adapted(include_str!("../data/spec-4-8.1.json"), &session);
    let ack = talk.control(&inline, &credential);
    complete(&ack, "stdin", &inline);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    let example: Value = serde_json::from_str(include_str!("../data/spec-4-8.2.json")).unwrap();
    let names = |ack: &Value| ack.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ack), names(&example), "an acknowledgement has the fields of the example");
    assert_eq!(daemon.receipt(&session, inline["request_id"].as_str().unwrap())["stage"], "finished");
    assert!(daemon.chats(&session).contains(&("arch-ctm".to_owned(), "single payload text".to_owned())));

    // A long turn for the interrupt.
    let slow = daemon.create(json!({ "agent": "demo", "team": "atm-dev", "arguments": ["--pace", "200"] }));
    daemon.state(&slow, "idle");
    let begin = with(stdin(&slow, "begin", "/demo slow"), json!({ "sender": "arch-ctm" }));
    assert_eq!(talk.control(&begin, &credential)["result"], "ok");
    daemon.state(&slow, "working");
    let interrupt = adapted(include_str!("../data/spec-4-8.3.json"), &slow);
    let ack = talk.control(&interrupt, &credential);
    complete(&ack, "interrupt", &interrupt);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    daemon.state(&slow, "idle");
    assert_eq!(daemon.receipt(&slow, "begin")["reason"], "cancelled");

    let mut oversize = adapted(include_str!("../data/spec-4-8.4.json"), &session);
    let text = format!("the long text {}", "x".repeat(143_201 - 14));
    let folder = daemon.contents().join("atm-dev/input");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("req_01HZY8S9Q6P4W8F2M1K7R3D5N9.txt");
    fs::write(&path, &text).unwrap();
    oversize["content_ref"]["path"] = json!(path);
    oversize["content_ref"]["sha256"] = json!(hex(text.as_bytes()));
    let ack = talk.control(&oversize, &credential);
    complete(&ack, "stdin", &oversize);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    eventually("the text is there", || daemon.chats(&session).iter().any(|(_, said)| *said == text).then_some(()));
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn both_message_shapes_are_accepted_alone_and_combined() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let shapes = [
        ("type", json!({ "type": "control.stdin.request", "content": "by type" })),
        ("action", json!({ "action": "stdin", "payload": "by action" })),
        ("both", json!({ "type": "control.stdin.request", "action": "stdin", "content": "by both" })),
        ("action, content", json!({ "action": "stdin", "content": "by action and content" })),
    ];
    let mut told = Vec::new();
    for (name, fields) in shapes {
        let id = format!("shape-{name}").replace(", ", "-");
        let payload = with(message(&session, &id), fields.clone());
        let ack = daemon.control(&payload);
        complete(&ack, "stdin", &payload);
        assert_eq!(ack["result"], "ok", "{name}: {ack}");
        assert_eq!(daemon.receipt(&session, &id)["stage"], "finished", "{name}");
        told.push(fields["content"].as_str().or(fields["payload"].as_str()).unwrap().to_owned());
    }
    let said: Vec<String> =
        daemon.chats(&session).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text).collect();
    assert_eq!(said, told, "each was said once");

    let ask = with(message(&session, "asks"), json!({ "action": "stdin", "payload": "/demo ask" }));
    assert_eq!(daemon.control(&ask)["result"], "ok");
    let question = daemon.question(&session);
    let answer = with(
        message(&session, "answers"),
        json!({ "type": "control.elicitation.response", "action": "elicitation_response", "elicitation_id": question["id"], "decision": "approve" }),
    );
    let ack = daemon.control(&answer);
    complete(&ack, "answer", &answer);
    assert_eq!(ack["result"], "ok", "{ack}");
    assert_eq!(daemon.receipt(&session, "asks")["stage"], "finished");

    let contradiction =
        with(stdin(&session, "contradicts", "x"), json!({ "action": "interrupt", "signal": "interrupt" }));
    let ack = daemon.control(&contradiction);
    assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("contradiction")), "{ack}");
}

/// Request of a fixture case, and the expected result or refusal code.
struct Case {
    line: Value,
    result: Result<(&'static str, bool), &'static str>,
}

/// Cases in the order of the fixture, with the responses that the protocol requires.
fn cases(session: &Session, token: &str) -> Vec<(&'static str, Case)> {
    let wrap = |payload: Value| json!({ "version": 1, "request_id": "sock-1", "command": "control", "token": token, "payload": payload });
    let acked = |payload: Value, result: &'static str| Case { line: wrap(payload), result: Ok((result, false)) };
    let both = |id: &str, text: &str| with(stdin(session, id, text), json!({ "action": "stdin" }));
    let unknown = |id: &str| with(both(id, "hello"), json!({ "session_id": "nobody", "agent_id": "codex:nobody" }));
    let at = |seconds: i64, id: &str| with(both(id, "hello"), json!({ "sent_at": moment(seconds) }));
    let interrupt = || {
        let fields = json!({ "type": "control.interrupt.request", "action": "interrupt", "signal": "interrupt" });
        with(message(session, "intA"), fields)
    };
    let refused = |line: Value, code: &'static str| Case { line, result: Err(code) };
    let command = |command: &str, payload: Value| json!({ "version": 1, "request_id": "sock-1", "command": command, "payload": payload });
    vec![
        ("unknown-session", acked(unknown("dupA"), "not_found")),
        // It was never delivered, so it is not a duplicate.
        ("unknown-session same request_id again", acked(unknown("dupA"), "not_found")),
        ("seed 8.1 shape: type only, no action", acked(stdin(session, "typed", "one"), "ok")),
        (
            "C.3 shape: action + payload key, no type",
            acked(with(message(session, "acted"), json!({ "action": "stdin", "payload": "two" })), "ok"),
        ),
        (
            "C.3 shape + type, payload key",
            acked(with(both("paid", ""), json!({ "content": null, "payload": "three" })), "ok"),
        ),
        ("empty session_id (what atm-tui sends)", acked(with(both("e", "x"), json!({ "session_id": "" })), "rejected")),
        ("v=2", acked(with(both("v2", "x"), json!({ "v": 2 })), "rejected")),
        ("bad sent_at", acked(with(both("bad", "x"), json!({ "sent_at": "yesterday" })), "rejected")),
        // A message may be ten minutes old and five minutes ahead. At 301 s only the future one is refused.
        ("sent_at -301s", acked(at(-301, "late"), "ok")),
        ("sent_at +301s", acked(at(305, "early"), "rejected")),
        ("sent_at -290s", acked(at(-290, "old"), "ok")),
        // No turn is running: the interrupt is refused and can be sent again.
        ("interrupt", acked(interrupt(), "rejected")),
        ("interrupt retry same id", acked(interrupt(), "rejected")),
        ("empty content", acked(both("empty", ""), "rejected")),
        ("inline 1MiB+1", acked(both("large", &"x".repeat((1 << 20) + 1)), "rejected")),
        ("no content/ref", acked(with(both("none", ""), json!({ "content": null })), "rejected")),
        ("version=2", refused(with(command("control", json!({})), json!({ "version": 2 })), "VERSION_MISMATCH")),
        ("unknown cmd", refused(command("nope", json!({})), "UNKNOWN_COMMAND")),
        ("malformed", refused(Value::Null, "INVALID_REQUEST")),
        ("list-agents", refused(command("list-agents", json!({})), "UNKNOWN_COMMAND")),
        ("agent-state", refused(command("agent-state", json!({ "agent": "x" })), "UNKNOWN_COMMAND")),
        ("session-query", refused(command("session", json!({ "session_id": "x" })), "SESSION_NOT_FOUND")),
    ]
}

#[test]
fn cases_that_another_receiver_answers_wrongly_are_answered_correctly() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let token = daemon.credential("default", "local");
    let recorded: Vec<(&str, Value)> = include_str!("../data/control-0.14.0.txt")
        .lines()
        .map(|line| line.split_once(" => ").expect("a case and its answer"))
        .map(|(name, answer)| (name, serde_json::from_str(answer).unwrap()))
        .collect();
    let cases = cases(&session, &token);
    let names: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, recorded.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "every case that was recorded");
    let mut talk = daemon.connect();
    for ((name, case), (_, theirs)) in cases.iter().zip(&recorded) {
        let line = if case.line.is_null() { "{oops}\n".to_owned() } else { format!("{}\n", case.line) };
        talk.write(line.as_bytes());
        let answer = talk.line();
        match case.result {
            Ok((result, duplicate)) => {
                assert_eq!(answer["status"], "ok", "{name}: {answer}");
                let ack = &answer["payload"];
                assert_eq!((&ack["result"], &ack["duplicate"]), (&json!(result), &json!(duplicate)), "{name}: {ack}");
                let kind = if name.starts_with("interrupt") { "interrupt" } else { "stdin" };
                assert_eq!(ack["type"], format!("control.{kind}.ack"), "{name}");
                assert_eq!(ack["request_id"], case.line["payload"]["request_id"], "{name}");
                if result == "rejected" {
                    assert!(ack["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{name}: {ack}");
                }
                if result == "ok" {
                    let id = ack["request_id"].as_str().unwrap();
                    assert_eq!(daemon.receipt(&session, id)["stage"], "finished", "{name}");
                }
            }
            Err(code) => assert_eq!(answer["error"]["code"], code, "{name}: {answer}"),
        }
        if answer["status"] == "error" {
            // The envelope matches the recorded one, even for unreadable requests.
            assert_eq!(answer["version"], theirs["version"], "{name}");
            assert_eq!(answer["request_id"], theirs["request_id"], "{name}");
        }
    }
    let told: Vec<String> =
        daemon.chats(&session).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text).collect();
    assert_eq!(told, ["one", "two", "three", "hello", "hello"], "what was ok was said, and nothing else");
}

/// Starts a daemon with an agent that stops reading once it has a session.
fn daemon_with_a_stalled_agent() -> TestDaemon {
    let mut daemon = TestDaemon::empty([]);
    daemon.add_agent("deaf", &acp_agent("case $1 in --version) echo \"deaf 1\"; exit;; esac", "exec sleep 600"));
    daemon.start();
    daemon
}

#[test]
fn each_of_the_seven_results_occurs() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut daemon = daemon_with_a_stalled_agent();
    let mut results: BTreeMap<String, Value> = BTreeMap::new();
    let mut note = |ack: Value| {
        results.entry(ack["result"].as_str().unwrap().to_owned()).or_insert(ack.clone());
        ack
    };
    let idle = daemon.demo("idle", 0);
    note(daemon.control(&stdin(&idle, "r-ok", "hello")));
    note(daemon.control(&with(message(&idle, "r-none"), json!({ "action": "interrupt" }))));
    note(daemon.control(&with(stdin(&idle, "r-unknown", "x"), json!({ "session_id": "nobody" }))));

    let busy = daemon.demo("busy", 200);
    daemon.control(&stdin(&busy, "r-slow", "/demo slow"));
    daemon.state(&busy, "working");
    // Messages during a turn are queued until the queue is full.
    let ack = (0..).map(|number| daemon.control(&stdin(&busy, &format!("r-queued-{number}"), "later")));
    let ack = note(ack.take(64).find(|ack| ack["result"] != "ok").unwrap());
    assert_eq!((&ack["result"], &ack["error"]), (&json!("busy"), &json!("busy")), "{ack}");

    let ended = daemon.create(json!({ "command": ["true"], "name": "ended" }));
    daemon.state(&ended, "ended");
    note(daemon.control(&stdin(&ended, "r-ended", "too late")));

    // More than a pipe holds, so the message is not delivered yet.
    let deaf = daemon.create(json!({ "agent": "deaf", "name": "deaf" }));
    daemon.state(&deaf, "idle");
    let long = stdin(&deaf, "r-deaf", &"x".repeat(512 << 10));
    let ack = note(daemon.control(&long));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("under_way")), "{ack}");
    let ack = daemon.control(&long);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("busy"), &json!(true)), "the first is under way: {ack}");
    daemon.kill();
    daemon.start();
    let ack = note(daemon.control(&long));
    assert_eq!((&ack["error"], &ack["duplicate"]), (&json!("cut_off"), &json!(true)), "{ack}");

    let seen: Vec<&str> = results.keys().map(String::as_str).collect();
    assert_eq!(seen, ["busy", "internal_error", "not_found", "not_live", "ok", "rejected", "timeout"]);
    for (result, ack) in &results {
        for field in REQUIRED {
            assert!(!ack[field].is_null(), "{field} in the {result}: {ack}");
        }
        assert!(ack["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{ack}");
        assert_eq!(ack["error"].is_null(), result == "ok", "{ack}");
    }
}

#[test]
fn a_retry_gets_the_first_result_even_after_the_session_has_ended() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let first = stdin(&session, "once", "hello");
    assert_eq!(daemon.control(&first)["result"], "ok");
    daemon.receipt(&session, "once");
    let again = with(first.clone(), json!({ "meta": { "retry_count": 1 } }));
    for _ in 0..2 {
        let ack = daemon.control(&again);
        assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    }
    let other = daemon.control(&with(first.clone(), json!({ "content": "something else" })));
    assert_eq!((&other["result"], &other["error"]), (&json!("rejected"), &json!("request_id_reused")), "{other}");
    let said = daemon.chats(&session).iter().filter(|(from, _)| from == "local").count();
    assert_eq!(said, 1, "it was said once");
    daemon.ok(&["kill", "a"]);
    let ack = daemon.control(&again);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    for action in ["control_request", "control_ack", "control_retry", "control_duplicate"] {
        eventually(action, || daemon.audit("once").iter().any(|record| record["action"] == action).then_some(()));
    }
}
