//! Further responses of the HTTP API: screen, state, resize, signals and exit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use wh_testkit::http::TestRequest;
use wh_testkit::wh::Wh;
use wh_testkit::{CONDITION_TIMEOUT, eventually};

use crate::WH;

#[test]
fn the_screen_has_every_field_of_the_contract() {
    let wh = Wh::options(WH).flags(&["--size", "40x5"]).start(&[
        "--",
        "sh",
        "-c",
        r"printf '\033]0;a title\007\033[1;31mred\033[0m 日本 é\n'; exec cat",
    ]);
    wh.wait(r#"screen_contains "red""#);
    let screen = wh.screen();
    assert_eq!(screen["plain"].as_str().unwrap(), "red 日本 é\n\n\n\n");
    let lines: Vec<&str> = screen["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(lines[0], format!("red 日本 é{}", " ".repeat(40 - 10)));
    assert_eq!(lines[1], " ".repeat(40));
    assert!(screen["raw"].as_str().unwrap().contains("\u{1b}[0;1;31mred\u{1b}[0m 日本 é"), "{screen}");
    assert_eq!(screen["width"], 40);
    assert_eq!(screen["height"], 5);
    assert_eq!(screen["cursor"], json!({"x": 0, "y": 1, "visible": true, "style": "block", "blinking": false}));
    assert_eq!(screen["title"], "a title");
    assert_eq!(screen["alternate_screen"], false);
    assert_eq!(screen["modes"]["bracketed_paste"], false);
    assert_eq!(screen["scrollback"]["truncated"], false);
    assert!(screen["frames_rendered"].as_u64().unwrap() >= 1);
    assert_eq!(screen["last_frame"].as_str().unwrap().len(), "2025-01-06T10:01:02.345Z".len());
    assert!(screen.get("cells").is_none());
}

#[test]
fn the_time_of_the_last_frame_is_present_before_the_first_frame() {
    let wh = Wh::start(WH, &["--", "cat"]);
    let screen = wh.screen();
    assert_eq!(screen["frames_rendered"], 0);
    assert_eq!(screen["last_frame"].as_str().unwrap().len(), "2025-01-06T10:01:02.345Z".len());
}

#[test]
fn cells_have_text_width_and_attributes() {
    let stream =
        r"printf '\033[1;4:3;38;2;1;2;3;48;5;20mA\033[0m日\033]8;;https://x.test\033\\L\033]8;;\033\\'; exec cat";
    let wh = Wh::options(WH).flags(&["--size", "10x2"]).start(&["--", "sh", "-c", stream]);
    wh.wait(r#"screen_contains "L""#);
    let cells = wh.get("/control/screen?format=cells").json()["cells"].clone();
    assert_eq!(cells.as_array().map(Vec::len), Some(2));
    assert_eq!(
        cells[0][0],
        json!({"text": "A", "width": 1, "fg": "#010203", "bg": "20", "attributes": ["bold"], "underline": "curly"})
    );
    assert_eq!(cells[0][1], json!({"text": "日", "width": 2}));
    assert_eq!(cells[0][2], json!({"text": "", "width": 0}));
    assert_eq!(cells[0][3], json!({"text": "L", "width": 1, "hyperlink": "https://x.test"}));
    assert_eq!(cells[1][9], json!({"text": " ", "width": 1}));
}

#[test]
fn an_unchanged_screen_is_not_sent_again() {
    let wh = Wh::start(WH, &["--", "cat"]);
    let first = wh.get("/control/screen");
    let tag = first.header("etag").unwrap().to_owned();
    let again = wh.send(&TestRequest::get("/control/screen").header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.len()), (304, 0));
    wh.text("x");
    wh.wait(r#"screen_contains "x""#);
    let changed = wh.send(&TestRequest::get("/control/screen").header("If-None-Match", &tag));
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
}

#[test]
fn the_raw_output_is_kept_up_to_the_limit() {
    let wh = Wh::options(WH).env("CONTROL_PLANE_BUFFER", 10).start(&[
        "--",
        "sh",
        "-c",
        "printf 'abcdefghijklmnop'; exec cat",
    ]);
    wh.wait(r#"screen_contains "mnop""#);
    let scrollback = wh.get("/control/screen?history=1").json()["scrollback"].clone();
    assert_eq!(scrollback, json!({"buffer_size": 10, "truncated": true, "raw": "ghijklmnop"}));
}

#[test]
fn the_state_of_a_terminal_program_has_its_process_and_its_terminal() {
    let wh = Wh::start(WH, &["--", "cat"]);
    let state = wh.get("/control/state").json();
    assert_eq!(state["messages"], json!([]));
    assert_eq!(state["ui"]["terminalWidth"], 120);
    assert_eq!(state["session"]["status"], "running");
    assert_eq!(state["session"]["command"], json!(["cat"]));
    assert_eq!((&state["terminal"]["width"], &state["terminal"]["height"]), (&json!(120), &json!(40)));
    let messages = wh.get("/control/messages?limit=5&kind=chat&from=x&since=2025-01-06T10:00:00Z").json();
    assert_eq!(messages, json!({"messages": [], "total": 0, "filtered": 0}));
}

#[test]
fn an_invalid_query_is_refused() {
    let wh = Wh::start(WH, &["--", "cat"]);
    for path in [
        "/control/messages?limit=x",
        "/control/messages?since=yesterday",
        "/control/screen?format=pdf",
        "/control/screen?histroy=1",
    ] {
        let response = wh.get(path);
        assert_eq!(response.status, 400, "{path}: {}", response.text());
        assert_eq!(response.json()["error"], "Invalid request");
    }
    assert_eq!(wh.get("/nowhere").status, 404);
    assert_eq!(wh.get("/control/send_input").status, 405);
    assert_eq!(wh.post("/control/health", json!({})).status, 405);
}

#[test]
fn a_resize_reaches_the_program() {
    let wh = Wh::start(
        WH,
        &["--", "bash", "--norc", "-c", "trap 'stty size' WINCH; echo ready; while :; do read -t 1 x; done"],
    );
    wh.wait(r#"screen_contains "ready""#);
    assert_eq!(wh.post("/control/resize", json!({"width": 100, "height": 30})).status, 200);
    wh.wait(r#"screen_contains "30 100""#);
    assert_eq!((wh.screen()["width"].clone(), wh.screen()["height"].clone()), (json!(100), json!(30)));
    for wrong in [
        json!({"width": 0, "height": 5}),
        json!({"width": 5000, "height": 5}),
        json!({"width": -1, "height": 5}),
        json!({"width": 80}),
    ] {
        assert_eq!(wh.post("/control/resize", wrong.clone()).status, 400, "{wrong}");
    }
}

#[test]
fn a_signal_reaches_the_program_or_the_foreground_job() {
    let wh = Wh::start(
        WH,
        &["--", "bash", "--norc", "-c", "trap 'echo got-usr1' USR1; echo ready; while :; do sleep 0.1; done"],
    );
    wh.wait(r#"screen_contains "ready""#);
    assert_eq!(wh.post("/control/signal", json!({"signal": "SIGUSR1"})).status, 200);
    wh.wait(r#"screen_contains "got-usr1""#);
    let wrong = wh.post("/control/signal", json!({"signal": "NOPE"}));
    assert_eq!((wrong.status, wrong.json()["error"].clone()), (400, json!("Invalid signal")));

    let shell = Wh::options(WH).env("PS1", "$ ").start(&["--", "bash", "--norc", "-i"]);
    shell.wait(r#"screen_contains "$""#);
    shell.post("/control/send_input", json!({"text": "sleep 1000", "key": "enter"}));
    shell.wait(r#"screen_contains "sleep 1000""#);
    eventually("the job is interrupted", || {
        assert_eq!(shell.post("/control/signal", json!({"signal": "INT", "target": "foreground"})).status, 200);
        shell
            .plain()
            .contains("$ sleep 1000\n^C\n$")
            .then_some(())
            .or_else(|| shell.plain().trim_end().ends_with("\n$").then_some(()))
    });
}

#[test]
fn a_stopped_program_is_reported() {
    let wh = Wh::start(WH, &["--", "sleep", "1000"]);
    let status = || wh.get("/control/state").json()["session"]["status"].clone();
    wh.key("ctrl+z");
    eventually("it is stopped", || (status() == "stopped").then_some(()));
    wh.post("/control/signal", json!({"signal": "CONT"}));
    eventually("it goes on", || (status() == "running").then_some(()));
}

#[test]
fn the_api_lingers_with_the_last_screen() {
    let mut wh = Wh::options(WH).flags(&["--linger", "600"]).start(&["--", "sh", "-c", "echo last words; exit 7"]);
    wh.wait("exited");
    assert!(wh.plain().starts_with("last words"), "{}", wh.plain());
    let refused = wh.post("/control/send_input", json!({"text": "x"}));
    assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("Program has ended")));
    let state = wh.get("/control/state").json();
    assert_eq!((&state["session"]["status"], &state["session"]["exit"]["code"]), (&json!("exited"), &json!(7)));
    wh.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(wh.wait_exit(CONDITION_TIMEOUT).code(), Some(7));
}

#[test]
fn wh_exits_with_the_exit_code_of_the_program() {
    let code = |command: &[&str]| {
        let status =
            Command::new(WH).args(["run", "--headless", "--"]).args(command).output().expect("wh is there").status;
        status.code().expect("wh is not killed")
    };
    assert_eq!(code(&["true"]), 0);
    assert_eq!(code(&["sh", "-c", "exit 42"]), 42);
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), 137);
    assert_eq!(code(&["/no/such/program"]), 127);
    assert_eq!(code(&["/etc/passwd"]), 126);
}

#[test]
fn a_port_in_use_is_reported_before_the_program_starts() {
    let first = Wh::start(WH, &["--", "cat"]);
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("started");
    let port = first.port().to_string();
    let output = Command::new(WH)
        .args(["run", "--headless", "--control-port", &port, "--", "touch"])
        .arg(&mark)
        .output()
        .expect("wh is there");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains(&format!("port {port} is in use")) && said.contains("--control-port"), "{said}");
    assert!(!mark.exists());
}

#[test]
fn a_live_run_is_listed() {
    let mut wh = Wh::start(WH, &["--", "cat"]);
    let directory = wh.runtime_dir().join("wheelhouse");
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let files = || fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let file = eventually("the run is entered", || files().pop());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let run: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((&run["port"], &run["command"]), (&json!(wh.port()), &json!(["cat"])));
    let listed = |runtime: &std::path::Path| {
        let output =
            Command::new(WH).args(["ls", "--json"]).env("XDG_RUNTIME_DIR", runtime).output().expect("wh is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(listed(wh.runtime_dir()).contains(&format!("\"port\":{}", wh.port())));
    fs::write(directory.join("run-1.json"), serde_json::to_vec(&json!({"pid": 1, "process_start": 0, "port": 1, "url": "x", "command": [], "started_at": "", "version": ""})).unwrap()).unwrap();
    assert_eq!(listed(wh.runtime_dir()).lines().count(), 1, "a stale file is ignored");
    wh.key("ctrl+d");
    assert_eq!(wh.wait_exit(Duration::from_secs(60)).code(), Some(0));
    assert!(!file.exists());
}

#[test]
fn the_program_gets_its_environment_and_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    let wh = Wh::options(WH)
        .env("WH_CONTROL_TOKEN", "s3cret")
        .env("TMUX", "outer")
        .flags(&["--cwd", &path, "--env", "GREETING=hello there"])
        .start(&["--", "sh", "-c", "echo \"$GREETING|$TERM|$COLORTERM|$TMUX|$WH_CONTROL_TOKEN|\"; pwd; exec cat"]);
    let screen = eventually("the program has spoken", || {
        let response = wh.send(&TestRequest::get("/control/screen").header("Authorization", "Bearer s3cret"));
        let plain = response.json()["plain"].as_str()?.to_owned();
        plain.contains('/').then_some(plain)
    });
    assert!(screen.starts_with("hello there|xterm-256color|truecolor|||\n"), "{screen}");
    assert!(screen.contains(&path), "{screen}");
    let missing = Command::new(WH).args(["run", "--headless", "--cwd", "/no/such", "--", "true"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/no/such"));
}

#[test]
fn the_program_inherits_its_terminal_and_nothing_else() {
    let script = "ls -l /proc/$$/fd | awk '{print $NF}' | sort -u; grep SigIgn /proc/$$/status; exec cat";
    let wh = Wh::start(WH, &["--", "sh", "-c", script]);
    wh.wait(r#"screen_contains "SigIgn""#);
    let screen = wh.plain();
    assert!(!screen.contains("ptmx") && !screen.contains("socket:"), "{screen}");
    // A shell ignores QUIT in background jobs. wh resets signal dispositions for its program.
    let output = Command::new("bash")
        .args([
            "-c",
            &format!("{WH} run --headless -- grep -q 'SigIgn:.[0-9a-f]*[08]0000000' /proc/self/status & wait $!"),
        ])
        .output()
        .expect("bash is there");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn terminal_queries_are_answered_without_an_attached_terminal() {
    let ask = r"stty raw -echo; printf '\033[c'; IFS= read -r -t 30 -d c answer; [ ${#answer} -gt 2 ]";
    let status =
        Command::new(WH).args(["run", "--headless", "--", "bash", "--norc", "-c", ask]).status().expect("wh is there");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn metrics_count_what_happens() {
    let wh = Wh::start(WH, &["--", "cat"]);
    wh.text("abc");
    wh.wait(r#"screen_contains "abc""#);
    wh.screen();
    let metrics = wh.get("/control/metrics");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    let text = metrics.text();
    for line in [
        "wh_input_bytes_total 3",
        "wh_output_bytes_total 3",
        "wh_requests_total{path=\"/control/screen\",status=\"200\"} 1",
        "wh_render_seconds_count 1",
        "wh_input_to_frame_seconds_count 1",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
    }
}

#[test]
fn the_api_serves_its_description() {
    let wh = Wh::start(WH, &["--", "cat"]);
    let description = wh.get("/openapi.json").json();
    assert_eq!(description["openapi"], "3.1.0");
    assert!(description["paths"]["/control/send_input"]["post"]["responses"]["503"].is_object());
    let page = wh.get("/docs");
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    let text = page.text();
    assert!(
        text.contains("/control/wait")
            && !text.contains("<script")
            && !text.contains("http://")
            && !text.contains("https://"),
        "{text}"
    );
}

#[test]
fn the_screen_is_served_as_an_image() {
    let wh = Wh::options(WH).flags(&["--size", "20x3"]).start(&[
        "--",
        "sh",
        "-c",
        r"printf '\033[31mred <&>\033[0m 日本'; exec cat",
    ]);
    wh.wait(r#"screen_contains "日本""#);
    let svg = wh.get("/control/screenshot.svg");
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    assert!(svg.text().contains("&lt;&amp;&gt;") && svg.text().starts_with("<svg"), "{}", svg.text());
    let png = wh.get("/control/screenshot.png");
    assert_eq!(png.header("content-type"), Some("image/png"));
    assert!(png.body.starts_with(b"\x89PNG\r\n"));
    assert_eq!(wh.get("/control/screenshot.png").body, png.body, "the same screen is the same picture");
    assert!(wh.get("/control/screenshot.png?scale=1").body.len() < png.body.len());
    assert_eq!(wh.get("/control/screenshot.png?scale=9").status, 400);
    assert_ne!(wh.get("/control/screenshot.png?background=light").body, png.body);
    assert_eq!(wh.get("/control/screenshot.png?background=dark").body, png.body);
    assert!(wh.get("/control/screenshot.svg?background=light").text().contains("fill=\"#ffffff\"/>"));
    assert_eq!(wh.get("/control/screenshot.svg?background=blue").status, 400);
}
