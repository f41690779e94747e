//! Truncation of long output: the shown part, the total length, and reading the rest.

use std::process::Command;

use serde_json::{Value, json};
use wh_testkit::wh::Wh;

use super::{space, state};
use crate::WH;

/// Lets the agent use one of its tools.
fn use_tool(wh: &Wh, tool: &str, input: &Value) {
    let command = format!("/envelope mcp/request tool/call demo demo/{tool} {input}");
    let answer = wh.post("/control/command", json!({ "command": command }));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Returns the item id and the envelope of the newest tool response.
fn newest(wh: &Wh) -> (String, Value) {
    let body = wh.get("/control/messages?kind=mcp/response&limit=1").json();
    let message = body["messages"][0].clone();
    (message["id"].as_str().unwrap().trim_end_matches(".end").to_owned(), message["payload"].clone())
}

fn lines(count: usize) -> String {
    (0..count).map(|number| format!("line {number} of the ship's log\n")).collect()
}

#[test]
fn a_long_result_is_truncated_and_can_be_read_in_full() {
    let wh = space();
    let whole = lines(7_000);
    use_tool(&wh, "edit", &json!({ "path": "log.txt", "content": whole }));
    use_tool(&wh, "read", &json!({ "path": "log.txt" }));

    let (id, payload) = newest(&wh);
    assert_eq!(payload["extent"], json!({ "shown": 50_000, "whole": whole.len() }));
    let shown = payload["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(shown, &whole[..50_000]);
    let state = state(&wh);
    let of_the_agent = state["messages"].as_array().unwrap().iter().filter(|one| one["from"] == "demo");
    assert!(of_the_agent.map(|one| one.to_string().len()).max() < Some(60_000), "nothing in the state is longer");

    let (mut all, mut offset) = (String::new(), 0);
    loop {
        let part = wh.get(&format!("/control/items/{id}/output?offset={offset}")).json();
        assert_eq!((part["shown"].as_u64(), part["whole"].as_u64()), (Some(50_000), Some(whole.len() as u64)));
        all.push_str(part["text"].as_str().unwrap());
        match part["next"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert!(all == whole, "every part, one after the other, is the whole");

    let printed = Command::new(WH).args(["output", &id, "--port", &wh.port().to_string()]).output().unwrap();
    assert!(printed.status.success() && printed.stdout == whole.as_bytes(), "and so is what the command prints");
}

#[test]
fn missing_objects_are_reported() {
    let wh = space();
    let error = |path: &str| {
        let answer = wh.get(path);
        (answer.status, answer.json()["error"].as_str().unwrap().to_owned())
    };
    let words = |status: u16, text: &str| (status, text.to_owned());
    assert_eq!(error("/control/items/i999/output"), words(404, "No such output"));
    use_tool(&wh, "read", &json!({ "path": "README.md" }));
    let (id, payload) = newest(&wh);
    assert_eq!(payload.get("extent"), None, "what is shown whole says nothing of it");
    assert_eq!(error(&format!("/control/items/{id}/output?offset=99999")), words(400, "Beyond the end"));
    assert_eq!(error(&format!("/control/items/{id}/output?offset=x")), words(400, "Invalid request"));
    let part = wh.get(&format!("/control/items/{id}/output")).json();
    assert_eq!((part["next"].clone(), part["whole"].as_u64()), (Value::Null, part["shown"].as_u64()));
}
