//! A small file system of a test's own, in a namespace of its own: one that is full soon, or cannot be written.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tools;

/// Tells a test that it is the one inside, and where its file system is.
const INSIDE: &str = "WH_TEST_DISK";

/// Runs a test of this binary once more with a file system of its own, mounted with these options, and sees that it passes. Inside, where that
/// is; outside nothing, and the test is over. Where none can be had it is as with [`tools::present`].
#[track_caller]
pub fn inside(test: &str, options: &str) -> Option<PathBuf> {
    if let Some(directory) = env::var_os(INSIDE) {
        return Some(PathBuf::from(directory));
    }
    let home = tempfile::tempdir().expect("a directory");
    let unshare = || {
        let mut command = Command::new("unshare");
        if !nix::unistd::geteuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        let script = r#"mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@""#;
        command.args(["--mount", "sh", "-c", script, "sh", options]).arg(home.path()).stdin(Stdio::null());
        command
    };
    let probe = unshare().arg("true").output();
    if !probe.as_ref().is_ok_and(|output| output.status.success()) {
        tools::skip(&format!("no file system of its own can be had here ({probe:?})"), false);
        return None;
    }
    let mut again = unshare();
    again.arg(env::current_exe().expect("this binary")).args(["--exact", test, "--nocapture"]);
    let output = again.env(INSIDE, home.path()).output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    None
}
