//! Questions drawn on the large virtual terminal of a detached session and answered on a small terminal.

use serde_json::json;
use wh_testkit::eventually;

use super::test_daemon::TestDaemon;

#[test]
fn attaching_a_smaller_terminal_does_not_let_keys_grant_an_unseen_permission() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let control = |path: &str| format!("/sessions/{}/control/{path}", session.id);
    let resized = daemon.post(&control("resize"), json!({ "width": 120, "height": 40 }));
    assert_eq!(resized.status, 200, "{}", resized.text());
    let sent = daemon.post(&control("send_input"), json!({ "text": "/demo edit", "key": "enter" }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    let asked = daemon.question(&session);
    daemon.wait(&session, r#"screen_contains "❯ 1 Allow once""#);

    let press = |key: &str| {
        let sent = daemon.post(&control("send_input"), json!({ "key": key }));
        assert_eq!(sent.status, 200, "{}", sent.text());
    };
    let open = || daemon.get(&control("questions")).json()["questions"].clone();
    // Stays attached until the end of the test.
    let mut talk = daemon.connect();
    let wanted = json!({ "session_id": session.id, "size": { "width": 60, "height": 16 } });
    assert_eq!(talk.ask("attach", &wanted)["status"], "ok");
    press("1");
    assert_eq!(open()[0]["id"], asked["id"], "right after the attach");
    daemon.wait(&session, r#"screen_contains "1 Allow once (read to the end first)""#);
    for key in ["1", "enter"] {
        press(key);
        assert_eq!(open()[0]["id"], asked["id"], "{key} before the end is shown");
    }
    press("end");
    daemon.wait(&session, r#"not screen_contains "first)""#);
    press("1");
    eventually("it is answered", || (open() == json!([])).then_some(()));
}
