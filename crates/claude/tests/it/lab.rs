//! Tests the real Claude Code, offline, with a scripted model.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wh_claude::protocol::{ClientRequest, Delta, StreamEvent, SystemMessage};
use wh_claude::{
    ClaudeClient, ClaudeMessage, Error, HookOutput, LocalMcpServer, Options, PermissionMode, PermissionResult, Resume,
    ToolOutput,
};
use wh_testkit::Lab;

use crate::fake::soon;

/// Runs a test in the lab with its own runtime.
fn inside(name: &str, body: impl AsyncFnOnce(&Lab)) {
    Lab::inside(&format!("lab::{name}"), |lab| tokio::runtime::Runtime::new().unwrap().block_on(body(lab)));
}

fn options(lab: &Lab) -> Options {
    lab.env()
        .into_iter()
        .fold(Options::new().directory(&lab.project), |options, (name, value)| options.env(name, value))
}

/// Options that allow every permission.
fn allowing(lab: &Lab) -> Options {
    options(lab).can_use_tool(|ask| async move { PermissionResult::allow(ask.input) })
}

async fn connect(options: Options) -> ClaudeClient {
    soon(ClaudeClient::connect(&options)).await.unwrap()
}

async fn says(client: &mut ClaudeClient, text: &str) -> String {
    soon(soon(client.prompt(text)).await.unwrap().text()).await.unwrap()
}

/// Last tool result that the model received.
fn tool_result(lab: &Lab) -> Value {
    let requests = lab.model.requests();
    let mut blocks = Vec::new();
    for message in requests.iter().filter_map(|request| request.body["messages"].as_array()).flatten() {
        blocks.extend(message["content"].as_array().into_iter().flatten().cloned());
    }
    blocks.into_iter().rfind(|block| block["type"] == "tool_result").expect("the model was given a tool's result")
}

#[test]
fn it_completes_the_handshake_and_takes_requests() {
    inside("it_completes_the_handshake_and_takes_requests", async |lab| {
        let mut client = connect(options(lab)).await;
        let info = client.server_info();
        assert!(!info.models.is_empty() && !info.commands.is_empty(), "{info:?}");
        assert!(info.commands.iter().any(|command| command.name == "compact"), "{info:?}");

        assert_eq!(says(&mut client, "hello").await, "echo: hello");
        soon(client.set_model(Some("haiku"))).await.unwrap();
        assert_eq!(says(&mut client, "hello again").await, "echo: hello again");
        let models: Vec<String> = lab
            .model
            .requests()
            .iter()
            .filter(|request| request.prompt.is_some())
            .map(|request| request.body["model"].to_string())
            .collect();
        assert!(!models[0].contains("haiku") && models[1].contains("haiku"), "{models:?}");

        let status = soon(client.mcp_status()).await.unwrap();
        assert_eq!(status["mcpServers"], json!([]));
        assert!(soon(client.context_usage()).await.unwrap()["categories"].is_array());
        let error =
            soon(client.request(ClientRequest::other("paint_the_wall", serde_json::Map::new()))).await.unwrap_err();
        assert!(matches!(&error, Error::NotSupported { request, .. } if request == "paint_the_wall"), "{error}");
        soon(client.close()).await;
    });
}

#[test]
fn a_permission_mode_is_set_and_bypassing_requires_the_option() {
    inside("a_permission_mode_is_set_and_bypassing_requires_the_option", async |lab| {
        let mut client = connect(options(lab)).await;
        soon(client.set_permission_mode(PermissionMode::Plan)).await.unwrap();
        let mut turn = soon(client.prompt("hello")).await.unwrap();
        let mut mode = None;
        while let Some(message) = soon(turn.next()).await {
            if let ClaudeMessage::System(SystemMessage::Init(init)) = message.unwrap() {
                mode = init.permission_mode;
            }
        }
        assert_eq!(mode, Some(PermissionMode::Plan));
        let error = soon(client.set_permission_mode(PermissionMode::BypassPermissions)).await.unwrap_err();
        assert!(matches!(&error, Error::Refused { message, .. } if message.contains("bypassPermissions")), "{error}");
        soon(client.close()).await;

        // Claude Code allows this mode for root only within a sandbox, which the lab is.
        let mut client = connect(options(lab).may_skip_permissions(true).env("IS_SANDBOX", "1")).await;
        soon(client.set_permission_mode(PermissionMode::BypassPermissions)).await.unwrap();
        assert_eq!(says(&mut client, "tool: touch unasked.txt").await, "tool done");
        assert!(lab.project.join("unasked.txt").exists());
    });
}

