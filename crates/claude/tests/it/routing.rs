//! Tests the routing of lines to replies, callbacks and events.

use serde_json::json;
use tokio::sync::oneshot;
use wh_claude::protocol::{IncomingRequestKind, SystemMessage};
use wh_claude::{ClaudeMessage, Event, PermissionMode, PermissionResult};

use crate::fake::{Fake, next, soon};

const BASH: &str = r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}"#;

#[tokio::test]
async fn a_reply_goes_to_the_request_that_it_answers() {
    let fake = Fake::new(
        r#"hello
        expect '"set_permission_mode"'; first=$id
        expect '"mcp_status"'
        reply '{"mcpServers":[]}'
        grant "$first" '{"mode":"plan"}'"#,
    );
    let (connection, _events) = fake.connection().await;
    let (mode, status) =
        soon(async { tokio::join!(connection.set_permission_mode(PermissionMode::Plan), connection.mcp_status()) })
            .await;
    mode.unwrap();
    assert_eq!(status.unwrap(), json!({"mcpServers": []}));
    let heard = fake.heard();
    assert_eq!(heard[1]["request"], json!({"subtype": "set_permission_mode", "mode": "plan"}));
    assert_ne!(heard[1]["request_id"], heard[2]["request_id"]);
}

#[tokio::test]
async fn a_request_that_we_do_not_know_is_refused_as_unsupported() {
    let fake = Fake::new(r#"hello; ask q1 '{"subtype":"paint_the_wall","colour":"red"}'"#);
    let (_connection, _events) = fake.connection().await;
    let answer = fake.answer("q1").await;
    assert_eq!((&answer["subtype"], &answer["error_code"]), (&json!("error"), &json!("unsupported_request")));
    assert!(answer["error"].as_str().unwrap().contains("paint_the_wall"), "{answer}");
}

#[tokio::test]
async fn messages_pass_through_in_their_order() {
    let fake = Fake::new(
        r#"hello
        say '{"type":"system","subtype":"status","status":"requesting"}'
        delta one
        words two
        say '{"session_id":"s","type":"from_tomorrow","more":1}'
        result three"#,
    );
    let (_connection, mut events) = fake.connection().await;
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::System(SystemMessage::Status(_)))));
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Stream(_))));
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Assistant(_))));
    let Event::Message(ClaudeMessage::Unknown(unknown)) = next(&mut events).await else {
        panic!("a frame that nobody knows")
    };
    assert_eq!(unknown.kind.as_deref(), Some("from_tomorrow"));
    let Event::Message(ClaudeMessage::Result(result)) = next(&mut events).await else { panic!("a result") };
    assert_eq!(result.result.as_deref(), Some("three"));
}

#[tokio::test]
async fn an_unexpected_reply_is_ignored() {
    let fake = Fake::new(
        r#"hello
        grant nobody '{}'; grant "$id" '{}'
        expect '"mcp_status"'
        grant "$id" '{"first":1}'; grant "$id" '{"second":2}'
        words after"#,
    );
    let (connection, mut events) = fake.connection().await;
    assert_eq!(soon(connection.mcp_status()).await.unwrap(), json!({"first": 1}));
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Assistant(_))));
}

#[tokio::test]
async fn a_withdrawn_question_is_not_answered_and_its_callback_is_dropped() {
    /// Sends a message when it is dropped.
    struct Told(Option<oneshot::Sender<()>>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }

    let fake = Fake::new(&format!(
        r#"hello; ask q1 '{BASH}'; until_there asked; withdraw q1; ask q2 '{{"subtype":"what"}}'; expect q2"#
    ));
    let (dropped, told) = oneshot::channel();
    let told_when_dropped = std::sync::Mutex::new(Some(Told(Some(dropped))));
    let gate = fake.path("asked");
    let options = fake.options().can_use_tool(move |ask| {
        let held = told_when_dropped.lock().unwrap().take();
        let gate = gate.clone();
        async move {
            std::fs::write(gate, "").unwrap();
            std::future::pending::<()>().await;
            drop(held);
            PermissionResult::allow(ask.input)
        }
    });
    let (_connection, _events) = fake.connection_with(options).await;
    soon(told).await.expect("it was dropped");
    fake.answer("q2").await;
    assert!(fake.answers("q1").is_empty(), "nothing is said to what was withdrawn");
}

#[tokio::test]
async fn a_forwarded_question_is_answered_by_its_id_and_once() {
    let fake = Fake::new(&format!("hello; ask q1 '{BASH}'; ask q2 '{BASH}'"));
    let (connection, mut events) = fake.connection_with(fake.options().forward_asks()).await;
    let Event::Ask(ask) = next(&mut events).await else { panic!("a question") };
    let IncomingRequestKind::CanUseTool(tool) = ask.kind else { panic!("about a tool") };
    assert_eq!((ask.request_id.as_str(), tool.tool_name.as_str()), ("q1", "Bash"));
    assert!(soon(connection.answer("q1", PermissionResult::allow(tool.input))).await.unwrap());
    assert!(!soon(connection.answer("q1", PermissionResult::deny("no"))).await.unwrap());
    assert!(matches!(next(&mut events).await, Event::Ask(_)));
    assert!(soon(connection.refuse("q2", "nobody is here")).await.unwrap());
    assert_eq!(fake.answer("q2").await["error"], "nobody is here");
    assert_eq!(fake.answer("q1").await["response"], json!({"behavior": "allow", "updatedInput": {"command": "ls"}}));
    assert_eq!(fake.answers("q1").len(), 1);
}

#[tokio::test]
async fn a_forwarded_question_that_is_withdrawn_cannot_be_answered() {
    let fake = Fake::new(&format!("hello; ask q1 '{BASH}'; withdraw q1; withdraw q1; words after"));
    let (connection, mut events) = fake.connection_with(fake.options().forward_asks()).await;
    assert!(matches!(next(&mut events).await, Event::Ask(_)));
    assert_eq!(next(&mut events).await, Event::Withdrawn("q1".to_owned()));
    assert!(!soon(connection.answer("q1", PermissionResult::deny("no"))).await.unwrap());
    assert!(matches!(next(&mut events).await, Event::Message(ClaudeMessage::Assistant(_))), "it is withdrawn once");
    connection.close();
    while !matches!(next(&mut events).await, Event::Closed(_)) {}
    assert!(fake.answers("q1").is_empty());
}
