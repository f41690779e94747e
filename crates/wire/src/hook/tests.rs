//! Tests of the codecs of hooks, with payloads recorded from the real agents.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn recorded(agent: HookAgent) -> Vec<(String, Vec<u8>)> {
    let text = match agent {
        HookAgent::Claude => include_str!("fixtures/claude.json"),
        HookAgent::Codex => include_str!("fixtures/codex.json"),
        HookAgent::Gemini => include_str!("fixtures/gemini.json"),
    };
    let payloads: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
    payloads.into_iter().map(|(name, payload)| (name, serde_json::to_vec_pretty(&payload).unwrap())).collect()
}

fn message(agent: HookAgent, name: &str) -> HookMessage {
    let (_, payload) = recorded(agent).into_iter().find(|(found, _)| found == name).unwrap();
    HookMessage::decode(agent, &payload).unwrap()
}

const COMMAND: &str = "touch /home/dev/lab/project/perm1";

#[test]
fn every_recorded_payload_has_a_typed_event_and_passes_a_frame_unchanged() {
    for agent in HookAgent::ALL {
        for (name, payload) in recorded(agent) {
            let message = HookMessage::decode(agent, &payload).unwrap_or_else(|| panic!("{agent} {name}"));
            assert!(!matches!(message.event, HookEvent::Other(_)), "{agent} {name}");
            assert_eq!(message.cwd.as_deref(), Some(Path::new("/home/dev/lab/project")), "{agent} {name}");
            assert_eq!(message.event.is_permission(), is_permission_payload(&payload), "{agent} {name}");
            let line = HookRequest::new(agent, Some(7), &payload).unwrap().encode().unwrap();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "{agent} {name}");
            let request = HookRequest::decode(&line).unwrap();
            assert_eq!((request.agent, request.parent), (agent, Some(7)));
            assert_eq!(HookMessage::decode(agent, request.payload.get().as_bytes()).unwrap(), message);
        }
    }
}

#[test]
fn the_same_event_has_one_type_for_all_agents() {
    let prompt = "[S0001] hello number 0".to_owned();
    for (agent, name, id) in [
        (HookAgent::Claude, "hook:UserPromptSubmit", Some("52a65b85-045a-4daf-a909-4c12fa46e34c")),
        (HookAgent::Codex, "hook:UserPromptSubmit", Some("01a1e474-66d0-7931-971d-c842cbd273a1")),
        (HookAgent::Gemini, "hook:BeforeAgent", None),
    ] {
        let message = message(agent, name);
        let prompt_id = id.map(str::to_owned);
        assert_eq!(message.turn_id, prompt_id);
        assert_eq!(message.event, HookEvent::PromptSubmitted { prompt: prompt.clone(), prompt_id });
    }
    for (agent, name) in
        [(HookAgent::Claude, "hook:Stop"), (HookAgent::Codex, "hook:Stop"), (HookAgent::Gemini, "hook:AfterAgent")]
    {
        let HookEvent::Stopped { last_message: Some(text), .. } = message(agent, name).event else { panic!("{name}") };
        assert!(text.starts_with("echo: [S0001] hello number 0"), "{text}");
    }
}

#[test]
fn permissions_have_tool_input_and_suggestions() {
    let claude = message(HookAgent::Claude, "hook:PermissionRequest");
    assert_eq!(claude.session_id, "65fbb9e8-0f78-4fd5-90ae-49468f0975b1");
    let HookEvent::PermissionRequested { tool, input, suggestions, id: None } = claude.event else { panic!() };
    assert_eq!((tool.as_str(), &input["command"], suggestions.len()), ("Bash", &json!(COMMAND), 2));
    let codex = message(HookAgent::Codex, "hook:PermissionRequest").event;
    let HookEvent::PermissionRequested { tool, input, suggestions, .. } = codex else { panic!() };
    assert_eq!((tool.as_str(), &input["command"], suggestions.len()), ("Bash", &json!(COMMAND), 0));
    let gemini = message(HookAgent::Gemini, "hook:Notification/ToolPermission").event;
    let HookEvent::Notification { kind, details, .. } = gemini else { panic!() };
    assert_eq!((kind.as_str(), &details["command"]), ("ToolPermission", &json!(COMMAND)));
}