#[test]
fn files_are_rewound_to_what_they_were_before_a_prompt() {
    inside("files_are_rewound_to_what_they_were_before_a_prompt", async |lab| {
        let file = lab.project.join("notes.txt");
        let original = "one\ntwo\n\u{e9}\t\u{0}no end of line".as_bytes();
        fs::write(&file, original).unwrap();
        let mut client = connect(allowing(lab).file_checkpoints(true)).await;
        says(&mut client, &format!("call: Read {}", json!({"file_path": file}))).await;

        let turn = soon(client.prompt("edit: notes.txt first change")).await.unwrap();
        let first = turn.id().to_owned();
        soon(turn.result()).await.unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "first change");
        let turn = soon(client.prompt("edit: notes.txt second change")).await.unwrap();
        let second = turn.id().to_owned();
        soon(turn.result()).await.unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "second change");

        let dry = soon(client.rewind_files(&first, true)).await.unwrap();
        assert!(dry.can_rewind && dry.files_changed == [file.display().to_string()], "{dry:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "second change", "a dry run changes nothing");

        soon(client.rewind_files(&second, false)).await.unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "first change");
        soon(client.rewind_files(&first, false)).await.unwrap();
        assert_eq!(fs::read(&file).unwrap(), original, "byte for byte");

        let error = soon(client.rewind_files("00000000-0000-4000-8000-000000000000", false)).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
    });
}

#[test]
fn a_hook_blocks_a_command_and_the_model_sees_why() {
    inside("a_hook_blocks_a_command_and_the_model_sees_why", async |lab| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let options = allowing(lab).hook("PreToolUse", Some("Bash"), move |input| {
            noted.lock().unwrap().push(input["tool_input"]["command"].clone());
            async {
                HookOutput {
                    hook_specific_output: Some(json!({
                        "hookEventName": "PreToolUse",
                        "permissionDecision": "deny",
                        "permissionDecisionReason": "not on a Sunday",
                    })),
                    ..HookOutput::default()
                }
            }
        });
        let mut client = connect(options).await;
        says(&mut client, "tool: touch blocked.txt").await;
        assert_eq!(*seen.lock().unwrap(), [json!("touch blocked.txt")]);
        assert!(!lab.project.join("blocked.txt").exists());
        assert!(tool_result(lab).to_string().contains("not on a Sunday"), "{}", tool_result(lab));
    });
}

