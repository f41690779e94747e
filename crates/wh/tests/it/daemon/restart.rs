//! The daemon is killed and restarted: stored data is restored, losses are reported, and nothing is executed twice.

use std::fs;

use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::{eventually, process, tools};

use super::shells::{enter, shell};
use super::{TestDaemon, stdin};

#[test]
fn after_a_kill_agents_are_restored_and_terminals_keep_their_history() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let mut daemon = TestDaemon::new();
    let agent = daemon.demo("a", 0);
    let program = daemon.create(json!({ "command": ["bash", "--norc"], "name": "sh" }));
    let first = stdin(&agent, "first", "hello before");
    assert_eq!(daemon.control(&first)["result"], "ok");
    daemon.receipt(&agent, "first");
    daemon.ok(&["send", "sh", "echo remember $((40 + 2))", "--key", "enter"]);
    daemon.ok(&["wait", "sh", "screen_contains \"remember 42\"", "--timeout", "60s"]);
    let (one, other) = (shell(&daemon, 100, 30), shell(&daemon, 100, 30));
    enter(&one, "wh attach a");
    one.wait_for("hello before");
    // Its last screen is stored while it runs.
    eventually("it is written down", || {
        let store = fs::read(daemon.root().join("state/wheelhouse/store/wheelhouse.db-wal")).unwrap_or_default();
        store.windows(11).any(|window| window == b"remember 42").then_some(())
    });
    let messages = |daemon: &TestDaemon, query: &str| {
        let body = daemon.get(&format!("/sessions/{}/control/messages?limit=1000{query}", agent.id)).json();
        body["messages"].as_array().unwrap().clone()
    };
    let before = messages(&daemon, "");
    let family: Vec<Pid> = process::descendants(daemon.pid());
    assert!(!family.is_empty());
    daemon.kill();
    one.wait_for("lost the connection to the daemon");
    enter(&one, "echo sane $((40 + 2))");
    one.wait_for("sane 42");
    eventually("nothing of it is left", || (!family.iter().any(|pid| process::running(*pid))).then_some(()));

    daemon.start();
    let back = daemon.state(&agent, "idle");
    assert_eq!((&back["name"], &back["status"]["live"]), (&json!("a"), &json!(true)), "{back}");
    let lost = daemon.state(&program, "lost");
    assert!(lost["status"]["reason"].as_str().is_some_and(|reason| reason.contains("daemon")), "{lost}");
    let listed = daemon.ok(&["ls", "--all"]);
    assert!(listed.contains(&agent.id) && listed.contains(&program.id) && listed.contains("lost"), "{listed}");
    assert!(!daemon.ok(&["ls"]).contains(&program.id));
    eventually("it is said what came back", || {
        let said = daemon.said();
        (said.contains("resumed: 1") && said.contains("lost: 1")).then_some(())
    });
    assert!(daemon.ok(&["logs", "a"]).contains("hello before"));
    assert!(daemon.ok(&["logs", "sh"]).contains("remember 42"));
    enter(&other, "wh attach a");
    other.wait_for("hello before");
    other.wait_for("restarted");
    // Request ids from before the kill are known, and the conversation continues.
    let ack = daemon.control(&first);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
    assert_eq!(daemon.control(&stdin(&agent, "second", "hello after"))["result"], "ok");
    assert_eq!(daemon.receipt(&agent, "second")["stage"], "finished");
    other.wait_for("hello after");
    let said = daemon.chats(&agent).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text);
    assert_eq!(said.collect::<Vec<_>>(), ["hello before", "hello after"], "each once");
    let since = format!("&since={}", before.last().unwrap()["receivedAt"].as_str().unwrap());
    assert_eq!(messages(&daemon, "")[..before.len()], before[..], "as they were, and in their place");
    assert_eq!(messages(&daemon, &since), messages(&daemon, "")[before.len()..], "what is new, and all of it");
    let ack = daemon.control(&stdin(&program, "late", "echo late\n"));
    assert_eq!(ack["result"], "not_live", "{ack}");
}
