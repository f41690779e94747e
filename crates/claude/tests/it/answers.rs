//! Tests answers to Claude Code's questions: callbacks, hooks, tools, and defaults without a callback.

use serde_json::{Value, json};
use wh_claude::{ElicitationAction, ElicitationResult, HookOutput, LocalMcpServer, PermissionResult};

use crate::fake::{Fake, soon};

const BASH: &str = r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}"#;
const READ: &str = r#"{"subtype":"can_use_tool","tool_name":"Read","input":{"file_path":"/a"},"tool_use_id":"t2"}"#;
const ELICIT: &str = r#"{"subtype":"elicitation","mcp_server_name":"desk","message":"who are you?"}"#;

#[tokio::test]
async fn a_permission_is_given_or_denied_with_a_reason() {
    let fake = Fake::new(&format!("hello; ask q1 '{READ}'; ask q2 '{BASH}'"));
    let options = fake.options().can_use_tool(|ask| async move {
        match ask.tool_name.as_str() {
            "Read" => PermissionResult::allow(ask.input),
            other => PermissionResult::deny(format!("{other} is not for you")),
        }
    });
    let (_connection, _events) = fake.connection_with(options).await;
    assert_eq!(fake.answer("q1").await["response"], json!({"behavior": "allow", "updatedInput": {"file_path": "/a"}}));
    assert_eq!(fake.answer("q2").await["response"], json!({"behavior": "deny", "message": "Bash is not for you"}));
}

#[tokio::test]
async fn a_slow_callback_does_not_block_others() {
    let fake = Fake::new(&format!(
        "hello; ask q1 '{BASH}'; ask q2 '{READ}'; expect q2; : > second; expect q1; expect '\"user\"'; result r"
    ));
    let second = fake.path("second");
    let options = fake.options().can_use_tool(move |ask| {
        let second = second.clone();
        async move {
            while ask.tool_name == "Bash" && !second.exists() {
                tokio::task::yield_now().await;
            }
            PermissionResult::allow(ask.input)
        }
    });
    let mut client = soon(wh_claude::ClaudeClient::connect(&options)).await.unwrap();
    fake.answer("q1").await;
    soon(soon(client.prompt("go")).await.unwrap().result()).await.unwrap();
}

#[tokio::test]
async fn a_callback_that_panics_is_an_error_for_the_question_and_nothing_else() {
    let fake = Fake::new(&format!("hello; ask q1 '{BASH}'; ask q2 '{READ}'"));
    let options = fake.options().can_use_tool(|ask| {
        assert_ne!(ask.tool_name, "Bash", "before the future");
        async move {
            assert_ne!(ask.tool_name, "Read", "within the future");
            PermissionResult::allow(ask.input)
        }
    });
    let (connection, _events) = fake.connection_with(options).await;
    for id in ["q1", "q2"] {
        assert_eq!(fake.answer(id).await["error"], "the callback panicked");
    }
    connection.close();
}

#[tokio::test]
async fn where_nobody_answers_questions_have_a_default() {
    let dialog = r#"{"subtype":"request_user_dialog","dialog_kind":"choose","payload":{}}"#;
    let hook = r#"{"subtype":"hook_callback","callback_id":"hook_9","input":{}}"#;
    let mcp = r#"{"subtype":"mcp_message","server_name":"nobody","message":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
    let fake = Fake::new(&format!(
        "hello; ask q0 '{dialog}'; ask q1 '{ELICIT}'; ask q2 '{BASH}'; ask q3 '{hook}'; ask q4 '{mcp}'"
    ));
    let (_connection, _events) = fake.connection().await;
    assert_eq!(fake.answer("q1").await["response"], json!({"action": "decline"}));
    assert_eq!(fake.answer("q2").await["error"], "no callback for permissions is registered");
    assert_eq!(fake.answer("q3").await["error"], "no hook has the callback id \"hook_9\"");
    assert_eq!(fake.answer("q4").await["error"], "no MCP server is called \"nobody\"");
    assert!(fake.answers("q0").is_empty(), "a dialog that we have not declared is left alone");
}

#[tokio::test]
async fn an_elicitation_has_a_callback_of_its_own() {
    let fake = Fake::new(&format!("hello; ask q1 '{ELICIT}'"));
    let options = fake.options().elicitation(|ask| async move {
        let Value::Object(content) = json!({"heard": ask.message}) else { unreachable!() };
        ElicitationResult { action: ElicitationAction::Accept, content: Some(content) }
    });
    let (_connection, _events) = fake.connection_with(options).await;
    assert_eq!(fake.answer("q1").await["response"], json!({"action": "accept", "content": {"heard": "who are you?"}}));
}

#[tokio::test]
async fn each_hook_is_called_by_its_id() {
    let input = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}"#;
    let fake = Fake::new(&format!(
        r#"hello
        ask q1 '{{"subtype":"hook_callback","callback_id":"hook_1","input":{input}}}'
        ask q0 '{{"subtype":"hook_callback","callback_id":"hook_0","input":{{"hook_event_name":"Stop"}}}}'"#
    ));
    let options = fake.options().hook("Stop", None, |_| async { HookOutput::default() }).hook(
        "PreToolUse",
        Some("Bash"),
        |input| async move {
            let reason = Some(format!("not {}", input["tool_input"]["command"]));
            HookOutput { decision: Some("block".into()), reason, ..HookOutput::default() }
        },
    );
    let (_connection, _events) = fake.connection_with(options).await;
    assert_eq!(fake.answer("q1").await["response"], json!({"decision": "block", "reason": "not \"rm -rf /\""}));
    assert_eq!(fake.answer("q0").await["response"], json!({}));
    let hooks = &fake.heard()[0]["request"]["hooks"];
    assert_eq!(hooks["PreToolUse"], json!([{"matcher": "Bash", "hookCallbackIds": ["hook_1"]}]));
}

#[tokio::test]
async fn tools_of_this_process_are_called_over_the_connection() {
    let message = |id: &str, message: Value| {
        let request = json!({"subtype": "mcp_message", "server_name": "desk", "message": message});
        format!("ask {id} '{request}'\n")
    };
    let call = json!({"name": "double", "arguments": {"number": 21}});
    let script = [
        "hello\n".to_owned(),
        message("q1", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
        message("q2", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})),
        message("q3", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
    ];
    let fake = Fake::new(&script.concat());
    let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}});
    let server = LocalMcpServer::new("desk", "1").tool("double", "Twice as much", schema, |input| async move {
        Ok((input["number"].as_i64().ok_or("a number, please")? * 2).to_string().into())
    });
    let (_connection, _events) = fake.connection_with(fake.options().mcp_server(server)).await;
    let response = async |id: &str| fake.answer(id).await["response"]["mcp_response"].take();
    assert_eq!(response("q1").await["result"]["tools"][0]["name"], "double");
    assert_eq!(response("q2").await["result"]["content"][0]["text"], "42");
    assert_eq!(response("q3").await, json!({"jsonrpc": "2.0", "result": {}}), "a note is taken note of");
}
