//! Reading the exit of a run: the API stays open briefly for an active client, and a record stays for a minute.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use wh_testkit::CONDITION_TIMEOUT;
use wh_testkit::wh::Wh;

use crate::WH;

/// Exits with code 3 at the first key.
const ENDS_AT_A_KEY: &str = "stty raw -echo; head -c 1 > /dev/null; echo last words; exit 3";

fn start(flags: &[&str]) -> Wh {
    Wh::options(WH).waits_for_readers().flags(flags).start(&["--", "sh", "-c", ENDS_AT_A_KEY])
}

/// Runs a command that finds the runs of `wh`. Returns its exit code and output.
fn command(wh: &Wh, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(WH);
    command.args(arguments).env("XDG_RUNTIME_DIR", wh.runtime_dir());
    for variable in ["WH_CONTROL_URL", "WH_CONTROL_PORT", "WH_CONTROL_TOKEN"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn records(wh: &Wh) -> Vec<PathBuf> {
    let files = fs::read_dir(wh.runtime_dir().join("wheelhouse")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("ended-")).collect()
}

fn record(wh: &Wh) -> Value {
    serde_json::from_slice(&fs::read(&records(wh)[0]).unwrap()).unwrap()
}

#[test]
fn a_client_can_wait_for_the_exit_right_after_its_input() {
    for round in 0..20 {
        let mut wh = start(&[]);
        let (code, _, said) = command(&wh, &["send", "q"]);
        assert_eq!(code, 0, "{round}: {said}");
        let (code, _, said) = command(&wh, &["wait", "exited", "--timeout", "60s"]);
        assert_eq!(code, 0, "{round}: {said}");
        assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
    }
    for _ in 0..5 {
        let mut wh = start(&[]);
        wh.key("q");
        wh.wait("exited");
        assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
    }
}

#[test]
fn an_ended_run_is_read_from_its_record() {
    let mut wh = start(&["--linger", "0"]);
    let port = wh.port().to_string();
    wh.key("q");
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
    let files = records(&wh);
    assert_eq!(files.len(), 1);
    assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    for which in [&[][..], &["--port", &port]] {
        let asked = |words: &[&str]| command(&wh, &[words, which].concat());
        let (code, out, said) = asked(&["wait", "exited and screen_contains 'last words'"]);
        assert_eq!((code, out.as_str()), (0, "matched after 0 ms\n"), "{said}");
        assert!(said.contains("has ended with code 3"), "{said}");
        let (code, _, said) = asked(&["wait", "screen_contains 'never'"]);
        assert!(code == 4 && said.contains("the program has exited") && said.contains("last words"), "{said}");
        assert_eq!(asked(&["wait", "nonsense"]).0, 2);
        assert_eq!(asked(&["wait", "idle"]).0, 4);
        assert_eq!(asked(&["screen"]).1, "last words\n");
        let (code, out, _) = asked(&["state", "--json"]);
        let state: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &state["session"]["exit"]["code"]), (0, &json!(3)));
        // Commands to the ended run fail.
        assert_eq!(asked(&["key", "enter"]).0, 6);
        assert_eq!(asked(&["screen", "--history"]).0, 6);
    }
    assert_eq!(command(&wh, &["screen", "--port", "1"]).0, 6);
}

#[test]
fn the_record_of_a_run_with_a_token_has_no_screen() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, "s3cret").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    let mut wh = start(&["--control-token-file", file]);
    assert_eq!(command(&wh, &["send", "q", "--token-file", file]).0, 0);
    assert_eq!(command(&wh, &["wait", "exited", "--token-file", file, "--timeout", "60s"]).0, 0);
    wh.wait_exit(CONDITION_TIMEOUT);
    let left = record(&wh);
    assert_eq!((&left["screen"], &left["state"]["terminal"]), (&Value::Null, &Value::Null));
    assert_eq!(command(&wh, &["wait", "exited"]).0, 0);
    assert_eq!(command(&wh, &["wait", "not screen_contains 'x'"]).0, 4);
    assert_eq!(command(&wh, &["screen"]).0, 6);
}

#[test]
fn a_run_without_clients_exits_at_once() {
    // One of three attempts must be quick, because the machine may be busy.
    let quick = (0..3).any(|_| {
        let mut wh = Wh::options(WH).waits_for_readers().start(&["--", "true"]);
        assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(0));
        let ended: jiff::Timestamp = record(&wh)["ended_at"].as_str().unwrap().parse().unwrap();
        Duration::try_from(jiff::Timestamp::now().duration_since(ended)).unwrap() < Duration::from_millis(1900)
    });
    assert!(quick);
}
