//! That every row can be measured; not how fast anything is.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use wh_testkit::{Lab, tools};

/// The benchmark, if there is a wh for it.
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

/// Straight to stderr: what goes through the print macros is swallowed in a test that passes.
fn skip(reason: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {reason}\n").as_bytes());
}

/// One column of a table, by the place of its bar.
fn column(table: &str, place: usize) -> Vec<&str> {
    table.lines().skip(2).map(|line| line.split('|').nth(place).unwrap().trim()).collect()
}

fn said(output: &Output) -> (String, String) {
    let [table, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{said}");
    (table, said)
}

#[test]
fn a_quick_run_gives_three_tables_and_says_who_is_not_there() {
    if !tools::present(&["tmux", "sh", "cat", "stty"]) {
        return;
    }
    let Some(mut bench) = bench() else { return };
    let nothing = tempfile::tempdir().unwrap();
    let output = bench.env("WHEELHOUSE_CLIS", nothing.path()).output().expect("the benchmark runs");
    let (tables, said) = said(&output);
    let parts: Vec<&str> = tables.split("\n\n").collect();
    let [first, second, third] = parts[..] else { panic!("not three tables:\n{tables}") };
    assert_eq!(column(first, 1), ["1", "2", "2", "3", "4", "4", "5"], "{first}");
    assert_eq!(column(second, 1), ["6", "6", "6", "7", "8", "9", "10"], "{second}");
    assert_eq!(column(third, 1), ["11", "11", "11", "14", "14", "14", "15", "15"], "{third}");
    assert_eq!(column(second, 5)[3..5], ["nobody"; 2], "{second}");
    assert!(said.contains("LEFT OUT: real agents in rows 7, 8, 10, 12, 13, because"), "{said}");
    assert!(said.contains("crates/testkit/install-clis"), "{said}");
}

#[test]
fn two_builds_are_measured_beside_each_other() {
    if !tools::present(&["tmux", "sh", "cat", "stty"]) {
        return;
    }
    let Some(mut bench) = bench() else { return };
    let same = Path::new(env!("CARGO_BIN_EXE_wh-bench")).with_file_name("wh");
    let output = bench.arg("--against").arg(&same).args(["--row=1", "--row=14"]).output().expect("the benchmark runs");
    let (table, _) = said(&output);
    assert_eq!(column(&table, 1), ["1", "14", "14"], "{table}");
    for ratio in column(&table, 5) {
        assert!(ratio.parse::<f64>().is_ok_and(|ratio| ratio > 0.0), "{table}");
    }
}

#[test]
fn the_real_agents_stand_beside_wh_where_they_are_installed() {
    let Some(mut bench) = bench() else { return };
    if let Err(reason) = Lab::available() {
        skip(&format!("the UIs of real agents, because {reason}; run crates/testkit/install-clis"));
        return;
    }
    let output =
        bench.args(["--row=7", "--row=8", "--row=10", "--row=12", "--row=13"]).output().expect("the benchmark runs");
    let (table, said) = said(&output);
    assert!(!said.contains("LEFT OUT"), "{said}");
    let agents = ["Codex", "Gemini CLI", "Claude Code"];
    let spoken = ["Claude Code", "Codex", "Gemini CLI"];
    let expected = [&agents[..], &agents, &agents, &["sh and an echo"], &spoken, &spoken].concat();
    assert_eq!(column(&table, 5), expected, "{table}");
}

#[test]
fn interrupts_are_tried_with_a_real_agent_and_the_exit_code_tells_of_contradictions() {
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
