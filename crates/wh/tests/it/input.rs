//! Input reaches the program unchanged and exactly once.

use std::thread;

use serde_json::{Value, json};
use wh_testkit::http::TestRequest;
use wh_testkit::wh::Wh;

use crate::WH;

/// Starts a program that prints every input byte, in the modes that `switch` enables.
fn bytes(switch: &str) -> Wh {
    let script = format!("stty raw -echo opost onlcr; printf '{switch}ready\\n'; exec od -An -v -tx1 -w1");
    // od buffers its output; stdbuf makes it write each line at once.
    let wh = Wh::options(WH).flags(&["--size", "20x400"]).start(&[
        "--",
        "sh",
        "-c",
        &script.replace("exec od", "exec stdbuf -oL od"),
    ]);
    wh.wait(r#"screen_contains "ready""#);
    wh
}

/// Returns the received bytes in hexadecimal, once there are `count` of them.
fn arrived(wh: &Wh, count: usize) -> String {
    wh.wait(&format!(r"screen_matches /ready(\s+[0-9a-f][0-9a-f]){{{count}}}/"));
    wh.plain().split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

fn send(wh: &Wh, body: Value) -> Value {
    let response = wh.post("/control/send_input", body.clone());
    assert_eq!(response.status, 200, "{body}: {}", response.text());
    response.json()
}

#[test]
fn text_and_key_are_one_command_in_this_order() {
    let wh = bytes("");
    let answer = send(&wh, json!({"text": "hi é", "key": "enter"}));
    assert_eq!(answer, json!({"ok": true, "injected": "hi é", "delivered": true, "duplicate": false}));
    send(&wh, json!({"keys": ["up", "ctrl+c", "F5", "alt+x", "shift+tab"]}));
    assert_eq!(arrived(&wh, 20), "68 69 20 c3 a9 0d 1b 5b 41 03 1b 5b 31 35 7e 1b 78 1b 5b 5a");
}

#[test]
fn keys_follow_the_modes_of_the_program() {
    let wh = bytes(r"\033[?1h");
    send(&wh, json!({"key": "up"}));
    assert_eq!(arrived(&wh, 3), "1b 4f 41");
    let wh = bytes(r"\033[>1u");
    send(&wh, json!({"key": "shift+enter"}));
    assert_eq!(arrived(&wh, 7), "1b 5b 31 33 3b 32 75");
    let wh = bytes("");
    send(&wh, json!({"key": "shift+enter"}));
    assert_eq!(arrived(&wh, 1), "0a");
}

#[test]
fn a_paste_is_bracketed_if_the_program_enabled_it() {
    let wh = bytes(r"\033[?2004h");
    send(&wh, json!({"paste": "a\nb"}));
    assert_eq!(arrived(&wh, 15), "1b 5b 32 30 30 7e 61 0a 62 1b 5b 32 30 31 7e");
    let wh = bytes("");
    send(&wh, json!({"paste": "a\nb"}));
    assert_eq!(arrived(&wh, 3), "61 0d 62");
}

#[test]
fn mouse_events_use_the_encoding_of_the_program() {
    let wh = bytes(r"\033[?1000h\033[?1006h");
    send(&wh, json!({"mouse": {"action": "press", "x": 4, "y": 2}}));
    assert_eq!(arrived(&wh, 9), "1b 5b 3c 30 3b 35 3b 33 4d");
    assert_eq!(wh.post("/control/send_input", json!({"mouse": {"action": "press", "x": 20, "y": 2}})).status, 400);
    let wh = bytes("");
    let refused = wh.post("/control/send_input", json!({"mouse": {"action": "press", "x": 4, "y": 2}}));
    assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("Input not wanted")));
    let half = wh.post("/control/send_input", json!({"text": "x", "mouse": {"action": "press", "x": 4, "y": 2}}));
    assert_eq!(half.status, 409, "all of it or nothing");
}

#[test]
fn invalid_input_is_refused_with_a_reason() {
    let wh = Wh::start(WH, &["--", "cat"]);
    let refused = |body: Value| {
        let response = wh.post("/control/send_input", body);
        (response.status, response.json())
    };
    for empty in [json!({}), json!({"text": ""}), json!({"keys": []})] {
        let (status, body) = refused(empty);
        assert_eq!((status, body["error"].clone()), (400, json!("Missing text or key")));
    }
    let (status, body) = refused(json!({"key": "entr"}));
    assert_eq!((status, body["error"].clone()), (400, json!("Invalid key name")));
    assert!(body["detail"].as_str().unwrap().contains("\"enter\""), "{body}");
    assert_eq!(refused(json!({"key": 42})).0, 400);
    assert_eq!(refused(json!({"txt": "x"})).0, 400);
    assert_eq!(refused(json!({"text": "x", "request_id": "a b"})).0, 400);
    assert_eq!(wh.send(&TestRequest::post("/control/send_input", "not json")).status, 400);
    assert_eq!(wh.send(&TestRequest::post("/control/send_input", r#"["x"]"#)).status, 400);
    assert_eq!(wh.screen()["plain"].as_str().unwrap().trim(), "", "nothing was sent");
}

#[test]
fn a_request_is_delivered_once_even_if_ten_arrive_concurrently() {
    let wh = bytes("");
    let answers: Vec<Value> = thread::scope(|scope| {
        let calls: Vec<_> =
            (0..10).map(|_| scope.spawn(|| send(&wh, json!({"text": "Z", "request_id": "once"})))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer["duplicate"] == false).count(), 1);
    assert!(answers.iter().all(|answer| answer["injected"] == "Z" && answer["request_id"] == "once"));
    let other = wh.post("/control/send_input", json!({"text": "other", "request_id": "once"}));
    assert_eq!((other.status, other.json()["code"].clone()), (409, json!("request_id_reused")));
    let resize = wh.post("/control/resize", json!({"width": 90, "height": 30, "request_id": "once"}));
    assert_eq!((resize.status, resize.json()["code"].clone()), (409, json!("request_id_reused")));
    send(&wh, json!({"text": "."}));
    assert_eq!(arrived(&wh, 2), "5a 2e");
}

#[test]
fn queued_input_is_limited_if_the_program_does_not_read() {
    let wh = Wh::start(WH, &["--", "sh", "-c", "stty raw -echo; echo ready; sleep 1000"]);
    wh.wait(r#"screen_contains "ready""#);
    let piece = "x".repeat(200_000);
    let mut taken = 0;
    let refused = loop {
        let response = wh.post("/control/send_input", json!({"paste": piece, "request_id": format!("p{taken}")}));
        if response.status != 200 {
            break response;
        }
        assert_eq!(response.json()["delivered"], false);
        taken += 1;
        assert!(taken < 100, "the queue has no end");
    };
    assert_eq!((refused.status, refused.json()["error"].clone()), (503, json!("Input component not ready")));
    let queued = wh.get("/control/state").json()["session"]["queuedInput"].as_u64().unwrap();
    assert!(queued <= 1 << 20, "{queued} bytes are queued");
    assert_eq!(wh.post("/control/send_input", json!({"text": "y"})).status, 200, "a small one still fits");
    assert_eq!(wh.screen()["width"], 120, "the rest still works");
}
