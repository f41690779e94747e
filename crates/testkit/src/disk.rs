//! A small file system in a mount namespace, for tests that need a full or read-only disk.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tools;

/// Environment variable with the mount point of the file system. Set in the process inside the namespace.
const DISK_VARIABLE: &str = "WH_TEST_DISK";

/// Runs the test `test` of this binary again in a mount namespace that contains a tmpfs, mounted with `options`. Inside
/// the namespace, returns the mount point. Outside, waits until the second run has ended and returns `None`; the
/// calling test must then return. If the namespace is not available, the test is skipped as by [`tools::present`].
#[track_caller]
pub fn inside(test: &str, options: &str) -> Option<PathBuf> {
    if let Some(directory) = env::var_os(DISK_VARIABLE) {
        return Some(PathBuf::from(directory));
    }
    let home = tempfile::tempdir().expect("a temporary directory can be created");
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
        tools::skip(&format!("cannot mount a file system in a namespace ({probe:?})"), false);
        return None;
    }
    let mut again = unshare();
    again.arg(env::current_exe().expect("the test binary has a path")).args(["--exact", test, "--nocapture"]);
    let output = again.env(DISK_VARIABLE, home.path()).output().expect("unshare can be run");
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    None
}
