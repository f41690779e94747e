//! The client commands in scripts: in a shell, in pipes, and by their exit codes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use wh_testkit::wh::Wh;
use wh_testkit::{CONDITION_TIMEOUT, eventually, tools};

use crate::WH;

/// Exit code and output of a script.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// Runs a bash script with wh on the path and the runs of `runtime`. With pipefail.
#[track_caller]
fn script(runtime: &Path, text: &str) -> Said {
    let own = Path::new(WH).parent().expect("wh is in a directory").display();
    let path = std::env::var("PATH").expect("there is a PATH");
    let mut command = Command::new("bash");
    command.args(["-c", &format!("set -o pipefail; {text}")]);
    command
        .env("PATH", format!("{own}:{path}"))
        .env("XDG_RUNTIME_DIR", runtime)
        .env("XDG_STATE_HOME", runtime.join("state"));
    for variable in ["WH_CONTROL_URL", "WH_CONTROL_PORT", "WH_CONTROL_TOKEN"] {
        command.env_remove(variable);
    }
    let output = command.output().expect("bash is there");
    let text = |bytes| String::from_utf8(bytes).expect("only text is said");
    let code = output.status.code().expect("no signal ends a script");
    Said { code, out: text(output.stdout), err: text(output.stderr) }
}

/// Returns the output of a script that must succeed, without the last line feed.
#[track_caller]
fn done(runtime: &Path, text: &str) -> String {
    let said = script(runtime, text);
    assert_eq!(said.code, 0, "{text}: {said:?}");
    said.out.trim_end().to_owned()
}

/// Returns the standard error of a script that must fail with `code`.
#[track_caller]
fn fails(runtime: &Path, code: i32, text: &str) -> String {
    let said = script(runtime, text);
    assert_eq!(said.code, code, "{text}: {said:?}");
    assert!(!said.err.contains('\u{1b}'), "{text}: {said:?}");
    said.err
}

