//! Polling the conversation with `since`, `limit` and the ETag of the state.

use serde_json::{Value, json};
use wh_testkit::eventually;
use wh_testkit::http::TestRequest;

use super::{answer, ask, finished, option, question, space, state};

fn messages(body: &Value) -> Vec<Value> {
    body["messages"].as_array().unwrap().clone()
}

#[test]
fn polling_returns_each_message_once_and_the_state_can_omit_messages() {
    let wh = space();
    let mut seen: Vec<Value> = Vec::new();
    let mut poll = || {
        let since = seen.last().map(|last| format!("&since={}", last["receivedAt"].as_str().unwrap()));
        let page = messages(&wh.get(&format!("/control/messages?limit=2{}", since.unwrap_or_default())).json());
        // Without since the newest are returned, so a full read starts at the epoch.
        seen.extend(page);
    };
    poll();
    let said = wh.post("/message", json!({ "message": "/demo edit" })).json();
    poll();
    let asked = question(&wh);
    poll();
    assert_eq!(answer(&wh, asked["id"].as_str().unwrap(), &option(&asked, "allow_once")).status, 200);
    poll();
    finished(&wh, said["request_id"].as_str().unwrap());
    let all = messages(&wh.get("/control/messages?limit=1000").json());
    while seen.last().map(|one| &one["id"]) != all.last().map(|one| &one["id"]) {
        let since = seen.last().unwrap()["receivedAt"].as_str().unwrap().to_owned();
        seen.extend(messages(&wh.get(&format!("/control/messages?limit=2&since={since}")).json()));
    }
    let first = all.iter().position(|one| one["id"] == seen[0]["id"]).unwrap();
    assert_eq!(seen, all[first..], "each once, in order");
    for one in &all {
        assert!(one["protocol"].as_str().is_some_and(|protocol| protocol.starts_with("mew/")), "{one}");
        assert_eq!(one["ts"], one["receivedAt"], "{one}");
    }

    let proposal = all.iter().find(|one| one["kind"] == "mcp/proposal").unwrap();
    assert!(proposal["payload"]["params"]["arguments"].is_object(), "{proposal}");
    let place = all.iter().position(|one| one == proposal).unwrap();
    let approval = &all[place + 1];
    assert_eq!((&approval["kind"], &approval["from"]), (&json!("mcp/request"), &json!("human")), "{approval}");
    assert_eq!(approval["correlation_id"], json!([proposal["id"]]));
    assert_eq!(approval["payload"]["params"], proposal["payload"]["params"]);

    // The terminal UI still draws briefly; after that nothing changes.
    let tag = eventually("the state rests", || {
        let tag = wh.get("/control/state").header("etag").unwrap().to_owned();
        let again = wh.send(&TestRequest::get("/control/state").header("If-None-Match", &tag));
        (again.status == 304 && again.text().is_empty()).then_some(tag)
    });
    assert_eq!(wh.send(&TestRequest::get("/control/state?limit=1").header("If-None-Match", &tag)).status, 200);
    ask(&wh, "hello");
    assert_eq!(wh.send(&TestRequest::get("/control/state").header("If-None-Match", &tag)).status, 200);
    let bare = wh.get("/control/state?limit=0").json();
    assert_eq!((messages(&bare).len(), &bare["participants"]), (0, &state(&wh)["participants"]));
    let since = all.last().unwrap()["receivedAt"].as_str().unwrap();
    let newer = messages(&wh.get(&format!("/control/state?since={since}")).json());
    assert_eq!(newer[0]["payload"]["text"], "hello");
    for path in ["/control/state?limit=x", "/control/state?since=yesterday", "/control/state?nonsense=1"] {
        assert_eq!(wh.get(path).status, 400, "{path}");
    }
}
