//! Frames that are not in the captures: those typed by the agent's SDK, and unknown ones.

use serde_json::{Value, json};
use wh_wire::claude::{
    ClaudeMessage, ContentBlock, Delta, Incoming, IncomingRequestKind, Json, PermissionDestination, PermissionMode,
    PermissionUpdate, StreamEvent, SystemMessage, decode,
};

use super::{read, unknown};

fn message(frame: Value) -> ClaudeMessage {
    match read(frame) {
        Incoming::Message(message) => message,
        other => panic!("no message: {other:?}"),
    }
}

fn system(frame: Value) -> SystemMessage {
    match message(frame) {
        ClaudeMessage::System(system) => system,
        other => panic!("no system frame: {other:?}"),
    }
}

fn blocks(blocks: Value) -> Vec<ContentBlock> {
    match message(json!({"type": "assistant", "message": {"id": "m", "content": blocks}})) {
        ClaudeMessage::Assistant(message) => message.message.content,
        other => panic!("no assistant: {other:?}"),
    }
}

#[test]
fn classify_control_requests_control_responses_and_messages() {
    let ask = read(json!({"type": "control_request", "request_id": "c1",
        "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}}));
    assert!(matches!(ask, Incoming::Ask(ask) if ask.request_id == "c1"));
    let reply = read(json!({"type": "control_response",
        "response": {"subtype": "success", "request_id": "req_1_a1b2c3d4", "response": {"a": 1}}}));
    assert!(matches!(reply, Incoming::Reply(reply) if reply.outcome == Ok(json!({"a": 1}))));
    let refused = read(json!({"type": "control_response",
        "response": {"subtype": "error", "request_id": "req_1_a1b2c3d4", "error": "Error message"}}));
    assert!(
        matches!(refused, Incoming::Reply(reply) if reply.outcome.as_ref().unwrap_err().message == "Error message")
    );
    assert_eq!(read(json!({"type": "keep_alive"})), Incoming::KeepAlive);
    assert!(matches!(
        read(json!({"type": "user", "message": {"role": "user", "content": "hi"}})),
        Incoming::Message(_)
    ));
}

#[test]
fn the_type_may_stand_anywhere() {
    let first =
        decode(br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hi"}]},"uuid":"u"}"#);
    let last =
        decode(br#"{"uuid":"u","message":{"content":[{"text":"hi","type":"text"}],"id":"m"},"type":"assistant"}"#);
    assert_eq!(first, last);
    let first = decode(br#"{"type":"system","subtype":"status","status":"compacting"}"#);
    for other in [
        br#"{"status":"compacting","subtype":"status","type":"system"}"#.as_slice(),
        br#"{"subtype":"status","status":"compacting","type":"system"}"#,
        b"  {\"subtype\":\"status\",\"type\":\"system\",\"status\":\"compacting\"}\r\n",
        br#"{"t\u0079pe":"system","subtype":"st\u0061tus","status":"compacting"}"#,
    ] {
        assert_eq!(decode(other), first);
    }
    let delta = |text: &str| decode(text.as_bytes()).unwrap();
    assert_eq!(
        delta(
            r#"{"event":{"delta":{"text":"a","type":"text_delta"},"index":3,"type":"content_block_delta"},"type":"stream_event"}"#
        ),
        delta(
            r#"{"type":"stream_event","event":{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"a"}}}"#
        )
    );
}

#[test]
fn the_first_of_two_types_is_used() {
    assert_eq!(decode(br#"{"type":"keep_alive","type":"user"}"#).unwrap(), Incoming::KeepAlive);
    let twice = unknown(decode(br#"{"type":"one","subtype":"a","type":"two","subtype":"b"}"#).unwrap());
    assert_eq!((twice.kind.as_deref(), twice.subtype.as_deref()), (Some("one"), Some("a")));
}

#[test]
fn a_field_given_twice_makes_the_frame_unknown_and_not_lost() {
    let line = r#"{"type":"control_cancel_request","request_id":"a","request_id":"b"}"#;
    assert_eq!(unknown(decode(line.as_bytes()).unwrap()).raw.text(), line);
}

#[test]
fn unknown_types_and_subtypes_are_preserved() {
    let line = r#"{"a" : [1, 2.50], "type":"from_the_future","x":{"y":null}}"#;
    let kept = unknown(decode(line.as_bytes()).unwrap());
    assert_eq!((kept.kind.as_deref(), kept.subtype, kept.raw.text()), (Some("from_the_future"), None, line));
    let kept = unknown(read(json!({"type": "system", "subtype": "hook_started", "hook_id": "h"})));
    assert_eq!((kept.kind.as_deref(), kept.subtype.as_deref()), (Some("system"), Some("hook_started")));
    for nameless in [json!({}), json!({"type": null}), json!({"type": 5}), json!({"type": {"a": 1}, "b": 1})] {
        let kept = unknown(read(nameless.clone()));
        assert_eq!((kept.kind, kept.raw.value()), (None, Some(nameless)));
    }
}

#[test]
fn known_types_of_unexpected_shape_are_preserved() {
    for frame in [
        json!({"type": "assistant", "message": 5}),
        json!({"type": "assistant"}),
        json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": 5}]}}),
        json!({"type": "user", "message": {"content": 7}}),
        json!({"type": "result"}),
        json!({"type": "result", "subtype": "success", "result": ["not", "words"]}),
        json!({"type": "system"}),
        json!({"type": "system", "subtype": "session_state_changed", "state": "dreaming"}),
        json!({"type": "control_request", "request": {}}),
        json!({"type": "control_response", "response": {"subtype": "maybe", "request_id": "r"}}),
        json!({"type": "control_response", "response": "r"}),
        json!({"type": "control_cancel_request"}),
        json!({"type": "stream_event", "event": []}),
        json!({"type": "command_lifecycle", "command_uuid": "u", "state": "lost"}),
    ] {
        let kept = unknown(read(frame.clone()));
        assert_eq!(kept.kind.as_deref(), frame["type"].as_str());
        assert_eq!(kept.raw.value(), Some(frame));
    }
}

#[test]
fn unexpected_values_do_not_lose_the_frame() {
    let ClaudeMessage::Result(result) = message(json!({"type": "result", "subtype": "success", "result": "ok",
        "usage": {"input_tokens": "many"}, "modelUsage": [], "num_turns": 1.5, "duration_ms": 1.5,
        "permission_denials": null, "total_cost_usd": null}))
    else {
        panic!("no result")
    };
    assert_eq!((result.result.as_deref(), result.usage, result.num_turns), (Some("ok"), None, 0));
    assert!((result.duration_ms - 1.5).abs() < f64::EPSILON);
}

#[test]
fn a_malformed_request_can_still_be_answered() {
    let ask = |frame| match read(frame) {
        Incoming::Ask(ask) => (ask.request_id, ask.kind),
        other => panic!("no question: {other:?}"),
    };
    let request = json!({"subtype": "ui_copy", "text": "x"});
    assert_eq!(
        ask(json!({"type": "control_request", "request_id": "q", "request": request})),
        (
            "q".to_owned(),
            IncomingRequestKind::Unknown { subtype: Some("ui_copy".to_owned()), raw: Json::from(request) }
        )
    );
    let (_, kind) = ask(json!({"type": "control_request", "request_id": "q",
        "request": {"subtype": "can_use_tool", "tool_name": 5}}));
    assert!(matches!(kind, IncomingRequestKind::Unknown { subtype: Some(subtype), .. } if subtype == "can_use_tool"));
    for odd in [json!(null), json!([1]), json!({}), json!("can_use_tool")] {
        let (_, kind) = ask(json!({"type": "control_request", "request_id": "q", "request": odd}));
        assert!(matches!(kind, IncomingRequestKind::Unknown { subtype: None, .. }));
    }
    let (_, kind) = ask(json!({"type": "control_request", "request_id": "q"}));
    assert!(matches!(kind, IncomingRequestKind::Unknown { subtype: None, .. }));
}

#[test]
fn every_kind_of_question_is_read() {
    let kind = |request| match read(json!({"type": "control_request", "request_id": "q", "request": request})) {
        Incoming::Ask(ask) => ask.kind,
        other => panic!("no question: {other:?}"),
    };
    let IncomingRequestKind::CanUseTool(tool) = kind(
        json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm"},
        "decision_reason": "\u{1b}[1mrisky", "decision_reason_type": "safetyCheck", "suppress_always_allow_rule": true,
        "default_to_no": true, "title": "Run rm?", "agent_id": "a1", "permission_suggestions": [
            {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session", "new": 1},
            {"type": "setMode", "mode": "reckless", "destination": "session"}, {"type": "somethingNew"}]}),
    ) else {
        panic!("no tool")
    };
    assert!(tool.suppress_always_allow_rule && tool.default_to_no);
    assert_eq!((tool.title.as_deref(), tool.agent_id.as_deref()), (Some("Run rm?"), Some("a1")));
    let [unlike, mode, new] = &tool.permission_suggestions[..] else { panic!("not three") };
    assert!(matches!((unlike, new), (PermissionUpdate::Other(_), PermissionUpdate::Other(_))));
    let reckless = PermissionMode::Other("reckless".to_owned());
    assert_eq!(*mode, PermissionUpdate::SetMode { mode: reckless, destination: PermissionDestination::Session });
    assert_eq!(serde_json::to_value(unlike).unwrap()["new"], 1, "a suggestion is sent back as it came");

    let hook = kind(json!({"subtype": "hook_callback", "callback_id": "hook_0", "input": {"hook_event_name": "Stop"}}));
    assert!(
        matches!(hook, IncomingRequestKind::HookCallback(it) if it.callback_id == "hook_0" && it.tool_use_id.is_none())
    );
    let mcp =
        kind(json!({"subtype": "mcp_message", "server_name": "s", "message": {"jsonrpc": "2.0", "method": "ping"}}));
    assert!(matches!(mcp, IncomingRequestKind::McpMessage(it) if it.message["method"] == "ping"));
    let form = kind(json!({"subtype": "elicitation", "mcp_server_name": "s", "message": "Name?", "mode": "form",
        "requested_schema": {"type": "object"}}));
    assert!(
        matches!(form, IncomingRequestKind::Elicitation(it) if it.message == "Name?" && it.requested_schema.is_some())
    );
    let dialog = kind(json!({"subtype": "request_user_dialog", "dialog_kind": "trust", "payload": {"a": 1}}));
    assert!(matches!(dialog, IncomingRequestKind::UserDialog(it) if it.dialog_kind == "trust"));
}

#[test]
fn every_kind_of_block_is_read() {
    let read = blocks(json!([
        {"type": "text", "text": "hi", "citations": null},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_result", "tool_use_id": "t", "content": "out"},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "out"}], "is_error": true},
        {"type": "tool_result", "tool_use_id": "t"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}},
        {"id": "s", "type": "server_tool_use", "name": "web_search", "input": {}}
    ]));
    assert_eq!(
        read[..3],
        [ContentBlock::Text("hi".to_owned()), ContentBlock::Thinking("hm".to_owned()), ContentBlock::RedactedThinking]
    );
    assert!(matches!(&read[3], ContentBlock::ToolUse(it) if it.name == "Bash" && it.input["command"] == "ls"));
    let results: Vec<_> =
        read[4..7].iter().map(|it| if let ContentBlock::ToolResult(it) = it { it } else { panic!() }).collect();
    assert_eq!(results[0].content, results[1].content, "a string is one block of text");
    assert_eq!((results[0].is_error, results[1].is_error, results[2].content.len()), (false, true, 0));
    assert!(matches!(&read[7], ContentBlock::Image(source) if source["media_type"] == "image/png"));
    assert!(matches!(&read[8], ContentBlock::Unknown { kind, raw }
        if kind == "server_tool_use" && raw.value().unwrap() == json!({"id": "s", "type": "server_tool_use", "name": "web_search", "input": {}})));
}

#[test]
fn every_event_of_a_growing_message_is_read() {
    let event = |event| match message(json!({"type": "stream_event", "event": event, "parent_tool_use_id": "t"})) {
        ClaudeMessage::Stream(stream) => {
            assert_eq!(stream.parent_tool_use_id.as_deref(), Some("t"));
            stream.event
        }
        other => panic!("no event: {other:?}"),
    };
    let delta = |delta| match event(json!({"type": "content_block_delta", "index": 1, "delta": delta})) {
        StreamEvent::BlockDelta { index: 1, delta } => delta,
        other => panic!("no delta: {other:?}"),
    };
    assert_eq!(delta(json!({"type": "text_delta", "text": "a"})), Delta::Text("a".to_owned()));
    assert_eq!(delta(json!({"type": "thinking_delta", "thinking": "a"})), Delta::Thinking("a".to_owned()));
    assert_eq!(delta(json!({"type": "input_json_delta", "partial_json": "{"})), Delta::InputJson("{".to_owned()));
    assert_eq!(delta(json!({"type": "signature_delta", "signature": "a"})), Delta::Signature("a".to_owned()));
    assert!(
        matches!(delta(json!({"type": "citations_delta", "citation": {}})), Delta::Unknown { kind, .. } if kind == "citations_delta")
    );
    assert!(matches!(
        event(json!({"type": "message_start", "message": {"id": "m", "content": []}})),
        StreamEvent::MessageStart(_)
    ));
    assert_eq!(event(json!({"type": "content_block_stop", "index": 2})), StreamEvent::BlockStop { index: 2 });
    assert_eq!(event(json!({"type": "message_stop"})), StreamEvent::MessageStop);
    assert!(
        matches!(event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}})),
        StreamEvent::MessageDelta { stop_reason: Some(reason), usage: Some(usage) } if reason == "end_turn" && usage.output_tokens == 3)
    );
    assert!(matches!(event(json!({"type": "ping"})), StreamEvent::Unknown { kind, .. } if kind == "ping"));
}

#[test]
fn every_used_system_frame_is_decoded() {
    let frame = |subtype: &str, mut fields: Value| {
        fields["type"] = json!("system");
        fields["subtype"] = json!(subtype);
        system(fields)
    };
    assert!(matches!(frame("compact_boundary", json!({"compact_metadata": {"trigger": "auto", "pre_tokens": 9}})),
        SystemMessage::CompactBoundary(it) if it.compact_metadata.pre_tokens == Some(9)));
    assert!(
        matches!(frame("api_retry", json!({"attempt": 2, "max_retries": 10, "retry_delay_ms": 1.5, "error_status": null, "error": "overloaded"})),
        SystemMessage::ApiRetry(it) if it.attempt == 2 && it.error_status.is_none())
    );
    assert!(
        matches!(frame("task_started", json!({"task_id": "t", "description": "look", "task_type": "local_agent"})),
        SystemMessage::TaskStarted(it) if it.description == "look")
    );
    assert!(
        matches!(frame("task_progress", json!({"task_id": "t", "usage": {"total_tokens": 5, "tool_uses": 1, "duration_ms": 2}})),
        SystemMessage::TaskProgress(it) if it.usage.as_ref().unwrap().total_tokens == 5)
    );
    assert!(matches!(frame("task_updated", json!({"task_id": "t", "patch": {"status": "killed"}})),
        SystemMessage::TaskUpdated(it) if it.patch.status.as_deref() == Some("killed")));
    assert!(
        matches!(frame("task_updated", json!({"task_id": "t"})), SystemMessage::TaskUpdated(it) if it.task_id == "t")
    );
    assert!(
        matches!(frame("task_notification", json!({"task_id": "t", "status": "completed", "output_file": "/o", "summary": "done"})),
        SystemMessage::TaskNotification(it) if it.summary == "done")
    );
    assert!(
        matches!(frame("background_tasks_changed", json!({"tasks": [{"task_id": "t", "task_type": "local_bash", "description": "d"}]})),
        SystemMessage::BackgroundTasksChanged(tasks) if tasks.len() == 1)
    );
    assert!(matches!(frame("thinking_tokens", json!({"estimated_tokens": 7, "estimated_tokens_delta": 2})),
        SystemMessage::ThinkingTokens(it) if it.estimated_tokens == 7));
    assert!(matches!(frame("permission_denied", json!({"tool_name": "Bash", "tool_use_id": "t", "message": "no"})),
        SystemMessage::PermissionDenied(it) if it.message == "no"));
    assert!(matches!(frame("notification", json!({"key": "k", "text": "look", "priority": "high"})),
        SystemMessage::Notification(it) if it.text == "look"));
    assert!(matches!(frame("informational", json!({"content": "c", "level": "warning"})),
        SystemMessage::Informational(it) if it.level.as_deref() == Some("warning")));
    assert!(matches!(frame("local_command_output", json!({"content": "$0.1"})),
        SystemMessage::LocalCommandOutput(it) if it.content == "$0.1"));
    assert!(
        matches!(frame("commands_changed", json!({"commands": [{"name": "x", "description": "", "argumentHint": "<file>"}]})),
        SystemMessage::CommandsChanged(it) if it[0].argument_hint == "<file>")
    );
    assert!(
        matches!(frame("model_refusal_fallback", json!({"original_model": "a", "fallback_model": "b", "direction": "retry",
            "trigger": "refusal", "request_id": null, "retracted_message_uuids": ["u1", "u2"], "content": "switched"})),
        SystemMessage::RefusalFallback(it) if it.retracted_message_uuids == ["u1", "u2"])
    );
    assert!(matches!(frame("model_refusal_no_fallback", json!({"original_model": "a", "content": "refused"})),
        SystemMessage::RefusalNoFallback(it) if it.content == "refused"));
    assert!(matches!(frame("elicitation_complete", json!({"mcp_server_name": "s", "elicitation_id": "e"})),
        SystemMessage::ElicitationComplete(it) if it.elicitation_id == "e"));
}

#[test]
fn every_other_used_message_is_decoded() {
    assert!(
        matches!(message(json!({"type": "tool_progress", "tool_use_id": "t", "tool_name": "Bash", "parent_tool_use_id": null, "elapsed_time_seconds": 2.5})),
        ClaudeMessage::ToolProgress(it) if it.elapsed_time_seconds > 2.0)
    );
    assert!(
        matches!(message(json!({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "utilization": 0.9, "resetsAt": 1, "rateLimitType": "five_hour"}})),
        ClaudeMessage::RateLimit(it) if it.rate_limit_info.rate_limit_type.as_deref() == Some("five_hour"))
    );
    assert!(matches!(message(json!({"type": "auth_status", "isAuthenticating": true, "output": ["go to"]})),
        ClaudeMessage::AuthStatus(it) if it.is_authenticating));
    assert!(matches!(message(json!({"type": "conversation_reset", "new_conversation_id": "n"})),
        ClaudeMessage::ConversationReset(it) if it.new_conversation_id == "n"));
    assert!(matches!(message(json!({"type": "prompt_suggestion", "suggestion": "run the tests"})),
        ClaudeMessage::PromptSuggestion(it) if it.suggestion == "run the tests"));
    assert!(matches!(message(json!({"type": "tool_use_summary", "summary": "read", "preceding_tool_use_ids": ["t"]})),
        ClaudeMessage::ToolUseSummary(it) if it.preceding_tool_use_ids == ["t"]));
    assert!(
        matches!(message(json!({"type": "assistant", "message": {"id": "m", "content": []}, "supersedes": ["u"], "aborted": true, "error": "rate_limit"})),
        ClaudeMessage::Assistant(it) if it.supersedes == ["u"] && it.aborted && it.error.as_deref() == Some("rate_limit"))
    );
}
