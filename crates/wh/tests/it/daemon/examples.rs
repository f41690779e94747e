//! The protocol's own examples as they are written, both of its shapes, every case in which another receiver was seen to answer wrongly,
//! and all that an acknowledgement can say.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wh_testkit::{eventually, tools};

use super::{House, Session, acp_agent, message, moment, stdin, with};

/// What an acknowledgement always has.
const REQUIRED: [&str; 9] =
    ["type", "v", "request_id", "team", "session_id", "agent_id", "acked_at", "result", "duplicate"];

/// Everything that 3.2 and 3.4 require, and nothing that they do not know.
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

/// A message of the specification, to this session of ours and as of now.
fn adapted(text: &str, session: &Session) -> Value {
    let mut example: Value = serde_json::from_str(text).unwrap();
    example["session_id"] = json!(session.id);
    example["agent_id"] = json!(session.agent_id);
    example["sent_at"] = json!(moment(0));
    example
}

#[test]
fn the_examples_of_the_protocol_are_accepted_as_written() {
    let house = House::new();
    let credential = house.member("atm-dev", "arch-ctm");
    let session =
        house.create(json!({ "agent": "demo", "team": "atm-dev", "arguments": ["--pace", "0", "--seed", "7"] }));
    house.state(&session, "idle");
    let mut talk = house.talk();

    let inline = adapted(include_str!("../data/spec-4-8.1.json"), &session);
    let ack = talk.control(&inline, &credential);
    complete(&ack, "stdin", &inline);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    let example: Value = serde_json::from_str(include_str!("../data/spec-4-8.2.json")).unwrap();
    let names = |ack: &Value| ack.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ack), names(&example), "an acknowledgement has the fields of the example");
    assert_eq!(house.receipt(&session, inline["request_id"].as_str().unwrap())["stage"], "finished");
    assert!(house.chats(&session).contains(&("arch-ctm".to_owned(), "single payload text".to_owned())));

    // Something that lasts, for the interrupt.
    let slow = house.create(json!({ "agent": "demo", "team": "atm-dev", "arguments": ["--pace", "200"] }));
    house.state(&slow, "idle");
    let begin = with(stdin(&slow, "begin", "/demo slow"), json!({ "sender": "arch-ctm" }));
    assert_eq!(talk.control(&begin, &credential)["result"], "ok");
    house.state(&slow, "working");
    let interrupt = adapted(include_str!("../data/spec-4-8.3.json"), &slow);
    let ack = talk.control(&interrupt, &credential);
    complete(&ack, "interrupt", &interrupt);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    house.state(&slow, "idle");
    assert_eq!(house.receipt(&slow, "begin")["reason"], "cancelled");

    let mut oversize = adapted(include_str!("../data/spec-4-8.4.json"), &session);
    let text = format!("the long text {}", "x".repeat(143_201 - 14));
    let folder = house.contents().join("atm-dev/input");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("req_01HZY8S9Q6P4W8F2M1K7R3D5N9.txt");
    fs::write(&path, &text).unwrap();
    oversize["content_ref"]["path"] = json!(path);
    oversize["content_ref"]["sha256"] = json!(hex(text.as_bytes()));
    let ack = talk.control(&oversize, &credential);
    complete(&ack, "stdin", &oversize);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    eventually("the text is there", || house.chats(&session).iter().any(|(_, said)| *said == text).then_some(()));
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn both_shapes_and_both_at_once_are_one_protocol() {
    let house = House::new();
    let session = house.demo("a", 0);
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
        let ack = house.control(&payload);
        complete(&ack, "stdin", &payload);
        assert_eq!(ack["result"], "ok", "{name}: {ack}");
        assert_eq!(house.receipt(&session, &id)["stage"], "finished", "{name}");
        told.push(fields["content"].as_str().or(fields["payload"].as_str()).unwrap().to_owned());
    }
    let said: Vec<String> =
        house.chats(&session).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text).collect();
    assert_eq!(said, told, "each was said once");

    let ask = with(message(&session, "asks"), json!({ "action": "stdin", "payload": "/demo ask" }));
    assert_eq!(house.control(&ask)["result"], "ok");
    let question = house.question(&session);
    let answer = with(
        message(&session, "answers"),
        json!({ "type": "control.elicitation.response", "action": "elicitation_response", "elicitation_id": question["id"], "decision": "approve" }),
    );
    let ack = house.control(&answer);
    complete(&ack, "answer", &answer);
    assert_eq!(ack["result"], "ok", "{ack}");
    assert_eq!(house.receipt(&session, "asks")["stage"], "finished");

    let contradiction =
        with(stdin(&session, "contradicts", "x"), json!({ "action": "interrupt", "signal": "interrupt" }));
    let ack = house.control(&contradiction);
    assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("contradiction")), "{ack}");
}

