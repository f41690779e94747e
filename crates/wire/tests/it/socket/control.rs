use serde_json::{Value, json};
use wh_wire::socket::{
    AnswerDecision, ContentRef, ControlAck, ControlAction, ControlAnswer, ControlContent, ControlKey, ControlKind,
    ControlMeta, ControlProblem, ControlReason, ControlRequest, ControlResult, ControlStdin, SocketCommand,
    SocketRequest,
};

/// Builds a message from the required fields and `more`. A null removes a field.
fn message(more: Value) -> Value {
    let mut message = json!({
        "v": 1,
        "request_id": "req_01",
        "session_id": "s1",
        "agent_id": "codex:s1",
        "team": "atm-dev",
        "sender": "arch-ctm",
        "sent_at": "2026-02-20T21:15:00Z",
    });
    for (field, value) in more.as_object().unwrap() {
        message[field] = value.clone();
    }
    message.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    message
}

fn key() -> ControlKey {
    ControlKey {
        team: "atm-dev".to_owned(),
        session_id: "s1".to_owned(),
        agent_id: "codex:s1".to_owned(),
        request_id: "req_01".to_owned(),
    }
}

fn action(more: Value) -> ControlAction {
    ControlRequest::decode(&message(more)).unwrap().action
}

fn problem(more: Value) -> ControlProblem {
    *ControlRequest::decode(&message(more)).unwrap_err()
}

fn typed(text: &str) -> ControlAction {
    ControlAction::Stdin(ControlStdin {
        content: ControlContent::Inline(text.to_owned()),
        interrupt: false,
        preview: None,
    })
}

#[test]
fn the_inline_example_of_the_protocol_is_read() {
    let payload = json!({
        "type": "control.stdin.request", "v": 1, "request_id": "req_01HZY8QJ8R7G6K2YJ7V2M9A1P3",
        "session_id": "claude-session-uuid", "agent_id": "codex:abc123", "team": "atm-dev", "sender": "arch-ctm",
        "sent_at": "2026-02-20T21:15:00Z", "content": "single payload text", "content_encoding": "utf-8",
        "interrupt": false, "meta": {"ui_source": "tui", "retry_count": 0}
    });
    let request = ControlRequest::decode(&payload).unwrap();
    assert_eq!(request.action, typed("single payload text"));
    assert_eq!(request.key.agent_id, "codex:abc123");
    assert_eq!((request.sender.as_str(), request.sent_at.as_str()), ("arch-ctm", "2026-02-20T21:15:00Z"));
    let meta = ControlMeta { retry_count: Some(0), ui_source: Some("tui".to_owned()), ..ControlMeta::default() };
    assert_eq!(request.meta, meta);
}

#[test]
fn the_same_text_is_read_from_either_shape_and_from_both() {
    for more in [
        json!({"type": "control.stdin.request", "content": "a\nb"}),
        json!({"action": "stdin", "payload": "a\nb"}),
        json!({"action": "stdin", "content": "a\nb"}),
        json!({"type": "control.stdin.request", "action": "stdin", "content": "a\nb"}),
        json!({"type": "control.stdin.request", "action": "stdin", "payload": "a\nb"}),
        json!({"type": "control.stdin.request", "action": "stdin", "payload": "a\nb", "content": "a\nb"}),
    ] {
        assert_eq!(action(more.clone()), typed("a\nb"), "{more}");
    }
}

#[test]
fn an_interrupt_is_read_from_either_shape() {
    for more in [
        json!({"type": "control.interrupt.request", "signal": "interrupt"}),
        json!({"action": "interrupt"}),
        json!({"type": "control.interrupt.request", "action": "interrupt", "signal": "interrupt"}),
    ] {
        assert_eq!(action(more.clone()), ControlAction::Interrupt, "{more}");
    }
    assert_eq!(problem(json!({"type": "control.interrupt.request"})).reason, ControlReason::Missing("signal"));
    let other = json!({"type": "control.interrupt.request", "signal": "kill"});
    assert_eq!(problem(other).reason, ControlReason::Signal("kill".to_owned()));
}

#[test]
fn an_interrupt_with_text_is_rejected() {
    for (field, value) in [("content", json!("hi")), ("payload", json!("hi")), ("content_ref", json!({}))] {
        let problem = problem(json!({"action": "interrupt", field: value}));
        assert_eq!(problem.reason, ControlReason::InterruptWithText(field));
    }
}

