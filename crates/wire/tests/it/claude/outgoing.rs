//! Encoded lines, byte for byte as specified.

use serde_json::{Map, Value, json};
use wh_wire::claude::{
    Answer, ClientRequest, ElicitationAction, ElicitationResult, HookMatcher, HookOutput, Initialize, InputBlock,
    McpReply, Outgoing, PermissionMode, PermissionResult, PermissionUpdate, Priority, UserContent, UserDialogResult,
    UserInput, request_id,
};

/// Encodes a line and checks that it decodes to the same value.
fn line(outgoing: &Outgoing) -> Value {
    let line = outgoing.encode().unwrap();
    assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line:?}");
    assert_eq!(serde_json::from_str::<Outgoing>(&line).unwrap(), *outgoing);
    serde_json::from_str(&line).unwrap()
}

fn request(request: ClientRequest) -> Value {
    let mut line = line(&Outgoing::request("r", request));
    assert_eq!((&line["type"], &line["request_id"]), (&json!("control_request"), &json!("r")));
    line["request"].take()
}

fn answer(answer: impl Into<Answer>) -> Value {
    let mut line = line(&Outgoing::success("r", answer));
    assert_eq!(line["type"], "control_response");
    assert_eq!((&line["response"]["subtype"], &line["response"]["request_id"]), (&json!("success"), &json!("r")));
    line["response"]["response"].take()
}

#[test]
fn request_ids_count_and_have_a_random_part() {
    assert_eq!(request_id(1, 0xa1b2_c3d4), "req_1_a1b2c3d4");
    assert_eq!(request_id(u64::MAX, 7), "req_18446744073709551615_00000007");
}

#[test]
fn requests_are_encoded_as_specified() {
    assert_eq!(request(ClientRequest::Initialize(Box::default())), json!({"subtype": "initialize"}));
    let matcher = HookMatcher { hook_callback_ids: vec!["h".to_owned()], timeout: Some(30), ..HookMatcher::default() };
    let initialize = Initialize {
        hooks: Some([("PreToolUse".to_owned(), vec![matcher])].into()),
        sdk_mcp_servers: Some(vec!["tools".to_owned()]),
        agents: Some(Map::from_iter([("helper".to_owned(), json!({"description": "d", "prompt": "p"}))])),
        append_system_prompt: Some("Be brief.".to_owned()),
        supported_dialog_kinds: Some(Vec::new()),
        ..Initialize::default()
    };
    assert_eq!(
        request(ClientRequest::Initialize(Box::new(initialize))),
        json!({"subtype": "initialize", "hooks": {"PreToolUse": [{"hookCallbackIds": ["h"], "timeout": 30}]},
            "sdkMcpServers": ["tools"], "agents": {"helper": {"description": "d", "prompt": "p"}},
            "appendSystemPrompt": "Be brief.", "supportedDialogKinds": []})
    );
    assert_eq!(
        request(ClientRequest::Interrupt { cancel_queued: Some(true) }),
        json!({"subtype": "interrupt", "cancel_queued": true})
    );
    assert_eq!(request(ClientRequest::SetModel { model: None }), json!({"subtype": "set_model", "model": null}));
    assert_eq!(
        request(ClientRequest::SetModel { model: Some("opus".to_owned()) }),
        json!({"subtype": "set_model", "model": "opus"})
    );
    assert_eq!(
        request(ClientRequest::SetPermissionMode { mode: PermissionMode::AcceptEdits }),
        json!({"subtype": "set_permission_mode", "mode": "acceptEdits"})
    );
    assert_eq!(
        request(ClientRequest::RewindFiles { user_message_id: "u".to_owned(), dry_run: None }),
        json!({"subtype": "rewind_files", "user_message_id": "u"})
    );
    assert_eq!(request(ClientRequest::McpStatus {}), json!({"subtype": "mcp_status"}));
    assert_eq!(
        request(ClientRequest::McpReconnect { server_name: "s".to_owned() }),
        json!({"subtype": "mcp_reconnect", "serverName": "s"})
    );
    assert_eq!(
        request(ClientRequest::McpToggle { server_name: "s".to_owned(), enabled: false }),
        json!({"subtype": "mcp_toggle", "serverName": "s", "enabled": false})
    );
    assert_eq!(
        request(ClientRequest::McpSetServers { servers: Map::new() }),
        json!({"subtype": "mcp_set_servers", "servers": {}})
    );
    assert_eq!(
        request(ClientRequest::McpMessage { server_name: "s".to_owned(), message: json!({"jsonrpc": "2.0"}) }),
        json!({"subtype": "mcp_message", "server_name": "s", "message": {"jsonrpc": "2.0"}})
    );
    assert_eq!(request(ClientRequest::GetContextUsage { detail: None }), json!({"subtype": "get_context_usage"}));
    assert_eq!(
        request(ClientRequest::StopTask { task_id: "t".to_owned() }),
        json!({"subtype": "stop_task", "task_id": "t"})
    );
    assert_eq!(request(ClientRequest::ListModels {}), json!({"subtype": "list_models"}));
    assert_eq!(
        request(ClientRequest::CancelAsyncMessage { message_uuid: "u".to_owned() }),
        json!({"subtype": "cancel_async_message", "message_uuid": "u"})
    );
}

