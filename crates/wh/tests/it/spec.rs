//! The examples of the control plane specification, unchanged, with curl.

use std::process::Command;

use nix::sys::signal::Signal;
use wh_testkit::eventually;
use wh_testkit::http::TestRequest;
use wh_testkit::wh::Wh;

use crate::WH;

/// Starts a run of a shell with a fixed prompt. `None` if the examples cannot run.
fn shell() -> Option<Wh> {
    if !wh_testkit::tools::present(&["bash", "curl", "jq"]) {
        return None;
    }
    let wh = Wh::options(WH).env("PS1", "$ ").start(&["--", "bash", "--norc"]);
    wh.wait(r#"screen_contains "$""#);
    Some(wh)
}

/// Runs a script with the port of the example replaced.
fn script(wh: &Wh, text: &str) -> (bool, String) {
    let text = text.replace("localhost:9090", &wh.address());
    let output = Command::new("bash").args(["-c", &text]).envs(wh.curl_environment()).output().expect("bash is there");
    let both = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&both).into_owned())
}

#[test]
fn the_basic_example_sends_a_message_and_sees_it() {
    let Some(wh) = shell() else { return };
    let (success, output) = script(
        &wh,
        r#"
set -e
curl -s -X POST http://localhost:9090/control/send_input \
  -H 'Content-Type: application/json' \
  -d '{"text":"hello world"}'
curl -s -X POST http://localhost:9090/control/send_input \
  -H 'Content-Type: application/json' \
  -d '{"key":"enter"}'
curl -s http://localhost:9090/control/screen | jq '{plain, frames_rendered, last_frame}'
"#,
    );
    assert!(success, "{output}");
    assert!(output.contains(r#""injected":"hello world""#) && output.contains(r#""injected":"enter""#), "{output}");
    assert!(output.contains("$ hello world"), "{output}");
    assert!(output.contains(r#""last_frame": "20"#), "{output}");
}

/// The integration script with two changes: the test starts the program, and the frames are first sampled before the
/// send.
#[test]
fn the_integration_script_passes() {
    let Some(wh) = shell() else { return };
    let (success, output) = script(
        &wh,
        r#"
until curl -s http://localhost:9090/control/health > /dev/null; do
  sleep 0.1
done
INITIAL_FRAMES=$(curl -s http://localhost:9090/control/screen | jq '.frames_rendered')

# Send message
curl -X POST http://localhost:9090/control/send_input -d '{"text":"test"}'
curl -X POST http://localhost:9090/control/send_input -d '{"key":"enter"}'

# Verify plain text and frame metadata
SCREEN=$(curl -s http://localhost:9090/control/screen | jq -r '.plain')
if echo "$SCREEN" | grep -q "test"; then
  echo "✓ Message appeared on screen"
else
  echo "✗ Message not found"
  exit 1
fi

UPDATED_FRAMES=$(curl -s http://localhost:9090/control/screen | jq '.frames_rendered')
if [ "$UPDATED_FRAMES" -le "$INITIAL_FRAMES" ]; then
  echo "✗ frames_rendered did not increase"
  exit 1
fi
"#,
    );
    assert!(success && output.contains("✓ Message appeared on screen"), "{output}");
}

#[test]
fn a_background_run_is_ready_when_health_answers_and_ends_on_a_signal() {
    let Some(mut wh) = shell() else { return };
    let (success, output) = script(
        &wh,
        "curl -s http://localhost:9090/control/health | jq -e '.ok and .uptime >= 0 and (.version | length) > 0'",
    );
    assert!(success, "{output}");
    wh.signal(Signal::SIGTERM);
    assert_eq!(wh.wait_exit(wh_testkit::CONDITION_TIMEOUT).code(), Some(129), "the shell was hung up");
    let port = wh.port();
    eventually("the door is closed", || TestRequest::get("/control/health").send(port).is_err().then_some(()));
}
