//! Tests control requests and their replies.

use std::time::Duration;

use serde_json::{Map, Value, json};
use wh_claude::protocol::ClientRequest;
use wh_claude::{ClaudeMessage, Error, Event, PermissionMode};

use crate::fake::{Fake, next, soon};

#[tokio::test]
async fn every_request_has_its_form_on_the_wire() {
    // The reply is null, as in older versions.
    let fake = Fake::new("hello; while hear; do reply null; done");
    let client = fake.client().await;
    soon(async {
        client.interrupt().await.unwrap();
        assert_eq!(client.set_model(Some("sonnet")).await.unwrap(), None);
        client.set_model(None).await.unwrap();
        client.set_permission_mode(PermissionMode::AcceptEdits).await.unwrap();
        client.mcp_status().await.unwrap();
        client.mcp_reconnect("desk").await.unwrap();
        client.mcp_toggle("desk", false).await.unwrap();
        client.mcp_set_servers(Map::new()).await.unwrap();
        client.context_usage().await.unwrap();
        client.list_models().await.unwrap();
        client.rewind_files("m1", true).await.unwrap();
        client.rewind_files("m1", false).await.unwrap();
        client.stop_task("t1").await.unwrap();
        client.cancel_message("m2").await.unwrap();
        client.request(ClientRequest::other("get_settings", Map::new())).await.unwrap();
    })
    .await;
    let said: Vec<Value> = fake.heard().into_iter().skip(1).map(|mut line| line["request"].take()).collect();
    assert_eq!(
        Value::from(said),
        json!([
            {"subtype": "interrupt"},
            {"subtype": "set_model", "model": "sonnet"},
            {"subtype": "set_model", "model": null},
            {"subtype": "set_permission_mode", "mode": "acceptEdits"},
            {"subtype": "mcp_status"},
            {"subtype": "mcp_reconnect", "serverName": "desk"},
            {"subtype": "mcp_toggle", "serverName": "desk", "enabled": false},
            {"subtype": "mcp_set_servers", "servers": {}},
            {"subtype": "get_context_usage"},
            {"subtype": "list_models"},
            {"subtype": "rewind_files", "user_message_id": "m1", "dry_run": true},
            {"subtype": "rewind_files", "user_message_id": "m1"},
            {"subtype": "stop_task", "task_id": "t1"},
            {"subtype": "cancel_async_message", "message_uuid": "m2"},
            {"subtype": "get_settings"},
        ])
    );
}

#[tokio::test]
async fn a_reply_is_read_into_what_it_means() {
    let fake = Fake::new(
        r#"hello
        hear; reply '{"still_queued":["a"],"cancelled":["b"]}'
        hear; reply '{"model":"claude-sonnet-5"}'
        hear; reply '{"models":[{"value":"opus","displayName":"Opus"}]}'
        hear; reply '{"canRewind":true,"filesChanged":["/a"],"insertions":1,"deletions":2}'
        hear; reply '{"canRewind":false,"error":"File rewinding is not enabled."}'
        hear; reply '"odd"'"#,
    );
    let client = fake.client().await;
    let interrupted = soon(client.interrupt()).await.unwrap();
    assert_eq!((interrupted.still_queued, interrupted.cancelled), (vec!["a".into()], vec!["b".into()]));
    assert_eq!(soon(client.set_model(Some("sonnet"))).await.unwrap().as_deref(), Some("claude-sonnet-5"));
    assert_eq!(soon(client.list_models()).await.unwrap()[0].display_name, "Opus");
    let rewound = soon(client.rewind_files("m", false)).await.unwrap();
    assert_eq!((rewound.files_changed, rewound.insertions, rewound.deletions), (vec!["/a".into()], 1, 2));
    let error = soon(client.rewind_files("m", false)).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { message, .. } if message.contains("not enabled")), "{error}");
    let error = soon(client.interrupt()).await.unwrap_err();
    assert!(matches!(&error, Error::Unexpected { request, .. } if request == "interrupt"), "{error}");
}

