//! A daemon or run that does not answer: every client command reports that and exits.

use std::process::Output;

use nix::sys::signal::{Signal, kill};
use wh_testkit::wh::Wh;

use super::TestDaemon;
use crate::WH;

/// Long enough for the notice after two seconds.
const TIMEOUT: &str = "2500ms";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_client_command_reports_a_daemon_that_does_not_answer() {
    let mut daemon = TestDaemon::new();
    daemon.demo("a", 0);
    let pid = daemon.pid();
    kill(pid, Signal::SIGSTOP).unwrap();
    let commands: &[&[&str]] = &[
        &["ls"],
        &["screen", "a"],
        &["send", "a", "hello"],
        &["key", "a", "enter"],
        &["key", "enter"],
        &["interrupt", "a"],
        &["answer", "a"],
        &["logs", "a"],
        &["state", "-s", "a"],
        &["messages", "-s", "a"],
        &["rename", "a", "b"],
        &["kill", "a"],
        &["new", "--agent", "demo"],
        &["daemon", "status"],
    ];
    let running: Vec<_> = commands
        .iter()
        .map(|arguments| daemon.wh(&[*arguments, &["--timeout", TIMEOUT]].concat()).spawn().unwrap())
        .collect();
    for (arguments, child) in commands.iter().zip(running) {
        let output = child.wait_with_output().unwrap();
        let said = said(&output);
        let code = if arguments[0] == "daemon" { 3 } else { 6 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        for words in [
            format!("wh: still waiting for the daemon (process {pid})\n"),
            format!("wh: the daemon (process {pid}) did not answer within 2.5s\n"),
            format!("kill -CONT {pid}"),
            "daemon.log".to_owned(),
            "wh daemon status".to_owned(),
        ] {
            assert!(said.contains(&words), "{arguments:?}: {words:?} in {said}");
        }
        assert_eq!(said.matches("still waiting").count(), 1, "{arguments:?}: {said}");
    }
    let help = daemon.ok(&["ls", "--help"]);
    assert!(help.contains("[default: 10s]"), "{help}");
    // A stopped process can still be ended.
    assert_eq!(daemon.ok(&["daemon", "stop"]), "the daemon has stopped\n");
    assert!(daemon.ended().success());
}

#[test]
fn the_error_names_a_run_that_does_not_answer() {
    let wh = Wh::start(WH, &["--", "sleep", "600"]);
    wh.signal(Signal::SIGSTOP);
    let (port, pid) = (wh.port().to_string(), wh.pid());
    let output = std::process::Command::new(WH)
        .args(["screen", "--port", &port, "--timeout", TIMEOUT])
        .env("XDG_RUNTIME_DIR", wh.runtime_dir())
        .output()
        .unwrap();
    wh.signal(Signal::SIGCONT);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(6), "{said}");
    let name = format!("the run at http://127.0.0.1:{port} (process {pid})");
    assert!(said.contains(&format!("still waiting for {name}\n")), "{said}");
    assert!(said.contains(&format!("{name} did not answer within 2.5s")), "{said}");
    assert!(said.contains(&format!("kill {pid}")), "{said}");
}
