//! The daemon is stopped: no process is left, the next start restores the agent sessions, and terminal programs have ended.

use std::fs;
use std::net::TcpListener;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::{process, tools};

use super::{House, stdin};

/// The standard error of a command of wh, which must succeed.
fn notice(house: &House, arguments: &[&str]) -> String {
    let output = house.run(arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_stop_keeps_agent_sessions_and_ends_terminal_programs_for_good() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::new();
    let agent = house.demo("a", 0);
    let first = stdin(&agent, "first", "hello before");
    assert_eq!(house.control(&first)["result"], "ok");
    house.receipt(&agent, "first");
    let program = house.create(json!({ "command": ["bash", "-c", "echo shown; sleep 600"], "name": "sh" }));
    house.wait(&program, "screen_contains \"shown\"");
    let (code, said) = house.fails(&["daemon", "restart"]);
    assert!(code == 4 && said.contains("--foreground"), "a service manager restarts its own: {code} {said}");
    let family = process::descendants(house.pid());
    assert!(!family.is_empty());
    assert_eq!(house.ok(&["daemon", "stop"]), "the daemon has ended\n");
    assert!(house.ended().success());
    assert!(!family.iter().any(|pid| process::running(*pid)), "no process is left");
    let store = house.root().join("state/wheelhouse/store");
    let left: Vec<String> =
        fs::read_dir(&store).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.ends_with("-wal")), "all of it is in one file: {left:?}");
    let said = notice(&house, &["ls"]);
    assert!(said.contains("wh daemon start restores 1 session: a\n") && !said.contains("nothing runs"), "{said}");
    let said = notice(&house, &["ls", "--all"]);
    assert!(said.contains("1 session ended earlier; wh logs shows them while a daemon runs"), "{said}");
    let (code, said) = house.fails(&["daemon", "status"]);
    assert!(code == 6 && said.contains("restores 1 session: a"), "{code} {said}");

    for (number, signal) in [Signal::SIGTERM, Signal::SIGINT].into_iter().enumerate() {
        house.start();
        assert_eq!(house.state(&agent, "idle")["name"], "a");
        let ended = house.state(&program, "ended");
        assert!(ended["status"]["reason"].as_str().is_some_and(|reason| reason.contains("signal")), "{ended}");
        assert!(house.ok(&["logs", "sh"]).contains("shown"));
        assert_eq!(house.control(&first)["duplicate"], true, "what was heard is known");
        let id = format!("after-{number}");
        assert_eq!(house.control(&stdin(&agent, &id, "hello after"))["result"], "ok");
        assert_eq!(house.receipt(&agent, &id)["stage"], "finished");
        kill(house.pid(), signal).unwrap();
        assert!(house.ended().success());
    }
    house.start();
    house.state(&agent, "idle");
    let said = house.chats(&agent).into_iter().filter(|(from, _)| from == "local").map(|(_, text)| text);
    assert_eq!(said.collect::<Vec<_>>(), ["hello before", "hello after", "hello after"]);
    house.ok(&["daemon", "stop", "--end-sessions"]);
    assert!(house.ended().success());
    assert!(!notice(&house, &["ls"]).contains("restores"));
    house.start();
    assert_eq!(house.state(&agent, "ended")["status"]["live"], false);
    assert!(house.ok(&["logs", "a"]).contains("hello before"), "what was said can be read");
    assert_ne!(house.demo("a", 0).id, agent.id, "its name is free");
}

#[test]
fn a_restart_keeps_the_options_and_restores_the_sessions() {
    let house = House::empty([]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let restarted = |arguments: &[&str]| {
        let before = house.status();
        house.ok(&[&["daemon", "restart"], arguments].concat());
        let after = house.status();
        assert_ne!(before["pid"], after["pid"]);
        let pid = Pid::from_raw(before["pid"].as_i64().unwrap() as i32);
        assert!(!process::running(pid), "the one before is gone");
        after["url"].as_str().unwrap().to_owned()
    };
    house.ok(&["daemon", "start", "--control-port", &port]);
    let session = house.demo("a", 0);
    assert!(restarted(&[]).ends_with(&format!(":{port}")), "it has the port that was asked for");
    house.state(&session, "idle");
    assert!(!restarted(&["--control-port", "0"]).ends_with(&format!(":{port}")), "an option that is given counts");
    house.state(&session, "idle");
    let before = house.status();
    let (code, said) = house.fails(&["daemon", "restart", "--control-dedupe-ttl", "1"]);
    assert!(code == 2 && said.contains("dedupe"), "{code} {said}");
    assert_eq!(house.status()["pid"], before["pid"], "options that cannot be used do not stop it");
    house.ok(&["daemon", "stop"]);
    house.ok(&["daemon", "restart"]);
    house.state(&session, "idle");
}

#[test]
fn a_stop_that_takes_too_long_names_what_still_runs() {
    if !tools::present(&["bash"]) {
        return;
    }
    let mut house = House::new();
    let stubborn = "trap '' TERM HUP INT; echo ready; while :; do sleep 600; done";
    let session = house.create(json!({ "command": ["bash", "-c", stubborn], "name": "stubborn" }));
    house.wait(&session, "screen_contains \"ready\"");
    let (code, said) = house.fails(&["daemon", "stop", "--timeout", "50ms"]);
    let pid = house.pid();
    assert!(code == 3 && said.contains("has not ended within 50ms"), "{code} {said}");
    assert!(said.contains(&format!("{pid} (wh)")) && said.contains("(bash)"), "{said}");
    assert!(said.contains(&format!("kill -9 {pid}")) && said.contains("daemon.log"), "{said}");
    assert!(house.ended().success());
}
