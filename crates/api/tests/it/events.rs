//! The event stream: its cursor, and reconnecting after it breaks.

use std::time::{Duration, Instant};

use wh_api::wire::control::{EventBody, StreamBody};
use wh_api::{Address, Client, Error, EventOptions, Frames, blocking};

use crate::server::{Peer, Server};

fn event(seq: u64) -> String {
    let data = format!(r#"{{"type":"event","epoch":"e","seq":{seq},"at":"","event":"bell","count":{seq}}}"#);
    format!("event: event\nid: e.{seq}\ndata: {data}\n\n")
}

fn bell(message: Option<Result<StreamBody, Error>>) -> u64 {
    match message {
        Some(Ok(StreamBody::Event { event: EventBody::Bell { count }, .. })) => count,
        other => panic!("a bell, and not {other:?}"),
    }
}

fn heartbeat(peer: &mut Peer) {
    peer.raw("event: heartbeat\ndata: {\"type\":\"heartbeat\",\"epoch\":\"e\",\"seq\":9}\n\n");
}

#[test]
fn a_stream_that_is_cut_resumes_after_its_last_event() {
    let server = Server::start(|number, mut peer| {
        if !peer.request() {
            return;
        }
        match number {
            // The connection breaks in the middle of an event.
            0 => {
                peer.begin_events();
                peer.raw(&event(1));
                peer.raw(&event(2)[..20]);
            }
            // Two attempts fail: one without a response, one with 503.
            1 => {}
            2 => {
                peer.answer(503, r#"{"error":"Too many watchers"}"#);
            }
            3 => {
                peer.begin_events();
                peer.raw(&event(2));
                heartbeat(&mut peer);
                // The server drops a client that is too slow.
                peer.raw("event: dropped\ndata: {\"type\":\"dropped\",\"reason\":\"too slow\"}\n\n");
            }
            _ => {
                peer.begin_events();
                peer.raw(&event(3));
                peer.until_closed();
            }
        }
    });
    let mut events = server.client().events(EventOptions::new().frames(Frames::Plain).rate(5));
    assert_eq!(bell(events.next()), 1);
    assert_eq!(bell(events.next()), 2);
    assert!(matches!(events.next(), Some(Ok(StreamBody::Heartbeat { .. }))));
    assert_eq!(bell(events.next()), 3);
    assert_eq!(events.cursor(), Some("e.3"));
    assert!(events.next_within(Duration::from_millis(20)).is_none());
    let targets: Vec<String> =
        server.requests().iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect();
    let usual = "/control/events?frames=plain&rate=5";
    let after = |seq: u64| format!("{usual}&after=e.{seq}");
    assert_eq!(targets, [usual.to_owned(), after(1), after(1), after(1), after(2)]);
}

#[test]
fn a_stream_that_cannot_be_resumed_ends_with_the_error() {
    let server = Server::start(|number, mut peer| {
        if number == 0 && peer.request() && peer.begin_events() {
            peer.raw(&event(1));
        }
    });
    let follow = EventOptions::new().after("e.0").reconnect_for(Duration::from_millis(200));
    let start = Instant::now();
    let mut events = server.client().events(follow);
    assert_eq!(bell(events.next()), 1);
    let last = events.next();
    assert!(matches!(last, Some(Err(Error::Unreachable { .. }))), "{last:?}");
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(events.next().is_none());
}

#[test]
fn a_stream_without_reconnecting_ends_with_the_connection() {
    let server = Server::start(|_, mut peer| {
        peer.request();
        peer.begin_events();
        peer.raw(&event(1));
    });
    let mut events = server.client().events(EventOptions::new().reconnect_for(Duration::ZERO));
    assert_eq!(bell(events.next()), 1);
    assert!(matches!(events.next(), Some(Err(Error::Unreachable { .. }))));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn the_first_connection_is_not_retried() {
    let refusing = Server::answering(400, r#"{"error":"Invalid request","code":"invalid_request"}"#);
    assert!(matches!(refusing.client().events(EventOptions::new()).next(), Some(Err(Error::Refused(_)))));
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let client: blocking::Client = Client::builder(Address::local(port)).records(None).blocking().unwrap();
    assert!(matches!(client.events(EventOptions::new()).next(), Some(Err(Error::Unreachable { .. }))));
}
