//! Questions answered by id over HTTP or by typing; drafts, retries and interrupts.

use serde_json::json;
use wh_testkit::eventually;
use wh_testkit::wh::Wh;

use crate::WH;

use super::{answer, ask, chats, finished, option, paced, question, say, space, state};

#[test]
fn a_dialog_is_answered_through_the_control_plane() {
    let wh = space();
    let sent = wh.post("/message", json!({ "message": "/demo edit", "request_id": "edit-1" }));
    assert_eq!(sent.status, 200, "{}", sent.text());
    let asked = question(&wh);
    assert_eq!(asked["kind"], "permission");
    assert!(asked["details"].as_array().unwrap().iter().any(|detail| detail["type"] == "diff"), "{asked}");
    wh.wait(&format!("screen_contains {}", asked["title"]));
    let id = asked["id"].as_str().unwrap();
    let done = answer(&wh, id, &option(&asked, "allow_once"));
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(finished(&wh, "edit-1")["stage"], "finished");
    let again = answer(&wh, id, &option(&asked, "allow_once"));
    assert_eq!((again.status, again.json()["error"].clone()), (409, json!("Question closed")));
    let unknown = answer(&wh, "q999", "yes");
    assert_eq!((unknown.status, unknown.json()["error"].clone()), (404, json!("No such question")));
    wh.wait(r#"screen_matches /\d+ +\+ / and screen_matches /\d+ +- /"#);
}

#[test]
fn a_dialog_is_operated_by_typing() {
    let wh = space();
    say(&wh, "/demo ask");
    wh.wait("question and not idle");
    let asked = question(&wh);
    wh.wait(&format!("screen_contains {}", asked["title"]));
    wh.key("1");
    eventually("it is answered", || (wh.get("/control/questions").json()["questions"] == json!([])).then_some(()));
    wh.wait("no_pending_operations and not question");
}

#[test]
fn an_unseen_question_is_not_granted_by_typing() {
    // The terminal is too small from the start: typed input is dropped, not queued.
    let wh = Wh::options(WH).space().flags(&["--size", "24x5"]).start(&["--", "--seed", "7", "--pace", "0"]);
    wh.wait(r#"screen_contains "30x8""#);
    wh.text("dropped");
    assert_eq!(wh.post("/message", json!({ "message": "/demo edit" })).status, 200);
    let asked = question(&wh);
    let is_open =
        |moment: &str| assert_eq!(wh.get("/control/questions").json()["questions"][0]["id"], asked["id"], "{moment}");
    for key in ["1", "enter"] {
        wh.key(key);
        is_open("under the notice");
    }
    // The changed lines do not fit: options are shown, but granting ones cannot be chosen.
    assert_eq!(wh.post("/control/resize", json!({"width": 60, "height": 16})).status, 200);
    wh.wait(r#"screen_contains "1 Allow once (read to the end first)" and not screen_contains "dropped""#);
    for key in ["1", "2", "enter"] {
        wh.key(key);
        is_open("before the end");
    }
    wh.key("end");
    wh.wait(r#"not screen_contains "first)""#);
    wh.key("1");
    eventually("it is answered", || (wh.get("/control/questions").json()["questions"] == json!([])).then_some(()));
}

#[test]
fn a_wrong_answer_is_refused_and_the_question_stays_open() {
    let wh = space();
    say(&wh, "/demo ask");
    let asked = question(&wh);
    let id = asked["id"].as_str().unwrap();
    let wrong = answer(&wh, id, "perhaps");
    assert_eq!((wrong.status, wrong.json()["error"].clone()), (400, json!("Invalid answer")));
    assert_eq!(wh.post("/control/answer", json!({ "id": id })).status, 400);
    assert_eq!(question(&wh)["id"], asked["id"]);
}

#[test]
fn several_questions_queue_and_each_is_answered_by_its_id() {
    let wh = space();
    say(&wh, "/demo many");
    let all = eventually("three questions are open", || {
        let questions = wh.get("/control/questions").json()["questions"].as_array().unwrap().clone();
        (questions.len() == 3).then_some(questions)
    });
    for asked in all.iter().rev() {
        let body = match asked["options"].get(0) {
            Some(first) => json!({ "id": asked["id"], "option": first["id"] }),
            None => json!({ "id": asked["id"], "text": "something" }),
        };
        let done = wh.post("/control/answer", body);
        assert_eq!(done.status, 200, "{}", done.text());
    }
    eventually("none is left", || (wh.get("/control/questions").json()["questions"] == json!([])).then_some(()));
}

#[test]
fn a_message_posted_while_a_draft_is_typed_leaves_the_draft() {
    let wh = space();
    wh.text("half a thought");
    ask(&wh, "hello from elsewhere");
    wh.wait(r#"screen_contains "hello from elsewhere" and screen_contains "half a thought""#);
    wh.text(" made whole");
    wh.key("enter");
    eventually("the draft is sent", || {
        chats(&wh).iter().any(|(from, text)| from == "human" && text == "half a thought made whole").then_some(())
    });
}

#[test]
fn ten_concurrent_copies_of_a_request_are_one_message() {
    let wh = space();
    let posts: Vec<_> = std::thread::scope(|scope| {
        let ten: Vec<_> = (0..10)
            .map(|_| scope.spawn(|| wh.post("/message", json!({ "message": "only once", "request_id": "same" }))))
            .collect();
        ten.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(posts.iter().all(|post| post.status == 200));
    let firsts = posts.iter().filter(|post| post.json()["duplicate"] == false).count();
    finished(&wh, "same");
    let said = chats(&wh).iter().filter(|(from, text)| from == "human" && text == "only once").count();
    assert_eq!((firsts, said), (1, 1));
    let other = wh.post("/control/interrupt", json!({ "request_id": "same" }));
    assert_eq!((other.status, other.json()["error"].clone()), (409, json!("Request id reused")));
}

#[test]
fn an_interrupt_ends_the_turn_as_cancelled() {
    let wh = paced(30);
    wh.post("/message", json!({ "message": "/demo slow", "request_id": "slow" }));
    eventually("it works", || (state(&wh)["sessions"]["demo"]["status"] == "working").then_some(()));
    let done = wh.post("/control/interrupt", json!({}));
    assert_eq!(done.status, 200, "{}", done.text());
    let receipt = finished(&wh, "slow");
    assert_eq!((&receipt["stage"], &receipt["reason"]), (&json!("failed"), &json!("cancelled")));
    let nothing = eventually("it is idle", || {
        (state(&wh)["sessions"]["demo"]["status"] == "idle").then(|| wh.post("/control/interrupt", json!({})))
    });
    assert_eq!(nothing.status, 409, "{}", nothing.text());
}

#[test]
fn escape_interrupts_and_closes_the_question() {
    let wh = space();
    wh.post("/message", json!({ "message": "/demo ask", "request_id": "asked" }));
    let asked = question(&wh);
    wh.wait(&format!("screen_contains {}", asked["title"]));
    wh.key("escape");
    assert_eq!(finished(&wh, "asked")["reason"], "cancelled");
    wh.wait("no_pending_operations");
}

#[test]
fn commands_run_over_the_api_and_errors_are_reported() {
    let wh = space();
    let help = wh.post("/control/command", json!({ "command": "/help" }));
    assert_eq!(help.json()["lines"][0], "Available Commands", "{}", help.text());
    wh.wait(r#"screen_contains "Available Commands""#);
    let status = wh.post("/control/command", json!({ "command": "/status demo" }));
    assert_eq!(status.status, 200, "{}", status.text());
    for (command, code) in [("/frobnicate", 404), ("hello", 400), ("/pause", 400), ("/pause nobody", 404)] {
        let refused = wh.post("/control/command", json!({ "command": command }));
        assert_eq!(refused.status, code, "{command}: {}", refused.text());
        assert!(refused.json()["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{command}");
    }
    let model = wh.post("/control/command", json!({ "command": "/model steady" }));
    assert_eq!(model.status, 200, "{}", model.text());
    eventually("the model is another", || (state(&wh)["sessions"]["demo"]["model"] == "steady").then_some(()));
}

#[test]
fn waiting_for_idle_returns_after_the_whole_answer() {
    let wh = paced(5);
    for number in 1..=3 {
        let id = format!("m{number}");
        wh.post("/message", json!({ "message": format!("number {number}"), "request_id": id }));
        wh.wait("idle");
        assert_eq!(wh.get(&format!("/control/receipts/{id}")).json()["stage"], "finished");
    }
}

#[test]
fn a_request_id_with_another_text_is_refused() {
    let wh = space();
    wh.post("/message", json!({ "message": "one thing", "request_id": "same" }));
    let other = wh.post("/message", json!({ "message": "another", "request_id": "same" }));
    assert_eq!((other.status, other.json()["error"].clone()), (409, json!("Request id reused")));
}

#[test]
fn an_incomplete_escape_sequence_is_answered_without_a_frame() {
    let wh = space();
    let sent = wh.post("/control/send_input", json!({ "text": "\u{1b}[1" }));
    assert_eq!(sent.status, 200, "{}", sent.text());
}

#[test]
fn an_ended_agent_accepts_no_messages() {
    let wh = space();
    wh.post("/control/command", json!({ "command": "/shutdown demo" }));
    eventually("it is gone", || (state(&wh)["sessions"]["demo"]["status"] == "gone").then_some(()));
    let refused = wh.post("/message", json!({ "message": "hello?" }));
    assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("Agent gone")));
}
