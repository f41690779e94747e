//! The daemon is stopped: no process is left, the next start restores the agent sessions, and terminal programs have
//! ended.

use std::fs;
use std::net::TcpListener;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::{process, tools};

use super::{TestDaemon, stdin};

/// Returns the standard error of a wh command that must succeed.
fn notice(daemon: &TestDaemon, arguments: &[&str]) -> String {
    let output = daemon.run(arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_stop_keeps_agent_sessions_and_ends_terminal_sessions_permanently() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut daemon = TestDaemon::new();
    let agent = daemon.demo("a", 0);
    let first = stdin(&agent, "first", "hello before");
    assert_eq!(daemon.control(&first)["result"], "ok");
    daemon.receipt(&agent, "first");
    let program = daemon.create(json!({ "command": ["bash", "-c", "echo shown; sleep 600"], "name": "sh" }));
    daemon.wait(&program, "screen_contains \"shown\"");
    let (code, said) = daemon.fails(&["daemon", "restart"]);
    assert!(code == 4 && said.contains("--foreground"), "a service manager restarts its own: {code} {said}");
    let family = process::descendants(daemon.pid());
    assert!(!family.is_empty());
    assert_eq!(daemon.ok(&["daemon", "stop"]), "the daemon has stopped\n");
    assert!(daemon.ended().success());
    assert!(!family.iter().any(|pid| process::running(*pid)), "no process is left");
    let store = daemon.root().join("state/wheelhouse/store");
    let left: Vec<String> =
        fs::read_dir(&store).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.ends_with("-wal")), "all of it is in one file: {left:?}");
    let said = notice(&daemon, &["ls"]);
    assert!(said.contains("`wh daemon start` restores 1 session: a\n") && !said.contains("no sessions"), "{said}");
    let said = notice(&daemon, &["ls", "--all"]);
    assert!(
        said.contains("1 session ended earlier; to see the output, start the daemon and run `wh logs SESSION`"),
        "{said}"
    );
    let (code, said) = daemon.fails(&["daemon", "status"]);
    assert!(code == 6 && said.contains("restores 1 session: a"), "{code} {said}");

    for (number, signal) in [Signal::SIGTERM, Signal::SIGINT].into_iter().enumerate() {
        daemon.start();
        assert_eq!(daemon.state(&agent, "idle")["name"], "a");
        let ended = daemon.state(&program, "ended");
        assert!(ended["status"]["reason"].as_str().is_some_and(|reason| reason.contains("signal")), "{ended}");
        assert!(daemon.ok(&["logs", "sh"]).contains("shown"));
        assert_eq!(daemon.control(&first)["duplicate"], true, "what was heard is known");
        let id = format!("after-{number}");
        assert_eq!(daemon.control(&stdin(&agent, &id, "hello after"))["result"], "ok");
        assert_eq!(daemon.receipt(&agent, &id)["stage"], "finished");
        kill(daemon.pid(), signal).unwrap();
        assert!(daemon.ended().success());
    }
    daemon.start();
    daemon.state(&agent, "idle");
    let said = daemon.chats(&agent).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text);
    assert_eq!(said.collect::<Vec<_>>(), ["hello before", "hello after", "hello after"]);
    daemon.ok(&["daemon", "stop", "--end-sessions"]);
    assert!(daemon.ended().success());
    assert!(!notice(&daemon, &["ls"]).contains("restores"));
    daemon.start();
    assert_eq!(daemon.state(&agent, "ended")["status"]["live"], false);
    assert!(daemon.ok(&["logs", "a"]).contains("hello before"), "what was said can be read");
    assert_ne!(daemon.demo("a", 0).id, agent.id, "its name is free");
}

#[test]
fn a_restart_keeps_the_options_and_restores_the_sessions() {
    let daemon = TestDaemon::empty([]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let restarted = |arguments: &[&str]| {
        let before = daemon.status();
        daemon.ok(&[&["daemon", "restart"], arguments].concat());
        let after = daemon.status();
        assert_ne!(before["pid"], after["pid"]);
        let pid = Pid::from_raw(before["pid"].as_i64().unwrap() as i32);
        assert!(!process::running(pid), "the one before is gone");
        after["url"].as_str().unwrap().to_owned()
    };
    daemon.ok(&["daemon", "start", "--control-port", &port]);
    let session = daemon.demo("a", 0);
    assert!(restarted(&[]).ends_with(&format!(":{port}")), "it has the port that was asked for");
    daemon.state(&session, "idle");
    assert!(!restarted(&["--control-port", "0"]).ends_with(&format!(":{port}")), "an option that is given counts");
    daemon.state(&session, "idle");
    let before = daemon.status();
    let (code, said) = daemon.fails(&["daemon", "restart", "--control-dedupe-ttl", "1"]);
    assert!(code == 2 && said.contains("dedupe"), "{code} {said}");
    assert_eq!(daemon.status()["pid"], before["pid"], "options that cannot be used do not stop it");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["daemon", "restart"]);
    daemon.state(&session, "idle");
}

#[test]
fn a_stop_that_times_out_lists_the_running_processes() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut daemon = TestDaemon::new();
    let stubborn = "trap '' TERM HUP INT; echo ready; while :; do sleep 600; done";
    let session = daemon.create(json!({ "command": ["bash", "-c", stubborn], "name": "stubborn" }));
    daemon.wait(&session, "screen_contains \"ready\"");
    let (code, said) = daemon.fails(&["daemon", "stop", "--timeout", "50ms"]);
    let pid = daemon.pid();
    assert!(code == 3 && said.contains("has not ended within 50ms"), "{code} {said}");
    assert!(said.contains(&format!("{pid} (wh)")) && said.contains("(bash)"), "{said}");
    assert!(said.contains(&format!("kill -9 {pid}")) && said.contains("daemon.log"), "{said}");
    assert!(daemon.ended().success());
}
