//! All captured lines of Claude Code.

use serde_json::{Value, json};
use wh_wire::claude::{
    Answer, ClaudeMessage, ClientRequest, CommandState, ContentBlock, Delta, Incoming, IncomingRequestKind,
    InitializeReply, InterruptReply, Outgoing, PermissionMode, PermissionResult, PermissionUpdate, ReplyError,
    RewindReply, SessionState, StreamEvent, SystemMessage, TurnResult, decode,
};

use super::captured;

fn from_agent() -> Vec<Incoming> {
    captured().into_iter().filter(|(theirs, _)| *theirs).map(|(_, line)| decode(line.as_bytes()).unwrap()).collect()
}

fn to_agent() -> Vec<&'static str> {
    captured().into_iter().filter(|(theirs, _)| !theirs).map(|(_, line)| line).collect()
}

fn messages() -> Vec<ClaudeMessage> {
    from_agent()
        .into_iter()
        .filter_map(|frame| if let Incoming::Message(it) = frame { Some(it) } else { None })
        .collect()
}

fn reply(id: &str) -> Result<Value, ReplyError> {
    from_agent()
        .into_iter()
        .find_map(|frame| match frame {
            Incoming::Reply(reply) if reply.request_id == id => Some(reply.outcome),
            _ => None,
        })
        .unwrap()
}

#[test]
fn every_line_of_the_agent_is_known() {
    for (theirs, line) in captured() {
        if theirs {
            let incoming = decode(line.as_bytes()).unwrap();
            assert!(!matches!(incoming, Incoming::Noise | Incoming::Message(ClaudeMessage::Unknown(_))), "{line}");
            let text = format!("{incoming:?}");
            assert!(!text.contains("Unknown"), "{line}\n{text}");
        }
    }
}

#[test]
fn every_line_to_the_agent_is_written_again_as_it_was() {
    for line in to_agent() {
        let outgoing: Outgoing = serde_json::from_str(line).unwrap();
        let again = outgoing.encode().unwrap();
        assert_eq!(again.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), serde_json::from_str::<Value>(line).unwrap());
    }
}

