//! Individual calls: addresses, deadlines, limits, errors and connection reuse.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wh_api::wire::control::SendInputBody;
use wh_api::{Address, Client, Error, HttpRequest, MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, Routes, blocking};

use crate::server::Server;

const HEALTH: &str = r#"{"ok":true,"version":"1","uptime":3}"#;

fn unreachable_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn a_call_has_the_path_the_host_the_token_and_the_body() {
    let server = Server::answering(200, r#"{"ok":true,"delivered":true,"duplicate":false}"#);
    let client = Client::builder(Address::local(server.port)).token("secret").records(None).blocking().unwrap();
    let input = SendInputBody { text: Some("hi".to_owned()), ..SendInputBody::default() };
    assert!(client.in_session("a b").send_input(&input).unwrap().delivered);
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /sessions/a%20b/control/send_input HTTP/1.1\r\n"), "{request}");
    for part in [
        format!("host: 127.0.0.1:{}\r\n", server.port),
        "authorization: Bearer secret\r\n".to_owned(),
        "content-type: application/json\r\n".to_owned(),
        "\r\n\r\n{\"text\":\"hi\"}".to_owned(),
    ] {
        assert!(request.contains(&part), "{part:?} in {request}");
    }
}

#[test]
fn the_asynchronous_client_returns_the_same() {
    let server = Server::answering(200, HEALTH);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::new(Address::local(server.port)).unwrap();
    let health = runtime.block_on(async {
        let (one, other) = tokio::join!(client.health(), client.get::<Value>("/control/health"));
        assert_eq!(other.unwrap()["uptime"], 3);
        one.unwrap()
    });
    assert_eq!(health.uptime, 3);
}

#[test]
fn a_slow_server_causes_a_notice_and_a_timeout() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.until_closed();
    });
    let notices = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&notices);
    let client = Client::builder(Address::local(server.port))
        .timeout(Duration::from_millis(80))
        .notice(Duration::from_millis(20), move || {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .records(None)
        .blocking()
        .unwrap();
    let start = Instant::now();
    let error = client.health().unwrap_err();
    assert!(matches!(error, Error::Timeout { after, .. } if after == Duration::from_millis(80)), "{error}");
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert_eq!(notices.load(Ordering::Relaxed), 1);
    // The time of the wait itself is added.
    let error = client.wait("exited", Some(Duration::from_millis(40))).unwrap_err();
    assert!(matches!(error, Error::Timeout { after, .. } if after == Duration::from_millis(120)), "{error}");
}

#[test]
fn each_error_has_its_kind() {
    let refused = Server::answering(404, r#"{"error":"No such session","code":"no_session","detail":"no session a"}"#);
    let error = refused.client().session("a").unwrap_err();
    let refusal = error.error_response().unwrap();
    assert_eq!((refusal.status, refusal.code()), (404, Some("no_session")));
    assert_eq!(error.to_string(), "no such session: no session a");

    let port = unreachable_port();
    let error = blocking::Client::new(Address::local(port)).unwrap().health().unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");

    let other = Server::start(|_, mut peer| {
        peer.raw("SSH-2.0-OpenSSH_9.9\r\n");
    });
    assert!(matches!(other.client().health().unwrap_err(), Error::UnexpectedServer { .. }));
    let page = Server::answering(200, "<html></html>");
    assert!(matches!(page.client().health().unwrap_err(), Error::UnexpectedServer { .. }));

    let cut = Server::start(|_, mut peer| {
        peer.request();
        peer.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
    });
    let error = cut.client().health().unwrap_err();
    assert!(matches!(&error, Error::Unreachable { problem, .. } if problem.contains("in the middle")), "{error:?}");

    let elsewhere = Client::new(Address::parse("http://build.test:1").unwrap()).unwrap_err();
    assert!(matches!(elsewhere, Error::TokenNeeded { .. }), "{elsewhere}");
    let token = Client::builder(Address::local(1)).token("two\nlines").build().unwrap_err();
    assert!(matches!(token, Error::Token), "{token}");
}

#[test]
fn a_wait_that_times_out_is_a_response_and_an_invalid_condition_an_error() {
    let body = r#"{"ok":false,"matched":false,"elapsed":5,"error":"timeout","screen":["$"]}"#;
    let waited = Server::answering(408, body).client().wait("exited", None).unwrap();
    assert!(!waited.matched && waited.error.as_deref() == Some("timeout"));
    let wrong = Server::answering(400, r#"{"error":"Invalid condition","code":"invalid_condition","position":3}"#);
    let error = wrong.client().wait("exi", None).unwrap_err();
    assert_eq!(error.error_response().unwrap().body.position, Some(3));
}

#[test]
fn oversized_bodies_are_neither_sent_nor_read() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.raw("HTTP/1.1 200 OK\r\n\r\n");
        let piece = "x".repeat(1 << 20);
        while peer.raw(&piece) {}
    });
    let error = server.client().send_text(&"x".repeat(MAX_REQUEST_BYTES)).unwrap_err();
    assert!(matches!(error, Error::RequestTooLarge { limit: MAX_REQUEST_BYTES, .. }), "{error}");
    assert!(server.requests().is_empty());
    let error = server.client().metrics().unwrap_err();
    assert!(matches!(error, Error::ResponseTooLarge { limit: MAX_RESPONSE_BYTES, .. }), "{error}");
}

#[test]
fn a_connection_is_used_again_and_a_lost_one_replaced() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    // The first connection responds twice and closes on the third request.
    let server = Server::start(move |number, mut peer| {
        counted.fetch_add(1, Ordering::Relaxed);
        let most = if number == 0 { 2 } else { usize::MAX };
        let mut answered = 0;
        while peer.request() && answered < most && peer.answer(200, HEALTH) {
            answered += 1;
        }
    });
    let client = server.client();
    client.health().unwrap();
    client.health().unwrap();
    assert_eq!(connections.load(Ordering::Relaxed), 1);
    // A GET is sent again on a new connection.
    client.health().unwrap();
    assert_eq!((connections.load(Ordering::Relaxed), server.requests().len()), (2, 4));
}

#[test]
fn a_post_that_may_have_arrived_is_not_sent_again() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.answer(200, HEALTH);
        peer.request();
    });
    let client = server.client();
    client.health().unwrap();
    let error = client.post::<Value>("/control/mark", &json!({"label": ""})).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_client_without_keep_alive_closes_after_each_answer() {
    let server = Server::answering(200, HEALTH);
    let client = Client::builder(Address::local(server.port)).without_keep_alive().records(None).blocking().unwrap();
    for _ in 0..2 {
        assert_eq!(client.send(&HttpRequest::get("/control/health")).unwrap().status, 200);
    }
    assert!(server.requests().iter().all(|request| request.contains("connection: close\r\n")));
}
