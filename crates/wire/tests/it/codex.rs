//! Codex's `app-server` protocol with captured messages.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wh_wire::codex::{
    Account, ApprovalDecision, ChangeKind, CodexClient, CodexFileChange, CodexMcpServer, CodexModel, CodexThread,
    CodexTurn, Sandbox, ServerNotification, ServerRequest, StartedThread, StepStatus, ThreadItem, ThreadItemKind,
    ThreadItemStatus, ThreadSettings, ThreadStatus, TokenCounts, TurnStatus, interrupt, settings, start, steer, turn,
};

/// Returns the lines of both captures; true for lines of the agent.
fn captured() -> Vec<(bool, Value)> {
    [include_str!("wires/codex-app-server-1.wire"), include_str!("wires/codex-app-server-2.wire")]
        .into_iter()
        .flat_map(str::lines)
        .map(|line| match line.split_at(3) {
            ("<- ", message) => (true, serde_json::from_str(message).unwrap()),
            ("-> ", message) => (false, serde_json::from_str(message).unwrap()),
            _ => panic!("no direction: {line}"),
        })
        .collect()
}

fn notifications() -> Vec<ServerNotification> {
    let said = captured().into_iter().filter(|(theirs, message)| *theirs && message.get("id").is_none());
    said.map(|(_, message)| ServerNotification::read(message["method"].as_str().unwrap(), message["params"].clone()))
        .collect()
}

#[test]
fn every_line_of_the_captures_is_read() {
    let mut asked: Vec<(Value, String)> = Vec::new();
    let (mut known, mut others, mut replies, mut asks) = (0, Vec::new(), 0, 0);
    for (theirs, mut message) in captured() {
        let method = message["method"].as_str().map(str::to_owned);
        match (theirs, method) {
            (false, Some(method)) => asked.push((message["id"].clone(), method)),
            (false, None) => assert!(message["result"]["decision"].is_string()),
            (true, Some(method)) if message.get("id").is_some() => {
                assert!(
                    !matches!(ServerRequest::read(&method, message["params"].take()), ServerRequest::Unknown { .. }),
                    "{method}"
                );
                asks += 1;
            }
            (true, Some(method)) => match ServerNotification::read(&method, message["params"].take()) {
                ServerNotification::Other { method, .. } => others.push(method),
                _ => known += 1,
            },
            (true, None) => {
                let method = asked.iter().rev().find(|(id, _)| *id == message["id"]).map(|(_, method)| method.as_str());
                let result = &message["result"];
                let read = match method.unwrap() {
                    _ if !message["error"].is_null() => message["error"]["message"].is_string(),
                    "thread/start" => StartedThread::read(result).is_some(),
                    "turn/start" => CodexTurn::read(&result["turn"]).is_some(),
                    "model/list" => CodexModel::list(result).len() > 1,
                    "initialize" => result["userAgent"].is_string(),
                    _ => true,
                };
                assert!(read, "{method:?}: {message}");
                replies += 1;
            }
        }
    }
    others.sort();
    others.dedup();
    let of_no_use =
        ["account/rateLimits/updated", "remoteControl/status/changed", "thread/readState/changed", "thread/started"];
    assert_eq!(others, of_no_use);
    assert_eq!((known, replies, asks), (29, 13, 1));
}

