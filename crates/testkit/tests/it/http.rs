//! The HTTP client against correct and misbehaving servers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use wh_testkit::ScriptedModel;
use wh_testkit::http::{RawConnection, TestRequest};

/// Serves one connection with `talk`.
fn serve(talk: impl FnOnce(TcpStream) + Send + 'static) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, std::thread::spawn(move || talk(listener.accept().unwrap().0)))
}

const REFUSAL: &[u8] = b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 7\r\nconnection: close\r\n\r\ntoo big";

#[test]
fn a_refusal_is_read_although_the_server_closes_the_connection() {
    let (port, server) = serve(|mut stream| {
        stream.read_exact(&mut [0; 100]).unwrap();
        stream.write_all(REFUSAL).unwrap();
    });
    let response = TestRequest::post("/", vec![b'x'; 64 << 20]).send(port).unwrap();
    assert_eq!((response.status, response.text().as_str()), (413, "too big"));
    server.join().unwrap();
}

#[test]
fn a_refusal_is_read_although_the_server_stops_reading() {
    let (leave, stay) = mpsc::channel();
    let (port, server) = serve(move |mut stream| {
        stream.read_exact(&mut [0; 100]).unwrap();
        stream.write_all(REFUSAL).unwrap();
        stay.recv().unwrap();
    });
    let response = TestRequest::post("/", vec![b'x'; 64 << 20]).chunked().send(port).unwrap();
    assert_eq!(response.status, 413);
    leave.send(()).unwrap();
    server.join().unwrap();
}

#[test]
fn a_server_that_says_nothing_is_an_error() {
    let (port, server) = serve(drop);
    assert!(TestRequest::get("/").send(port).is_err());
    server.join().unwrap();
}

#[test]
fn a_connection_is_kept_for_more_than_one_request() {
    let model = ScriptedModel::start();
    let mut connection = RawConnection::open(model.port()).unwrap();
    for path in ["/one", "/two"] {
        let request = TestRequest::post(path, "{}").header("Origin", "http://evil.example").keep_alive();
        assert_eq!(connection.send(&request).unwrap().json(), serde_json::json!({"ok": true}));
    }
    let requests = model.requests();
    assert_eq!(requests.iter().map(|logged| logged.path.as_str()).collect::<Vec<_>>(), ["/one", "/two"]);
    assert_eq!(requests[1].header("origin"), Some("http://evil.example"));
    assert_eq!(requests[1].header("content-type"), None);
}

#[test]
fn requests_sent_in_one_write_are_answered_in_their_order() {
    let model = ScriptedModel::start();
    let (posted, listed) = (TestRequest::post("/one", "{}").keep_alive(), TestRequest::get("/two").keep_alive());
    let answers = RawConnection::open(model.port()).unwrap().pipeline([&posted, &listed]).unwrap();
    let expected = [serde_json::json!({"ok": true}), serde_json::json!({"data": [], "models": []})];
    assert_eq!(answers.map(|answer| answer.json()), expected);
}