#[test]
fn the_lines_to_the_agent_have_types() {
    let others: Vec<String> = to_agent()
        .into_iter()
        .filter_map(|line| match serde_json::from_str(line).unwrap() {
            Outgoing::ControlRequest { request: ClientRequest::Other(other), .. } => {
                Some(serde_json::to_value(&other).unwrap()["subtype"].as_str().unwrap().to_owned())
            }
            Outgoing::ControlResponse { response: wh_wire::claude::ClientResponse::Success { response, .. } } => {
                assert!(matches!(response, Some(Answer::Permission(_) | Answer::Hook(_))), "{line}");
                None
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        others,
        [
            "nonsense",
            "set_max_thinking_tokens",
            "get_settings",
            "get_session_cost",
            "get_binary_version",
            "list_permission_rules",
            "rename_session",
            "file_suggestions",
            "get_status",
            "generate_session_title"
        ]
    );
}

#[test]
fn echoed_client_lines_are_decoded() {
    for line in to_agent() {
        decode(line.as_bytes()).unwrap();
    }
}

#[test]
fn replies_carry_a_value_or_a_refusal() {
    assert_eq!(reply("s2").unwrap(), json!({"model": "claude-opus-5-5"}));
    assert_eq!(reply("s6").unwrap(), Value::Null, "set_max_thinking_tokens is only acknowledged");
    assert_eq!(
        reply("s5").unwrap_err(),
        ReplyError {
            message: "Unsupported control request subtype: nonsense".to_owned(),
            code: Some("unsupported_request".to_owned())
        }
    );
    assert_eq!(reply("s1c").unwrap_err().code.as_deref(), Some("bypass_not_launched"));
}

#[test]
fn replies_can_be_decoded_to_types() {
    let initialized: InitializeReply = serde_json::from_value(reply("r1").unwrap()).unwrap();
    assert_eq!((initialized.commands.len() > 20, initialized.models.len() > 3), (true, true));
    assert_eq!(initialized.commands[0].name, "deep-research");
    assert_eq!(initialized.models[1].resolved_model.as_deref(), Some("claude-opus-5-5"));
    assert_eq!(initialized.claude_code_version.as_deref(), Some("2.1.325"));
    assert_eq!(initialized.current_permission_mode, Some(PermissionMode::Default));
    assert!(initialized.hook_on_failure_supported && initialized.pid.is_some());

    // Both captures contain an `i1`. This one cancelled queued messages.
    let interrupted: InterruptReply = serde_json::from_value(reply("i1").unwrap()).unwrap();
    assert_eq!(interrupted.cancelled, ["33333333-3333-4333-8333-333333333333"]);
    assert!(interrupted.still_queued.is_empty());

    let rewound: RewindReply = serde_json::from_value(reply("s10").unwrap()).unwrap();
    assert_eq!(rewound.error.as_deref(), Some("File rewinding is not enabled."));
    assert!(!rewound.can_rewind);
}

#[test]
fn a_tool_request_has_the_data_for_a_dialog() {
    let asked: Vec<_> = from_agent()
        .into_iter()
        .filter_map(|frame| match frame {
            Incoming::Ask(ask) => match ask.kind {
                IncomingRequestKind::CanUseTool(it) => Some((ask.request_id, *it)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(asked.len(), 4);
    let (id, bash) = &asked[0];
    assert_eq!(id, "c88bb4bb-12e3-4327-8a96-83bca359feaf");
    assert_eq!(bash.tool_name, "Bash");
    assert_eq!(bash.input, json!({"command": "touch probe.txt", "description": "make file"}));
    assert_eq!(bash.description.as_deref(), Some("make file"));
    assert_eq!(bash.blocked_path.as_deref(), Some("/home/dev/cws/probe.txt"));
    assert_eq!(bash.tool_use_id.as_deref(), Some("toolu_1"));
    assert!(!bash.requires_user_interaction && !bash.suppress_always_allow_rule && !bash.default_to_no);
    assert!(matches!(
        bash.permission_suggestions[..],
        [
            PermissionUpdate::AddRules { .. },
            PermissionUpdate::AddDirectories { .. },
            PermissionUpdate::SetMode { mode: PermissionMode::AcceptEdits, .. }
        ]
    ));
    let (_, question) = &asked[3];
    assert_eq!(question.tool_name, "AskUserQuestion");
    assert!(question.requires_user_interaction && question.permission_suggestions.is_empty());
}

#[test]
fn an_interrupt_withdraws_the_question_before_it_is_answered() {
    let frames = from_agent();
    let question = "1d7ee075-f1f7-4cd9-ab3c-288389fbf257";
    let cancelled = frames.iter().position(|it| *it == Incoming::Cancel { request_id: question.to_owned() }).unwrap();
    assert!(matches!(&frames[cancelled + 1], Incoming::Reply(reply) if reply.request_id == "i1"));
}

#[test]
fn a_growing_message_adds_up_to_the_whole() {
    let messages = messages();
    let grown: String = messages
        .iter()
        .take_while(|it| !matches!(it, ClaudeMessage::Assistant(_)))
        .filter_map(|it| match it {
            ClaudeMessage::Stream(stream) => match &stream.event {
                StreamEvent::BlockDelta { index: 0, delta: Delta::Text(text) } => Some(text.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let whole =
        messages.iter().find_map(|it| if let ClaudeMessage::Assistant(it) = it { Some(it) } else { None }).unwrap();
    assert_eq!(whole.message.content, [ContentBlock::Text(grown)]);
    assert_eq!(whole.message.id.as_deref(), Some("msg_1"));
    assert_eq!(whole.message.usage.as_ref().unwrap().input_tokens, 10);
}

#[test]
fn results_say_how_a_turn_ended() {
    let results: Vec<TurnResult> = messages()
        .into_iter()
        .filter_map(|it| if let ClaudeMessage::Result(it) = it { Some(*it) } else { None })
        .collect();
    let ends: Vec<_> = results.iter().map(|it| (it.subtype.as_str(), it.is_error, it.is_aborted())).collect();
    assert_eq!(
        ends,
        [
            ("success", false, false),
            ("error_during_execution", true, true),
            ("success", false, false),
            ("error_during_execution", true, true),
            ("success", false, false)
        ]
    );
    assert_eq!(results[0].result.as_deref(), Some("Done now "));
    assert_eq!(results[0].user_message_uuids, ["11111111-1111-4111-8111-111111111111"]);
    assert_eq!(results[0].usage.as_ref().unwrap().output_tokens, 14);
    assert_eq!(results[0].model_usage["claude-opus-5-5"].context_window, 1_000_000);
    assert!((results[0].total_cost_usd - 0.000_36).abs() < 1e-9);
    assert_eq!(results[2].permission_denials[0].tool_use_id, "toolu_1");
    assert!(results[1].errors[0].starts_with("[ede_diagnostic]"));
}

#[test]
fn system_frames_tell_states_modes_and_titles() {
    let systems: Vec<SystemMessage> = messages()
        .into_iter()
        .filter_map(|it| if let ClaudeMessage::System(it) = it { Some(it) } else { None })
        .collect();
    let init = systems.iter().find_map(|it| if let SystemMessage::Init(it) = it { Some(it) } else { None }).unwrap();
    assert_eq!(init.session_id, "2cb844de-1cb5-4ff2-955d-1057d7cb0c17");
    assert_eq!(init.permission_mode, Some(PermissionMode::Default));
    assert!(init.tools.contains(&"AskUserQuestion".to_owned()) && init.capabilities.len() == 19);
    assert!(systems.iter().any(|it| matches!(it, SystemMessage::SessionTitle(title) if title.title == "My title")));
    assert!(systems.iter().any(|it| {
        matches!(
            it,
            SystemMessage::Status(it)
                if it.status.is_none() && it.permission_mode == Some(PermissionMode::AcceptEdits)
        )
    }));
    let states = systems.iter().filter_map(|it| match it {
        SystemMessage::SessionStateChanged(it) => Some(it.state),
        _ => None,
    });
    assert_eq!(states.filter(|state| *state == SessionState::Idle).count(), 5);
}

#[test]
fn the_progress_of_client_messages_is_reported() {
    let ours = "33333333-3333-4333-8333-333333333333";
    let way: Vec<CommandState> = messages()
        .into_iter()
        .filter_map(|it| match it {
            ClaudeMessage::CommandLifecycle(it) if it.command_uuid == ours => Some(it.state),
            _ => None,
        })
        .collect();
    assert_eq!(way, [CommandState::Queued, CommandState::Cancelled]);
}

#[test]
fn built_answers_equal_the_captured_ones() {
    let denied =
        Outgoing::success("71acfcc2-bf6c-4673-9540-00a7f3df4c6b", PermissionResult::deny("No, use another file"));
    assert!(to_agent().iter().any(|line| serde_json::from_str::<Outgoing>(line).unwrap() == denied));
}
