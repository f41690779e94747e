//! Terminal UIs of real agents, offline: driven through the HTTP API, and compared with tmux.

use std::fs;

use serde_json::json;
use wh_screen::cast::{Cast, EventContent, screen_at};
use wh_screen::render;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, Tmux};

use crate::WH;

/// Starts an agent, sends it a message as a script would, and waits for its answer.
fn hello(lab: &Lab, command: &[&str], composer: &str) {
    let arguments: Vec<&str> = [&["--"], command].concat();
    let cast = lab.home.join("run.cast");
    let flags = ["--size", "100x32", "--record", cast.to_str().expect("a plain name")];
    let wh = Wh::options(WH).environment(lab.env()).directory(&lab.project).flags(&flags).start(&arguments);
    wh.wait(&format!("screen_contains {composer:?}"));
    wh.text("hello there");
    // These programs take an Enter right after a text as part of a paste, so it is pressed once the screen is stable.
    wh.wait(r#"screen_contains "hello there" and screen_stable 300"#);
    wh.key("enter");
    wh.wait(r#"screen_contains "echo: hello there""#);
    assert_eq!(lab.model.prompts(), ["hello there"], "the prompt arrived once");
    assert_eq!(wh.post("/control/mark", json!({"label": "answered"})).status, 200);
    let picture = wh.get("/control/screenshot.png");
    assert!(picture.status == 200 && picture.body.starts_with(b"\x89PNG"), "a picture of it can be taken");
    wh_testkit::eventually("it is written down", || fs::read_to_string(&cast).ok()?.contains("answered").then_some(()));
    compare_with_tmux(Cast::parse(fs::read(&cast).expect("it is there").as_slice()).expect("a recording"));
}

/// Compares the screen that wh draws from the output up to the marker with tmux's.
fn compare_with_tmux(mut cast: Cast) {
    let marked = cast.events.iter().position(|event| matches!(event.content, EventContent::Mark(_))).expect("a mark");
    cast.events.truncate(marked);
    let output = cast.events.iter().filter_map(|event| match &event.content {
        EventContent::Output(text) => Some(text.as_str()),
        _ => None,
    });
    let tmux = Tmux::cat(output.collect::<String>().as_bytes(), 100, 32);
    assert_eq!(render::lines(&screen_at(&cast, cast.duration(), 2000).frame()), tmux.capture());
}

#[test]
fn claude_code_is_driven_by_its_screen() {
    Lab::inside("agents::claude_code_is_driven_by_its_screen", |lab| hello(lab, &["claude"], "? for shortcuts"));
}

#[test]
fn codex_is_driven_by_its_screen() {
    Lab::inside("agents::codex_is_driven_by_its_screen", |lab| hello(lab, &["codex"], "Ask Codex to do anything"));
}

#[test]
fn gemini_is_driven_by_its_screen() {
    Lab::inside("agents::gemini_is_driven_by_its_screen", |lab| hello(lab, &["gemini"], "Type your message"));
}
