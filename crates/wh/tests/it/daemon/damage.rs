//! A damaged store and a full disk: `wh daemon start` reports them, and no data is deleted.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wh_testkit::disk::inside;
use wh_testkit::{eventually, process, tools};

use super::TestDaemon;

#[test]
fn damage_is_reported_by_start_and_status_and_the_damaged_store_is_kept() {
    let daemon = TestDaemon::empty([]);
    let store = daemon.root().join("state/wheelhouse/store");
    let (file, log) = (store.join("wheelhouse.db"), store.join("wheelhouse.db-wal"));
    let garbage = b"garbage ".repeat(2000);
    for (what, damaged, killed) in
        [("an empty file", &file, false), ("a garbage file", &file, false), ("a garbage log", &log, true)]
    {
        daemon.ok(&["daemon", "start"]);
        daemon.ok(&["new", "--agent", "demo", "--name", "a"]);
        if killed {
            let daemon_pid = Pid::from_raw(daemon.status()["pid"].as_i64().unwrap() as i32);
            kill(daemon_pid, Signal::SIGKILL).unwrap();
            eventually("it is gone", || (!process::running(daemon_pid)).then_some(()));
        } else {
            daemon.ok(&["daemon", "stop"]);
        }
        let said = String::from_utf8(daemon.run(&["ls"]).stderr).unwrap();
        assert!(said.contains("`wh daemon start` restores 1 session: a"), "{what}: {said}");
        let content = if what.contains("empty") { Vec::new() } else { garbage.clone() };
        fs::write(damaged, &content).unwrap();
        for arguments in [&["ls"][..], &["daemon", "status"]] {
            let said = String::from_utf8(daemon.run(arguments).stderr).unwrap();
            assert!(said.contains("is damaged ("), "{what}, {arguments:?}: {said}");
        }
        let started = daemon.run(&["daemon", "start"]);
        let said = String::from_utf8(started.stderr).unwrap();
        assert!(started.status.success() && said.contains("wh: the store was damaged ("), "{what}: {said}");
        let kept = PathBuf::from(daemon.status()["store_damage"]["kept"].as_str().unwrap());
        assert!(said.contains(kept.to_str().unwrap()), "{what}: {said}");
        let content_kept = if killed { format!("{}-wal", kept.display()).into() } else { kept.clone() };
        assert_eq!(fs::read(content_kept).unwrap(), content, "{what}");
        let said = String::from_utf8(daemon.run(&["daemon", "status"]).stderr).unwrap();
        assert!(said.contains("the store was damaged (") && said.contains(kept.to_str().unwrap()), "{what}: {said}");
        let logged = daemon.ok(&["daemon", "logs"]);
        assert!(
            logged.contains("the store was damaged") && logged.contains(kept.to_str().unwrap()),
            "{what}: {logged}"
        );
        daemon.ok(&["daemon", "stop"]);
    }
    daemon.ok(&["daemon", "start"]);
    let said = String::from_utf8(daemon.run(&["daemon", "status"]).stderr).unwrap();
    assert_eq!(said.matches("a damaged store from an earlier start is saved as").count(), 3, "{said}");
}

#[test]
fn a_start_on_a_full_disk_reports_the_full_disk() {
    if !tools::present(&["unshare"]) {
        return;
    }
    let Some(disk) = inside("daemon::damage::a_start_on_a_full_disk_reports_the_full_disk", "size=1m,mode=700") else {
        return;
    };
    let daemon = TestDaemon::empty([]);
    let wh = |arguments: &[&str]| daemon.wh(arguments).env("XDG_STATE_HOME", &disk).output().unwrap();
    let fill = || {
        let mut ballast = fs::File::create(disk.join("ballast")).unwrap();
        while ballast.write_all(&[1; 512]).is_ok() {}
    };
    let refused = |what: &str| {
        let output = wh(&["daemon", "start"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{what}: {said}");
        let named = said.to_lowercase().contains("no space left on device") && said.contains(disk.to_str().unwrap());
        assert!(named, "{what}: {said}");
    };
    fill();
    refused("without a store");
    fs::remove_file(disk.join("ballast")).unwrap();
    let started = wh(&["daemon", "start"]);
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    assert_eq!(String::from_utf8(started.stderr).unwrap(), "", "what a full disk has left is no damage");
    assert!(wh(&["daemon", "stop"]).status.success());
    fill();
    refused("with a store");
}
