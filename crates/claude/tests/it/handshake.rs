//! Tests the handshake and its failures.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use wh_claude::{ClaudeClient, Error, HookOutput, LocalMcpServer, Options};

use crate::fake::{Fake, LONG_TIMEOUT, soon};

const VARIABLE: &str = "CLAUDE_CODE_STREAM_CLOSE_TIMEOUT";

#[tokio::test]
async fn initialize_comes_first_and_prompts_after_its_reply() {
    let fake =
        Fake::new("expect '\"initialize\"'; until_there gate; reply '{\"pid\":7}'; expect '\"user\"'; result hi");
    let options = fake
        .options()
        .append_system_prompt("be brief")
        .agent("critic", json!({"description": "finds faults", "prompt": "find faults"}))
        .hook("Stop", None, |_| async { HookOutput::default() })
        .mcp_server(LocalMcpServer::new("desk", "1"));
    let connecting = tokio::spawn(async move { ClaudeClient::connect(&options).await });
    let heard = fake.hears(1).await;
    assert!(!connecting.is_finished(), "nobody has a client before the reply");
    assert_eq!(heard[0]["type"], "control_request");
    assert_eq!(
        heard[0]["request"],
        json!({
            "subtype": "initialize",
            "appendSystemPrompt": "be brief",
            "agents": {"critic": {"description": "finds faults", "prompt": "find faults"}},
            "hooks": {"Stop": [{"hookCallbackIds": ["hook_0"]}]},
            "sdkMcpServers": ["desk"],
        })
    );
    fake.open("gate");
    let mut client = soon(connecting).await.unwrap().unwrap();
    assert_eq!((client.server_info().pid, &client.raw_server_info()["pid"]), (Some(7), &json!(7)));
    let turn = soon(client.prompt("good morning")).await.unwrap();
    let id = turn.id().to_owned();
    assert_eq!(soon(turn.result()).await.unwrap().result.as_deref(), Some("hi"));
    let heard = fake.heard();
    assert_eq!((heard.len(), &heard[1]["uuid"]), (2, &json!(id)));
    assert_eq!(heard[1]["message"], json!({"role": "user", "content": "good morning"}));
}

#[tokio::test]
async fn without_an_answer_the_handshake_ends_in_time_and_the_program_with_it() {
    let fake = Fake::new("expect '\"initialize\"'");
    let short = Duration::from_millis(300);
    let error = soon(ClaudeClient::connect(&fake.options().initialize_timeout(short))).await.unwrap_err();
    assert!(matches!(error, Error::InitializeTimeout(after) if after == short), "{error}");
    fake.gone("pid").await;
}

/// Runs itself again in a process with the variable set, since the environment is per process.
#[tokio::test]
async fn the_environment_sets_the_handshake_timeout() {
    if std::env::var_os(VARIABLE).is_none() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "handshake::the_environment_sets_the_handshake_timeout", "--nocapture"])
            .env(VARIABLE, "321")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let fake = Fake::new("expect '\"initialize\"'");
    let error = soon(ClaudeClient::connect(&fake.options())).await.unwrap_err();
    assert!(matches!(error, Error::InitializeTimeout(after) if after == Duration::from_millis(321)), "{error}");
}

#[tokio::test]
async fn an_early_exit_is_reported_with_the_last_line_of_standard_error() {
    for script in [
        // After it has read the request, and before, when the request cannot be written.
        "expect '\"initialize\"'; echo 'no key' >&2; echo 'run claude login' >&2; exit 3",
        "exec < /dev/null; echo 'run claude login' >&2; exit 3",
    ] {
        let fake = Fake::new(script);
        let error = soon(ClaudeClient::connect(&fake.options().initialize_timeout(LONG_TIMEOUT))).await.unwrap_err();
        let Error::Disconnected(reason) = &error else { panic!("{error}") };
        assert_eq!(&**reason, "it exited with 3: run claude login");
    }
}

#[tokio::test]
async fn a_refused_handshake_is_an_error() {
    let fake = Fake::new("expect '\"initialize\"'; refuse 'not today'");
    let error = soon(ClaudeClient::connect(&fake.options())).await.unwrap_err();
    assert!(
        matches!(&error, Error::Refused { request, message, .. } if request == "initialize" && message == "not today")
    );
    fake.gone("pid").await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = soon(ClaudeClient::connect(&Options::new().program("claude-of-nowhere"))).await.unwrap_err();
    assert!(matches!(&error, Error::NotInstalled(name) if name == "claude-of-nowhere"), "{error}");
    assert!(error.to_string().contains("npm install"), "{error}");
    let error = soon(ClaudeClient::connect(&Options::new().program("sh").directory("/nowhere"))).await.unwrap_err();
    assert!(matches!(error, Error::Start(_)), "{error}");
}
