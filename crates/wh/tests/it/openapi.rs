//! The description of the door, held against the door by somebody who believes every word of it. Streams are left out:
//! they have no end.

use std::process::Command;

use wh_testkit::tools::pinned;
use wh_testkit::wh::Wh;

use crate::WH;

/// Takes what it is sent and survives every signal but KILL, after which the door goes on without it.
const SURVIVOR: &str =
    r"trap '' HUP INT QUIT USR1 USR2 TERM TSTP; stty -echo; echo ready; while :; do cat > /dev/null; done";

/// A text that the description cannot tell from one that is understood: key names and conditions are languages.
const CANNOT_HOLD: &str = "positive_data_acceptance";

/// The paths of a conversation; a plain program has none.
const CONVERSATION: &str =
    r"/control/(questions|answer|interrupt|command|receipts/.*|items/.*)|/agents|/agents/.*|/message|/history";

/// Holds some of the paths of a plain program against their description.
#[track_caller]
fn hold(paths: &[&str]) {
    hold_of(&|| Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", SURVIVOR]), paths);
}

/// The seed is fixed: the same is asked every time.
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
fn the_door_does_what_its_description_says() {
    hold(&["--exclude-path-regex", &format!("^(/control/(events|stream|signal)|{CONVERSATION})$")]);
}

/// Apart from the others, since the program does not survive it.
#[test]
fn signals_are_sent_as_the_description_says() {
    hold(&["--include-path", "/control/signal"]);
}

#[test]
fn a_space_does_what_its_description_says() {
    let space = || Wh::options(WH).space().start(&["--", "--pace", "0"]);
    hold_of(&space, &["--include-path-regex", &format!("^({CONVERSATION})$")]);
}
