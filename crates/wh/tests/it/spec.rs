//! The control plane's own examples, word for word, with curl.

use std::process::Command;

use nix::sys::signal::Signal;
use wh_testkit::eventually;
use wh_testkit::http::Request;
use wh_testkit::wh::Wh;

use crate::WH;

/// A shell with a prompt that does not change, ready for input; none where the examples cannot run.
fn shell() -> Option<Wh> {
    if !wh_testkit::tools::present(&["bash", "curl", "jq"]) {
        return None;
    }
    let wh = Wh::options(WH).env("PS1", "$ ").start(&["--", "bash", "--norc"]);
    wh.wait(r#"screen_contains "$""#);
    Some(wh)
}

/// Runs a script as a user would, with the port put in the place of the example's.
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

/// The integration script as it stands, but for two lines: the program is started by the test, and the first sample of
/// the frames is taken before the send.
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
fn a_background_start_is_ready_when_health_answers_and_ends_by_a_signal() {
    let Some(mut wh) = shell() else { return };
    let (success, output) = script(
        &wh,
        "curl -s http://localhost:9090/control/health | jq -e '.ok and .uptime >= 0 and (.version | length) > 0'",
    );
    assert!(success, "{output}");
    wh.signal(Signal::SIGTERM);
    assert_eq!(wh.wait_exit(wh_testkit::PATIENCE).code(), Some(129), "the shell was hung up");
    let port = wh.port();
    eventually("the door is closed", || Request::get("/control/health").send(port).is_err().then_some(()));
}
