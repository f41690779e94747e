//! The HTTP API of a daemon: the token on every path, creating, renaming and ending sessions, and the API of a single
//! run below each session.

use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};
use tungstenite::Message;
use tungstenite::client::IntoClientRequest;
use wh_testkit::http::TestRequest;
use wh_testkit::{CONDITION_TIMEOUT, tools};

use super::TestDaemon;

#[test]
fn every_path_requires_the_token() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let id = &session.id;
    let requests = [
        TestRequest::get("/sessions"),
        TestRequest::post_json("/sessions", &json!({ "agent": "demo" })),
        TestRequest::get(&format!("/sessions/{id}")),
        TestRequest::new("PATCH", &format!("/sessions/{id}")).body(r#"{"name":"b"}"#),
        TestRequest::new("DELETE", &format!("/sessions/{id}")),
        TestRequest::get(&format!("/sessions/{id}/control/state")),
        TestRequest::post_json(&format!("/sessions/{id}/message"), &json!({ "message": "hello" })),
        TestRequest::get("/health"),
        TestRequest::get("/openapi.json"),
        TestRequest::get("/docs"),
        TestRequest::get("/nowhere"),
    ];
    for request in requests {
        assert_eq!(request.send(daemon.port()).unwrap().status, 401, "{request:?}");
        let wrong = request.clone().header("Authorization", "Bearer wrong");
        assert_eq!(wrong.send(daemon.port()).unwrap().status, 401, "{request:?}");
        let page = request.clone().header("Origin", "http://evil.test");
        assert_eq!(page.send(daemon.port()).unwrap().status, 403, "{request:?}");
    }
    assert_eq!(daemon.get("/sessions").json()["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(daemon.get("/sessions/a").json()["status"]["live"], true);
    assert!(daemon.chats(&session).is_empty());
}

#[test]
fn sessions_are_created_renamed_ended_and_deleted() {
    let daemon = TestDaemon::new();
    let made = daemon.post("/sessions", json!({ "agent": "demo", "name": "a", "arguments": ["--pace", "0"] }));
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["session_id"].as_str().unwrap().to_owned();
    let own = std::env::current_dir().unwrap();
    assert_eq!(made.json()["cwd"].as_str(), own.to_str(), "the caller's directory");
    assert_eq!(
        daemon.connect().ask("create", &json!({ "command": ["true"] }))["payload"]["session"]["cwd"],
        json!(own)
    );
    for (body, status, error) in [
        (json!({ "agent": "demo", "name": "a" }), 409, "Name taken"),
        (json!({ "agent": "demo", "name": "a b" }), 400, "Invalid name"),
        (json!({ "agent": "nobody" }), 400, "No such agent"),
        (json!({ "agent": "demo", "command": ["true"] }), 400, "Invalid request"),
        (json!({}), 400, "Invalid request"),
        (json!({ "command": [] }), 400, "Invalid request"),
        (json!({ "command": ["true"], "cwd": "relative" }), 400, "Invalid request"),
        (json!({ "command": ["no-such-program-anywhere"] }), 409, "Not started"),
    ] {
        let answer = daemon.post("/sessions", body.clone());
        assert_eq!(
            (answer.status, answer.json()["error"].as_str()),
            (status, Some(error)),
            "{body}: {}",
            answer.text()
        );
    }
    let rename = |name: &str| {
        daemon.http(TestRequest::new("PATCH", &format!("/sessions/{id}")).body(json!({ "name": name }).to_string()))
    };
    assert_eq!(rename("b").json()["name"], "b");
    assert_eq!(rename("b/c").status, 400);
    assert_eq!(daemon.get("/sessions/a").status, 404);
    assert_eq!(daemon.get("/sessions/b").json()["session_id"], id);
    let ended = daemon.http(TestRequest::new("DELETE", "/sessions/b"));
    assert_eq!((ended.status, &ended.json()["status"]["live"]), (200, &json!(false)));
    assert_eq!(daemon.get(&format!("/sessions/{id}")).json()["status"]["state"], "ended");
    assert_eq!(daemon.get(&format!("/sessions/{id}/control/messages")).status, 200, "what was said stays");
    assert_eq!(daemon.http(TestRequest::new("DELETE", &format!("/sessions/{id}?forget=1"))).status, 200);
    for path in [
        format!("/sessions/{id}"),
        format!("/sessions/{id}/control/messages"),
        "/sessions/nobody/control/state".to_owned(),
    ] {
        let answer = daemon.get(&path);
        assert_eq!((answer.status, &answer.json()["error"]), (404, &json!("No such session")), "{path}");
    }
    let other = daemon.http(TestRequest::new("PUT", "/sessions"));
    assert_eq!(other.status, 405);
}

#[test]
fn a_repeated_creation_is_answered_as_described() {
    let daemon = TestDaemon::new();
    let described = daemon.get("/openapi.json").json()["paths"]["/sessions"]["post"]["responses"].clone();
    for status in [201, 200] {
        let answer = daemon.post("/sessions", json!({ "agent": "demo", "request_id": "r" }));
        assert_eq!(answer.status, status, "{}", answer.text());
        let schema = &described[status.to_string()]["content"]["application/json"]["schema"];
        assert_eq!(schema["$ref"], "#/components/schemas/SessionSummary", "{described}");
    }
}

#[test]
fn every_path_of_a_single_run_is_below_each_session() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let described = daemon.get(&format!("/sessions/{}/openapi.json", session.id)).json();
    let paths: Vec<&String> = described["paths"].as_object().unwrap().keys().collect();
    assert!(paths.len() > 20, "{paths:?}");
    daemon.ok(&["send", "a", "hello", "--request-id", "r1"]);
    daemon.receipt(&session, "r1");
    for path in paths {
        let path = path.replace("{request_id}", "r1").replace("{id}", "m-1");
        if path == "/control/events" || path == "/control/stream" {
            continue;
        }
        let answer = daemon.get(&format!("/sessions/{}{path}", session.id));
        // A session has one agent and does not manage agents.
        let managed = path.contains("/agents/") && answer.status == 409;
        assert!(managed || matches!(answer.status, 200 | 404 | 405), "{path}: {} {}", answer.status, answer.text());
        let nothing_there = path.contains("/items/") || path.contains("/agents/");
        assert!(answer.status != 404 || nothing_there, "{path}: {}", answer.text());
    }
    let described = daemon.get("/openapi.json").json();
    let own: Vec<&String> = described["paths"].as_object().unwrap().keys().collect();
    for path in [
        "/sessions",
        "/sessions/{session}",
        "/health",
        "/sessions/{session}/control/answer",
        "/sessions/{session}/message",
    ] {
        assert!(own.iter().any(|one| *one == path), "{path} in {own:?}");
    }
    assert!(daemon.get("/docs").text().contains("/sessions/{session}"));
}

#[test]
fn a_session_without_a_directory_is_refused_if_the_callers_directory_is_unknown() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let directory = tempfile::tempdir().unwrap();
    let body = r#"{"command":["cat"],"name":"nowhere"}"#;
    let request = format!(
        "POST /sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        daemon.token(),
        body.len()
    );
    let script = r#"rmdir "$PWD"; exec 3<>/dev/tcp/127.0.0.1/"$1"; printf %s "$2" >&3; cat <&3"#;
    let asked = Command::new("bash")
        .args(["-c", script, "bash", &daemon.port().to_string(), &request])
        .current_dir(directory.path())
        .output()
        .unwrap();
    let answer = String::from_utf8(asked.stdout).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("set cwd to an absolute path"), "{answer}");
    assert_eq!(daemon.get("/sessions/nowhere").status, 404);
}

#[test]
fn the_stream_of_a_session_has_its_events() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let address = format!("ws://localhost:{}/sessions/{}/control/stream?frames=none", daemon.port(), session.id);
    let open = |token: Option<&str>| {
        let stream = TcpStream::connect(("127.0.0.1", daemon.port())).unwrap();
        stream.set_read_timeout(Some(CONDITION_TIMEOUT)).unwrap();
        let mut request = address.as_str().into_client_request().unwrap();
        if let Some(token) = token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        tungstenite::client(request, stream).map_err(|error| error.to_string())
    };
    assert!(open(None).is_err() && open(Some("wrong")).is_err());
    let (mut socket, _) = open(Some(&daemon.token())).unwrap();
    let mut next = || loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    assert_eq!(next()["type"], "snapshot");
    daemon.ok(&["send", "a", "hello there"]);
    let heard = loop {
        let message = next();
        if message["event"] == "item" && message.to_string().contains("hello there") {
            break message;
        }
    };
    assert!(heard["seq"].as_u64().is_some(), "{heard}");
}