#[test]
fn a_reference_is_read_in_place_of_a_text() {
    let reference = json!({"path": "/b/t/input/r.txt", "size_bytes": 143_201, "sha256": "e3b0", "mime": "text/plain; charset=utf-8"});
    let read = action(json!({
        "type": "control.stdin.request", "content_ref": reference, "content_preview": "first", "interrupt": true
    }));
    let reference = ContentRef {
        path: "/b/t/input/r.txt".to_owned(),
        size_bytes: 143_201,
        sha256: "e3b0".to_owned(),
        mime: "text/plain; charset=utf-8".to_owned(),
        expires_at: None,
    };
    let content = ControlContent::Reference(reference);
    assert_eq!(
        read,
        ControlAction::Stdin(ControlStdin { content, interrupt: true, preview: Some("first".to_owned()) })
    );
    for wrong in [
        json!("/path"),
        json!(["/p", 1, "e3b0", "text/plain"]),
        json!({"path": "/p"}),
        json!({"path": "/p", "size_bytes": -1, "sha256": "", "mime": ""}),
    ] {
        let reason = problem(json!({"action": "stdin", "content_ref": wrong})).reason;
        assert!(matches!(reason, ControlReason::WrongType { field: "content_ref", .. }), "{reason}");
    }
}

#[test]
fn an_answer_is_decoded_in_both_forms() {
    let answer = |option: Option<&str>, decision, text: Option<&str>| {
        ControlAction::Answer(ControlAnswer {
            question_id: "q7".to_owned(),
            option: option.map(str::to_owned),
            decision,
            text: text.map(str::to_owned),
        })
    };
    let ours = json!({"type": "control.answer.request", "question_id": "q7", "option": "allow", "text": "go"});
    assert_eq!(action(ours), answer(Some("allow"), None, Some("go")));
    assert_eq!(
        action(json!({"action": "answer", "question_id": "q7", "payload": "words"})),
        answer(None, None, Some("words"))
    );
    for more in [
        json!({"type": "control.elicitation.response", "action": "elicitation_response", "elicitation_id": "q7", "decision": "approve"}),
        json!({"action": "elicitation_response", "elicitation_id": "q7", "decision": "approve"}),
        json!({"type": "control.elicitation.response", "elicitation_id": "q7", "decision": "approve"}),
    ] {
        assert_eq!(action(more.clone()), answer(None, Some(AnswerDecision::Approve), None), "{more}");
    }
    let both = json!({"action": "answer", "question_id": "q7", "option": "a", "decision": "reject"});
    assert_eq!(problem(both).reason, ControlReason::Contradiction { one: "option", other: "decision" });
    assert_eq!(problem(json!({"action": "answer", "question_id": "q7"})).reason, ControlReason::EmptyAnswer);
    assert_eq!(problem(json!({"action": "answer", "option": "a"})).reason, ControlReason::Missing("question_id"));
}

#[test]
fn the_answer_command_needs_no_type_and_allows_no_other() {
    let read = |more| match SocketCommand::read(&SocketRequest::new("r", "answer", message(more))).unwrap() {
        SocketCommand::Control(decoded) => decoded,
        other => panic!("{other:?}"),
    };
    let decoded = read(json!({"question_id": "q7", "option": "a"})).unwrap();
    assert_eq!(decoded.action.kind(), ControlKind::Answer);
    let reason = read(json!({"action": "stdin", "content": "x"})).unwrap_err().reason;
    assert_eq!(reason, ControlReason::Contradiction { one: "command", other: "action" });
    let reason = read(json!({"type": "control.stdin.request", "content": "x"})).unwrap_err().reason;
    assert_eq!(reason, ControlReason::Contradiction { one: "command", other: "type" });
}

#[test]
fn contradictions_are_rejected_and_named() {
    let two = |one, other| ControlReason::Contradiction { one, other };
    let both = json!({"type": "control.stdin.request", "action": "interrupt", "content": "x"});
    assert_eq!(problem(both).reason, two("type", "action"));
    assert_eq!(problem(json!({"action": "stdin", "content": "x", "payload": "y"})).reason, two("content", "payload"));
    let reference = json!({"path": "/p", "size_bytes": 1, "sha256": "", "mime": ""});
    assert_eq!(
        problem(json!({"action": "stdin", "content": "x", "content_ref": reference})).reason,
        two("content", "content_ref")
    );
}

