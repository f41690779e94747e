//! Event streams: each event once and in order across disconnects, frames, and independence of slow clients.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message;
use wh_testkit::CONDITION_TIMEOUT;
use wh_testkit::wh::Wh;

use crate::WH;

/// Stream client over either transport.
pub(crate) trait Watcher: Sized {
    fn open(port: u16, query: &str) -> Self;
    fn next(&mut self) -> Value;

    /// Returns the next message of this type and skips others.
    fn until(&mut self, kind: &str) -> Value {
        let start = Instant::now();
        loop {
            let message = self.next();
            if message["type"] == kind {
                return message;
            }
            // Heartbeats never end.
            assert!(start.elapsed() < CONDITION_TIMEOUT, "no {kind}; the last was {message}");
        }
    }
}

/// Client of server-sent events.
struct Sse {
    body: BufReader<TcpStream>,
    ready: VecDeque<Value>,
}

impl Watcher for Sse {
    fn open(port: u16, query: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(CONDITION_TIMEOUT)).unwrap();
        write!(stream, "GET /control/events?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut body = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert_ne!(body.read_line(&mut line).unwrap(), 0, "the connection ended");
            assert!(!line.starts_with("HTTP/1.1") || line.contains("200"), "{line}");
        }
        Self { body, ready: VecDeque::new() }
    }

    fn next(&mut self) -> Value {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return message;
            }
            let mut size = String::new();
            self.body.read_line(&mut size).unwrap();
            let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).expect("a chunk's size") + 2];
            self.body.read_exact(&mut chunk).unwrap();
            for event in String::from_utf8(chunk).unwrap().split("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                self.ready.extend(data.map(|data| serde_json::from_str::<Value>(data).unwrap()));
            }
        }
    }
}

pub(crate) struct WebSocket(tungstenite::WebSocket<TcpStream>);

impl Watcher for WebSocket {
    fn open(port: u16, query: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(CONDITION_TIMEOUT)).unwrap();
        Self(tungstenite::client(format!("ws://localhost:{port}/control/stream?{query}"), stream).unwrap().0)
    }

    fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }
}

/// Program that sets a hundred numbered titles for every line that it reads.
const COUNTER: &str =
    r"n=0; while read -r _; do for i in {1..100}; do printf '\033]0;t%d\007' $n; n=$((n+1)); done; done";

fn every_event_once_in_order<W: Watcher>() {
    let wh = Wh::start(WH, &["--", "bash", "--norc", "-c", COUNTER]);
    // A client that never reads must not slow down the others.
    let stalled = TcpStream::connect(("127.0.0.1", wh.port())).unwrap();
    write!(&stalled, "GET /control/events?frames=raw HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();

    let mut watcher = W::open(wh.port(), "");
    let snapshot = watcher.next();
    assert_eq!((&snapshot["type"], &snapshot["state"]["session"]["status"]), (&json!("snapshot"), &json!("running")));
    let (epoch, mut seq) = (snapshot["epoch"].as_str().unwrap().to_owned(), snapshot["seq"].as_u64().unwrap());
    let (mut titles, mut cuts) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=100 {
                wh.key("enter");
                wh.wait(&format!("title_contains \"t{}\"", round * 100 - 1));
            }
        });
        while titles.len() < 10_000 {
            // The number of messages per connection varies.
            for _ in 0..(37 + cuts % 61) {
                if titles.len() == 10_000 {
                    break;
                }
                let event = watcher.until("event");
                assert_eq!(event["seq"], seq + 1, "after {seq}: {event}");
                assert_eq!(event["epoch"], epoch.as_str());
                seq += 1;
                if event["event"] == "title" {
                    titles.push(event["title"].as_str().unwrap().to_owned());
                }
            }
            cuts += 1;
            watcher = W::open(wh.port(), &format!("after={epoch}.{seq}"));
        }
    });
    assert!(cuts >= 100, "it was cut off {cuts} times");
    let expected: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    assert_eq!(titles, expected);
    drop(stalled);
}

#[test]
fn server_sent_events_deliver_each_event_once_in_order_across_100_disconnects() {
    every_event_once_in_order::<Sse>();
}

#[test]
fn the_websocket_delivers_each_event_once_in_order_across_100_disconnects() {
    every_event_once_in_order::<WebSocket>();
}

