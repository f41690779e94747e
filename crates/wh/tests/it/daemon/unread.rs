//! Programs that end with input that nobody has read: their terminals hang up while their buffers are full, and nobody
//! else may notice.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;
use wh_testkit::tools;

use super::house::{House, Session};
use super::stdin;

/// More than a terminal takes, in a text that a control message may carry.
const UNREAD_BYTES: usize = 200 * 1024;

/// A program that reads nothing of its terminal and ends when something is written to the FIFO of its name.
fn reluctant(house: &House, name: &str) -> Session {
    mkfifo(&house.work().join(name), Mode::S_IRWXU).unwrap();
    let script = format!("stty raw -echo; echo ready; read line < {name}");
    let session = house.create(json!({ "name": name, "command": ["sh", "-c", script] }));
    house.wait(&session, r#"screen_contains "ready""#);
    session
}

#[test]
fn programs_that_end_with_unread_input_do_not_stop_the_daemon() {
    if !tools::present(&["sh", "stty"]) {
        return;
    }
    let mut house = House::new();
    let other = house.create(json!({ "name": "other", "command": ["sh", "-c", "echo fine; read line"] }));
    house.wait(&other, r#"screen_contains "fine""#);
    let text = "x".repeat(UNREAD_BYTES);
    let programs: Vec<Session> = (0..4).map(|number| reluctant(&house, &format!("p{number}"))).collect();
    let (first, rest) = programs.split_first().unwrap();
    let ack = house.control(&stdin(first, "unread", &text));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("unread")), "{ack}");
    for program in rest {
        let path = format!("/sessions/{}/control/send_input", program.id);
        let sent = house.post(&path, json!({ "text": text })).json();
        assert_eq!(sent["delivered"], false, "{sent}");
    }
    for program in &programs {
        fs::write(house.work().join(&program.name), "end\n").unwrap();
    }
    for program in &programs {
        house.state(program, "ended");
    }
    let again = house.control(&stdin(first, "unread", &text));
    assert_ne!(again["result"], "ok", "nobody has read it: {again}");
    assert!(house.ok(&["screen", "other"]).contains("fine"));
    house.ok(&["daemon", "stop"]);
    assert!(house.ended().success());
}
