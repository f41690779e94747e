//! [`Wh`] with a script in place of the wh binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use wh_testkit::{CONDITION_TIMEOUT, ScriptedModel, Wh, process};

/// Writes a script that announces a port like wh and then runs `rest`.
fn stand_in(directory: &tempfile::TempDir, rest: &str) -> PathBuf {
    let path = directory.path().join("wh");
    let script = format!(
        r#"#!/bin/sh
echo "started as: $* in $XDG_RUNTIME_DIR" >&2
echo "{{\"event\":\"control-listening\",\"url\":\"http://127.0.0.1:$PORT\",\"port\":$PORT,\"pid\":$$}}" >&2
{rest}
"#
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn wh_is_found_by_its_announcement_and_ended_by_drop() {
    let directory = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start();
    let bin = stand_in(&directory, "exec sleep 600");
    let wh = Wh::options(bin).env("PORT", model.port()).flags(&["--cols", "80"]).start(&["--", "cat"]);
    assert_eq!(wh.port(), model.port());
    assert_eq!(wh.get("/control/health").status, 200);
    let started = format!(
        "started as: run --headless --control-port 0 --linger 0 --cols 80 -- cat in {}",
        wh.runtime_dir().display()
    );
    assert!(wh.stderr().contains(&started), "{}", wh.stderr());
    let pid = wh.pid();
    drop(wh);
    assert!(!process::running(pid));
}

#[test]
fn a_signal_reaches_wh_and_its_exit_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let bin = stand_in(&directory, "trap 'exit 7' INT; echo ready; while :; do sleep 0.01; done");
    let mut wh = Wh::options(bin).env("PORT", 1).headed().control_port(9).start(&[]);
    wh_testkit::eventually("the trap is set", || wh.stdout().contains("ready").then_some(()));
    assert!(wh.stderr().contains("run --control-port 9 --linger 0 in"), "{}", wh.stderr());
    wh.signal(Signal::SIGINT);
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(7));
}

#[test]
fn an_environment_can_be_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let bin = stand_in(&directory, "env; exec sleep 600");
    let env = [("PORT", "1"), ("PATH", "/usr/bin:/bin")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let wh = Wh::options(bin).environment(env).start(&[]);
    wh_testkit::eventually("the environment is shown", || wh.stdout().contains("PATH=").then_some(()));
    assert!(!wh.stdout().contains("CARGO"), "{}", wh.stdout());
}

#[test]
#[should_panic(expected = "wh exited before its control port opened: exit status: 3")]
fn a_wh_that_does_not_start_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let bin = directory.path().join("wh");
    fs::write(&bin, "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    Wh::start(bin, &[]);
}
