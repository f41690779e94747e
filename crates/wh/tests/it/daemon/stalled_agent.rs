//! An agent that completes the handshake, then neither reads input nor exits on request: it is killed on demand, and
//! receipts report how far its messages came.

use std::time::Instant;

use serde_json::json;
use wh_testkit::process::{descendants, running};
use wh_testkit::{eventually, tools};

use super::test_daemon::{Session, TestDaemon};
use super::{acp_agent, message, stdin, with};

/// Starts a daemon with a session of that agent and sends it more than a pipe holds.
fn deaf() -> Option<(TestDaemon, Session)> {
    if !tools::present(&["bash"]) {
        return None;
    }
    let mut daemon = TestDaemon::empty([]);
    daemon.add_agent("deaf", &acp_agent("trap '' TERM", "while :; do sleep 1; done"));
    daemon.start();
    let session = daemon.create(json!({ "agent": "deaf", "name": "m" }));
    daemon.state(&session, "idle");
    let ack = daemon.control(&stdin(&session, "long", &"long ".repeat(100 * 1024)));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("under_way")), "{ack}");
    Some((daemon, session))
}

#[test]
fn an_agent_that_does_not_read_can_be_killed_at_once() {
    let Some((daemon, session)) = deaf() else { return };
    let family = descendants(daemon.pid());
    assert!(family.len() >= 2, "a supervisor and its agent: {family:?}");
    let start = Instant::now();
    daemon.ok(&["kill", "m", "--now"]);
    let took = start.elapsed();
    assert!(took.as_secs() < 8, "it took {took:?}");
    eventually("nothing of it is left", || (!family.iter().any(|pid| running(*pid))).then_some(()));
    let summary = daemon.get(&format!("/sessions/{}", session.id)).json();
    assert_eq!(summary["status"]["state"], "ended", "{summary}");
    assert!(!summary.to_string().contains("nobody knows"), "{summary}");
    let again = daemon.control(&stdin(&session, "long", &"long ".repeat(100 * 1024)));
    assert_ne!(again["error"], json!("under_way"), "nothing stays under way: {again}");
}

#[test]
fn an_unread_interrupt_is_not_reported_as_delivered() {
    let Some((daemon, session)) = deaf() else { return };
    let interrupt = with(message(&session, "stop"), json!({ "action": "interrupt" }));
    let ack = daemon.control(&interrupt);
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("under_way")), "{ack}");
    let receipt = daemon.receipt(&session, "stop");
    assert_eq!(receipt["stage"], "failed", "{receipt}");
    assert_eq!(daemon.receipt(&session, "long")["stage"], "failed", "its turn is over all the same");
    daemon.state(&session, "idle");
}
