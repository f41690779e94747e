//! That every row can be measured; not how fast anything is.

use std::path::Path;
use std::process::Command;

use wh_testkit::tools;

#[test]
fn a_quick_run_gives_a_table() {
    if !tools::present(&["tmux", "sh", "cat", "stty"]) {
        return;
    }
    let bench = Path::new(env!("CARGO_BIN_EXE_wh-bench"));
    if !bench.with_file_name("wh").is_file() {
        assert!(std::env::var_os("CI").is_none(), "wh is not built");
        eprintln!("SKIPPED: wh is not built; cargo test --workspace builds it");
        return;
    }
    let output = Command::new(bench).arg("--quick").output().expect("the benchmark runs");
    let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let rows: Vec<&str> = table.lines().skip(2).map(|line| line.split('|').nth(1).unwrap().trim()).collect();
    assert_eq!(rows, ["1", "2", "2", "3", "4", "4", "5"], "{table}");
}
