//! Compatibility of recordings with both major versions of asciinema: playing, converting, and the same screens as in
//! wh.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use wh_screen::cast::{Cast, EventContent, screen_at};
use wh_screen::render;
use wh_testkit::CONDITION_TIMEOUT;
use wh_testkit::tools::pinned;
use wh_testkit::wh::Wh;

use crate::WH;

/// Draws a screen, and another one after a resize; exits with 3.
const PROGRAM: &str = r#"stty -echo
printf '\033[1;32m日本 😀\033[0m\n┌─┐\n│x│\n└─┘\n'; read x
printf '\033[2J\033[Hthe \033[7mlast\033[0m screen 日本 é \\ "quoted"\n'; seq 1 5; read x; exit 3"#;

/// Makes a recording with every event type, and returns it with the last screen.
fn record(directory: &Path, format: &str) -> (PathBuf, String) {
    let path = directory.join(format!("{format}.cast"));
    let name = path.to_str().expect("a plain name");
    let flags = ["--record", name, "--record-format", format, "--record-input", "--size", "60x12"];
    let mut wh = Wh::options(WH).flags(&flags).start(&["--", "sh", "-c", PROGRAM]);
    wh.wait(r#"screen_contains "└─┘""#);
    assert_eq!(wh.post("/control/mark", json!({"label": "first 画"})).status, 200);
    assert_eq!(wh.post("/control/resize", json!({"width": 70, "height": 14})).status, 200);
    wh.key("enter");
    wh.wait(r#"screen_contains "the last screen" and screen_matches /^5$/m"#);
    assert_eq!(wh.post("/control/mark", json!({"label": "last"})).status, 200);
    let screen = wh.plain().trim_end().to_owned();
    wh.key("enter");
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));
    (path, screen)
}

/// Returns an asciinema command with an empty home, because it stores an id and a configuration.
fn command(asciinema: &Path, home: &Path) -> Command {
    let mut command = Command::new(asciinema);
    command.env("HOME", home).env("XDG_CONFIG_HOME", home).env("XDG_STATE_HOME", home);
    command
}

/// Returns asciinema's output for a recording.
#[track_caller]
fn converted(asciinema: &Path, format: &str, from: &Path) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let to = directory.path().join("converted");
    let output = command(asciinema, directory.path())
        .args(["convert", "--output-format", format])
        .args([from, &to])
        .output()
        .expect("asciinema runs");
    assert!(output.status.success(), "{format}: {}", String::from_utf8_lossy(&output.stderr));
    fs::read(to).expect("it is written")
}

/// Returns the contents of a recording without times.
fn contents(recording: &[u8]) -> (Vec<EventContent>, String) {
    let cast = Cast::parse(recording).expect("a recording");
    let last = cast.events.iter().rfind(|event| matches!(event.content, EventContent::Mark(_))).expect("a mark").at;
    let screen = render::plain(&screen_at(&cast, last, 0).frame()).trim_end().to_owned();
    (cast.events.into_iter().map(|event| event.content).collect(), screen)
}

/// Plays a recording with asciinema in a terminal. Returns the screen and the exit code.
fn played(asciinema: &Path, arguments: &[&str], recording: &Path) -> (String, Option<i64>) {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path().display();
    let (asciinema, recording) = (asciinema.to_str().expect("a plain name"), recording.to_str().expect("likewise"));
    let program = [&["--", asciinema, "play"], arguments, &[recording]].concat();
    let wh = Wh::options(WH)
        .env("HOME", &home)
        .env("XDG_CONFIG_HOME", &home)
        .env("XDG_STATE_HOME", &home)
        .flags(&["--size", "70x14", "--linger", "600"])
        .start(&program);
    wh.wait("exited");
    let state = wh.get("/control/state").json();
    (wh.plain().trim_end().to_owned(), state["session"]["exit"]["code"].as_i64())
}

#[test]
fn asciinema_3_converts_both_formats_and_shows_the_same_text() {
    let Some(asciinema) = pinned("asciinema", 3) else { return };
    let directory = tempfile::tempdir().unwrap();
    for (format, other) in [("v3", "asciicast-v2"), ("v2", "asciicast-v3")] {
        let (path, screen) = record(directory.path(), format);
        let (ours, at_the_mark) = contents(&fs::read(&path).unwrap());
        assert_eq!(at_the_mark, screen);
        for kind in ["Input", "Resize", "Mark"] {
            assert!(ours.iter().any(|what| format!("{what:?}").starts_with(kind)), "no {kind} in {ours:?}");
        }
        let theirs = converted(&asciinema, other, &path);
        assert_eq!(contents(&theirs), (ours, screen.clone()), "{format} to {other}");
        let text = String::from_utf8(converted(&asciinema, "txt", &path)).unwrap();
        assert_eq!(text.trim_end(), screen, "{format} as text");
    }
}

#[test]
fn asciinema_3_plays_both_formats() {
    let Some(asciinema) = pinned("asciinema", 3) else { return };
    let directory = tempfile::tempdir().unwrap();
    for format in ["v3", "v2"] {
        let (path, screen) = record(directory.path(), format);
        assert_eq!(played(&asciinema, &["--quiet", "--speed", "20"], &path), (screen, Some(0)), "{format}");
    }
}

#[test]
fn asciinema_2_plays_and_prints_version_2() {
    let Some(asciinema) = pinned("asciinema", 2) else { return };
    let directory = tempfile::tempdir().unwrap();
    let (path, screen) = record(directory.path(), "v2");
    let output = command(&asciinema, directory.path()).arg("cat").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (ours, _) = contents(&fs::read(&path).unwrap());
    let written = ours.iter().filter_map(|what| match what {
        EventContent::Output(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(String::from_utf8_lossy(&output.stdout), written.collect::<String>());
    assert_eq!(played(&asciinema, &["--speed", "20"], &path), (screen, Some(0)));
}
