use serde_json::{Value, json};
use wh_wire::control::{EventBody, NewSessionRequest};
use wh_wire::socket::{
    Cursor, ErrorCode, Failure, MAX_CREDENTIALS, SOCKET_COMMANDS, SocketCommand, SocketRequest, SocketResponse,
    StreamLine, SubscribeRequest,
};

fn refusal(line: &str) -> (String, ErrorCode, String) {
    let response = SocketRequest::decode(line.as_bytes()).unwrap_err();
    let id = response.request_id.clone();
    let failure = response.into_answer::<Value>().unwrap_err();
    (id, failure.code, failure.message)
}

fn command(name: &str, payload: Value) -> Result<SocketCommand, Failure> {
    SocketCommand::read(&SocketRequest::new("r", name, payload))
}

#[test]
fn a_request_is_read_with_what_this_version_does_not_know() {
    let line =
        br#"{"version":1,"request_id":"sock-1","command":"list","payload":{"team":"a"},"trace":7,"token":"secret"}"#;
    let request = SocketRequest::decode(line).unwrap();
    assert_eq!((request.request_id.as_str(), request.command.as_str()), ("sock-1", "list"));
    assert_eq!(request.rest.get("trace"), Some(&json!(7)));
    assert_eq!(request.credential.as_ref().map(|credential| credential.0.as_str()), Some("secret"));
    assert!(!format!("{request:?}").contains("secret"));
    assert_eq!(SocketRequest::decode(&request.encode()).unwrap(), request);
}

