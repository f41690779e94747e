//! Tests of the store from outside: after a kill, and on a full or failing disk.
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in a test a panic is a verdict")]

mod crash;
mod disk;

use std::path::Path;
use std::process::{Command, Stdio};

use wh_engine::store::RequestKey;

/// Tells a test that it runs in the child process, and where the store is.
const INSIDE: &str = "WH_STORE_TEST_INSIDE";

fn key(request: impl ToString) -> RequestKey {
    let request = request.to_string();
    RequestKey { team: "team".to_owned(), session: "session".to_owned(), agent: "agent".to_owned(), request }
}

/// Command that runs one of this binary's tests in a child process.
fn again(test: &str, store: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, store).stdin(Stdio::null());
    command
}
