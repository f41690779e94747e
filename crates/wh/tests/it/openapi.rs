//! Checks the API against its OpenAPI description with schemathesis. Streams are excluded because they have no end.

use std::process::Command;

use wh_testkit::tools::pinned;
use wh_testkit::wh::Wh;

use crate::WH;

/// Program that accepts all input and survives every signal except KILL. The API works without it after that.
const SURVIVOR: &str =
    r"trap '' HUP INT QUIT USR1 USR2 TERM TSTP; stty -echo; echo ready; while :; do cat > /dev/null; done";

/// Excluded check: a schema cannot describe valid key names and conditions.
const CANNOT_HOLD: &str = "positive_data_acceptance";

/// Paths of a conversation, which a terminal program does not have.
const CONVERSATION: &str =
    r"/control/(questions|answer|interrupt|command|receipts/.*|items/.*)|/agents|/agents/.*|/message|/history";

/// Checks some paths of a terminal program against their description.
#[track_caller]
fn hold(paths: &[&str]) {
    hold_of(&|| Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", SURVIVOR]), paths);
}

/// Runs the check with a fixed seed, so that the requests are reproducible.
#[track_caller]
fn hold_of(start: &dyn Fn() -> Wh, paths: &[&str]) {
    let Some(schemathesis) = pinned("schemathesis", 4) else { return };
    let wh = start();
    wh.wait("frames > 0");
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(schemathesis)
        .args(["run", &format!("http://127.0.0.1:{}/openapi.json", wh.port())])
        .args(paths)
        .args(["--checks", "all", "--exclude-checks", CANNOT_HOLD, "--warnings", "off"])
        .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "25", "--seed", "1"])
        .args(["--generation-database", "none", "--suppress-health-check", "all", "--no-color"])
        .env("HOME", directory.path())
        .current_dir(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_api_matches_its_description() {
    hold(&["--exclude-path-regex", &format!("^(/control/(events|stream|signal)|{CONVERSATION})$")]);
}

/// Separate, because the program does not survive it.
#[test]
fn the_signal_path_matches_its_description() {
    hold(&["--include-path", "/control/signal"]);
}

#[test]
fn the_api_of_a_space_matches_its_description() {
    let space = || Wh::options(WH).space().start(&["--", "--pace", "0"]);
    hold_of(&space, &["--include-path-regex", &format!("^({CONVERSATION})$")]);
}
