//! Waits: conditions, timeouts and errors.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wh_testkit::wh::Wh;
use wh_testkit::{CONDITION_TIMEOUT, eventually};

use crate::WH;

fn wait(wh: &Wh, condition: &str, timeout: u64) -> (u16, Value) {
    let response = wh.post("/control/wait", json!({"condition": condition, "timeout": timeout}));
    (response.status, response.json())
}

#[test]
fn each_condition_matches_when_it_holds() {
    let wh = Wh::start(WH, &["--", "sh", "-c", r"printf '\033]0;the title\007one two\n'; exec cat"]);
    for condition in [
        r#"screen_contains "one two""#,
        "screen_matches /one\\s+two/",
        "cursor_at 0,1",
        "frames > 0",
        r#"title_contains "title""#,
        "screen_stable 50",
        "reasoning_complete",
        "not reasoning_active and not (exited or message_count > 0)",
    ] {
        let (status, body) = wait(&wh, condition, 60_000);
        assert_eq!((status, &body["ok"], &body["matched"]), (200, &json!(true), &json!(true)), "{condition}: {body}");
        assert!(body["elapsed"].is_u64());
    }
}

#[test]
fn conversation_conditions_are_refused_for_a_program() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for condition in ["idle", "no_pending_operations", "question", "exited or not (screen_stable 10 and idle)"] {
        let (status, body) = wait(&wh, condition, 600_000);
        assert_eq!((status, &body["error"]), (409, &json!("No conversation")), "{condition}: {body}");
        assert!(body["detail"].as_str().unwrap().contains("screen_stable"), "{body}");
    }
}

#[test]
fn a_failed_wait_returns_the_screen() {
    let wh = Wh::start(WH, &["--", "sh", "-c", "echo what is there; exec cat"]);
    wh.wait(r#"screen_contains "there""#);
    let (status, body) = wait(&wh, r#"screen_contains "what is not""#, 100);
    assert_eq!(status, 408);
    assert_eq!((&body["ok"], &body["matched"], &body["error"]), (&json!(false), &json!(false), &json!("timeout")));
    assert!(body["elapsed"].as_u64().unwrap() >= 100);
    assert_eq!(body["screen"], json!(["what is there"]));
}

#[test]
fn an_invalid_condition_reports_its_position() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for (condition, position) in
        [("", 0), ("screen_contains", 15), ("exited and", 10), ("screen_matches /(/", 15), ("nonsense", 0)]
    {
        let (status, body) = wait(&wh, condition, 100);
        assert_eq!((status, body["error"].clone()), (400, json!("Invalid condition")), "{condition}");
        assert_eq!(body["position"], position, "{condition}: {body}");
    }
    assert_eq!(wait(&wh, "exited", u64::MAX).0, 400);
}

#[test]
fn open_waits_are_answered_at_program_exit_before_wh_exits() {
    let mut wh = Wh::start(WH, &["--", "cat"]);
    let port = wh.port();
    let ask = move |condition: &'static str| {
        std::thread::spawn(move || {
            let body = json!({"condition": condition, "timeout": 60_000});
            let response =
                wh_testkit::http::TestRequest::post_json("/control/wait", &body).send(port).expect("an answer");
            (response.status, response.json()["error"].clone())
        })
    };
    let (ends, never) = (ask("exited"), ask(r#"screen_contains "never""#));
    eventually("both wait", || (wh.get("/control/state").json()["session"]["openWaits"] == 2).then_some(()));
    wh.key("ctrl+d");
    assert_eq!(ends.join().unwrap(), (200, Value::Null));
    assert_eq!(never.join().unwrap(), (409, json!("exited")));
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(0));
}

#[test]
fn a_changing_screen_is_not_stable_and_an_unchanging_screen_is() {
    let wh =
        Wh::start(WH, &["--", "bash", "-c", "for i in {1..40}; do echo $i; read -t 0.02 x; done; read x; exec cat"]);
    let start = Instant::now();
    wh.wait("screen_stable 400");
    assert!(wh.plain().contains("40"), "{}", wh.plain());
    assert!(start.elapsed() >= Duration::from_millis(400));
}

#[test]
fn the_wait_of_a_killed_client_is_removed() {
    if !wh_testkit::tools::present(&["curl"]) {
        return;
    }
    let wh = Wh::start(WH, &["--", "cat"]);
    let open = || wh.get("/control/state").json()["session"]["openWaits"].as_u64();
    let mut client = std::process::Command::new("curl")
        .args([
            "-s",
            &format!("http://127.0.0.1:{}/control/wait", wh.port()),
            "-d",
            r#"{"condition":"exited","timeout":600000}"#,
        ])
        .spawn()
        .expect("curl is there");
    eventually("it waits", || (open() == Some(1)).then_some(()));
    client.kill().unwrap();
    client.wait().unwrap();
    eventually("it no longer does", || (open() == Some(0)).then_some(()));
    wh.text("still here");
    wh.wait(r#"screen_contains "still here""#);
}

#[test]
fn waits_beyond_the_limit_are_refused() {
    if !wh_testkit::tools::present(&["curl"]) {
        return;
    }
    let wh = Wh::start(WH, &["--", "cat"]);
    let open = || wh.get("/control/state").json()["session"]["openWaits"].as_u64();
    let mut clients: Vec<_> = (0..64)
        .map(|_| {
            let mut connection = std::net::TcpStream::connect(("127.0.0.1", wh.port())).unwrap();
            let body = r#"{"condition":"exited","timeout":600000}"#;
            std::io::Write::write_all(
                &mut connection,
                format!(
                    "POST /control/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                )
                .as_bytes(),
            )
            .unwrap();
            connection
        })
        .collect();
    eventually("all wait", || (open() == Some(64)).then_some(()));
    let (status, body) = wait(&wh, "exited", 100);
    assert_eq!((status, body["error"].clone()), (503, json!("Too many waits")));
    clients.clear();
    eventually("none waits", || (open() == Some(0)).then_some(()));
}
