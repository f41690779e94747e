//! A space with the built-in agent and its terminal UI, driven through the HTTP API.

mod behind;
mod bounded;
mod choosing;
mod claude;
mod codex;
mod codex_acp;
mod doubled;
mod examples;
mod gemini;
mod hostile;
mod interrupts;
mod lifecycle;
mod managing;
mod moments;
mod polling;
mod posting;
mod questions;
mod remote;
mod same;
mod together;

use serde_json::{Value, json};
use wh_testkit::eventually;
use wh_testkit::wh::Wh;

use crate::WH;

/// Starts a space whose agent answers without delay.
fn space() -> Wh {
    paced(0)
}

/// Starts a space whose agent takes `pace` milliseconds per word.
fn paced(pace: u32) -> Wh {
    let wh = Wh::options(WH).space().start(&["--", "--seed", "7", "--pace", &pace.to_string()]);
    wh.wait(r#"screen_contains "Type a message""#);
    wh
}

fn state(wh: &Wh) -> Value {
    wh.get("/control/state").json()
}

/// Sends a message with `POST /message`.
fn say(wh: &Wh, text: &str) {
    wh.text(text);
    wh.key("enter");
}

/// Sends a message and waits until the agent has finished it.
fn ask(wh: &Wh, message: &str) -> Value {
    let answer = wh.post("/message", json!({ "message": message }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let id = answer.json()["request_id"].as_str().unwrap().to_owned();
    finished(wh, &id)
}

/// Waits for the final receipt of a command.
fn finished(wh: &Wh, id: &str) -> Value {
    eventually("the command is over", || {
        let receipt = wh.get(&format!("/control/receipts/{id}")).json();
        matches!(receipt["stage"].as_str(), Some("finished" | "failed")).then_some(receipt)
    })
}

/// Waits for the oldest open question.
fn question(wh: &Wh) -> Value {
    eventually("a question is open", || {
        let questions = wh.get("/control/questions").json();
        questions["questions"].get(0).cloned()
    })
}

fn answer(wh: &Wh, id: &str, option: &str) -> wh_testkit::http::TestResponse {
    wh.post("/control/answer", json!({ "id": id, "option": option }))
}

/// Returns the id of the option with this meaning.
fn option(question: &Value, kind: &str) -> String {
    let options = question["options"].as_array().unwrap();
    options.iter().find(|option| option["kind"] == kind).unwrap()["id"].as_str().unwrap().to_owned()
}

fn chats(wh: &Wh) -> Vec<(String, String)> {
    let body = wh.get("/control/messages?kind=chat&limit=1000").json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    body["messages"].as_array().unwrap().iter().map(|one| (text(&one["from"]), text(&one["payload"]["text"]))).collect()
}
