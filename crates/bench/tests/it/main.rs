//! Checks that every row can be measured, but not how fast anything is.
#![allow(clippy::disallowed_methods, reason = "it is not a child subreaper and ends its own children")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use wh_testkit::{Lab, tools};

/// Returns the benchmark command, if wh is built.
fn bench() -> Option<Command> {
    let bench = Path::new(env!("CARGO_BIN_EXE_wh-bench"));
    if !bench.with_file_name("wh").is_file() {
        assert!(std::env::var_os("CI").is_none(), "wh is not built");
        skip("wh is not built; cargo test --workspace builds it");
        return None;
    }
    let mut command = Command::new(bench);
    command.arg("--quick");
    Some(command)
}

/// Writes directly to stderr, since the test harness captures the print macros of a passing test.
fn skip(reason: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {reason}\n").as_bytes());
}

/// Returns one column of a table.
fn column(table: &str, place: usize) -> Vec<&str> {
    table.lines().skip(2).map(|line| line.split('|').nth(place).unwrap().trim()).collect()
}

fn output_text(output: &Output) -> (String, String) {
    let [table, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stderr}");
    (table, stderr)
}

#[test]
fn a_quick_run_prints_three_tables_and_reports_missing_agents() {
    if !tools::present(&["tmux", "sh", "cat", "stty"]) {
        return;
    }
    let Some(mut bench) = bench() else { return };
    let nothing = tempfile::tempdir().unwrap();
    let output = bench.env("WHEELHOUSE_CLIS", nothing.path()).output().expect("the benchmark runs");
    let (tables, stderr) = output_text(&output);
    let parts: Vec<&str> = tables.split("\n\n").collect();
    let [first, second, third] = parts[..] else { panic!("not three tables:\n{tables}") };
    assert_eq!(column(first, 1), ["1", "2", "2", "3", "4", "4", "5"], "{first}");
    assert_eq!(column(second, 1), ["6", "6", "6", "7", "8", "9", "10"], "{second}");
    assert_eq!(column(third, 1), ["11", "11", "11", "14", "14", "14", "15", "15"], "{third}");
    assert_eq!(column(second, 5)[3..5], ["not available"; 2], "{second}");
    assert!(stderr.contains("SKIPPED: real agents in rows 7, 8, 10, 12, 13:"), "{stderr}");
    assert!(stderr.contains("crates/testkit/install-clis"), "{stderr}");
}

#[test]
fn two_builds_are_compared() {
    if !tools::present(&["tmux", "sh", "cat", "stty"]) {
        return;
    }
    let Some(mut bench) = bench() else { return };
    let same = Path::new(env!("CARGO_BIN_EXE_wh-bench")).with_file_name("wh");
    let output = bench.arg("--against").arg(&same).args(["--row=1", "--row=14"]).output().expect("the benchmark runs");
    let (table, _) = output_text(&output);
    assert_eq!(column(&table, 1), ["1", "14", "14"], "{table}");
    for ratio in column(&table, 5) {
        assert!(ratio.parse::<f64>().is_ok_and(|ratio| ratio > 0.0), "{table}");
    }
}

#[test]
fn real_agents_are_compared_if_installed() {
    let Some(mut bench) = bench() else { return };
    if let Err(reason) = Lab::available() {
        skip(&format!("the UIs of real agents, because {reason}; run crates/testkit/install-clis"));
        return;
    }
    let output =
        bench.args(["--row=7", "--row=8", "--row=10", "--row=12", "--row=13"]).output().expect("the benchmark runs");
    let (table, stderr) = output_text(&output);
    assert!(!stderr.contains("SKIPPED"), "{stderr}");
    let agents = ["Codex", "Gemini CLI", "Claude Code"];
    let spoken = ["Claude Code", "Codex", "Gemini CLI"];
    let expected = [&agents[..], &agents, &agents, &["minimal shell script"], &spoken, &spoken].concat();
    assert_eq!(column(&table, 5), expected, "{table}");
}

#[test]
fn interrupts_are_tried_with_a_real_agent_and_contradictions_set_the_exit_code() {
    let Some(mut bench) = bench() else { return };
    if let Err(reason) = Lab::available() {
        skip(&format!("interrupts of real agents, because {reason}; run crates/testkit/install-clis"));
        return;
    }
    let arguments = ["interrupts", "--rounds=2", "--seed=1", "--agent=codex"];
    let output = bench.args(arguments).output().expect("the trial runs");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = table.split("\n\n").next().unwrap_or_default();
    assert_eq!((column(first, 1), column(first, 2)), (vec!["Codex"], vec!["2"]), "{table}");
    assert_eq!(output.status.success(), column(first, 7) == ["0"], "{table}");
}
