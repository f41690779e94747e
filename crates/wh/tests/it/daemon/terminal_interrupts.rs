//! Interrupts of terminal programs overtake queued input, and the text of an interrupting message is typed once. The
//! full trial is `wh-bench terminal-interrupts`.

use std::fs;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use wh_testkit::terminal_interrupts::{TerminalProgram, TerminalTrial, TerminalTrialRow};
use wh_testkit::tools;

use super::test_daemon::TestDaemon;
use super::{message, stdin, with};
use crate::WH;

#[test]
fn an_interrupting_text_is_executed_once_even_with_12_kb_of_queued_input() {
    let programs = vec![TerminalProgram::Bash, TerminalProgram::Dash, TerminalProgram::Python];
    if !tools::present(&["bash", "dash", "python3"]) {
        return;
    }
    let report = TerminalTrial { wh: Path::new(WH).to_owned(), programs, rounds: 4 }.run(|_| {});
    assert!(report.rows.iter().all(TerminalTrialRow::is_whole), "{}\n{}", report.table(), report.faults.join("\n"));
    assert_eq!(report.rows.len(), 18, "{}", report.table());
}

#[test]
fn a_program_with_disabled_signals_reads_the_interrupt_before_other_input() {
    if !tools::present(&["sh", "stty", "od"]) {
        return;
    }
    let daemon = TestDaemon::new();
    mkfifo(&daemon.work().join("go"), Mode::S_IRWXU).unwrap();
    let script = "stty raw -echo; echo ready; read line < go; od -An -tx1 -N3";
    let session = daemon.create(json!({ "name": "raw", "command": ["sh", "-c", script] }));
    daemon.wait(&session, r#"screen_contains "ready""#);
    let answered = |ack: &Value| (ack["result"].clone(), ack["error"].clone(), ack["duplicate"].clone());
    let expected = |result: &str, error: &str, duplicate: bool| (json!(result), json!(error), json!(duplicate));

    let queued = stdin(&session, "queued", &"x".repeat(200 * 1024));
    assert_eq!(answered(&daemon.control(&queued)), expected("timeout", "unread", false));
    let more = stdin(&session, "more", "y");
    assert_eq!(answered(&daemon.control(&more)), expected("timeout", "unread", false));
    // It is unknown whether the program read the byte, so the result is neither ok nor busy.
    let interrupt =
        with(message(&session, "stop"), json!({ "type": "control.interrupt.request", "signal": "interrupt" }));
    assert_eq!(answered(&daemon.control(&interrupt)), expected("timeout", "unread", false));
    let text = with(stdin(&session, "text", "ab"), json!({ "interrupt": true }));
    assert_eq!(answered(&daemon.control(&text)), expected("timeout", "unread", false));
    for discarded in [queued, more, interrupt] {
        let again = daemon.control(&discarded);
        assert_eq!((&again["result"], &again["duplicate"]), (&json!("rejected"), &json!(true)), "{again}");
        assert!(again["detail"].as_str().unwrap().contains("interrupt"), "{again}");
    }
    assert_eq!(daemon.receipt(&session, "queued")["reason"], "interrupted");
    fs::write(daemon.work().join("go"), "\n").unwrap();
    daemon.wait(&session, r#"screen_contains "03 61 62""#);
}
