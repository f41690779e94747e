//! Choices in the terminal UI and the tool sidebar, driven through the HTTP API.

use serde_json::{Value, json};
use wh_testkit::eventually;
use wh_testkit::wh::Wh;

use super::{ask, say, space, state};
use crate::WH;

/// Returns the output of a slash command.
fn command(wh: &Wh, line: &str) -> Vec<String> {
    let answer = wh.post("/control/command", json!({ "command": line }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

fn resize(wh: &Wh, columns: u16, rows: u16) {
    let answer = wh.post("/control/resize", json!({ "cols": columns, "rows": rows }));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn tools_are_shown_in_a_sidebar_if_there_is_room() {
    let wh = space();
    ask(&wh, "/demo tool");
    wh.wait(r#"screen_contains "F5 closes" and screen_contains "✓ read""#);
    resize(&wh, 80, 24);
    wh.wait(r#"not screen_contains "F5 closes""#);
    assert!(command(&wh, "/tools open").is_empty());
    wh.wait(r#"screen_contains "F5 closes""#);
    wh.key("f5");
    wh.wait(r#"not screen_contains "F5 closes""#);
}

#[test]
fn a_mode_is_chosen_by_key_and_a_model_from_a_list() {
    let wh = space();
    wh.wait(r#"screen_contains "demo swift (ask)""#);
    wh.key("shift+tab");
    wh.wait(r#"screen_contains "demo: mode edit.""#);
    let mode = |state: &Value| state["sessions"]["demo"]["mode"].clone();
    eventually("it is in that mode", || (mode(&state(&wh)) == "edit").then_some(()));
    let listed = command(&wh, "/model");
    assert!(listed.iter().any(|line| line.contains("* swift")), "through the door it is a list of lines: {listed:?}");
    say(&wh, "/model");
    wh.wait(r#"screen_contains "Models of demo""#);
    wh.text("bri");
    wh.key("enter");
    wh.wait(r#"screen_contains "demo: model brief." and not screen_contains "Models of demo""#);
}

#[test]
fn missing_agents_have_an_install_hint() {
    let empty = tempfile::tempdir().unwrap();
    let wh = Wh::options(WH).space().env("PATH", empty.path().display()).start(&["--", "--pace", "0"]);
    wh.wait(r#"screen_contains "Type a message""#);
    assert!(command(&wh, "/agent").is_empty());
    wh.wait(r#"screen_contains "Agents" and screen_contains "not installed""#);
    let screen = wh.plain();
    let row = |name: &str| screen.lines().position(|line| line.contains(name)).unwrap();
    assert!(row("chat goes here") < row("not installed"), "{screen}");
    wh.text("claude code");
    wh.key("enter");
    wh.wait(r#"screen_contains "Claude Code is not installed: run `npm install -g @anthropic-ai/claude-code`.""#);
    wh.key("escape");
    wh.wait(r#"not screen_contains "not installed""#);
}

#[test]
fn a_missing_conversation_list_is_reported() {
    let wh = space();
    assert!(command(&wh, "/sessions").is_empty());
    wh.wait(r#"screen_contains "Conversations of demo" and not screen_contains "looking""#);
    wh.wait(r#"screen_contains "cannot list conversations""#);
}