#[test]
fn a_captured_turn_is_decoded_from_start_to_end() {
    let said = notifications();
    let statuses: Vec<TurnStatus> = said
        .iter()
        .filter_map(|one| match one {
            ServerNotification::TurnStarted { turn, .. } | ServerNotification::TurnCompleted { turn, .. } => {
                Some(turn.status.clone())
            }
            _ => None,
        })
        .collect();
    let (runs, done) = (TurnStatus::InProgress, TurnStatus::Completed);
    assert_eq!(statuses, [runs.clone(), done, runs, TurnStatus::Interrupted]);
    let words: Vec<&str> = said
        .iter()
        .filter_map(|one| if let ServerNotification::Delta { text, .. } = one { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(words, ["Hello ", "world"]);
    assert!(said.iter().any(|one| matches!(one, ServerNotification::Item { item, done: true, .. }
        if matches!(&item.kind, ThreadItemKind::Command(command) if command.status == ThreadItemStatus::Declined))));
    assert!(said.iter().any(|one| matches!(one, ServerNotification::Usage { total, window: Some(258_400), .. }
        if *total == TokenCounts { total: 30, input: 20, output: 10 })));
    assert!(said.iter().any(|one| matches!(one, ServerNotification::Status { status: ThreadStatus::Idle, .. })));
    assert!(said.iter().any(|one| matches!(one, ServerNotification::Resolved { id } if *id == json!(0))));
}

#[test]
fn an_approval_offers_what_the_server_says() {
    let (_, asked) = captured()
        .into_iter()
        .find(|(_, message)| message["method"] == "item/commandExecution/requestApproval")
        .unwrap();
    let ServerRequest::Command(ask) =
        ServerRequest::read("item/commandExecution/requestApproval", asked["params"].clone())
    else {
        panic!("an approval")
    };
    assert_eq!(ask.plain.as_deref(), Some("touch /home/dev/outside.txt"));
    assert_eq!(ask.reason.as_deref(), Some("need to write outside"));
    let rule = ApprovalDecision::AcceptRule(vec!["touch".to_owned(), "/home/dev/outside.txt".to_owned()]);
    assert_eq!(ask.decisions, [ApprovalDecision::Accept, rule, ApprovalDecision::Cancel]);
    let offered = asked["params"]["availableDecisions"].as_array().unwrap();
    for (decision, raw) in ask.decisions.iter().zip(offered) {
        assert_eq!(decision.answer()["decision"], *raw, "an offer is answered as it came");
    }
    let ServerRequest::Command(silent) = ServerRequest::read("item/commandExecution/requestApproval", json!({})) else {
        panic!("an approval")
    };
    let always = [
        ApprovalDecision::Accept,
        ApprovalDecision::AcceptForSession,
        ApprovalDecision::Decline,
        ApprovalDecision::Cancel,
    ];
    assert_eq!(silent.decisions, always, "one that says nothing takes what all of them take");
}

#[test]
fn requests_equal_the_captured_ones() {
    let sent: Vec<Value> = captured().into_iter().filter(|(theirs, _)| !theirs).map(|(_, message)| message).collect();
    let params = |method: &str, from: usize| {
        sent.iter().filter(|message| message["method"] == method).nth(from).unwrap()["params"].clone()
    };
    let chosen = ThreadSettings {
        approval_policy: Some("on-request"),
        sandbox: Some(Sandbox::WorkspaceWrite),
        ..ThreadSettings::default()
    };
    assert_eq!(start("/home/dev/ws", &chosen), params("thread/start", 0));
    let first = params("turn/start", 0);
    assert_eq!(turn(first["threadId"].as_str().unwrap(), "hi", &ThreadSettings::default()), first);
    let stopped = params("turn/interrupt", 1);
    let (thread, native) = (stopped["threadId"].as_str().unwrap(), stopped["turnId"].as_str().unwrap());
    assert_eq!(interrupt(thread, native), stopped);
    let mut steered = steer(thread, native, "also this");
    steered["input"][0].as_object_mut().unwrap().remove("text_elements");
    assert_eq!(steered, params("turn/steer", 0));
    let hello = CodexClient { name: "probe", title: "Probe", version: "0.0.1" }.initialize();
    assert_eq!(hello["clientInfo"], params("initialize", 0)["clientInfo"]);
    assert_eq!(settings("t", &chosen)["sandboxPolicy"], json!({ "type": "workspaceWrite" }));
}

#[test]
fn an_error_has_a_message_and_may_be_about_the_login() {
    let read = |error: Value| match ServerNotification::read("error", json!({ "error": error, "willRetry": true })) {
        ServerNotification::Error { error, will_retry: true, .. } => error,
        other => panic!("{other:?}"),
    };
    let wrapped = read(
        json!({ "message": r#"{"type":"error","error":{"message":"scripted failure 400"}}"#, "codexErrorInfo": "other" }),
    );
    assert_eq!((wrapped.message.as_str(), wrapped.is_about_login()), ("scripted failure 400", false));
    assert!(read(json!({ "message": "no", "codexErrorInfo": "unauthorized" })).is_about_login());
    let status = json!({ "message": "no", "codexErrorInfo": { "httpConnectionFailed": { "httpStatusCode": 401 } } });
    assert!(read(status).is_about_login());
}

#[test]
fn items_of_other_and_unknown_tools_are_preserved() {
    let read = |item: Value| match ServerNotification::read("item/completed", json!({ "item": item })) {
        ServerNotification::Item { item, .. } => item.kind,
        other => panic!("{other:?}"),
    };
    let call = json!({"type": "mcpToolCall", "id": "c", "server": "desk", "tool": "double", "arguments": {"n": 1}, "status": "completed",
        "result": {"content": [{"type": "text", "text": "2"}]}});
    let ThreadItemKind::Tool(call) = read(call) else { panic!("a call") };
    assert_eq!(
        (call.server.as_deref(), call.name.as_str(), call.output.as_deref()),
        (Some("desk"), "double", Some("2"))
    );
    let strange = json!({"type": "dreaming", "id": "d", "of": "sheep"});
    assert_eq!(read(strange.clone()), ThreadItemKind::Unknown(strange));
}

#[test]
fn every_kind_of_item_is_decoded() {
    let read = |item: Value| ThreadItem::read(&item).unwrap().kind;
    assert_eq!(read(json!({"type": "userMessage", "id": "u"})), ThreadItemKind::User);
    assert_eq!(
        read(json!({"type": "plan", "id": "p", "text": "dig"})),
        ThreadItemKind::Plan { text: "dig".to_owned() }
    );
    assert_eq!(read(json!({"type": "contextCompaction", "id": "c"})), ThreadItemKind::Compaction);
    let review = json!({"type": "exitedReviewMode", "id": "r", "review": "fine"});
    assert_eq!(read(review), ThreadItemKind::Review { text: "fine".to_owned() });
    let tool = |item: Value| match read(item) {
        ThreadItemKind::Tool(call) => (call.name, call.input, call.output, call.status),
        other => panic!("{other:?}"),
    };
    let search = json!({"type": "webSearch", "id": "w", "query": "", "action": {"type": "openPage", "url": "x.test"}});
    assert_eq!(tool(search), ("web search".to_owned(), json!("x.test"), None, ThreadItemStatus::InProgress));
    let image = json!({"type": "imageView", "id": "i", "path": "/a.png", "status": "declined"});
    assert_eq!(tool(image), ("view image".to_owned(), json!("/a.png"), None, ThreadItemStatus::Declined));
    let helper =
        json!({"type": "collabAgentToolCall", "id": "h", "tool": "spawn", "prompt": "help", "status": "failed"});
    assert_eq!(tool(helper), ("spawn".to_owned(), json!("help"), None, ThreadItemStatus::Failed));
    let own = json!({"type": "dynamicToolCall", "id": "o", "namespace": "desk", "tool": "draw", "arguments": {"n": 1},
        "status": "completed", "contentItems": [{"type": "text", "text": "a"}, {"type": "image"}]});
    let expected = ("draw".to_owned(), json!({"n": 1}), Some("a\n[image]".to_owned()), ThreadItemStatus::Completed);
    assert_eq!(tool(own), expected);
    let refused = json!({"type": "mcpToolCall", "id": "m", "server": "s", "tool": "t", "error": {"message": "no"}});
    assert_eq!(tool(refused).2.as_deref(), Some("no"));
    assert_eq!(ThreadItem::read(&json!({"type": "plan"})), None, "without an id it is nothing");
}

#[test]
fn changes_add_delete_and_move_files() {
    let changes = CodexFileChange::list(&json!({"changes": [
        {"path": "a", "kind": "add", "diff": "x"},
        {"path": "b", "kind": {"type": "delete"}},
        {"path": "c", "kind": {"type": "update", "move_path": "d"}, "diff": "@@"},
        {"kind": "add"},
    ]}));
    let kinds: Vec<ChangeKind> = changes.into_iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Add, ChangeKind::Delete, ChangeKind::Update { moved: Some("d".to_owned()) }]);
}

#[test]
fn plans_thoughts_and_warnings_are_read() {
    let plan = json!({"threadId": "T", "explanation": "so", "plan": [
        {"step": "a", "status": "completed"}, {"step": "b", "status": "inProgress"}, {"step": "c"}, {"status": "x"}]});
    let ServerNotification::PlanUpdated { steps, explanation, .. } =
        ServerNotification::read("turn/plan/updated", plan)
    else {
        panic!("a plan")
    };
    let statuses: Vec<StepStatus> = steps.iter().map(|step| step.status).collect();
    assert_eq!(statuses, [StepStatus::Completed, StepStatus::InProgress, StepStatus::Pending]);
    assert_eq!(explanation.as_deref(), Some("so"));
    let thought = |method: &str| match ServerNotification::read(method, json!({"itemId": "r", "delta": "hm"})) {
        ServerNotification::Thought { text, full, .. } => (text, full),
        other => panic!("{other:?}"),
    };
    assert_eq!(thought("item/reasoning/textDelta"), (Some("hm".to_owned()), true));
    assert_eq!(thought("item/reasoning/summaryTextDelta"), (Some("hm".to_owned()), false));
    assert_eq!(thought("item/reasoning/summaryPartAdded"), (None, false));
    let warning = |method: &str, params: Value| match ServerNotification::read(method, params) {
        ServerNotification::Warning { text } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(warning("warning", json!({"message": "careful"})), "careful");
    assert_eq!(warning("configWarning", json!({"summary": "odd", "details": "line 3"})), "odd line 3");
    assert_eq!(warning("deprecationNotice", json!({"summary": "old", "details": ""})), "old");
    let server = json!({"name": "desk", "status": "failed", "error": "no such file"});
    assert_eq!(warning("mcpServer/startupStatus/updated", server), "the MCP server desk did not start: no such file");
    let rerouted = ServerNotification::read("model/rerouted", json!({"fromModel": "a", "toModel": "b"}));
    assert_eq!(rerouted, ServerNotification::Rerouted { from: "a".to_owned(), to: "b".to_owned() });
    let patch = json!({"itemId": "f", "changes": [{"path": "a", "kind": "add"}]});
    assert!(matches!(ServerNotification::read("item/fileChange/patchUpdated", patch),
        ServerNotification::PatchUpdated { changes, .. } if changes.len() == 1));
    let status = |word: &str| match ServerNotification::read("thread/status/changed", json!({"status": {"type": word}}))
    {
        ServerNotification::Status { status, .. } => status,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        ["active", "idle", "systemError", "asleep"].map(status),
        [ThreadStatus::Active, ThreadStatus::Idle, ThreadStatus::SystemError, ThreadStatus::Unknown]
    );
    let resolved = ServerNotification::read("serverRequest/resolved", json!({"requestId": 7}));
    assert_eq!(resolved, ServerNotification::Resolved { id: json!(7) });
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let key = prop_oneof![".{0,4}", prop::sample::select(WORDS).prop_map(str::to_owned)];
        let object = vec((key, inner.clone()), 0..6).prop_map(Map::from_iter);
        prop_oneof![vec(inner, 0..6).prop_map(Value::from), object.prop_map(Value::from)]
    })
}

const WORDS: &[&str] = &[
    "threadId",
    "turnId",
    "itemId",
    "delta",
    "item",
    "turn",
    "id",
    "type",
    "status",
    "error",
    "message",
    "text",
    "commandExecution",
    "fileChange",
    "changes",
    "kind",
    "path",
    "reasoning",
    "summary",
    "mcpToolCall",
    "result",
    "content",
    "webSearch",
    "action",
    "tokenUsage",
    "total",
    "availableDecisions",
    "acceptWithExecpolicyAmendment",
    "questions",
    "options",
    "label",
    "permissions",
    "plan",
    "step",
    "thread",
    "sandbox",
    "data",
    "account",
    "model",
    "codexErrorInfo",
];

const METHODS: &[&str] = &[
    "turn/started",
    "turn/completed",
    "turn/plan/updated",
    "item/started",
    "item/completed",
    "item/agentMessage/delta",
    "item/reasoning/textDelta",
    "item/reasoning/summaryPartAdded",
    "item/fileChange/patchUpdated",
    "error",
    "warning",
    "thread/tokenUsage/updated",
    "thread/status/changed",
    "thread/settings/updated",
    "serverRequest/resolved",
    "configWarning",
    "mcpServer/startupStatus/updated",
    "model/rerouted",
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
    "item/tool/requestUserInput",
    "mcpServer/elicitation/request",
    "what/ever",
];

proptest! {
    #[test]
    fn any_json_is_accepted_and_unknown_data_is_preserved(method in prop::sample::select(METHODS), params in any_json()) {
        let notification = ServerNotification::read(method, params.clone());
        if let ServerNotification::Other { method: kept, params: raw } = notification {
            prop_assert_eq!((kept.as_str(), &raw), (method, &params));
        }
        match ServerRequest::read(method, params.clone()) {
            ServerRequest::Unknown { params: raw, .. } => prop_assert_eq!(&raw, &params),
            ServerRequest::Command(ask) => prop_assert!(!ask.decisions.is_empty()),
            _ => {}
        }
        let _ = (StartedThread::read(&params), CodexTurn::read(&params), CodexThread::first(&params));
        let _ = (CodexModel::list(&params), CodexMcpServer::list(&params), Account::read(&params));
    }
}