/// What is sent in one case of the fixture, and what the right answer is: the result of an acknowledgement, or the code of a refusal.
struct Case {
    line: Value,
    result: Result<(&'static str, bool), &'static str>,
}

/// Every case in the order of the fixture, as the recorded receiver was sent them, with the answer that the protocol asks for.
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
        // It was never delivered: it is no duplicate.
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
        // A message may be ten minutes old and five minutes ahead: at 301 s only the one from the future is refused.
        ("sent_at -301s", acked(at(-301, "late"), "ok")),
        ("sent_at +301s", acked(at(305, "early"), "rejected")),
        ("sent_at -290s", acked(at(-290, "old"), "ok")),
        // Nothing is under way: an interrupt has nothing to interrupt, and may be sent again.
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
fn where_another_receiver_answers_wrongly_this_one_does_not() {
    let house = House::new();
    let session = house.demo("a", 0);
    let token = house.credential("default", "local");
    let recorded: Vec<(&str, Value)> = include_str!("../data/control-0.14.0.txt")
        .lines()
        .map(|line| line.split_once(" => ").expect("a case and its answer"))
        .map(|(name, answer)| (name, serde_json::from_str(answer).unwrap()))
        .collect();
    let cases = cases(&session, &token);
    let names: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, recorded.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "every case that was recorded");
    let mut talk = house.talk();
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
                    assert_eq!(house.receipt(&session, id)["stage"], "finished", "{name}");
                }
            }
            Err(code) => assert_eq!(answer["error"]["code"], code, "{name}: {answer}"),
        }
        if answer["status"] == "error" {
            // The envelope is that of the recorded one, also where it could not be read.
            assert_eq!(answer["version"], theirs["version"], "{name}");
            assert_eq!(answer["request_id"], theirs["request_id"], "{name}");
        }
    }
    let told: Vec<String> =
        house.chats(&session).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text).collect();
    assert_eq!(told, ["one", "two", "three", "hello", "hello"], "what was ok was said, and nothing else");
}

/// A daemon with an agent that reads nothing more once it has a session.
fn with_a_deaf_agent() -> House {
    let mut house = House::empty([]);
    house.add_agent("deaf", &acp_agent("case $1 in --version) echo \"deaf 1\"; exit;; esac", "exec sleep 600"));
    house.start();
    house
}

#[test]
fn all_seven_results_can_be_had() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = with_a_deaf_agent();
    let mut results: BTreeMap<String, Value> = BTreeMap::new();
    let mut note = |ack: Value| {
        results.entry(ack["result"].as_str().unwrap().to_owned()).or_insert(ack.clone());
        ack
    };
    let idle = house.demo("idle", 0);
    note(house.control(&stdin(&idle, "r-ok", "hello")));
    note(house.control(&with(message(&idle, "r-none"), json!({ "action": "interrupt" }))));
    note(house.control(&with(stdin(&idle, "r-unknown", "x"), json!({ "session_id": "nobody" }))));

    let busy = house.demo("busy", 200);
    house.control(&stdin(&busy, "r-slow", "/demo slow"));
    house.state(&busy, "working");
    // What comes while it works is queued, until the queue is full.
    let ack = (0..).map(|number| house.control(&stdin(&busy, &format!("r-queued-{number}"), "later")));
    let ack = note(ack.take(64).find(|ack| ack["result"] != "ok").unwrap());
    assert_eq!((&ack["result"], &ack["error"]), (&json!("busy"), &json!("busy")), "{ack}");

    let ended = house.create(json!({ "command": ["true"], "name": "ended" }));
    house.state(&ended, "ended");
    note(house.control(&stdin(&ended, "r-ended", "too late")));

    // More than a pipe holds: what is on its way cannot be called delivered.
    let deaf = house.create(json!({ "agent": "deaf", "name": "deaf" }));
    house.state(&deaf, "idle");
    let long = stdin(&deaf, "r-deaf", &"x".repeat(512 << 10));
    let ack = note(house.control(&long));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("under_way")), "{ack}");
    let ack = house.control(&long);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("busy"), &json!(true)), "the first is under way: {ack}");
    house.kill();
    house.start();
    let ack = note(house.control(&long));
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
fn a_repetition_is_answered_as_the_first_also_when_the_session_has_ended() {
    let house = House::new();
    let session = house.demo("a", 0);
    let first = stdin(&session, "once", "hello");
    assert_eq!(house.control(&first)["result"], "ok");
    house.receipt(&session, "once");
    let again = with(first.clone(), json!({ "meta": { "retry_count": 1 } }));
    for _ in 0..2 {
        let ack = house.control(&again);
        assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    }
    let other = house.control(&with(first.clone(), json!({ "content": "something else" })));
    assert_eq!((&other["result"], &other["error"]), (&json!("rejected"), &json!("request_id_reused")), "{other}");
    let said = house.chats(&session).iter().filter(|(from, _)| from == "local").count();
    assert_eq!(said, 1, "it was said once");
    house.ok(&["kill", "a"]);
    let ack = house.control(&again);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    for action in ["control_request", "control_ack", "control_retry", "control_duplicate"] {
        eventually(action, || house.audit("once").iter().any(|record| record["action"] == action).then_some(()));
    }
}