#[test]
fn several_credentials_may_be_shown_and_none_is_printed() {
    let line =
        br#"{"version":1,"request_id":"r","command":"list","token":"secret","tokens":["secret two","secret three"]}"#;
    let request = SocketRequest::decode(line).unwrap();
    let shown: Vec<&str> = request.credentials().map(|credential| credential.0.as_str()).collect();
    assert_eq!(shown, ["secret", "secret two", "secret three"]);
    assert!(!format!("{request:?}").contains("secret"));
    assert_eq!(SocketRequest::decode(&request.encode()).unwrap(), request);
    let many = json!({ "version": 1, "request_id": "r", "command": "list", "tokens": vec!["t"; MAX_CREDENTIALS + 1] });
    for line in [many.to_string(), many.to_string().replace(r#""t""#, "1")] {
        let (id, code, message) = refusal(&line);
        assert_eq!((id.as_str(), code), ("r", ErrorCode::InvalidRequest));
        assert!(message.starts_with("tokens must be"), "{message}");
    }
}

#[test]
fn a_request_without_a_payload_has_an_empty_one() {
    for line in [
        r#"{"version":1,"request_id":"r","command":"health"}"#,
        r#"{"version":1,"request_id":"r","command":"health","payload":null}"#,
    ] {
        let request = SocketRequest::decode(line.as_bytes()).unwrap();
        assert_eq!(request.payload, json!({}));
        assert_eq!(SocketCommand::read(&request), Ok(SocketCommand::Health));
    }
}

#[test]
fn a_malformed_line_is_answered_with_an_unknown_id() {
    for line in ["", "{nope", "[]", "\"text\"", "{}", r#"{"version":1,"request_id":"","command":"list"}"#] {
        let (id, code, message) = refusal(line);
        assert_eq!((id.as_str(), code), ("unknown", ErrorCode::InvalidRequest), "{line}");
        assert!(!message.is_empty());
    }
    let deep = "[".repeat(100_000);
    assert_eq!(refusal(&deep).1, ErrorCode::InvalidRequest);
}

#[test]
fn the_error_of_an_invalid_request_has_its_id() {
    let (id, code, message) = refusal(r#"{"version":2,"request_id":"sock-1","command":"list","payload":{}}"#);
    assert_eq!((id.as_str(), code), ("sock-1", ErrorCode::VersionMismatch));
    assert_eq!(message, "unsupported protocol version 2; this server supports 1");
    for line in [
        r#"{"request_id":"sock-1","command":"list"}"#,
        r#"{"version":1,"request_id":"sock-1"}"#,
        r#"{"version":"1","request_id":"sock-1","command":"list"}"#,
        r#"{"version":1,"request_id":"sock-1","command":"list","token":3}"#,
    ] {
        let (id, code, _) = refusal(line);
        assert_eq!((id.as_str(), code), ("sock-1", ErrorCode::InvalidRequest), "{line}");
    }
}

#[test]
fn responses_are_encoded_as_specified() {
    let ok = SocketResponse::ok("sock-1", &json!([]));
    assert_eq!(ok.encode(), b"{\"version\":1,\"request_id\":\"sock-1\",\"status\":\"ok\",\"payload\":[]}\n");
    let error = SocketResponse::failed("sock-1", ErrorCode::SessionNotFound, "no session s9");
    assert_eq!(
        error.encode(),
        b"{\"version\":1,\"request_id\":\"sock-1\",\"status\":\"error\",\"error\":{\"code\":\"SESSION_NOT_FOUND\",\"message\":\"no session s9\"}}\n"
    );
    for response in [ok, error] {
        assert_eq!(SocketResponse::decode(&response.encode()).unwrap(), response);
    }
}

#[test]
fn an_error_code_of_another_version_is_still_an_error() {
    let line = br#"{"version":1,"request_id":"r","status":"error","error":{"code":"BRAND_NEW","message":"m"}}"#;
    let failure = SocketResponse::decode(line).unwrap().into_answer::<Value>().unwrap_err();
    assert_eq!(failure, Failure::new(ErrorCode::Unknown, "m"));
}

#[test]
fn exactly_the_listed_commands_are_known() {
    let size = json!({"width": 80, "height": 24});
    let payload = json!({"session_id": "s1", "agent": "claude", "size": size, "request_id": "r1", "link": "1"});
    for name in SOCKET_COMMANDS {
        assert!(command(name, payload.clone()).is_ok(), "{name}");
    }
    let failure = command("nope", payload).unwrap_err();
    assert_eq!(failure.code, ErrorCode::UnknownCommand);
    assert!(failure.message.contains("\"nope\"") && failure.message.contains("subscribe"), "{}", failure.message);
}

#[test]
fn a_missing_field_is_named_and_extra_fields_are_ignored() {
    assert_eq!(command("session", json!({})).unwrap_err().code, ErrorCode::MissingParameter);
    assert_eq!(command("session", json!({"session_id": 4})).unwrap_err().code, ErrorCode::InvalidPayload);
    assert_eq!(command("session", json!([])).unwrap_err().code, ErrorCode::InvalidPayload);
    let after = Some(Cursor { epoch: "e1".to_owned(), seq: 7 });
    assert_eq!(
        command("subscribe", json!({"session_id": "s1", "after": {"epoch": "e1", "seq": 7}, "later": true})),
        Ok(SocketCommand::Subscribe(SubscribeRequest { session_id: "s1".to_owned(), after }))
    );
}

#[test]
fn a_session_is_created_from_an_agent_or_a_command() {
    let create = |payload| command("create", payload);
    assert_eq!(
        create(json!({"agent": "codex", "name": "reviewer"})),
        Ok(SocketCommand::Create(Box::new(NewSessionRequest {
            agent: Some("codex".to_owned()),
            name: Some("reviewer".to_owned()),
            ..NewSessionRequest::default()
        })))
    );
    assert_eq!(
        create(json!({"command": ["sh"], "size": {"width": 80, "height": 24}, "later": true})),
        Ok(SocketCommand::Create(Box::new(NewSessionRequest {
            command: Some(vec!["sh".to_owned()]),
            size: Some("80x24".to_owned()),
            ..NewSessionRequest::default()
        })))
    );
    assert_eq!(create(json!({"agent": "a", "size": "80x24"})).unwrap_err().code, ErrorCode::InvalidPayload);
    // Fields of POST /sessions that the socket ignores.
    let more =
        json!({"agent": "a", "arguments": ["-x"], "environment": {"A": "b"}, "allow_skipping_permissions": true});
    assert_eq!(create(more), create(json!({"agent": "a"})));
    assert_eq!(create(json!({})).unwrap_err().code, ErrorCode::MissingParameter);
    assert_eq!(create(json!({"agent": "a", "command": ["b"]})).unwrap_err().code, ErrorCode::InvalidPayload);
    assert_eq!(create(json!({"command": []})).unwrap_err().code, ErrorCode::InvalidPayload);
    assert_eq!(create(json!({"command": [""]})).unwrap_err().code, ErrorCode::InvalidPayload);
}

#[test]
fn stream_lines_begin_with_their_kind() {
    let event = StreamLine::Event {
        epoch: "e1".to_owned(),
        seq: 3,
        session_id: "s1".to_owned(),
        at: "2026-02-20T21:15:00Z".to_owned(),
        event: Box::new(EventBody::Typed { bytes: 4 }),
    };
    assert_eq!(
        event.encode(),
        b"{\"kind\":\"event\",\"epoch\":\"e1\",\"seq\":3,\"session_id\":\"s1\",\"at\":\"2026-02-20T21:15:00Z\",\"event\":\"typed\",\"bytes\":4}\n"
    );
    let reset = StreamLine::Reset {
        epoch: "e2".to_owned(),
        seq: 9,
        session_id: "s1".to_owned(),
        reason: "the daemon was started anew".to_owned(),
        state: None,
    };
    let heartbeat = StreamLine::Heartbeat { epoch: "e2".to_owned(), seq: 9 };
    assert_eq!(heartbeat.encode(), b"{\"kind\":\"heartbeat\",\"epoch\":\"e2\",\"seq\":9}\n");
    for line in [event, reset, heartbeat, StreamLine::End { reason: "slow".to_owned() }] {
        assert_eq!(StreamLine::decode(&line.encode()).unwrap(), line);
    }
}
