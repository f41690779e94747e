//! Access control and robustness against malformed requests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use wh_testkit::http::{RawConnection, TestRequest};
use wh_testkit::wh::Wh;

use crate::WH;

/// Returns a request for every path and method of the API.
fn requests() -> Vec<TestRequest> {
    let gets = ["/control/health", "/control/screen", "/control/state", "/control/messages", "/nowhere"];
    let posts = ["/control/send_input", "/control/wait", "/control/resize", "/control/signal", "/control/mark"];
    let gets = gets.into_iter().map(TestRequest::get);
    gets.chain(posts.into_iter().map(|path| TestRequest::post(path, r#"{"text":"x"}"#))).collect()
}

#[test]
fn foreign_origins_and_forged_hosts_are_refused_on_every_path() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for request in requests() {
        let forged: [TestRequest; 6] = [
            request.clone().header("Origin", "https://evil.test"),
            request.clone().header("Origin", "null"),
            request.clone().header("Sec-Fetch-Site", "cross-site"),
            request.clone().header("Sec-Fetch-Site", "same-site"),
            request.clone().without_host().header("Host", "evil.test"),
            request.clone().without_host(),
        ];
        for request in forged {
            let response = wh.send(&request);
            // A request without a Host header is invalid HTTP/1.1 and may be refused early.
            assert!(matches!(response.status, 403 | 400), "{request:?}: {}", response.status);
            if response.status == 403 {
                assert_eq!(response.json()["error"], "Forbidden");
            }
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(wh.plain().trim(), "", "nothing was typed");
}

#[test]
fn requests_without_the_token_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, "s3cret\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let wh = Wh::options(WH).flags(&["--control-token-file", file.to_str().unwrap()]).start(&["--", "cat"]);
    for request in requests() {
        assert_eq!(wh.send(&request).status, 401, "{request:?}");
        let wrong = request.clone().header("Authorization", "Bearer s3cre");
        assert_eq!(wh.send(&wrong).status, 401, "{wrong:?}");
        let right = request.header("Authorization", "Bearer s3cret");
        assert_ne!(wh.send(&right).status, 401, "{right:?}");
    }
    let arguments = fs::read(format!("/proc/{}/cmdline", wh.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&arguments).contains("s3cret"));
    assert!(!wh.stderr().contains("s3cret"));
}

#[test]
fn a_non_loopback_address_requires_a_token_and_the_token_file_must_be_private() {
    let refused = |arguments: &[&str]| {
        let output =
            Command::new(WH).args(["run", "--headless"]).args(arguments).args(["--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&["--control-port", "0", "--control-bind", "0.0.0.0"]);
    assert!(said.contains("requires a token"), "{said}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, "s3cret").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let path = file.to_str().unwrap();
    let said = refused(&["--control-port", "0", "--control-token-file", path]);
    assert!(said.contains("other users can access the file") && said.contains("chmod 600"), "{said}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "").unwrap();
    assert!(refused(&["--control-port", "0", "--control-token-file", path]).contains("empty"));
}

#[test]
fn an_oversized_body_is_refused() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for path in ["/control/send_input", "/control/wait", "/control/resize", "/control/signal", "/control/mark"] {
        let large = TestRequest::post(path, vec![b'x'; 1 << 20]);
        assert_eq!(wh.send(&large).status, 413, "{path}");
        assert_eq!(wh.send(&large.chunked()).status, 413, "{path} in chunks");
    }
    assert_eq!(wh.get("/control/health").status, 200);
}

/// Generates nearly valid bodies: known field names with possibly invalid values.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("enter".to_owned()),
        Just("ctrl+".to_owned()),
        Just("program".to_owned()),
        Just("press".to_owned()),
        Just("WINCH".to_owned()),
        Just("exited".to_owned()),
        Just("not (screen_contains \"x\" and frames > 3)".to_owned()),
        Just("screen_matches /(a*)*b/".to_owned()),
        "\\PC{0,24}",
        ".{0,8}",
    ];
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        (-5i64..70_000).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(".{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    const NAMES: [&str; 15] = [
        "text",
        "key",
        "keys",
        "paste",
        "mouse",
        "request_id",
        "condition",
        "width",
        "height",
        "signal",
        "label",
        "target",
        "action",
        "x",
        "other",
    ];
    let object = proptest::collection::vec((proptest::sample::select(&NAMES), value), 0..5).prop_map(|fields| {
        let mut object: serde_json::Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if object.contains_key("condition") {
            object.insert("timeout".to_owned(), json!(1));
        }
        serde_json::to_vec(&object).unwrap_or_default()
    });
    prop_oneof![4 => object, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}

fn survives_any_body(path: &str) {
    let wh =
        Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", "stty raw -echo; exec cat > /dev/null"]);
    let connection = std::cell::RefCell::new(None);
    let mut runner = TestRunner::new(Config { cases: 10_000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&bodies(), |body| {
        let request = TestRequest::post(path, body).keep_alive();
        let mut slot = connection.borrow_mut();
        let mut open = match slot.take() {
            Some(open) => open,
            None => RawConnection::open(wh.port()).map_err(|error| TestCaseError::fail(error.to_string()))?,
        };
        let response = open.send(&request).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(response.status < 500 || response.status == 503, "{} {}", response.status, response.text());
        prop_assert!(response.json()["ok"].is_boolean() || response.json()["error"].is_string(), "{}", response.text());
        if response.header("connection") != Some("close") {
            *slot = Some(open);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(wh.get("/control/health").status, 200);
    assert_eq!(wh.get("/control/screen").status, 200);
}

#[test]
fn send_input_survives_any_body() {
    survives_any_body("/control/send_input");
}

#[test]
fn wait_survives_any_body() {
    survives_any_body("/control/wait");
}

#[test]
fn mark_survives_any_body() {
    survives_any_body("/control/mark");
}

#[test]
fn resize_survives_any_body() {
    survives_any_body("/control/resize");
}

#[test]
fn signal_survives_any_body() {
    survives_any_body("/control/signal");
}
