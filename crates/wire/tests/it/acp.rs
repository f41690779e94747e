//! The Agent Client Protocol with captured messages of real agents.

use proptest::prelude::*;
use serde_json::{Value, json};
use wh_wire::acp::{
    ContentBlock, InitializeReply, PermissionKind, PermissionRequest, PromptReply, SessionReply, SessionUpdate,
    SessionUpdateKind, StopReason, ToolContent, ToolKind, ToolStatus, TurnTokenUsage, read,
};

/// Returns the parsed lines of all captures; true for lines of the agent.
fn captured() -> Vec<(bool, Value)> {
    [
        include_str!("wires/gemini-acp-1.wire"),
        include_str!("wires/gemini-acp-2.wire"),
        include_str!("wires/codex-acp-1.wire"),
    ]
    .into_iter()
    .flat_map(str::lines)
    .map(|line| match line.split_at(3) {
        ("<- ", frame) => (true, serde_json::from_str(frame).unwrap()),
        ("-> ", frame) => (false, serde_json::from_str(frame).unwrap()),
        _ => panic!("no direction: {line}"),
    })
    .collect()
}

/// Returns the replies of the agents to a method.
fn replies(method: &str) -> Vec<Value> {
    let mut asked = Vec::new();
    let mut replies = Vec::new();
    for (theirs, message) in captured() {
        if !theirs && message["method"].is_string() {
            asked.push((message["id"].clone(), message["method"].clone()));
        } else if theirs && message["method"].is_null() {
            let place = asked.iter().rposition(|(id, _)| *id == message["id"]).unwrap();
            if asked[place].1 == method && message["error"].is_null() {
                replies.push(message["result"].clone());
            }
        }
    }
    replies
}

fn params(method: &str) -> Vec<Value> {
    let said = captured().into_iter().filter(|(theirs, message)| *theirs && message["method"] == method);
    said.map(|(_, message)| message["params"].clone()).collect()
}

#[test]
fn every_update_that_was_captured_is_known() {
    let updates = params("session/update");
    assert!(updates.len() > 60);
    for params in updates {
        let update: SessionUpdate = read(params.clone());
        assert!(update.session_id.is_some());
        assert!(!format!("{update:?}").contains("Unknown"), "{params}\n{update:?}");
        assert!(!format!("{update:?}").contains("Other("), "{params}\n{update:?}");
    }
}

#[test]
fn every_line_of_an_agent_is_among_those_that_are_read() {
    let known = ["initialize", "session/new", "session/prompt", "session/set_mode", "session/set_model"];
    let replies: usize = known.iter().map(|method| replies(method).len()).sum();
    let read = params("session/update").len() + params("session/request_permission").len() + replies;
    let theirs: Vec<Value> = captured().into_iter().filter(|(theirs, _)| *theirs).map(|(_, message)| message).collect();
    let refusals = theirs.iter().filter(|message| message["error"]["code"].is_i64()).count();
    assert_eq!((theirs.len(), refusals), (read + refusals, 2), "a line that no test here reads");
}

#[test]
fn initialize_reports_the_capabilities() {
    let hellos: Vec<InitializeReply> = replies("initialize").into_iter().map(read).collect();
    assert_eq!(hellos.len(), 3);
    for hello in &hellos {
        assert_eq!(hello.protocol_version, Some(1));
        assert!(hello.agent_capabilities.load_session);
        assert!(hello.auth_methods.len() >= 3);
    }
    assert_eq!(hellos[0].agent_info.as_ref().unwrap().version.as_deref(), Some("0.61.0"));
    assert!(!hellos[0].agent_capabilities.session("resume"));
    assert!(hellos[2].agent_capabilities.session("resume"));
}

#[test]
fn a_session_lists_its_options() {
    let sessions: Vec<SessionReply> = replies("session/new").into_iter().map(read).collect();
    assert_eq!(sessions.len(), 3);
    for session in &sessions {
        assert!(session.session_id.is_some());
        assert!(session.modes.as_ref().unwrap().available_modes.len() >= 3);
    }
    assert_eq!(sessions[0].models.as_ref().unwrap().current_model_id.as_deref(), Some("auto"));
    let option = sessions[2].option("mode").unwrap();
    assert_eq!(option.choices()[1].value, "auto");
    assert!(!sessions[2].option("model").unwrap().choices().is_empty());
}

