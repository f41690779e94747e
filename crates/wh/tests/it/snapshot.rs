//! `/control/state` against the contract's `CLIStateSnapshot`, written as a JSON Schema in `data/`.

use serde_json::{Value, json};
use wh_testkit::wh::Wh;

use crate::WH;

const SCHEMA: &str = include_str!("data/cli-state-snapshot.schema.json");

/// Lists violations of the contract's schema with their positions.
pub fn faults(state: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    validator.iter_errors(state).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Panics with all violations of the state.
#[track_caller]
pub fn assert_valid(state: &Value) {
    let faults = faults(state);
    assert!(faults.is_empty(), "{}\n--- in\n{state:#}", faults.join("\n"));
}

/// Returns a state with every kind of field set.
fn full() -> Value {
    let time = "2025-01-06T10:00:00.123Z";
    json!({
        "messages": [
            {"id": "m1", "kind": "chat", "from": "human", "to": ["agent"], "payload": {"text": "hello"}, "sent": false, "receivedAt": time},
            {"id": "m2", "kind": "chat", "from": null, "to": null, "payload": null, "sent": true, "receivedAt": "2025-01-06T10:00:00Z"},
        ],
        "participants": ["human", "agent"],
        "chatTargets": {"effective": ["agent"], "override": null, "participantDefault": ["agent"], "globalDefault": []},
        "ui": {
            "reasoning": {"active": true, "participant": "agent", "elapsedMs": 3200, "tokens": 128, "preview": "thinking..."},
            "pendingOperation": {"id": "q1", "kind": "permission", "requestedBy": "agent", "createdAt": time},
            "signalBoard": {
                "expanded": true, "override": "open", "ackCount": 1, "statusCount": 1,
                "pauseState": {"participant": "agent", "reason": null},
            },
            "verboseMode": false, "showStreams": true, "terminalWidth": 120,
        },
        "streams": {
            "active": [{"streamId": "s1", "openedBy": "agent", "openedAt": time, "lastActivityAt": time}],
            "recentFrames": [{"streamId": "s1", "payload": {"value": "hel"}, "timestamp": time}],
        },
        "acknowledgements": {
            "pending": [{"id": "a1", "from": "agent", "to": "human", "requestedAt": time, "status": "pending"}],
            "myPending": ["a1"],
        },
        "participantStatuses": {"agent": {"status": "thinking", "summary": null, "lastUpdated": time}},
        "toolCatalog": {"agent": [{"name": "read", "displayName": "Read", "description": null, "inputSchema": {"path": "string"}}]},
        "pauseState": {"active": true, "requestedBy": "human", "expiresAt": null, "reason": "lunch"},
        "session": {"anything": "of ours"},
    })
}

/// Collects every object with its JSON pointer. Payloads and input schemas are skipped.
fn objects(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(pointer.to_owned());
            for (name, field) in
                fields.iter().filter(|(name, _)| !["payload", "inputSchema", "session"].contains(&name.as_str()))
            {
                objects(field, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_state_of_a_terminal_program_matches_the_contract() {
    let wh = Wh::start(WH, &["--", "sh", "-c", "printf ready; exec cat"]);
    wh.wait(r#"screen_contains "ready""#);
    let state = wh.get("/control/state").json();
    assert_valid(&state);
    assert!(state["session"].is_object() && state["terminal"].is_object(), "{state:#}");
}

#[test]
fn the_schema_accepts_what_the_contract_allows() {
    assert_valid(&full());
}

#[test]
fn the_schema_reports_every_removed_field() {
    let mut found = Vec::new();
    objects(&full(), "", &mut found);
    let mut taken = 0;
    for pointer in found.iter().filter(|pointer| !["/participantStatuses", "/toolCatalog"].contains(&pointer.as_str()))
    {
        let names: Vec<String> = full().pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        for name in names.iter().filter(|name| *name != "session") {
            let mut state = full();
            state.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(name);
            assert!(!faults(&state).is_empty(), "{pointer}/{name} is not missed");
            taken += 1;
        }
    }
    assert!(taken > 70, "{taken}");
}

#[test]
fn the_schema_refuses_additional_fields_except_at_the_top_level() {
    let mut found = Vec::new();
    objects(&full(), "", &mut found);
    for pointer in found {
        let mut state = full();
        state.pointer_mut(&pointer).unwrap()["added"] = json!(7);
        assert_eq!(faults(&state).is_empty(), pointer.is_empty(), "{pointer}");
    }
}

#[test]
fn the_schema_refuses_wrong_values() {
    for (pointer, wrong) in [
        ("/messages/0/receivedAt", json!("2025-01-06 10:00:00")),
        ("/messages/0/receivedAt", json!("2025-13-06T10:00:00Z")),
        ("/messages/0/receivedAt", json!("2025-01-06T10:00:00+01:00")),
        ("/messages/0/receivedAt", json!(1_736_157_600)),
        ("/messages/0/to", json!("agent")),
        ("/messages/0/sent", json!(null)),
        ("/participants", json!({})),
        ("/chatTargets/effective", json!([null])),
        ("/ui/reasoning/elapsedMs", json!(null)),
        ("/ui/reasoning/tokens", json!("128")),
        ("/ui/pendingOperation", json!(false)),
        ("/ui/signalBoard/override", json!("closed")),
        ("/ui/signalBoard/ackCount", json!(-1)),
        ("/ui/terminalWidth", json!("120")),
        ("/acknowledgements/pending/0/status", json!("open")),
        ("/participantStatuses/agent/lastUpdated", json!("just now")),
        ("/toolCatalog/agent", json!({})),
        ("/pauseState/active", json!(null)),
    ] {
        let mut state = full();
        *state.pointer_mut(pointer).unwrap() = wrong.clone();
        assert!(!faults(&state).is_empty(), "{pointer} may be {wrong}");
    }
}
