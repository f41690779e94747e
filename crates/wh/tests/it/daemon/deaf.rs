//! An agent that shakes hands and then reads nothing more, nor ends when it is told to: it is killed when that is wanted,
//! and of what it was given it is told how far it came.

use std::time::Instant;

use serde_json::json;
use wh_testkit::process::{descendants, running};
use wh_testkit::{eventually, tools};

use super::house::{House, Session};
use super::{acp_agent, message, stdin, with};

/// A daemon with a session of that agent, to which more was said than a pipe holds.
fn deaf() -> Option<(House, Session)> {
    if !tools::present(&["bash"]) {
        return None;
    }
    let mut house = House::empty([]);
    house.add_agent("deaf", &acp_agent("trap '' TERM", "while :; do sleep 1; done"));
    house.start();
    let session = house.create(json!({ "agent": "deaf", "name": "m" }));
    house.state(&session, "idle");
    let ack = house.control(&stdin(&session, "long", &"long ".repeat(100 * 1024)));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("under_way")), "{ack}");
    Some((house, session))
}

#[test]
fn an_agent_that_does_not_read_is_killed_at_once_when_that_is_wanted() {
    let Some((house, session)) = deaf() else { return };
    let family = descendants(house.pid());
    assert!(family.len() >= 2, "a supervisor and its agent: {family:?}");
    let start = Instant::now();
    house.ok(&["kill", "m", "--now"]);
    let took = start.elapsed();
    assert!(took.as_secs() < 8, "it took {took:?}");
    eventually("nothing of it is left", || (!family.iter().any(|pid| running(*pid))).then_some(()));
    let summary = house.get(&format!("/sessions/{}", session.id)).json();
    assert_eq!(summary["status"]["state"], "ended", "{summary}");
    assert!(!summary.to_string().contains("nobody knows"), "{summary}");
    let again = house.control(&stdin(&session, "long", &"long ".repeat(100 * 1024)));
    assert_ne!(again["error"], json!("under_way"), "nothing stays under way: {again}");
}

#[test]
fn an_interrupt_that_the_agent_does_not_read_is_not_told_to_have_reached_it() {
    let Some((house, session)) = deaf() else { return };
    let interrupt = with(message(&session, "stop"), json!({ "action": "interrupt" }));
    let ack = house.control(&interrupt);
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("under_way")), "{ack}");
    let receipt = house.receipt(&session, "stop");
    assert_eq!(receipt["stage"], "failed", "{receipt}");
    assert_eq!(house.receipt(&session, "long")["stage"], "failed", "its turn is over all the same");
    house.state(&session, "idle");
}