fn a_cursor_of_no_use_gets_a_reset<W: Watcher>() {
    let wh = Wh::start(WH, &["--", "cat"]);
    let mut watcher = W::open(wh.port(), "after=0123abc.5");
    assert_eq!(watcher.next()["type"], "reset");
    assert_eq!(watcher.next()["type"], "snapshot");
    // More events than are buffered: the oldest cursor is no longer valid.
    let flood = Wh::start(WH, &["--", "bash", "--norc", "-c", COUNTER]);
    let start = W::open(flood.port(), "").next();
    for round in 1..=90 {
        flood.key("enter");
        flood.wait(&format!("title_contains \"t{}\"", round * 100 - 1));
    }
    let mut late = W::open(flood.port(), &format!("after={}.{}", start["epoch"].as_str().unwrap(), start["seq"]));
    assert_eq!(late.next()["type"], "reset");
    assert_eq!(late.next()["state"]["terminal"]["title"], "t8999");
}

#[test]
fn an_expired_cursor_gets_a_reset_and_a_new_snapshot() {
    a_cursor_of_no_use_gets_a_reset::<Sse>();
    a_cursor_of_no_use_gets_a_reset::<WebSocket>();
}

fn what_happens_is_told<W: Watcher>() {
    let mut wh =
        Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", r"printf '\007'; read x; exit 3"]);
    wh.wait("frames > 0");
    let mut watcher = W::open(wh.port(), "frames=plain&rate=60");
    let snapshot = watcher.next();
    assert!(snapshot["screen"]["plain"].is_string() && snapshot["screen"].get("raw").is_none(), "{snapshot}");
    wh.post("/control/resize", json!({"width": 50, "height": 10}));
    let resized = watcher.until("event");
    assert_eq!((&resized["event"], &resized["width"], &resized["height"]), (&json!("resized"), &json!(50), &json!(10)));
    wh.text("abc");
    assert_eq!(watcher.until("event")["event"], "typed");
    let mut frame = watcher.until("frame");
    while !frame["plain"].as_str().unwrap().contains("abc") {
        frame = watcher.until("frame");
    }
    assert_eq!(frame["width"], 50);
    wh.key("enter");
    assert_eq!(watcher.until("event")["event"], "typed");
    let exited = watcher.until("event");
    assert_eq!((&exited["event"], &exited["code"]), (&json!("exited"), &json!(3)));
    wh.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(watcher.until("dropped")["reason"], "wh is shutting down");
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
}

#[test]
fn events_are_streamed_as_they_happen() {
    what_happens_is_told::<Sse>();
    what_happens_is_told::<WebSocket>();
}

#[test]
fn a_foreign_page_cannot_subscribe() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for path in ["/control/events", "/control/stream"] {
        let request = wh_testkit::http::TestRequest::get(path)
            .header("Origin", "https://evil.test")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(wh.send(&request).status, 403, "{path}");
    }
    assert_eq!(wh.get("/control/stream").status, 426);
    assert_eq!(wh.get("/control/events?frames=all").status, 400);
    assert_eq!(wh.get("/control/events?after=nonsense").status, 400);
    assert_eq!(wh.get("/control/events?rate=0").status, 400);
}

#[test]
fn frames_do_not_exceed_the_requested_rate() {
    let wh = Wh::start(WH, &["--", "bash", "--norc", "-c", "i=0; while :; do echo $i; i=$((i+1)); done"]);
    let mut watcher = Sse::open(wh.port(), "frames=plain&rate=5");
    watcher.until("snapshot");
    watcher.until("frame");
    let start = Instant::now();
    for _ in 0..3 {
        watcher.until("frame");
    }
    assert!(start.elapsed() >= Duration::from_millis(550), "three frames in {:?}", start.elapsed());
}

/// Large colourful screen that changes in every frame.
const COLOURFUL: &str = r"for i in {1..40000}; do printf '\033[48;5;%dm#' $((i % 256)); done
i=0; while :; do printf '\033[H%d' $i; i=$((i+1)); read -rt 0.01; done";

#[test]
fn a_stalled_reader_does_not_slow_others() {
    let wh = Wh::options(WH).flags(&["--size", "400x100"]).start(&["--", "bash", "--norc", "-c", COLOURFUL]);
    wh.wait("screen_stable 0 and frames > 5");
    let request = "GET /control/events?frames=raw&rate=60 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stalled = TcpStream::connect(("127.0.0.1", wh.port())).unwrap();
    stalled.write_all(request.as_bytes()).unwrap();
    let _silent = WebSocket::open(wh.port(), "frames=raw&rate=60");
    let mut watcher = WebSocket::open(wh.port(), "frames=raw&rate=60");
    let mut taken = 0;
    // The other clients receive the same amount, which exceeds their socket buffers.
    while taken < 16 << 20 {
        taken += watcher.until("frame")["raw"].as_str().unwrap().len();
    }
    wh.post("/control/mark", json!({"label": "still there"}));
    assert_eq!(watcher.until("event")["label"], "still there");
    watcher.until("frame");
    assert!(wh.wait("frames > 0")["matched"].as_bool().unwrap());
}
