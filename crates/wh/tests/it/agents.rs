//! The real agents' terminal UIs, offline, driven through the control plane.

use wh_testkit::Lab;
use wh_testkit::wh::Wh;

use crate::WH;

/// Boots an agent, sends it a message as a script would, and waits for its answer.
fn hello(lab: &Lab, command: &[&str], composer: &str) {
    let arguments: Vec<&str> = [&["--"], command].concat();
    let wh = Wh::options(WH).environment(lab.env()).directory(&lab.project).start(&arguments);
    wh.wait(&format!("screen_contains {composer:?}"));
    wh.text("hello there");
    // An Enter right behind a text is part of a paste to these programs: it is pressed once the text is there and rests.
    wh.wait(r#"screen_contains "hello there" and screen_stable 300"#);
    wh.key("enter");
    wh.wait(r#"screen_contains "echo: hello there""#);
    assert_eq!(lab.model.prompts(), ["hello there"], "the prompt arrived once");
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
