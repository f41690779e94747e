//! Recordings: their contents, and that they reproduce the screen.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use wh_screen::cast::{Cast, EventContent, screen_at};
use wh_screen::render;
use wh_testkit::wh::Wh;
use wh_testkit::{CONDITION_TIMEOUT, process};

use crate::WH;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn the_recording_reproduces_the_screen_at_every_marker() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.cast");
    let flags = ["--record", path.to_str().unwrap(), "--size", "60x12"];
    let mut wh = Wh::options(WH).env("PS1", "$ ").flags(&flags).start(&["--", "bash", "--norc"]);
    wh.wait(r#"screen_contains "$""#);
    let mut screens = Vec::new();
    let prompt = r"screen_matches /^\$ *$/m";
    for (number, (command, seen)) in [
        ("seq 1 40", "screen_matches /^40$/m"),
        ("clear; echo cl''ean", r#"screen_contains "clean" and not screen_contains "40""#),
        ("printf '\\033[7mhi\\033[0m 日本\\n'", "screen_matches /^hi 日本$/m"),
        ("vim -u NONE -N", "screen_matches /^~$/m"),
    ]
    .into_iter()
    .enumerate()
    {
        wh.post("/control/send_input", json!({"text": command, "key": "enter"}));
        wh.wait(&format!("{seen} and screen_stable 400"));
        if number == 2 {
            assert_eq!(wh.post("/control/resize", json!({"width": 70, "height": 15})).status, 200);
            wh.wait("screen_stable 400");
        }
        screens.push(wh.screen());
        assert_eq!(wh.post("/control/mark", json!({"label": format!("m{number}")})).status, 200);
    }
    wh.post("/control/send_input", json!({"text": ":q!", "key": "enter"}));
    wh.wait(&format!("{prompt} and not screen_matches /^~$/m"));
    wh.post("/control/send_input", json!({"text": "exit 3", "key": "enter"}));
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(3));

    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let cast = Cast::parse(fs::read(&path).unwrap().as_slice()).unwrap();
    let marks: Vec<(Duration, String)> = cast
        .events
        .iter()
        .filter_map(|event| match &event.content {
            EventContent::Mark(label) => Some((event.at, label.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(marks.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(), ["m0", "m1", "m2", "m3"]);
    for ((at, _), live) in marks.iter().zip(&screens) {
        let seconds = format!("{:.6}", at.as_secs_f64());
        let shown =
            Command::new(WH).args(["screen", "--cast", path.to_str().unwrap(), "--at", &seconds]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stdout).trim_end(), live["plain"].as_str().unwrap().trim_end());
    }
    for ((at, label), live) in marks.iter().zip(&screens) {
        let frame = screen_at(&cast, *at, 2000).frame();
        assert_eq!(render::plain(&frame), live["plain"].as_str().unwrap(), "{label}");
        assert_eq!(format!("{:016x}", render::fingerprint(&frame)), live["hash"].as_str().unwrap(), "{label}");
    }
    assert!(matches!(cast.events.last().unwrap().content, EventContent::Exit(3)), "{:?}", cast.events.last());
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letters.txt");
    fs::write(&path, "dear").unwrap();
    let output = Command::new(WH)
        .args(["run", "--headless", "--record", path.to_str().unwrap(), "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("remove the file first"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "dear");
}

#[test]
fn input_is_recorded_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let record = |flags: &[&str], name: &str| {
        let path = directory.path().join(name);
        let flags = [&["--record", path.to_str().unwrap()], flags].concat();
        let mut wh =
            Wh::options(WH).flags(&flags).start(&["--", "sh", "-c", "stty -echo; echo ready; read x; echo done"]);
        wh.wait(r#"screen_contains "ready""#);
        wh.post("/control/send_input", json!({"text": "s3cret", "key": "enter"}));
        assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(0));
        fs::read_to_string(path).unwrap()
    };
    assert!(!record(&[], "a.cast").contains("s3cret"));
    let with_input = record(&["--record-input", "--record-format", "v2"], "b.cast");
    let lines = lines(&with_input);
    assert_eq!(lines[0]["version"], 2);
    assert!(lines[1..].iter().any(|line| line[1] == "i" && line[2] == "s3cret\r"), "{with_input}");
}

#[test]
fn a_killed_wh_leaves_a_playable_recording() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.cast");
    let wh = Wh::options(WH).flags(&["--record", path.to_str().unwrap()]).start(&[
        "--",
        "sh",
        "-c",
        "echo before the crash; exec cat",
    ]);
    wh.wait(r#"screen_contains "crash""#);
    wh_testkit::eventually("it is written down", || fs::read_to_string(&path).unwrap().contains("crash").then_some(()));
    wh.signal(nix::sys::signal::Signal::SIGKILL);
    let play = Command::new(WH).args(["play", path.to_str().unwrap(), "--speed", "100"]).output().unwrap();
    assert_eq!(play.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&play.stdout).contains("before the crash"));
    fs::write(&path, "").unwrap();
    for (file, words) in [(path.to_str().unwrap(), "is not a recording"), ("/dev/null", "not a regular file")] {
        let none = Command::new(WH).args(["play", file]).output().unwrap();
        assert_eq!(none.status.code(), Some(125));
        assert!(String::from_utf8_lossy(&none.stderr).contains(words), "{file}");
    }
}

#[test]
fn a_killed_wh_loses_at_most_the_last_second() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.cast");
    let count = "i=0; while :; do echo n$i; i=$((i+1)); sleep 0.05; done";
    let wh = Wh::options(WH).flags(&["--record", path.to_str().unwrap()]).start(&["--", "sh", "-c", count]);
    wh.wait(r#"screen_matches /^n30$/m"#);
    let shown = wh.plain();
    wh.signal(nix::sys::signal::Signal::SIGKILL);
    let newest = |text: &str| text.lines().filter_map(|line| line.strip_prefix('n')?.trim().parse::<u32>().ok()).max();
    let newest_shown = newest(&shown).unwrap();
    let cast = Cast::parse(fs::read(&path).unwrap().as_slice()).unwrap();
    let recorded = render::plain(&screen_at(&cast, cast.duration(), 0).frame());
    assert!(newest(&recorded).unwrap() + 20 >= newest_shown, "{newest_shown} was shown, recorded is\n{recorded}");
}

#[test]
fn a_named_pipe_instead_of_a_file_fails_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let pipe = pipe.to_str().unwrap();
    for arguments in [
        &["screen", "--cast", pipe][..],
        &["play", pipe],
        &["shot", "--compare", pipe, "--port", "1"],
        &["screen", "--token-file", pipe, "--port", "1"],
    ] {
        let mut child = Command::new(WH).args(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let status = process::wait(&mut child, CONDITION_TIMEOUT);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(status.is_some_and(|status| !status.success()), "{arguments:?}: {status:?} {said}");
        assert!(
            said.contains(pipe) && said.contains("the path is a named pipe, not a regular file"),
            "{arguments:?}: {said}"
        );
    }
}

/// Recording with sequences beyond drawing, followed by a pause.
const HOSTILE: &str = concat!(
    "{\"version\":2,\"width\":80,\"height\":24}\n",
    r#"[0.0,"o","before \u001b]52;c;aGk=\u0007\u001b]0;title\u001b\\\u001bP+q544e\u001b\\\u001b[6n\u001b[?1003h\u001b]52;c;"]"#,
    "\n",
    r#"[0.1,"o","aGk=\u0007\u001b[c\u001b[31mafter\u001b[?1049h\u001b[?25l"]"#,
    "\n",
);

#[test]
fn an_untrusted_recording_can_only_draw() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostile.cast");
    fs::write(&path, HOSTILE).unwrap();
    let play = |flags: &[&str]| {
        let output = Command::new(WH).arg("play").arg(&path).args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = "before \u{1b}[31mafter\u{1b}[?1049h\u{1b}[?25l";
    assert_eq!(play(&[]), format!("{shown}\u{1b}[?25h\u{1b}[?1049l\u{1b}[0m"), "and the terminal is left as it was");
    let raw = play(&["--raw"]);
    assert!(raw.contains("\u{1b}]52;c;aGk=\u{7}") && raw.ends_with("\u{1b}[?25l"), "{raw:?}");
}

#[test]
fn interrupted_playback_restores_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("long.cast");
    fs::write(&path, format!("{HOSTILE}[3600.0,\"o\",\"never\"]\n")).unwrap();
    let mut play = Command::new(WH).arg("play").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = play.stdout.take().unwrap();
    let mut shown = Vec::new();
    while !shown.ends_with(b"\x1b[?25l") {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        shown.extend(byte);
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(play.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "\u{1b}[?25h\u{1b}[?1049l\u{1b}[0m");
    assert_eq!(play.wait().unwrap().code(), Some(130));
}
