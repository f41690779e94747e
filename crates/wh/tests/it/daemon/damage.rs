//! A store that is damaged or has no room: whoever starts the daemon is told, and nothing is thrown away.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wh_testkit::disk::inside;
use wh_testkit::{eventually, process, tools};

use super::House;

#[test]
fn damage_is_reported_by_start_and_status_and_the_damaged_store_is_kept() {
    let house = House::empty([]);
    let store = house.root().join("state/wheelhouse/store");
    let (file, log) = (store.join("wheelhouse.db"), store.join("wheelhouse.db-wal"));
    let garbage = b"garbage ".repeat(2000);
    for (what, damaged, killed) in
        [("an empty file", &file, false), ("a garbage file", &file, false), ("a garbage log", &log, true)]
    {
        house.ok(&["daemon", "start"]);
        house.ok(&["new", "--agent", "demo", "--name", "a"]);
        if killed {
            let daemon = Pid::from_raw(house.status()["pid"].as_i64().unwrap() as i32);
            kill(daemon, Signal::SIGKILL).unwrap();
            eventually("it is gone", || (!process::running(daemon)).then_some(()));
        } else {
            house.ok(&["daemon", "stop"]);
        }
        let said = String::from_utf8(house.run(&["ls"]).stderr).unwrap();
        assert!(said.contains("wh daemon start restores 1 session: a"), "{what}: {said}");
        let content = if what.contains("empty") { Vec::new() } else { garbage.clone() };
        fs::write(damaged, &content).unwrap();
        for arguments in [&["ls"][..], &["daemon", "status"]] {
            let said = String::from_utf8(house.run(arguments).stderr).unwrap();
            assert!(said.contains("is damaged ("), "{what}, {arguments:?}: {said}");
        }
        let started = house.run(&["daemon", "start"]);
        let said = String::from_utf8(started.stderr).unwrap();
        assert!(started.status.success() && said.contains("wh: the store was damaged ("), "{what}: {said}");
        let kept = PathBuf::from(house.status()["store_damage"]["kept"].as_str().unwrap());
        assert!(said.contains(kept.to_str().unwrap()), "{what}: {said}");
        let content_kept = if killed { format!("{}-wal", kept.display()).into() } else { kept.clone() };
        assert_eq!(fs::read(content_kept).unwrap(), content, "{what}");
        let said = String::from_utf8(house.run(&["daemon", "status"]).stderr).unwrap();
        assert!(said.contains("the store was damaged (") && said.contains(kept.to_str().unwrap()), "{what}: {said}");
        let logged = house.ok(&["daemon", "logs"]);
        assert!(
            logged.contains("the store was damaged") && logged.contains(kept.to_str().unwrap()),
            "{what}: {logged}"
        );
        house.ok(&["daemon", "stop"]);
    }
    house.ok(&["daemon", "start"]);
    let said = String::from_utf8(house.run(&["daemon", "status"]).stderr).unwrap();
    assert_eq!(said.matches("a damaged store of an earlier start is kept as").count(), 3, "{said}");
}

#[test]
fn a_start_on_a_full_disk_names_the_disk() {
    if !tools::present(&["unshare"]) {
        return;
    }
    let Some(disk) = inside("daemon::damage::a_start_on_a_full_disk_names_the_disk", "size=1m,mode=700") else {
        return;
    };
    let house = House::empty([]);
    let wh = |arguments: &[&str]| house.wh(arguments).env("XDG_STATE_HOME", &disk).output().unwrap();
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
