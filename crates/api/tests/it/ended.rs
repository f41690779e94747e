//! Records of ended runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use wh_api::{Address, Client, Error, EventOptions, Routes, blocking};

fn record(directory: &Path, port: u16, ended_at: &str) {
    let facts = json!({
        "id": "s", "command": ["make"], "status": "exited", "evidence": "process", "since": ended_at, "pid": null,
        "exit": {"code": 143, "signal": 15}, "openWaits": 0, "queuedInput": 0
    });
    let mut state = serde_json::to_value(wh_api::wire::control::ClientState::default()).unwrap();
    state["session"] = facts;
    let record = json!({
        "pid": 1, "process_start": 1, "port": port, "url": format!("http://127.0.0.1:{port}"), "command": ["make"],
        "started_at": ended_at, "version": "1", "ended_at": ended_at, "state": state, "screen": null
    });
    fs::write(directory.join("ended-1.json"), record.to_string()).unwrap();
}

fn client(directory: &Path, port: u16) -> blocking::Client {
    Client::builder(Address::local(port)).records(Some(directory.to_owned())).blocking().unwrap()
}

#[test]
fn a_record_tells_the_exit_code_of_an_ended_run() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    record(directory.path(), port, &jiff::Timestamp::now().to_string());

    let error = client(directory.path(), port).screen(Default::default()).unwrap_err();
    let exit = error.exit().unwrap();
    assert_eq!((exit.code, exit.signal), (143, Some(15)));
    assert_eq!(error.to_string(), format!("make at http://127.0.0.1:{port} has ended by signal 15"));
    let event = client(directory.path(), port).events(EventOptions::new()).next();
    assert!(matches!(event, Some(Err(Error::Ended(_)))), "{event:?}");

    // No record is used for a session of a daemon, if it is old, or if other users can write to the directory.
    let unreachable = |client: blocking::Client| {
        let error = client.health().unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    };
    unreachable(client(directory.path(), port).in_session("a"));
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    unreachable(client(directory.path(), port));
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    record(directory.path(), port, "2025-01-06T10:00:00Z");
    unreachable(client(directory.path(), port));
}
