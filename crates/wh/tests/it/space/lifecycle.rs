//! Start and exit of a space: in the background, by signals, by /exit. No process remains.

use std::net::TcpListener;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;
use wh_testkit::wh::Wh;

use super::{paced, say, space};
use crate::WH;

const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

fn port_is_free(port: u16) {
    TcpListener::bind(("127.0.0.1", port)).unwrap_or_else(|error| panic!("port {port} is free again: {error}"));
}

#[test]
fn a_signal_closes_everything_in_order_and_frees_the_port() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut wh = paced(30);
        wh.post("/message", json!({ "message": "/demo slow" }));
        let port = wh.port();
        wh.signal(signal);
        assert!(wh.wait_exit(EXIT_TIMEOUT).success(), "{signal}: {}", wh.stderr());
        port_is_free(port);
    }
}

#[test]
fn exit_works_typed_and_as_a_command() {
    let mut typed = space();
    let port = typed.port();
    typed.text("/exit");
    let _ = typed.post("/control/send_input", json!({ "key": "enter" }));
    assert!(typed.wait_exit(EXIT_TIMEOUT).success(), "{}", typed.stderr());
    port_is_free(port);
    let mut sent = space();
    let _ = sent.post("/control/command", json!({ "command": "/exit" }));
    assert!(sent.wait_exit(EXIT_TIMEOUT).success(), "{}", sent.stderr());
}

#[test]
fn the_port_may_come_from_the_environment() {
    for name in ["GEMINI_CLI_REMOTE_PORT", "GEMINI_CLI_TUI_REMOTE_PORT"] {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = std::process::Command::new(WH)
            .args(["space", "connect", "--headless", "--", "--pace", "0"])
            .env(name, port.to_string())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        wh_testkit::eventually("the door is open", || std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(drop));
        wh_testkit::process::terminate(&mut child, Duration::from_secs(10)).unwrap();
    }
}

#[test]
fn without_a_terminal_and_an_api_a_space_is_refused() {
    let output = std::process::Command::new(WH).stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--control-port"));
    let unknown = std::process::Command::new(WH).args(["--agent", "nobody", "--control-port", "0"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("demo"));
}

#[test]
fn a_space_is_listed_and_client_commands_work_on_it() {
    let wh = space();
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(WH)
            .args(arguments)
            .env("XDG_RUNTIME_DIR", wh.runtime_dir())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(run(&["ls"]).contains("wh space connect"));
    run(&["send", "hello from a script", "--key", "enter"]);
    run(&["wait", "message_count >= 3 and not reasoning_active"]);
    assert!(run(&["messages"]).contains("hello from a script"));
    assert!(run(&["screen"]).contains("hello from a script"));
}

#[test]
fn a_signal_over_the_api_is_refused() {
    let wh: Wh = space();
    let refused = wh.post("/control/signal", json!({ "signal": "TERM" }));
    assert_eq!(refused.status, 409, "{}", refused.text());
    say(&wh, "still here");
    wh.wait(r#"screen_contains "still here""#);
}

#[test]
fn a_taken_name_is_refused() {
    for name in ["demo", "system", "two words"] {
        let output = std::process::Command::new(WH).args(["--as", name, "--control-port", "0"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--as"), "{name}");
    }
}