#[test]
fn any_other_request_can_be_made() {
    let fields = Map::from_iter([("title".to_owned(), json!("t")), ("subtype".to_owned(), json!("not this"))]);
    assert_eq!(
        request(ClientRequest::other("rename_session", fields)),
        json!({"subtype": "rename_session", "title": "t"})
    );
}

#[test]
fn unknown_fields_of_a_request_are_preserved() {
    let line = json!({"type": "control_request", "request_id": "r",
        "request": {"subtype": "interrupt", "cancel_queued": true, "gently": true}});
    let outgoing: Outgoing = serde_json::from_value(line.clone()).unwrap();
    assert_eq!(serde_json::to_value(outgoing).unwrap(), line);
}

#[test]
fn answers_are_encoded_as_specified() {
    let input = json!({"command": "ls"});
    assert_eq!(answer(PermissionResult::allow(input.clone())), json!({"behavior": "allow", "updatedInput": input}));
    let suggestion = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow",
        "destination": "localSettings"});
    let update: PermissionUpdate = serde_json::from_value(suggestion.clone()).unwrap();
    assert!(matches!(update, PermissionUpdate::AddRules { .. }));
    assert_eq!(
        answer(PermissionResult::Allow {
            updated_input: Some(input.clone()),
            updated_permissions: Some(vec![update]),
            tool_use_id: Some("t".to_owned()),
            decision_classification: Some("user_permanent".to_owned())
        }),
        json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": [suggestion], "toolUseID": "t",
            "decisionClassification": "user_permanent"})
    );
    assert_eq!(answer(PermissionResult::deny("no")), json!({"behavior": "deny", "message": "no"}));
    assert_eq!(
        answer(PermissionResult::Deny {
            message: "no".to_owned(),
            interrupt: Some(true),
            tool_use_id: None,
            decision_classification: None
        }),
        json!({"behavior": "deny", "message": "no", "interrupt": true})
    );
    assert_eq!(answer(HookOutput::default()), json!({}));
    let specific = json!({"hookEventName": "PreToolUse", "permissionDecision": "deny"});
    assert_eq!(
        answer(HookOutput {
            proceed: Some(true),
            hook_specific_output: Some(specific.clone()),
            ..HookOutput::default()
        }),
        json!({"continue": true, "hookSpecificOutput": specific})
    );
    let content = Some(Map::from_iter([("name".to_owned(), json!("x"))]));
    assert_eq!(
        answer(ElicitationResult { action: ElicitationAction::Accept, content }),
        json!({"action": "accept", "content": {"name": "x"}})
    );
    assert_eq!(
        answer(ElicitationResult { action: ElicitationAction::Decline, content: None }),
        json!({"action": "decline"})
    );
    assert_eq!(
        answer(McpReply { mcp_response: json!({"jsonrpc": "2.0", "result": {}}) }),
        json!({"mcp_response": {"jsonrpc": "2.0", "result": {}}})
    );
    assert_eq!(answer(UserDialogResult::Completed { result: json!(1) }), json!({"behavior": "completed", "result": 1}));
    assert_eq!(answer(UserDialogResult::Cancelled {}), json!({"behavior": "cancelled"}));
    assert_eq!(answer(json!({"any": "thing"})), json!({"any": "thing"}));
}

#[test]
fn errors_cancellations_and_keep_alives_are_encoded_as_specified() {
    assert_eq!(
        line(&Outgoing::error("req_1_a1b2c3d4", "Error message")),
        json!({"type": "control_response",
            "response": {"subtype": "error", "request_id": "req_1_a1b2c3d4", "error": "Error message"}})
    );
    assert_eq!(line(&Outgoing::unsupported("r", "ui_copy"))["response"]["error_code"], "unsupported_request");
    assert_eq!(line(&Outgoing::cancel("r")), json!({"type": "control_cancel_request", "request_id": "r"}));
    assert_eq!(line(&Outgoing::KeepAlive {}), json!({"type": "keep_alive"}));
}

#[test]
fn messages_are_encoded_as_specified() {
    assert_eq!(
        line(&Outgoing::text("hi", "u")),
        json!({"type": "user", "message": {"role": "user", "content": "hi"}, "parent_tool_use_id": null,
            "session_id": "", "uuid": "u"})
    );
    let source = json!({"type": "base64", "media_type": "image/png", "data": "AA=="});
    let document = json!({"type": "document", "source": {"type": "text"}});
    let input = UserInput::from(UserContent::Blocks(vec![
        InputBlock::Text { text: "look".to_owned() },
        InputBlock::Image { source: source.clone() },
        InputBlock::Other(document.clone()),
    ]));
    assert_eq!(
        line(&Outgoing::User(Box::new(UserInput { priority: Some(Priority::Now), ..input }))),
        json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "text", "text": "look"}, {"type": "image", "source": source}, document]},
            "parent_tool_use_id": null, "session_id": "", "priority": "now"})
    );
}

#[test]
fn no_character_of_a_message_can_end_its_line() {
    let text = "a\nb\r\nc\u{2028}d\u{2029}e\u{85}f\0";
    let encoded = Outgoing::text(text, "u").encode().unwrap();
    assert!(!encoded.trim_end().contains(['\n', '\r', '\u{2028}', '\u{2029}']));
    assert_eq!(serde_json::from_str::<Value>(&encoded).unwrap()["message"]["content"], text);
}
