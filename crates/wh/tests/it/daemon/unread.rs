//! Programs that exit with unread input: their terminals hang up with full buffers, which must not affect others.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;
use wh_testkit::tools;

use super::stdin;
use super::test_daemon::{Session, TestDaemon};

/// Length of a text that exceeds a terminal's buffer and fits into a control message.
const UNREAD_BYTES: usize = 200 * 1024;

/// Program that does not read its terminal and exits when its FIFO is written.
fn reluctant(daemon: &TestDaemon, name: &str) -> Session {
    mkfifo(&daemon.work().join(name), Mode::S_IRWXU).unwrap();
    let script = format!("stty raw -echo; echo ready; read line < {name}");
    let session = daemon.create(json!({ "name": name, "command": ["sh", "-c", script] }));
    daemon.wait(&session, r#"screen_contains "ready""#);
    session
}

#[test]
fn programs_that_end_with_unread_input_do_not_stop_the_daemon() {
    if !tools::present(&["sh", "stty"]) {
        return;
    }
    let mut daemon = TestDaemon::new();
    let other = daemon.create(json!({ "name": "other", "command": ["sh", "-c", "echo fine; read line"] }));
    daemon.wait(&other, r#"screen_contains "fine""#);
    let text = "x".repeat(UNREAD_BYTES);
    let programs: Vec<Session> = (0..4).map(|number| reluctant(&daemon, &format!("p{number}"))).collect();
    let (first, rest) = programs.split_first().unwrap();
    let ack = daemon.control(&stdin(first, "unread", &text));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("unread")), "{ack}");
    for program in rest {
        let path = format!("/sessions/{}/control/send_input", program.id);
        let sent = daemon.post(&path, json!({ "text": text })).json();
        assert_eq!(sent["delivered"], false, "{sent}");
    }
    for program in &programs {
        fs::write(daemon.work().join(&program.name), "end\n").unwrap();
    }
    for program in &programs {
        daemon.state(program, "ended");
    }
    let again = daemon.control(&stdin(first, "unread", &text));
    assert_ne!(again["result"], "ok", "nobody has read it: {again}");
    assert!(daemon.ok(&["screen", "other"]).contains("fine"));
    daemon.ok(&["daemon", "stop"]);
    assert!(daemon.ended().success());
}