#[test]
fn every_missing_field_is_named() {
    for field in ["v", "request_id", "session_id", "agent_id", "team", "sender", "sent_at"] {
        let gone = problem(json!({"action": "stdin", "content": "x", field: null}));
        assert_eq!(gone.reason, ControlReason::Missing(field));
        if field != "v" {
            assert_eq!(
                problem(json!({"action": "stdin", "content": "x", field: ""})).reason,
                ControlReason::Missing(field)
            );
        }
    }
    let reason = problem(json!({"action": "stdin"})).reason;
    assert_eq!(reason, ControlReason::Missing("content (or content_ref)"));
}

#[test]
fn the_version_is_checked_before_the_fields() {
    let problem = problem(json!({"action": "stdin", "v": 2, "team": null}));
    assert_eq!(problem.reason.to_string(), "unsupported control schema version 2; expected 1");
    assert_eq!(problem.result(), ControlResult::Rejected);
}

#[test]
fn only_utf_8_is_accepted() {
    assert_eq!(action(json!({"action": "stdin", "content": "x", "content_encoding": "UTF-8"})), typed("x"));
    let problem = problem(json!({"action": "stdin", "content": "eA==", "content_encoding": "base64"}));
    assert_eq!(problem.reason, ControlReason::Encoding("base64".to_owned()));
}

#[test]
fn a_message_without_a_kind_results_in_a_failure_without_acknowledgement() {
    for payload in [json!([]), json!("x"), message(json!({"content": "x"})), message(json!({"type": "mail"}))] {
        let problem = ControlRequest::decode(&payload).unwrap_err();
        assert_eq!(problem.ack("now"), None, "{payload}");
        assert!(!problem.failure().message.is_empty());
    }
}

#[test]
fn a_problem_is_acknowledged_with_the_decoded_fields() {
    let ack = problem(json!({"action": "stdin", "content": "x", "team": null})).ack("2026-02-20T21:15:01Z").unwrap();
    assert_eq!(
        serde_json::to_value(&ack).unwrap(),
        json!({
            "type": "control.stdin.ack", "v": 1, "request_id": "req_01", "team": "", "session_id": "s1",
            "agent_id": "codex:s1", "acked_at": "2026-02-20T21:15:01Z", "result": "rejected", "duplicate": false,
            "detail": "the required field team is missing or empty", "error": "missing_field"
        })
    );
}

#[test]
fn an_acknowledgement_has_every_field_of_the_protocol_and_every_result() {
    let names = ["ok", "not_live", "not_found", "busy", "timeout", "rejected", "internal_error"];
    for (result, name) in ControlResult::ALL.into_iter().zip(names) {
        for kind in ControlKind::ALL {
            let ack = ControlAck::new(kind, &key(), "2026-02-20T21:15:00Z", result).with_detail("why").as_duplicate();
            let body = serde_json::to_value(&ack).unwrap();
            assert_eq!(
                body,
                json!({
                    "type": format!("control.{}.ack", kind.as_str()), "v": 1, "request_id": "req_01",
                    "team": "atm-dev", "session_id": "s1", "agent_id": "codex:s1",
                    "acked_at": "2026-02-20T21:15:00Z", "result": name, "duplicate": true, "detail": "why"
                })
            );
            assert_eq!(serde_json::from_value::<ControlAck>(body).unwrap(), ack);
        }
        assert_eq!(ControlResult::of(name), Some(result));
    }
}

#[test]
fn the_bare_acknowledgement_of_another_daemon_is_read() {
    let line = r#"{"request_id":"dupA","result":"not_found","duplicate":false,"detail":"target session is not live","acked_at":"2026-11-15T19:30:40Z"}"#;
    let ack: ControlAck = serde_json::from_str(line).unwrap();
    assert_eq!((ack.result, ack.request_id.as_str(), ack.kind.as_str()), (ControlResult::NotFound, "dupA", ""));
}

#[test]
fn unexpected_meta_fields_are_preserved_without_effect() {
    let meta = json!({"retry_count": "three", "ui_source": "tui", "retry_of": "req_00", "shade": [1]});
    let request = ControlRequest::decode(&message(json!({"action": "stdin", "content": "x", "meta": meta}))).unwrap();
    assert_eq!((request.meta.retry_count, request.meta.retry_of.as_deref()), (None, Some("req_00")));
    assert_eq!(json!(request.meta.rest), json!({"retry_count": "three", "shade": [1]}));
    let reason = problem(json!({"action": "stdin", "content": "x", "meta": 3})).reason;
    assert!(matches!(reason, ControlReason::WrongType { field: "meta", .. }));
}