#[test]
fn a_notification_of_codex_has_the_texts_of_the_user() {
    let message = message(HookAgent::Codex, "notify:agent-turn-complete");
    assert_eq!(message.session_id, "01a1e474-6472-7390-a9f1-70494441c9aa");
    let input_messages = vec!["[S0001] hello number 0".to_owned()];
    let last_message = Some("echo: [S0001] hello number 0".to_owned());
    assert_eq!(message.event, HookEvent::TurnCompleted { input_messages, last_message });
}

#[test]
fn failures_session_ends_and_compaction_are_decoded() {
    let failed = message(HookAgent::Claude, "hook:StopFailure").event;
    let text = Some("API Error: 400 scripted failure 400".to_owned());
    assert_eq!(failed, HookEvent::StopFailed { error: "unknown".to_owned(), message: text });
    let ended = message(HookAgent::Gemini, "hook:SessionEnd").event;
    assert_eq!(ended, HookEvent::SessionEnded { reason: Some("exit".to_owned()) });
    let compacting = message(HookAgent::Gemini, "hook:PreCompress").event;
    assert_eq!(compacting, HookEvent::Compacting { trigger: Some("auto".to_owned()) });
}

#[test]
fn payloads_without_event_or_session_are_rejected_and_unknown_events_are_named() {
    let decode = |text: &str| HookMessage::decode(HookAgent::Claude, text.as_bytes());
    for text in ["", "[]", "{", "null", r#"{"hook_event_name":"Stop"}"#, r#"{"session_id":"s"}"#] {
        assert_eq!(decode(text), None, "{text}");
    }
    let event = |text: &str| decode(text).unwrap().event;
    assert_eq!(event(r#"{"session_id":"s","hook_event_name":"New"}"#), HookEvent::Other("New".to_owned()));
    let without_prompt = event(r#"{"session_id":"s","hook_event_name":"UserPromptSubmit"}"#);
    assert_eq!(without_prompt, HookEvent::Other("UserPromptSubmit".to_owned()));
    assert!(event(r#"{"session_id":"s","hook_event_name":"PermissionRequest"}"#).is_permission());
}

#[test]
fn half_a_surrogate_pair_does_not_hide_the_message() {
    let payload = br#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"a\ud83d"}"#;
    let request = HookRequest::new(HookAgent::Claude, None, payload).unwrap();
    let line = request.encode().unwrap();
    let payload = HookRequest::decode(&line).unwrap().payload;
    let message = HookMessage::decode(HookAgent::Claude, payload.get().as_bytes()).unwrap();
    let HookEvent::PromptSubmitted { prompt, .. } = message.event else { panic!() };
    assert_eq!(prompt, "a\u{fffd}");
    let permission = br#"{"tool_input":{"command":"\ud83d"},"hook_event_name":"PermissionRequest"}"#;
    assert!(is_permission_payload(permission));
}

fn decision(agent: HookAgent, reply: &HookReply) -> Value {
    let exit = reply.encode(agent, message(agent, "hook:PermissionRequest").event.decision_point());
    assert_eq!((exit.code, exit.stderr.as_str()), (0, ""));
    serde_json::from_str(&exit.stdout).unwrap()
}

#[test]
fn replies_to_permissions_are_what_each_agent_reads() {
    let output = |decision: Value| json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
    let deny = HookReply::Deny { reason: "no".to_owned() };
    for agent in [HookAgent::Claude, HookAgent::Codex] {
        assert_eq!(decision(agent, &HookReply::NoDecision), json!({}));
        assert_eq!(decision(agent, &HookReply::Allow), output(json!({ "behavior": "allow" })));
        assert_eq!(decision(agent, &deny), output(json!({ "behavior": "deny", "message": "no" })));
    }
    let update = json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" });
    let always = HookReply::AllowWith { input: Some(json!({ "a": 1 })), permissions: vec![update.clone()] };
    let changed = json!({ "behavior": "allow", "updatedInput": { "a": 1 }, "updatedPermissions": [update] });
    assert_eq!(decision(HookAgent::Claude, &always), output(changed));
    // Codex denies a request whose reply has updates.
    assert_eq!(decision(HookAgent::Codex, &always), output(json!({ "behavior": "allow" })));
}

#[test]
fn replies_before_a_tool_call_deny_for_all_and_allow_for_claude_only() {
    let output = |agent, name: &str, reply: &HookReply| {
        let exit = reply.encode(agent, message(agent, name).event.decision_point());
        serde_json::from_str::<Value>(&exit.stdout).unwrap()
    };
    let deny = HookReply::Deny { reason: "no".to_owned() };
    let claude = output(HookAgent::Claude, "hook:PreToolUse", &deny);
    assert_eq!(claude["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(output(HookAgent::Codex, "hook:PreToolUse", &deny), claude);
    assert_eq!(output(HookAgent::Gemini, "hook:BeforeTool", &deny), json!({ "decision": "deny", "reason": "no" }));
    let allowed = output(HookAgent::Claude, "hook:PreToolUse", &HookReply::Allow);
    assert_eq!(allowed["hookSpecificOutput"]["permissionDecision"], "allow");
    assert_eq!(output(HookAgent::Codex, "hook:PreToolUse", &HookReply::Allow), json!({}));
    assert_eq!(output(HookAgent::Gemini, "hook:BeforeTool", &HookReply::Allow), json!({}));
    assert_eq!(output(HookAgent::Claude, "hook:Stop", &deny), json!({}));
}

#[test]
fn each_time_limit_is_shorter_than_the_one_around_it() {
    assert!(PERMISSION_REPLY_TIMEOUT < PERMISSION_PROCESS_TIMEOUT);
    assert!(PERMISSION_PROCESS_TIMEOUT < PERMISSION_HOOK_TIMEOUT);
    assert!(EVENT_REPLY_TIMEOUT < EVENT_PROCESS_TIMEOUT && EVENT_PROCESS_TIMEOUT < SHORT_HOOK_TIMEOUT);
    assert!(NOTIFY_PROCESS_TIMEOUT < EVENT_PROCESS_TIMEOUT && SHORT_HOOK_TIMEOUT < EVENT_HOOK_TIMEOUT);
}

#[test]
fn agents_are_found_by_id() {
    for agent in HookAgent::ALL {
        assert_eq!(agent.id().parse(), Ok(agent));
        assert_eq!(serde_json::to_value(agent).unwrap(), json!(agent.id()));
    }
    assert!("cursor".parse::<HookAgent>().unwrap_err().contains("\"cursor\""));
}

#[test]
fn a_long_or_invalid_payload_is_no_request() {
    let new = |payload: &[u8]| HookRequest::new(HookAgent::Gemini, None, payload).map(|_| ());
    assert_eq!(new(b"hello"), Err(HookFrameError::Payload));
    assert_eq!(new(b"\"\xff\""), Err(HookFrameError::Payload));
    assert_eq!(new(&vec![b' '; MAX_HOOK_PAYLOAD_BYTES + 1]), Err(HookFrameError::TooLong));
    assert!(HookRequest::decode(b"{}").is_err() && HookExit::decode(b"no").is_err());
}

proptest! {
    #[test]
    fn responses_survive_a_frame(code: u8, stdout: String, stderr: String) {
        let exit = HookExit { code, stdout, stderr };
        let line = exit.encode().unwrap();
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        prop_assert_eq!(HookExit::decode(&line).unwrap(), exit);
    }

    #[test]
    fn any_bytes_are_decoded_without_a_panic(bytes: Vec<u8>) {
        for agent in HookAgent::ALL {
            let _ = HookMessage::decode(agent, &bytes);
            let _ = HookRequest::new(agent, None, &bytes);
        }
    }
}
