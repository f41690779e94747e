//! The daemon is killed and started again: what was kept is there, what was lost is said, and nothing is done twice.

use std::fs;

use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::{eventually, process, tools};

use super::shells::{enter, shell};
use super::{House, stdin};

#[test]
fn after_a_kill_a_conversation_goes_on_and_of_a_terminal_its_history_is_left() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let mut house = House::new();
    let agent = house.demo("a", 0);
    let program = house.create(json!({ "command": ["bash", "--norc"], "name": "sh" }));
    let first = stdin(&agent, "first", "hello before");
    assert_eq!(house.control(&first)["result"], "ok");
    house.receipt(&agent, "first");
    house.ok(&["send", "sh", "echo remember $((40 + 2))", "--key", "enter"]);
    house.ok(&["wait", "sh", "screen_contains \"remember 42\"", "--timeout", "60s"]);
    let (one, other) = (shell(&house, 100, 30), shell(&house, 100, 30));
    enter(&one, "wh attach a");
    one.wait_for("hello before");
    // What it showed last is written down while it runs.
    eventually("it is written down", || {
        let store = fs::read(house.root().join("state/wheelhouse/store/wheelhouse.db-wal")).unwrap_or_default();
        store.windows(11).any(|window| window == b"remember 42").then_some(())
    });
    let messages = |house: &House, query: &str| {
        let body = house.get(&format!("/sessions/{}/control/messages?limit=1000{query}", agent.id)).json();
        body["messages"].as_array().unwrap().clone()
    };
    let before = messages(&house, "");
    let family: Vec<Pid> = process::descendants(house.pid());
    assert!(!family.is_empty());
    house.kill();
    one.wait_for("the daemon is gone");
    enter(&one, "echo sane $((40 + 2))");
    one.wait_for("sane 42");
    eventually("nothing of it is left", || (!family.iter().any(|pid| process::running(*pid))).then_some(()));

    house.start();
    let back = house.state(&agent, "idle");
    assert_eq!((&back["name"], &back["status"]["live"]), (&json!("a"), &json!(true)), "{back}");
    let lost = house.state(&program, "lost");
    assert!(lost["status"]["reason"].as_str().is_some_and(|reason| reason.contains("daemon")), "{lost}");
    let listed = house.ok(&["ls", "--all"]);
    assert!(listed.contains(&agent.id) && listed.contains(&program.id) && listed.contains("lost"), "{listed}");
    assert!(!house.ok(&["ls"]).contains(&program.id));
    eventually("it is said what came back", || {
        let said = house.said();
        (said.contains("resumed: 1") && said.contains("lost: 1")).then_some(())
    });
    assert!(house.ok(&["logs", "a"]).contains("hello before"));
    assert!(house.ok(&["logs", "sh"]).contains("remember 42"));
    enter(&other, "wh attach a");
    other.wait_for("hello before");
    other.wait_for("restarted");
    // What was heard before the kill is known, and the conversation goes on.
    let ack = house.control(&first);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    assert_eq!(house.control(&stdin(&agent, "second", "hello after"))["result"], "ok");
    assert_eq!(house.receipt(&agent, "second")["stage"], "finished");
    other.wait_for("hello after");
    let said = house.chats(&agent).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text);
    assert_eq!(said.collect::<Vec<_>>(), ["hello before", "hello after"], "each once");
    let since = format!("&since={}", before.last().unwrap()["receivedAt"].as_str().unwrap());
    assert_eq!(messages(&house, "")[..before.len()], before[..], "as they were, and in their place");
    assert_eq!(messages(&house, &since), messages(&house, "")[before.len()..], "what is new, and all of it");
    let ack = house.control(&stdin(&program, "late", "echo late\n"));
    assert_eq!(ack["result"], "not_live", "{ack}");
}
