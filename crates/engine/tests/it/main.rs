//! The store from outside: what is left of it after a kill, and on a disk that is full or says no.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod crash;
mod disk;

use std::path::Path;
use std::process::{Command, Stdio};

use wh_engine::store::Key;

/// Tells a test that it is the one inside, and where the store is.
const INSIDE: &str = "WH_STORE_TEST_INSIDE";

fn key(request: impl ToString) -> Key {
    let request = request.to_string();
    Key { team: "team".to_owned(), session: "session".to_owned(), agent: "agent".to_owned(), request }
}

/// This binary, about to run one of its tests, inside.
fn again(test: &str, store: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, store).stdin(Stdio::null());
    command
}