/// Starts a run of a shell with a fixed prompt. `None` if scripts cannot run.
fn shell() -> Option<Wh> {
    if !tools::present(&["bash", "jq"]) {
        return None;
    }
    let wh = Wh::options(WH).env("PS1", "$ ").flags(&["--size", "80x24"]).start(&["--", "bash", "--norc"]);
    wh.wait(r#"screen_contains "$""#);
    Some(wh)
}

/// Starts an HTTP server that gives the same response to every request.
fn parrot(status: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = BufReader::new(stream.try_clone().expect("a second handle"));
            let mut length = 0;
            loop {
                let mut line = String::new();
                let read = request.read_line(&mut line).unwrap_or(0);
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                if read == 0 || line == "\r\n" {
                    break;
                }
            }
            let _ = std::io::copy(&mut request.take(length), &mut std::io::sink());
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    port
}

#[test]
fn a_script_types_waits_and_reads_the_screen() {
    let Some(wh) = shell() else { return };
    let runs = wh.runtime_dir();
    assert_eq!(done(runs, r#"wh send "echo hel''lo" --key enter"#), "sent");
    let matched = done(runs, "wh wait 'screen_matches /^hello$/m and screen_matches /^\\$ *$/m' --timeout 60s");
    assert!(matched.starts_with("matched after ") && matched.ends_with(" ms"), "{matched}");
    assert_eq!(script(runs, "wh screen").out, "$ echo hel''lo\nhello\n$\n", "trailing blank lines are left out");
    assert_eq!(
        done(runs, "wh screen --json | jq -c '[.width, .height, .plain[0:6], has(\"cells\")]'"),
        r#"[80,24,"$ echo",false]"#
    );
    assert_eq!(done(runs, "wh screen --cells | jq -r '.cells[1][0:5] | map(.text) | add'"), "hello");
    assert!(done(runs, "wh screen --raw").contains('\u{1b}'), "asked for, it comes as it is");
    let history = done(runs, "wh screen --history");
    assert!(history.contains("\nhello\n") && !history.contains('\u{1b}'), "{history}");
    assert_eq!(done(runs, "wh screen --history --json | jq -r '.scrollback.raw | contains(\"hello\\r\\n\")'"), "true");
    assert!(done(runs, "wh screen --history --raw").contains("hello\r\n"));

    let logs = done(runs, "wh logs");
    assert!(logs.contains("\nhello\n") && !logs.contains('\u{1b}'), "{logs}");
    done(runs, "wh send 'echo be; sleep 600' --key enter && wh wait 'screen_matches /^be$/m' --timeout 60s");
    assert_eq!(done(runs, "wh interrupt"), "interrupted");
    done(runs, "wh send 'echo after $?' --key enter && wh wait 'screen_contains \"after 130\"' --timeout 60s");
    let said = fails(runs, 4, "wh answer - q1 yes");
    assert!(said.contains("wh: this is a terminal program, not an agent"), "{said}");
}

#[test]
fn text_is_read_from_stdin_pasted_and_sent_once() {
    let Some(wh) = shell() else { return };
    let runs = wh.runtime_dir();
    assert_eq!(
        done(runs, "printf 'echo é日' | wh send - --key space --key x --json | jq -c '[.ok, .injected]'"),
        r#"[true,"echo é日"]"#
    );
    done(runs, "wh wait 'screen_contains \"echo é日 x\"' --timeout 1m && wh key ctrl+u");
    done(runs, "wh send 'cat <<E' --key enter && wh wait 'screen_matches /^> *$/m' --timeout 1m");
    done(runs, "wh send --paste $'one\\ntwo'");
    assert_eq!(done(runs, "wh key enter E enter --json | jq .delivered"), "true");
    done(runs, "wh wait 'screen_matches /^one$/m and screen_matches /^two$/m' --timeout 60");
    assert_eq!(done(runs, "wh send '# only once' --request-id a1"), "sent");
    assert!(done(runs, "wh send '# only once' --request-id a1").contains("nothing sent"));
    assert_eq!(
        done(runs, "wh send '# only once' --request-id a1 --json | jq -c '[.duplicate, .request_id]'"),
        r#"[true,"a1"]"#
    );
    done(runs, "wh send -- --dashes && wh wait 'screen_contains \"# only once--dashes\"' --timeout 1m");
    assert!(fails(runs, 2, "printf '\\xff' | wh send -").contains("UTF-8"));
}

#[test]
fn a_script_resizes_signals_and_reads_the_state() {
    let Some(wh) = shell() else { return };
    let runs = wh.runtime_dir();
    assert_eq!(done(runs, "wh resize 100x30"), "sent");
    assert_eq!(done(runs, "wh resize 101x31 --json | jq .ok"), "true");
    done(runs, "wh send \"printf '\\033]0;at w\\302\\2332Jork\\007'; sleep 1000\" --key enter");
    done(runs, "wh wait 'title_contains \"ork\" and screen_contains \"sleep 1000\"' --timeout 1m");
    let state = done(runs, "wh state");
    for expected in [
        "command       bash --norc\n",
        "status        running since 20",
        "terminal      101x31\n",
        "title         at w",
    ] {
        assert!(state.contains(expected), "{expected}: {state}");
    }
    assert_eq!(done(runs, "wh state --json | jq -r '[.session.status, .terminal.width] | @csv'"), r#""running",101"#);
    let sleeping = || wh_testkit::process::descendants(wh.pid()).len();
    eventually("the shell sleeps", || (sleeping() == 3).then_some(()));
    assert_eq!(done(runs, "wh signal int --foreground"), "sent");
    eventually("the sleep is over", || (sleeping() == 2).then_some(()));
    assert_eq!(done(runs, "wh signal SIGWINCH --json | jq .ok"), "true");
    assert_eq!(done(runs, "wh mark 'half way' --json | jq .ok"), "true");
    let said = script(runs, "wh messages");
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.contains("terminal programs have none"), "{said:?}");
    assert_eq!(
        done(
            runs,
            "wh messages --limit 3 --kind mcp/request --from 'a b&c' --since 2025-01-06T10:00:00Z --json | jq -c ."
        ),
        r#"{"messages":[],"total":0,"filtered":0}"#
    );
    assert!(fails(runs, 2, "wh messages --since yesterday").contains("since must be a time"));
}

#[test]
fn usage_errors_are_reported_and_exit_with_2() {
    let Some(wh) = shell() else { return };
    let runs = wh.runtime_dir();
    assert!(fails(runs, 2, "wh key entr").contains("did you mean \"enter\"?"));
    assert!(fails(runs, 2, "wh send x --key ctrl+").contains("key"));
    assert!(fails(runs, 2, "wh send ''").contains("missing text or key"));
    let condition = fails(runs, 2, "wh wait 'exited and nonsense'");
    assert!(condition.contains("at character 11: "), "{condition}");
    assert!(condition.contains("\n    exited and nonsense\n               ^\n"), "the place is shown: {condition}");
    assert_eq!(done(runs, "wh wait 'exited and nonsense' --json | jq .position || [ $? = 2 ]"), "11");
    for wrong in ["5min", "-1", "soon"] {
        assert!(fails(runs, 2, &format!("wh wait exited --timeout={wrong}")).contains("500ms, 5s, 2m"));
    }
    assert!(fails(runs, 2, "wh wait exited --timeout 2h").contains("timeout"), "the run's own bound");
    assert!(fails(runs, 2, "wh signal nope").contains("one of HUP"));
    assert!(fails(runs, 2, "wh resize 0x0").contains("for example 120x40"));
    assert!(fails(runs, 2, "wh screen --raw --json").contains("cannot be used with"));
    for command in ["key", "send", "wait", "resize", "signal", "completions", "nonsense", "screen --nonsense"] {
        fails(runs, 2, &format!("wh {command}"));
    }
    for url in ["https://127.0.0.1:1", "127.0.0.1:1", "http://127.0.0.1:1/control"] {
        assert!(fails(runs, 2, &format!("wh screen --url {url}")).contains("http://HOST:PORT"));
    }
    assert!(fails(runs, 2, "wh screen --url http://192.0.2.1:9090").contains("requires a token"));
    assert!(fails(runs, 2, "WH_CONTROL_PORT=x wh screen").contains("WH_CONTROL_PORT is \"x\""));
}

#[test]
fn a_wait_that_times_out_exits_with_3_and_prints_the_screen() {
    let Some(wh) = shell() else { return };
    let runs = wh.runtime_dir();
    wh.text("here we are");
    wh.wait(r#"screen_contains "here we are""#);
    let said = fails(runs, 3, "wh wait 'screen_contains \"elsewhere\"' --timeout 50ms");
    assert!(said.contains("did not become true in time") && said.contains("    $ here we are\n"), "{said}");
    let said = script(runs, "wh wait exited --timeout 0 --json");
    assert_eq!((said.code, said.err.as_str()), (3, ""));
    let count = said.out.lines().count();
    assert!(count == 1 && said.out.contains(r#""error":"timeout""#), "{said:?}");
}

#[test]
fn refusals_exit_with_4() {
    if !tools::present(&["bash", "jq"]) {
        return;
    }
    let wh = Wh::options(WH).flags(&["--linger", "600"]).start(&[
        "--",
        "sh",
        "-c",
        "stty raw -echo; head -c 262133 > /dev/null; echo last words",
    ]);
    let runs = wh.runtime_dir();
    let send = |count: u32| format!("head -c {count} /dev/zero | tr '\\0' x | wh send -");
    assert!(fails(runs, 4, &send(262_134)).contains("maximum of 262144"));
    done(runs, &send(262_133));
    done(runs, "wh wait exited --timeout 60s");
    assert!(fails(runs, 4, "wh send more").contains("the program has ended"));
    for command in ["signal INT", "resize 90x30", "mark late", "key enter"] {
        assert!(fails(runs, 4, &format!("wh {command}")).contains("the program has ended"), "{command}");
    }
    let said = fails(runs, 4, "wh wait 'screen_contains \"never\"'");
    assert!(said.contains("the program has exited") && said.contains("    last words\n"), "{said}");
    assert!(done(runs, "wh state").contains("status        exited since"));
    let busy = parrot("503 Service Unavailable", r#"{"error":"Too many waits","detail":"64 are open"}"#);
    assert!(fails(runs, 4, &format!("wh wait exited --port {busy}")).contains("too many waits: 64 are open"));
    let large = parrot("413 Payload Too Large", r#"{"error":"Body too large"}"#);
    assert!(fails(runs, 4, &format!("wh send x --port {large}")).contains("body too large"));
}

#[test]
fn a_wrong_token_exits_with_5() {
    if !tools::present(&["bash", "jq"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong, open) =
        (file("right", "s3cret\n", 0o600), file("wrong", "s3cre", 0o600), file("open", "s3cret", 0o644));
    let wh = Wh::options(WH).flags(&["--control-token-file", &right]).start(&["--", "cat"]);
    let runs = wh.runtime_dir();
    for command in [
        "screen",
        "send x",
        "key x",
        "wait exited",
        "resize 9x9",
        "signal INT",
        "state",
        "messages",
        "mark x",
        "shot x.png",
    ] {
        let said = fails(runs, 5, &format!("wh {command}"));
        assert!(said.contains("--token-file FILE or WH_CONTROL_TOKEN"), "{said}");
    }
    fails(runs, 5, &format!("wh screen --token-file {wrong}"));
    assert_eq!(done(runs, "wh state --json | jq -r .error || [ $? = 5 ]"), "Unauthorized");
    assert!(fails(runs, 2, &format!("wh screen --token-file {open}")).contains("other users can access the file"));
    done(runs, &format!("wh screen --token-file {right}"));
    done(runs, "WH_CONTROL_TOKEN=s3cret wh screen");
    fails(runs, 5, &format!("WH_CONTROL_TOKEN=s3cret wh screen --token-file {wrong}"));
    let forbidden = parrot("403 Forbidden", r#"{"error":"Forbidden","detail":"not you"}"#);
    assert!(fails(runs, 5, &format!("wh screen --port {forbidden}")).contains("forbidden: not you"));
}

#[test]
fn the_selected_run_or_the_only_run_is_used() {
    if !tools::present(&["bash", "jq"]) {
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let said = fails(empty.path(), 6, "wh screen");
    assert!(
        said.contains("no run with an HTTP API found") && said.contains("wh run --control-port 0 -- PROGRAM"),
        "{said}"
    );
    let said = script(empty.path(), "wh ls; wh ls --json");
    assert_eq!((said.code, said.out.as_str()), (0, ""));
    assert!(said.err.contains("no sessions and no runs") && said.err.contains("wh new --agent demo"), "{said:?}");

    let one = Wh::start(WH, &["--", "sh", "-c", "echo number-one; exec cat"]);
    one.wait(r#"screen_contains "number-one""#);
    let runs = one.runtime_dir();
    assert_eq!(done(runs, "wh screen"), "number-one");

    let two =
        Wh::options(WH).env("XDG_RUNTIME_DIR", runs.display()).start(&["--", "sh", "-c", "echo number-two; exec cat"]);
    two.wait(r#"screen_contains "number-two""#);
    let (first, second) = (one.port(), two.port());
    let said = fails(runs, 6, "wh screen");
    assert!(said.contains("2 runs have an HTTP API; choose one with --port"), "{said}");
    for expected in
        [one.pid().to_string(), format!("http://127.0.0.1:{second}"), "echo number-two; exec cat".to_owned()]
    {
        assert!(said.contains(&expected), "{expected}: {said}");
    }
    let listed = done(runs, "wh ls");
    let heading: Vec<&str> = listed.lines().next().unwrap().split_whitespace().collect();
    assert_eq!((heading, listed.lines().count()), (vec!["PID", "URL", "STARTED", "COMMAND"], 3));
    assert_eq!(done(runs, "wh ls --json | jq .port"), format!("{first}\n{second}"));

    let (at_one, at_two) = (format!("http://localhost:{first}/"), format!("http://127.0.0.1:{second}"));
    for (choice, expected) in [
        (format!("WH_CONTROL_PORT={second} wh screen"), "number-two"),
        (format!("WH_CONTROL_URL={at_one} WH_CONTROL_PORT={second} wh screen"), "number-one"),
        (format!("WH_CONTROL_URL={at_one} wh screen --port {second}"), "number-two"),
        (format!("wh screen --port {second} --url {at_one}"), "number-one"),
        (format!("WH_CONTROL_URL= WH_CONTROL_PORT={first} wh screen"), "number-one"),
        (format!("http_proxy=http://127.0.0.1:1 wh screen --url {at_two}"), "number-two"),
    ] {
        assert_eq!(done(empty.path(), &choice), expected, "{choice}");
    }
}

#[test]
fn no_answer_exits_with_6_and_a_foreign_server_with_125() {
    let Some(mut wh) = shell() else { return };
    let runs = wh.runtime_dir().to_owned();
    let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    for command in [
        "screen",
        "send x",
        "key x",
        "wait exited",
        "resize 9x9",
        "signal INT",
        "state --json",
        "messages",
        "mark x",
        "shot x.png",
    ] {
        let said = fails(&runs, 6, &format!("wh {command} --port {free}"));
        assert!(
            said.contains(&format!("http://127.0.0.1:{free} is not reachable")) && said.contains("wh ls"),
            "{said}"
        );
    }
    let html = parrot("200 OK", "<html>");
    assert!(fails(&runs, 125, &format!("wh screen --port {html}")).contains("did not send JSON"));
    let other = parrot("404 Not Found", r#"{"message":"what?"}"#);
    assert!(fails(&runs, 125, &format!("wh screen --port {other}")).contains("status 404"));
    let old = parrot("200 OK", "{}");
    assert!(fails(&runs, 125, &format!("wh screen --port {old}")).contains("unexpected response"));
    fails(&runs, 125, "wh screen > /dev/full");
    wh.signal(nix::sys::signal::Signal::SIGKILL);
    wh.wait_exit(CONDITION_TIMEOUT);
    assert!(fails(&runs, 6, "wh screen").contains("no run with"), "a killed run is not listed");
}

#[test]
fn foreign_text_cannot_control_the_terminal() {
    if !tools::present(&["bash", "jq"]) {
        return;
    }
    let evil = "printf '\\033]2;be\\302\\2332Jfore\\007ready'; : \u{1b}]0;owned\u{7} \u{9b}2J\nforged line; exec cat";
    let wh = Wh::start(WH, &["--", "bash", "-c", evil]);
    wh.wait(r#"screen_contains "ready""#);
    let runs = wh.runtime_dir();
    let escapes = |text: &str| text.chars().any(|character| character.is_control() && character != '\n');
    for command in ["ls", "ls --json", "state", "state --json", "screen", "screen --json", "screen --history"] {
        let said = script(runs, &format!("wh {command}"));
        assert!(said.code == 0 && !escapes(&said.out) && !escapes(&said.err), "{command}: {said:?}");
    }
    let listed = done(runs, "wh ls");
    assert!(listed.contains("␛]0;owned␇ \\u{9b}2J␊forged line") && listed.lines().count() == 2, "{listed}");
    assert_eq!(done(runs, "wh ls --json | jq -r '.command[2]'"), evil, "JSON has it all, escaped");

    let title = r#"{"error":"Bad \u001b[2J","detail":"see \u001b]0;owned\u0007 \u009b2J","screen":["\u001bc"]}"#;
    for (status, code) in [("400 Bad Request", 2), ("409 Conflict", 4), ("500 Internal Server Error", 125)] {
        let port = parrot(status, title);
        let said = script(runs, &format!("wh wait exited --port {port}"));
        assert!(said.code == code && said.err.contains("␛]0;owned␇ \\u{9b}2J") && !escapes(&said.err), "{said:?}");
        let said = script(runs, &format!("wh wait exited --json --port {port}"));
        assert!(said.code == code && !escapes(&said.out) && said.err.is_empty(), "{said:?}");
    }
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let Some(wh) = shell() else { return };
    for command in ["screen --cells", "screen --json", "completions bash", "man", "ls"] {
        let said = script(wh.runtime_dir(), &format!("wh {command} | head -c 1 > /dev/null"));
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{command}");
        // The reader closes the pipe before wh writes.
        let said = script(wh.runtime_dir(), &format!("wh {command} | :"));
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{command}");
    }
}

#[test]
fn every_help_text_lists_the_exit_codes() {
    if !tools::present(&["bash"]) {
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let asks_a_run = ["4 refused", "5 not authorised", "6 no run or session found"];
    let commands: [(&str, &[&str]); 13] = [
        ("ls", &asks_a_run),
        ("screen", &asks_a_run),
        ("send", &asks_a_run),
        ("key", &asks_a_run),
        ("wait", &["3 timed out", "4 refused", "5 not authorised", "6 no run or session found"]),
        ("resize", &asks_a_run),
        ("signal", &asks_a_run),
        ("state", &asks_a_run),
        ("messages", &asks_a_run),
        ("mark", &asks_a_run),
        ("shot", &["1 the screen differs", "4 refused", "5 not authorised", "6 no run or session found"]),
        ("completions", &[]),
        ("man", &[]),
    ];
    for (command, own) in commands {
        let help = done(empty.path(), &format!("NO_COLOR=1 wh {command} --help"));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for code in ["0 success", "2 usage error", "125 any other failure"].iter().chain(own) {
            assert!(help.contains(code), "{command}: {help}");
        }
    }
}

#[test]
fn shell_completion_and_man_pages_work() {
    if !tools::present(&["bash"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for shell in ["bash", "zsh", "fish"] {
        let completions = done(path, &format!("wh completions {shell}"));
        assert!(completions.contains("messages") && completions.contains("token-file"), "{shell}");
    }
    done(path, "wh completions bash | bash -n");
    let page = done(path, "wh man");
    assert!(
        page.lines()
            .find(|line| line.starts_with('.') && !line.starts_with(".ie") && !line.starts_with(".el"))
            .unwrap()
            .starts_with(".TH wh 1"),
        "{page}"
    );
    done(path, "wh man \"$XDG_RUNTIME_DIR/pages/man1\"");
    for name in ["wh", "wh-run", "wh-ls", "wh-screen", "wh-wait", "wh-man"] {
        let page = fs::read_to_string(path.join(format!("pages/man1/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    fails(path, 125, "wh man /dev/null/pages");
}

#[test]
fn hidden_characters_in_foreign_text_are_printed_as_escapes() {
    if !tools::present(&["bash"]) {
        return;
    }
    let (hidden, shown) = ("\u{202e}\u{2066}\u{200b}\u{e0041}", "\\u{202e}\\u{2066}\\u{200b}\\u{e0041}");
    let space = Wh::options(WH).space().start(&["--", "--seed", "7", "--pace", "0"]);
    let said = space.post("/message", serde_json::json!({ "message": format!("said{hidden}") }));
    assert_eq!(said.status, 200, "{}", said.text());
    let run = Wh::options(WH).start(&["--", "sh", "-c", "exec sleep 1000", &format!("named{hidden}")]);
    for (runtime, command, word) in [(&space, "wh logs", "said"), (&run, "wh ls", "named")] {
        let printed = done(runtime.runtime_dir(), command);
        assert!(printed.contains(&format!("{word}{shown}")), "{command}: {printed}");
        assert!(!printed.contains(|character| hidden.contains(character)), "{command}: {printed:?}");
    }
    let json = done(run.runtime_dir(), "wh ls --json");
    assert!(json.contains("named\\u202e\\u2066\\u200b\\udb40\\udc41"), "{json}");
}
