//! Questions that were drawn on the large terminal of a session with nobody attached, and answered on a small one.

use serde_json::json;
use wh_testkit::eventually;

use super::house::House;

#[test]
fn a_permission_is_not_granted_unseen_after_an_attach_to_a_smaller_terminal() {
    let house = House::new();
    let session = house.demo("a", 0);
    let control = |path: &str| format!("/sessions/{}/control/{path}", session.id);
    let resized = house.post(&control("resize"), json!({ "width": 120, "height": 40 }));
    assert_eq!(resized.status, 200, "{}", resized.text());
    let sent = house.post(&control("send_input"), json!({ "text": "/demo edit", "key": "enter" }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    let asked = house.question(&session);
    house.wait(&session, r#"screen_contains "❯ 1 Allow once""#);

    let press = |key: &str| {
        let sent = house.post(&control("send_input"), json!({ "key": key }));
        assert_eq!(sent.status, 200, "{}", sent.text());
    };
    let open = || house.get(&control("questions")).json()["questions"].clone();
    // Stays attached until the end of the test.
    let mut talk = house.talk();
    let wanted = json!({ "session_id": session.id, "size": { "width": 60, "height": 16 } });
    assert_eq!(talk.ask("attach", &wanted)["status"], "ok");
    press("1");
    assert_eq!(open()[0]["id"], asked["id"], "right after the attach");
    house.wait(&session, r#"screen_contains "1 Allow once (read to the end first)""#);
    for key in ["1", "enter"] {
        press(key);
        assert_eq!(open()[0]["id"], asked["id"], "{key} before the end is shown");
    }
    press("end");
    house.wait(&session, r#"not screen_contains "first)""#);
    press("1");
    eventually("it is answered", || (open() == json!([])).then_some(()));
}
