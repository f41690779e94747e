//! The examples of the control plane specification with `wh space connect` in the background. Only the program name and
//! the port differ.

use std::net::TcpListener;
use std::process::Command;

use crate::WH;

fn script(text: &str) {
    if !wh_testkit::tools::present(&["bash", "curl", "jq"]) {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let runtime = tempfile::tempdir().unwrap();
    let text = text.replace("mew space connect", &format!("{WH} space connect")).replace("9090", &port.to_string());
    let output = Command::new("bash")
        .args(["-c", &text])
        .env("XDG_RUNTIME_DIR", runtime.path())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let both = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&both));
}

/// Starts a space as in the examples, waits until it is ready, and always ends it.
const BACKGROUND: &str = r#"
set -eo pipefail
mew space connect --control-port 9090 > /dev/null 2>&1 &
CLI_PID=$!
trap 'kill $CLI_PID; wait $CLI_PID' EXIT
until curl -s http://localhost:9090/control/health > /dev/null 2>&1; do
  sleep 0.1
done
"#;

#[test]
fn example_one_sends_a_message() {
    script(&format!(
        r#"{BACKGROUND}
curl -s -X POST http://localhost:9090/control/send_input \
  -H 'Content-Type: application/json' \
  -d '{{"text":"hello world"}}'
curl -s -X POST http://localhost:9090/control/send_input \
  -H 'Content-Type: application/json' \
  -d '{{"key":"enter"}}'
curl -s http://localhost:9090/control/screen | jq '{{plain, frames_rendered, last_frame}}' | grep "hello world"
"#
    ));
}

#[test]
fn example_two_tests_a_slash_command() {
    script(&format!(
        r#"{BACKGROUND}
curl -s -X POST http://localhost:9090/control/send_input \
  -d '{{"text":"/help"}}'
curl -s -X POST http://localhost:9090/control/send_input \
  -d '{{"key":"enter"}}'
curl -s http://localhost:9090/control/screen | \
  jq -r '.plain' | \
  grep "Available Commands"
"#
    ));
}

#[test]
fn example_three_verifies_the_reasoning_display() {
    script(&format!(
        r#"{BACKGROUND}
curl -s -X POST http://localhost:9090/message -d '{{"message":"/demo think"}}'
curl -s http://localhost:9090/control/state | jq '.ui.reasoning.active'
while [ "$(curl -s http://localhost:9090/control/state | jq -r '.ui.reasoning.active')" = "true" ]; do
  sleep 0.5
done
curl -s http://localhost:9090/control/state | jq -e '.messages[-1]'
"#
    ));
}

#[test]
fn the_integration_script_passes() {
    script(&format!(
        r#"{BACKGROUND}
INITIAL_FRAMES=$(curl -s http://localhost:9090/control/screen | jq '.frames_rendered')
curl -s -X POST http://localhost:9090/control/send_input -d '{{"text":"test"}}'
curl -s -X POST http://localhost:9090/control/send_input -d '{{"key":"enter"}}'
SCREEN=$(curl -s http://localhost:9090/control/screen | jq -r '.plain')
echo "$SCREEN" | grep -q "test"
UPDATED_FRAMES=$(curl -s http://localhost:9090/control/screen | jq '.frames_rendered')
[ "$UPDATED_FRAMES" -gt "$INITIAL_FRAMES" ]
"#
    ));
}

#[test]
fn the_manual_verification_of_the_remote_control_passes() {
    script(
        r#"
set -eo pipefail
GEMINI_CLI_TUI_REMOTE_PORT=9090 mew space connect > /dev/null 2>&1 &
CLI_PID=$!
trap 'kill $CLI_PID; wait $CLI_PID' EXIT
until curl -s http://localhost:9090/control/health > /dev/null 2>&1; do
  sleep 0.1
done
curl -s -X POST http://localhost:9090/message -H "Content-Type: application/json" -d '{"message": "list files"}' | grep "Message submitted"
curl -s http://localhost:9090/control/screen | jq -r .plain | grep "list files"
curl -s http://localhost:9090/history | jq -e '.[0] == {"role":"user","text":"list files"}'
"#,
    );
}