#[tokio::test]
async fn a_refusal_says_what_and_why() {
    let fake = Fake::new(r#"hello; hear; refuse 'not launched for it' ',"error_code":"bypass_not_launched"'"#);
    let client = fake.client().await;
    let error = soon(client.set_permission_mode(PermissionMode::BypassPermissions)).await.unwrap_err();
    let Error::Refused { request, message, code } = &error else { panic!("{error}") };
    assert_eq!((request.as_str(), message.as_str()), ("set_permission_mode", "not launched for it"));
    assert_eq!(code.as_deref(), Some("bypass_not_launched"));
}

#[tokio::test]
async fn a_request_that_the_version_does_not_know_is_not_supported() {
    let fake = Fake::new(
        r#"hello
        hear; refuse 'Unsupported control request subtype: list_models'
        hear; refuse 'What is that?' ',"error_code":"unsupported_request"'"#,
    );
    let client = fake.client().await;
    for version in ["older", "newer"] {
        let error = soon(client.list_models()).await.unwrap_err();
        assert!(
            matches!(&error, Error::NotSupported { request, .. } if request == "list_models"),
            "{version}: {error}"
        );
    }
}

#[tokio::test]
async fn a_reply_that_does_not_come_in_time_is_a_timeout_and_the_conversation_goes_on() {
    let fake = Fake::new("hello; hear; late=$id; hear; grant \"$late\" '{}'; reply '{\"ok\":1}'");
    let short = Duration::from_millis(300);
    let (connection, _events) = fake.connection_with(fake.options().control_timeout(short)).await;
    let error = soon(connection.interrupt()).await.unwrap_err();
    let Error::ControlTimeout { request, after } = &error else { panic!("{error}") };
    assert_eq!((request.as_str(), *after), ("interrupt", short));
    // Even if this request is answered in time, the late reply must not be matched to it.
    match soon(connection.mcp_status()).await {
        Ok(reply) => assert_eq!(reply, json!({"ok": 1})),
        Err(error) => assert!(matches!(error, Error::ControlTimeout { .. }), "{error}"),
    }
}

#[tokio::test]
async fn the_timeout_applies_while_the_program_does_not_read() {
    let fake = Fake::new("hello; until_there never");
    let options = fake.options().control_timeout(Duration::from_millis(300));
    let (connection, _events) = fake.connection_with(options).await;
    // More than a pipe holds, so that later frames are blocked.
    let large = Map::from_iter([("text".to_owned(), Value::from("x".repeat(1 << 20)))]);
    for request in [ClientRequest::other("large", large), ClientRequest::McpStatus {}] {
        let error = soon(connection.request(request)).await.unwrap_err();
        assert!(matches!(error, Error::ControlTimeout { .. }), "{error}");
    }
}

#[tokio::test]
async fn all_pending_requests_fail_when_it_exits() {
    let fake =
        Fake::new("hello; for n in 1 2 3 4 5 6 7 8; do hear; done; until_there gate; echo 'out of memory' >&2; exit 7");
    let (connection, mut events) = fake.connection().await;
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.mcp_status().await })
        })
        .collect();
    fake.hears(9).await;
    fake.open("gate");
    for waiting in waiting {
        let error = soon(waiting).await.unwrap().unwrap_err();
        assert!(matches!(&error, Error::Disconnected(why) if &**why == "it exited with 7: out of memory"), "{error}");
    }
    let Event::Closed(closed) = next(&mut events).await else { panic!("the end") };
    assert_eq!((closed.requested, closed.reason().as_str()), (false, "it exited with 7: out of memory"));
    assert_eq!(soon(events.next()).await, None);
    let late = soon(connection.interrupt()).await.unwrap_err();
    assert!(matches!(&late, Error::Disconnected(why) if why.contains("out of memory")), "{late}");
    let late = soon(connection.answer("q1", json!({}))).await;
    assert!(!late.unwrap(), "no question is open any more");
}

#[tokio::test]
async fn requests_are_made_while_a_turn_is_read() {
    let fake = Fake::new("hello; expect '\"user\"'; words one; expect '\"interrupt\"'; reply '{}'; result two");
    let mut client = fake.client().await;
    let line = client.connection().clone();
    let mut turn = soon(client.prompt("go")).await.unwrap();
    assert!(matches!(soon(turn.next()).await, Some(Ok(ClaudeMessage::Assistant(_)))));
    soon(line.interrupt()).await.unwrap();
    assert_eq!(soon(turn.result()).await.unwrap().result.as_deref(), Some("two"));
}
