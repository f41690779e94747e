//! Envelopes typed into the composer, default targets, and the command line in the state.

use serde_json::{Value, json};
use wh_testkit::eventually;
use wh_testkit::wh::Wh;

use super::{say, space, state};
use crate::WH;

fn post(wh: &Wh, envelope: Value) {
    say(wh, &envelope.to_string());
}

#[test]
fn a_typed_envelope_has_the_effect_of_its_kind_or_is_refused() {
    let wh = space();
    for command in ["/status demo", "/ui board open"] {
        assert_eq!(wh.post("/control/command", json!({ "command": command })).status, 200, "{command}");
    }
    post(&wh, json!({ "kind": "participant/pause", "to": ["demo"], "payload": { "reason": "lunch" } }));
    let paused = eventually("it is paused", || Some(state(&wh)).filter(|state| !state["pauseState"].is_null()));
    assert_eq!(paused["pauseState"]["requestedBy"], "human");
    let status = &paused["participantStatuses"]["demo"];
    assert_eq!(status["status"], "paused", "the live status, not what it said once");
    assert!(status["summary"].is_string(), "{status}");
    wh.wait(r#"screen_contains "demo paused by human: lunch" and not screen_contains "idle: ""#);
    say(&wh, "/resume");
    eventually("it goes on", || state(&wh)["pauseState"].is_null().then_some(()));

    post(&wh, json!({ "kind": "mcp/request", "to": "demo", "payload": { "method": "tools/list" } }));
    let answer = eventually("the tools are listed", || {
        let body = wh.get("/control/messages?kind=mcp/response").json();
        body["messages"].as_array().unwrap().last().cloned()
    });
    assert_eq!(answer["from"], "demo");
    assert!(answer["payload"]["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{answer}");

    post(&wh, json!({ "kind": "bogus/x" }));
    wh.wait(r#"screen_contains "bogus/x: unknown kind""#);
    let last = wh.get("/control/messages?limit=1").json()["messages"][0].clone();
    assert_eq!(last["kind"], "system/refused", "refused, and recorded as a refused slash command is: {last}");
}

#[test]
fn default_targets_prefer_flags_to_variables_and_must_be_participants() {
    let options = || Wh::options(WH).space();
    let wh =
        options().env("WH_TARGET", "nobody").env("WH_SPACE_TARGET", "demo").flags(&["--target", "demo"]).start(&[]);
    let targets = state(&wh)["chatTargets"].clone();
    let demo = json!(["demo"]);
    assert_eq!((&targets["participantDefault"], &targets["globalDefault"]), (&demo, &demo));
    assert_eq!((&targets["effective"], &targets["override"]), (&demo, &Value::Null));
    let command: Vec<String> = serde_json::from_value(state(&wh)["session"]["command"].clone()).unwrap();
    assert_eq!(&command[..3], ["wh", "space", "connect"], "{command:?}");
    assert!(command.windows(2).any(|pair| pair == ["--target", "demo"]), "{command:?}");

    let refused = std::process::Command::new(WH)
        .args(["space", "connect", "--headless", "--control-port", "0", "--target", "demo,nobody"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no participant \"nobody\"") && said.contains("are demo"), "{said}");
}