#[test]
fn grouped_values_are_flattened() {
    let option = json!({"configOptions": [{"id": "m", "category": "model", "options": [
        {"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}, {"value": "b"}, {"value": 3}]},
        {"value": "c"},
    ]}]});
    let reply: SessionReply = read(option);
    let values: Vec<String> = reply.option("model").unwrap().choices().into_iter().map(|one| one.value).collect();
    assert_eq!(values, ["a", "b", "c"]);
}

#[test]
fn a_permission_has_the_call_and_its_options() {
    let asked: Vec<PermissionRequest> = params("session/request_permission").into_iter().map(read).collect();
    let [asked] = &asked[..] else { panic!("one permission") };
    assert_eq!(asked.tool_call.kind, Some(ToolKind::Edit));
    assert_eq!(asked.tool_call.status, Some(ToolStatus::Pending));
    let content = asked.tool_call.content.as_ref().unwrap();
    assert!(matches!(&content[..], [ToolContent::Diff { new, .. }] if new == "hello"));
    let kinds: Vec<&PermissionKind> = asked.options.iter().map(|option| &option.kind).collect();
    assert_eq!(kinds, [&PermissionKind::AllowAlways, &PermissionKind::AllowOnce, &PermissionKind::RejectOnce]);
}

#[test]
fn a_turn_reports_its_stop_reason_and_usage() {
    let ends: Vec<PromptReply> = replies("session/prompt").into_iter().map(read).collect();
    assert_eq!(ends.len(), 7);
    assert_eq!(ends[0].stop_reason, StopReason::EndTurn);
    assert_eq!(ends[0].tokens(), Some(TurnTokenUsage { input: 22, output: 10 }));
    assert_eq!(ends.last().unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(ends.last().unwrap().tokens(), None);
    let other: PromptReply = read(json!({"stopReason": "tired", "usage": {"inputTokens": 3, "outputTokens": "x"}}));
    assert_eq!(other.stop_reason, StopReason::Other("tired".to_owned()));
    assert_eq!(other.tokens(), Some(TurnTokenUsage { input: 3, output: 0 }));
}

#[test]
fn content_without_text_has_a_placeholder() {
    let words = |block: Value| ContentBlock::from(block).display_text();
    assert_eq!(words(json!({"type": "image", "data": "…"})), "[image]");
    assert_eq!(words(json!({"type": "audio"})), "[audio]");
    assert_eq!(words(json!({"type": "resource_link", "uri": "file:///a", "name": "a"})), "[a: file:///a]");
    assert_eq!(words(json!({"type": "resource_link", "uri": "file:///a"})), "[file:///a]");
    assert_eq!(words(json!({"type": "resource", "resource": {"uri": "file:///a", "text": "all"}})), "all");
    assert_eq!(words(json!({"type": "resource", "resource": {"uri": "file:///a"}})), "[file:///a]");
    assert_eq!(words(json!({"type": "hologram"})), "[hologram]");
    assert_eq!(words(json!({"type": "resource"})), "[resource]", "one without an address is nothing that is known");
    assert_eq!(ContentBlock::default().display_text(), "");
}

#[test]
fn unknown_values_are_preserved() {
    let raw = json!({"sessionUpdate": "dance", "steps": [1, 2]});
    let update: SessionUpdate = read(json!({"sessionId": 7, "update": raw}));
    assert_eq!(
        update,
        SessionUpdate { session_id: None, update: SessionUpdateKind::Unknown { kind: "dance".to_owned(), raw } }
    );
    let update: SessionUpdate = read(json!({"update": {"sessionUpdate": "tool_call", "toolCallId": "a", "kind": "dig",
        "status": 3, "content": [{"type": "hole", "deep": true}, 5], "locations": "here"}}));
    let SessionUpdateKind::ToolCall(call) = update.update else { panic!("a call") };
    assert_eq!(call.kind, Some(ToolKind::Other("dig".to_owned())));
    assert_eq!((&call.status, &call.locations), (&None, &None));
    assert_eq!(call.content.unwrap()[0], ToolContent::Unknown(json!({"type": "hole", "deep": true})));
    let block: ContentBlock = read(json!({"type": "smell", "of": "roses"}));
    assert_eq!(block.display_text(), "[smell]");
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("sessionUpdate".to_owned()),
        Just("update".to_owned()),
        Just("content".to_owned()),
        Just("toolCall".to_owned()),
        Just("options".to_owned()),
        Just("modes".to_owned()),
        Just("type".to_owned()),
        Just("configOptions".to_owned()),
        Just("status".to_owned()),
        Just("_meta".to_owned()),
        "[a-z]{0,6}",
    ];
    let text = prop_oneof![
        Just("agent_message_chunk".to_owned()),
        Just("tool_call".to_owned()),
        Just("plan".to_owned()),
        Just("usage_update".to_owned()),
        Just("config_option_update".to_owned()),
        Just("diff".to_owned()),
        Just("content".to_owned()),
        ".{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn decoding_never_fails(value in any_json()) {
        let object = value.is_object();
        let _: InitializeReply = read(value.clone());
        let _: PermissionRequest = read(value.clone());
        let _: SessionUpdateKind = value.clone().into();
        let session: SessionReply = read(value.clone());
        let _ = session.config_options.iter().map(|option| option.choices().len()).sum::<usize>();
        let _ = read::<PromptReply>(value.clone()).tokens();
        if object {
            prop_assert!(serde_json::from_value::<SessionUpdate>(value.clone()).is_ok());
            prop_assert!(serde_json::from_value::<PermissionRequest>(value).is_ok());
        }
    }
}