#[test]
fn the_model_calls_a_tool_of_this_process() {
    inside("the_model_calls_a_tool_of_this_process", async |lab| {
        let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
        let server = LocalMcpServer::new("desk", "1.0").tool("double", "Twice as much", schema, |input| async move {
            let number = input["number"].as_i64().ok_or("a number, please")?;
            Ok(ToolOutput::from(format!("it is {}", number * 2)))
        });
        let mut client = connect(allowing(lab).mcp_server(server)).await;
        assert_eq!(says(&mut client, r#"call: mcp__desk__double {"number": 21}"#).await, "tool done");
        let server = &soon(client.mcp_status()).await.unwrap()["mcpServers"][0];
        assert_eq!((&server["name"], &server["status"]), (&json!("desk"), &json!("connected")), "{server}");
        assert!(tool_result(lab).to_string().contains("it is 42"), "{}", tool_result(lab));
        says(&mut client, r#"call: mcp__desk__double {"number": "many"}"#).await;
        assert!(tool_result(lab)["is_error"] == true, "{}", tool_result(lab));
    });
}

#[test]
fn a_tool_is_allowed_or_denied_with_a_reason() {
    inside("a_tool_is_allowed_or_denied_with_a_reason", async |lab| {
        let options = options(lab).can_use_tool(|ask| async move {
            match ask.input["command"].as_str() {
                Some("touch yes.txt") => PermissionResult::allow(ask.input),
                Some("touch other.txt") => PermissionResult::allow(json!({"command": "touch changed.txt"})),
                _ => PermissionResult::deny("keep your hands off"),
            }
        });
        let mut client = connect(options).await;
        says(&mut client, "tool: touch yes.txt").await;
        assert!(lab.project.join("yes.txt").exists());
        says(&mut client, "tool: touch other.txt").await;
        assert!(lab.project.join("changed.txt").exists() && !lab.project.join("other.txt").exists());

        let turn = soon(client.prompt("tool: touch no.txt")).await.unwrap();
        let result = soon(turn.result()).await.unwrap();
        assert!(!lab.project.join("no.txt").exists());
        assert!(tool_result(lab).to_string().contains("keep your hands off"), "{}", tool_result(lab));
        let denied: Vec<&str> = result.permission_denials.iter().map(|denial| denial.tool_name.as_str()).collect();
        assert_eq!(denied, ["Bash"]);
    });
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_conversation() {
    inside("an_interrupt_ends_the_turn_and_not_the_conversation", async |lab| {
        let mut client = connect(options(lab)).await;
        let mut turn = soon(client.prompt("slow: 600")).await.unwrap();
        let mut interrupted = false;
        let mut result = None;
        while let Some(message) = soon(turn.next()).await {
            match message.unwrap() {
                ClaudeMessage::Stream(message) if !interrupted => {
                    if matches!(message.event, StreamEvent::BlockDelta { delta: Delta::Text(_), .. }) {
                        soon(turn.interrupt()).await.unwrap();
                        interrupted = true;
                    }
                }
                ClaudeMessage::Result(ended) => result = Some(ended),
                _ => {}
            }
        }
        assert!(result.unwrap().is_aborted());
        assert_eq!(says(&mut client, "still there?").await, "echo: still there?");
    });
}

#[test]
fn a_prompt_after_an_unread_turn_has_its_own_turn() {
    inside("a_prompt_after_an_unread_turn_has_its_own_turn", async |lab| {
        let mut client = connect(allowing(lab)).await;
        // Claude Code would merge the next prompt into this turn once the tool is done.
        drop(soon(client.prompt("tool: sleep 1; echo done")).await.unwrap());
        assert_eq!(says(&mut client, "hello one").await, "echo: hello one");
        drop(soon(client.prompt("slow: 10")).await.unwrap());
        assert_eq!(says(&mut client, "/nonsense").await, "Unknown command: /nonsense");
        assert_eq!(says(&mut client, "hello two").await, "echo: hello two");
    });
}

#[test]
fn a_second_process_resumes_the_conversation() {
    inside("a_second_process_resumes_the_conversation", async |lab| {
        let mut first = connect(options(lab)).await;
        let turn = soon(first.prompt("remember the number 7081")).await.unwrap();
        let session = soon(turn.result()).await.unwrap().session_id.unwrap();
        soon(first.close()).await;

        let mut second = connect(options(lab).resume(Resume::Session(session.clone()))).await;
        let turn = soon(second.prompt("which number?")).await.unwrap();
        let result = soon(turn.result()).await.unwrap();
        assert_eq!(result.session_id, Some(session));
        let requests = lab.model.requests();
        let request = requests.iter().rfind(|request| request.prompt.as_deref() == Some("which number?")).unwrap();
        let messages = request.body["messages"].to_string();
        assert!(messages.contains("remember the number 7081"), "{messages}");
        assert!(messages.contains("echo: remember the number 7081"), "{messages}");
        soon(second.close()).await;

        let mut third = connect(options(lab).resume(Resume::Latest)).await;
        says(&mut third, "and now?").await;
        let requests = lab.model.requests();
        assert!(requests.last().unwrap().body["messages"].to_string().contains("which number?"));
    });
}

#[test]
fn all_pending_requests_fail_when_it_is_killed() {
    inside("all_pending_requests_fail_when_it_is_killed", async |lab| {
        let mut client = connect(options(lab)).await;
        let pid = client.server_info().pid.expect("it says its process id");
        let line = client.connection().clone();
        let mut turn = soon(client.prompt("slow: 600")).await.unwrap();
        while !matches!(soon(turn.next()).await.unwrap().unwrap(), ClaudeMessage::Stream(_)) {}
        // A stopped process does not answer, so the requests are pending when it dies.
        let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).unwrap();
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let line = line.clone();
                tokio::spawn(async move { line.mcp_status().await })
            })
            .collect();
        tokio::task::yield_now().await;
        let begin = std::time::Instant::now();
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        for waiting in waiting {
            let error = soon(waiting).await.unwrap().unwrap_err();
            assert!(matches!(&error, Error::Disconnected(why) if why.contains("SIGKILL")), "{error}");
        }
        assert!(begin.elapsed().as_secs() < 30, "long before a request's own time is over");
        let error = loop {
            if let Err(error) = soon(turn.next()).await.expect("an error before the end") {
                break error;
            }
        };
        assert!(matches!(error, Error::Disconnected(_)), "{error}");
    });
}
