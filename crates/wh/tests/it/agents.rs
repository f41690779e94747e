//! The real agents' terminal UIs, offline, driven through the control plane, and what wh shows of them beside tmux.

use std::fs;

use serde_json::json;
use wh_screen::cast::{Cast, What, screen_at};
use wh_screen::render;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, Tmux};

use crate::WH;

/// Boots an agent, sends it a message as a script would, and waits for its answer.
fn hello(lab: &Lab, command: &[&str], composer: &str) {
    let arguments: Vec<&str> = [&["--"], command].concat();
    let cast = lab.home.join("run.cast");
    let flags = ["--size", "100x32", "--record", cast.to_str().expect("a plain name")];
    let wh = Wh::options(WH).environment(lab.env()).directory(&lab.project).flags(&flags).start(&arguments);
    wh.wait(&format!("screen_contains {composer:?}"));
    wh.text("hello there");
    // An Enter right behind a text is part of a paste to these programs: it is pressed once the text is there and rests.
    wh.wait(r#"screen_contains "hello there" and screen_stable 300"#);
    wh.key("enter");
    wh.wait(r#"screen_contains "echo: hello there""#);
    assert_eq!(lab.model.prompts(), ["hello there"], "the prompt arrived once");
    assert_eq!(wh.post("/control/mark", json!({"label": "answered"})).status, 200);
    let picture = wh.get("/control/screenshot.png");
    assert!(picture.status == 200 && picture.body.starts_with(b"\x89PNG"), "a picture of it can be taken");
    wh_testkit::eventually("it is written down", || fs::read_to_string(&cast).ok()?.contains("answered").then_some(()));
    the_same_as_in_tmux(Cast::parse(fs::read(&cast).expect("it is there").as_slice()).expect("a recording"));
}

/// Compares what wh makes of all output up to the mark with what tmux does.
fn the_same_as_in_tmux(mut cast: Cast) {
    let marked = cast.events.iter().position(|event| matches!(event.what, What::Mark(_))).expect("a mark");
    cast.events.truncate(marked);
    let output = cast.events.iter().filter_map(|event| match &event.what {
        What::Output(text) => Some(text.as_str()),
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
