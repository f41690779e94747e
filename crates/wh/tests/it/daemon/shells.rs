//! Two shells and a daemon: sessions are created in one shell, attached in the other, and outlive both.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use wh_testkit::{Tmux, eventually, process, tools};

use super::{Session, TestDaemon};
use crate::WH;

/// Starts a shell of this user in a terminal of this size.
pub(super) fn shell(daemon: &TestDaemon, cols: u16, rows: u16) -> Tmux {
    let mut environment = daemon.environment();
    let bin = Path::new(WH).parent().unwrap().display().to_string();
    for (name, value) in &mut environment {
        if name == "PATH" {
            *value = format!("{bin}:{value}");
        }
    }
    environment.push(("PS1".to_owned(), "$ ".to_owned()));
    let shell = Tmux::options(cols, rows).environment(environment).directory(daemon.work()).start(&["bash", "--norc"]);
    shell.wait_for("$");
    shell
}

pub(super) fn enter(shell: &Tmux, line: &str) {
    shell.send_text(line);
    shell.send_keys(&["Enter"]);
}

/// Quits the UI and waits until the shell reads the terminal again. Earlier input would go to the UI.
fn leave(shell: &Tmux) {
    enter(shell, "/exit");
    eventually("the shell is back", || (shell.format("#{pane_current_command}") == "bash").then_some(()));
}

/// Returns the attached wh process of this shell.
fn attaching(shell: &Tmux) -> Pid {
    let root = Pid::from_raw(shell.format("#{pane_pid}").parse().unwrap());
    eventually("it attaches", || {
        process::descendants(root).into_iter().find(|pid| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains("attach"))
        })
    })
}

fn screen(shell: &Tmux) -> String {
    shell.capture().join("\n")
}

fn attached(daemon: &TestDaemon, session: &str, count: u64) {
    eventually(&format!("{count} terminals are attached"), || {
        (daemon.get(&format!("/sessions/{session}")).json()["attached"] == count).then_some(())
    });
}

fn size(daemon: &TestDaemon, session: &str, cols: u64, rows: u64) {
    eventually(&format!("the screen has {cols}x{rows} cells"), || {
        let screen = daemon.get(&format!("/sessions/{session}/control/screen")).json();
        (screen["width"] == cols && screen["height"] == rows).then_some(())
    });
}

#[test]
fn a_session_created_in_one_shell_is_attached_in_another_and_outlives_both() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let (one, other) = (shell(&daemon, 100, 30), shell(&daemon, 100, 30));
    enter(&one, "wh new --agent demo --name a -- --pace 0");
    one.wait_for("a (");
    enter(&one, "wh send a 'hello from a shell'");
    enter(&other, "wh attach a");
    other.wait_for("hello from a shell");
    attached(&daemon, "a", 1);
    // One terminal is closed, another one is killed. The session continues.
    drop(other);
    attached(&daemon, "a", 0);
    enter(&one, "clear; wh attach a");
    one.wait_for("hello from a shell");
    attached(&daemon, "a", 1);
    kill(attaching(&one), Signal::SIGKILL).unwrap();
    attached(&daemon, "a", 0);
    drop(one);
    let session = Session::of(&daemon.get("/sessions/a").json());
    daemon.ok(&["send", "a", "and once more"]);
    eventually("it answers", || {
        daemon.chats(&session).iter().any(|(from, text)| from == "demo" && text.contains("once more")).then_some(())
    });
    assert!(daemon.ok(&["logs", "a"]).contains("hello from a shell"));
}

#[test]
fn the_detach_key_detaches_and_restores_the_terminal() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    daemon.demo("a", 0);
    let shell = shell(&daemon, 100, 30);
    enter(&shell, "wh attach a");
    shell.wait_for("Type a message");
    shell.send_keys(&["C-\\"]);
    shell.wait_for("detached from a (still running)");
    enter(&shell, "echo back $((40 + 2))");
    shell.wait_for("back 42");
    attached(&daemon, "a", 0);
    enter(&shell, "clear; wh attach a --detach-key f12");
    shell.wait_for("Type a message");
    shell.send_keys(&["F12"]);
    shell.wait_for("detached from a (still running)");
}

#[test]
fn the_smallest_terminal_determines_the_size_of_a_program() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let (mut large, small) = (shell(&daemon, 110, 35), shell(&daemon, 70, 40));
    enter(&large, "wh new --name a --attach -- cat");
    attached(&daemon, "a", 1);
    size(&daemon, "a", 110, 35);
    enter(&small, "wh attach a");
    attached(&daemon, "a", 2);
    size(&daemon, "a", 70, 35);
    large.resize(90, 20);
    size(&daemon, "a", 70, 20);
    small.send_keys(&["C-\\"]);
    small.wait_for("detached from a");
    size(&daemon, "a", 90, 20);
}

#[test]
fn two_attached_users_have_separate_views_and_share_questions() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    daemon.demo("a", 0);
    let (one, other) = (shell(&daemon, 100, 30), shell(&daemon, 80, 24));
    for shell in [&one, &other] {
        enter(shell, "wh attach a");
        shell.wait_for("Type a message");
    }
    attached(&daemon, "a", 2);
    // The conversation is longer than both screens.
    enter(&one, "/demo crowd 40");
    for shell in [&one, &other] {
        shell.wait_for("40");
    }
    eventually("it rests", || {
        let wait = daemon.post("/sessions/a/control/wait", json!({ "condition": "idle", "timeout": 1000 }));
        (wait.status == 200).then_some(())
    });
    // One scrolls, the other does not.
    let (before, bottom) = (screen(&one), screen(&other));
    one.send_keys(&["PageUp"]);
    eventually("one has scrolled", || (screen(&one) != before).then_some(()));
    assert_eq!(screen(&other), bottom, "the other's view stays");
    // Each has its own draft.
    one.send_text("draft of one");
    other.send_text("draft of the other");
    one.wait_for("draft of one");
    other.wait_for("draft of the other");
    assert!(!screen(&one).contains("draft of the other") && !screen(&other).contains("draft of one"));
    // A question opens in both. An answer in one closes it in the other, which keeps its draft.
    one.send_keys(&["C-u"]);
    eventually("it is empty again", || screen(&one).contains("Type a message").then_some(()));
    daemon.ok(&["send", "a", "ask me for permission"]);
    for shell in [&one, &other] {
        shell.wait_for("demo asks");
        shell.wait_for("Esc interrupts");
    }
    one.send_keys(&["1"]);
    for shell in [&one, &other] {
        eventually("the dialog is closed", || (!screen(shell).contains("Esc interrupts")).then_some(()));
    }
    other.wait_for("draft of the other");
    assert_eq!(daemon.get("/sessions/a/control/questions").json()["questions"], json!([]));
}

#[test]
fn quitting_the_ui_detaches_only_one_terminal() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let (one, other) = (shell(&daemon, 100, 30), shell(&daemon, 100, 30));
    for shell in [&one, &other] {
        enter(shell, "wh attach a");
        shell.wait_for("Type a message");
    }
    attached(&daemon, "a", 2);
    enter(&other, "/exit");
    other.wait_for("detached from a (still running)");
    attached(&daemon, "a", 1);
    enter(&one, "still here");
    one.wait_for("still here");
    eventually("it answers", || {
        daemon.chats(&session).iter().any(|(from, text)| from == "demo" && text.contains("still here")).then_some(())
    });
}

#[test]
fn a_terminal_program_is_attached_and_receives_input() {
    if !tools::present(&["tmux", "bash", "vim"]) {
        return;
    }
    let daemon = TestDaemon::new();
    daemon.demo("agent", 0);
    let shell = shell(&daemon, 100, 30);
    enter(&shell, "wh new --name sh --attach -- bash --norc");
    attached(&daemon, "sh", 1);
    enter(&shell, "echo inside $((40 + 2)) $WH_SESSION");
    let id = daemon.get("/sessions/sh").json()["session_id"].as_str().unwrap().to_owned();
    shell.wait_for(&format!("inside 42 {id}"));
    for session in ["sh", "agent"] {
        enter(&shell, &format!("clear; wh attach {session}"));
        shell.wait_for("may not answer");
    }
    shell.send_keys(&["C-\\"]);
    shell.wait_for("detached from sh");
    enter(&shell, "clear; wh new --name ed --attach -- vim -u NONE -N out.txt");
    shell.wait_for("out.txt");
    shell.send_text("ityped by hand");
    shell.wait_for("typed by hand");
    shell.send_keys(&["Escape"]);
    enter(&shell, ":wq");
    shell.wait_for("ed has ended");
    assert_eq!(fs::read_to_string(daemon.work().join("out.txt")).unwrap(), "typed by hand\n");
    enter(&shell, "echo sane $((40 + 2))");
    shell.wait_for("sane 42");
    enter(&shell, "clear; wh attach ed");
    shell.wait_for("ed has ended; `wh logs` prints its output");
}

#[test]
fn only_one_daemon_runs_and_stale_files_are_ignored() {
    let mut daemon = TestDaemon::new();
    let pid = daemon.pid();
    for arguments in [&["daemon", "start"][..], &["daemon", "start", "--foreground"]] {
        let (code, said) = daemon.fails(arguments);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains(&format!("the daemon is already running (process {pid})")), "{said}");
    }
    let status = daemon.status();
    assert_eq!((&status["running"], &status["pid"]), (&json!(true), &json!(pid.as_raw())));
    daemon.kill();
    assert!(daemon.socket().exists(), "it could not tidy up");
    let (code, said) = daemon.fails(&["daemon", "status"]);
    assert!(code == 6 && said.contains("the daemon is not running"), "{code} {said}");
    assert_eq!(daemon.run(&["daemon", "status", "--json"]).status.code(), Some(6));
    let (code, said) = daemon.fails(&["send", "a", "hello"]);
    assert!(code == 6 && said.contains("wh daemon start"), "{code} {said}");
    // The process id was reused.
    let file = daemon.root().join("runtime/wheelhouse/daemon.json");
    let mut left: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    left["pid"] = json!(std::process::id());
    fs::write(&file, left.to_string()).unwrap();
    assert_eq!(daemon.run(&["daemon", "status"]).status.code(), Some(6));
    daemon.start();
    assert_eq!(daemon.connect().ask("health", &json!({}))["payload"]["ok"], true);
    let said = daemon.ok(&["daemon", "stop"]);
    assert_eq!(said, "the daemon has stopped\n");
    assert!(daemon.ended().success());
    assert!(!daemon.socket().exists() && !file.exists(), "it has tidied up");
    assert_eq!(daemon.ok(&["daemon", "stop"]), "the daemon is not running\n");
}

#[test]
fn a_background_daemon_starts_on_demand_and_its_stop_ends_all_processes() {
    if !tools::present(&["bash", "setsid"]) {
        return;
    }
    let daemon = TestDaemon::empty([]);
    let made = daemon.run(&[
        "new",
        "--name",
        "stubborn",
        "--json",
        "--",
        "bash",
        "-c",
        "trap '' TERM HUP INT; setsid sleep 600 & setsid sleep 600; sleep 600",
    ]);
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success() && said.contains("started the daemon"), "{said}");
    let status = daemon.status();
    let daemon_pid = Pid::from_raw(status["pid"].as_i64().unwrap() as i32);
    let sleeps = |pid: &Pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    let family = eventually("all of it runs", || {
        let family: Vec<Pid> = process::descendants(daemon_pid);
        (family.iter().filter(|pid| sleeps(pid)).count() == 2).then_some(family)
    });
    assert!(daemon.ok(&["daemon", "logs"]).contains("session created"));
    // Their supervisors are wh processes, which end after them.
    let own = |pid: &Pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(7).any(|part| part == b"__guard"))
    };
    let (supervisors, programs): (Vec<Pid>, Vec<Pid>) = family.into_iter().partition(own);
    daemon.ok(&["daemon", "stop"]);
    let left: Vec<&Pid> = programs.iter().filter(|pid| process::running(**pid)).collect();
    assert!(left.is_empty(), "these are left: {left:?}");
    eventually("nothing is left", || {
        (!supervisors.iter().chain([&daemon_pid]).any(|pid| process::running(*pid))).then_some(())
    });
}

#[test]
fn client_commands_accept_a_session_name() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let session = daemon.create(json!({ "command": ["bash", "--norc"], "name": "b" }));
    daemon.ok(&["send", "b", "echo $((40 + 2))", "--key", "enter"]);
    daemon.ok(&["wait", "b", "screen_matches /(?m)^42/", "--timeout", "60s"]);
    assert!(daemon.ok(&["screen", "b"]).contains("\n42"));
    assert!(daemon.ok(&["logs", "b"]).contains("42"));
    // Also if the name could be a key.
    daemon.ok(&["send", "b", "sleep 600; echo it was $?", "--key", "enter"]);
    daemon.ok(&["key", "b", "enter"]);
    daemon.ok(&["interrupt", "b"]);
    daemon.ok(&["send", "b", "echo after $?", "--key", "enter"]);
    daemon.ok(&["wait", "b", "screen_contains \"after 130\"", "--timeout", "60s"]);
    daemon.ok(&["rename", "b", "c"]);
    let listed = daemon.ok(&["ls"]);
    assert!(listed.lines().any(|line| line.split_whitespace().any(|word| word == "c")), "{listed}");
    assert_eq!(daemon.get("/sessions/c").json()["session_id"], session.id);
    daemon.ok(&["kill", "c"]);
    assert!(!daemon.ok(&["ls", "--json"]).contains(&session.id));
    assert!(daemon.ok(&["ls", "--all", "--json"]).contains(&session.id));
    assert!(daemon.ok(&["logs", "c"]).contains("after 130"), "what it said stays");
    daemon.ok(&["kill", "c", "--forget"]);
    assert!(!daemon.ok(&["ls", "--all", "--json"]).contains(&session.id));

    let agent = daemon.demo("a", 0);
    daemon.ok(&["send", "a", "ask me for permission"]);
    daemon.question(&agent);
    let asked = daemon.ok(&["answer", "a"]);
    let question = asked.split_whitespace().next().unwrap().to_owned();
    assert!(asked.contains("    allow_once  ") && asked.contains("bell"), "{asked}");
    assert_eq!(daemon.ok(&["answer", "a", &question, "allow_once"]), "answered\n");
    // Without a name, the only live session is used.
    daemon.ok(&["wait", "idle", "--timeout", "60s"]);
    let sent = daemon.ok(&["send", "to the only one"]);
    assert!(sent.starts_with("sent (") && sent.trim_end().ends_with(')'), "it is a message, and not typed: {sent}");
    daemon.ok(&["wait", "idle", "--timeout", "60s"]);
    assert!(daemon.ok(&["logs"]).contains("user: to the only one"));
}

#[test]
fn invalid_names_are_refused_and_missing_ones_are_reported() {
    let daemon = TestDaemon::new();
    daemon.demo("a", 0);
    let refused = |arguments: &[&str], words: &str| {
        let (code, said) = daemon.fails(arguments);
        assert!(said.contains(words), "{arguments:?} ({code}): {said}");
        code
    };
    assert_eq!(refused(&["new", "--agent", "demo", "--name", "a"], "is already running"), 4);
    for name in ["a b", "../a", "-a", ""] {
        refused(&["new", "--agent", "demo", &format!("--name={name}")], "is not a valid session name");
        refused(&["rename", "a", "--", name], "is not a valid session name");
    }
    daemon.demo("b", 0);
    assert_eq!(refused(&["rename", "b", "a"], "is already running"), 4);
    refused(&["new", "--agent", "nobody"], "there is no agent");
    refused(&["new", "--", "no-such-program"], "no-such-program");
    assert_eq!(refused(&["new", "--agent", "demo", "--name", "unseen", "--attach"], "requires a terminal"), 2);
    assert!(!daemon.ok(&["ls", "--json"]).contains("unseen"), "nothing is made that cannot be attached to");
    for forgotten in [&["send", "a"][..], &["key", "a"], &["wait", "a"]] {
        assert_eq!(refused(forgotten, "a is the name of a session, and"), 2, "{forgotten:?}");
    }
    // A change of the user's agents.toml takes effect at once.
    fs::create_dir_all(daemon.root().join("config/wheelhouse")).unwrap();
    let agents = daemon.root().join("config/wheelhouse/agents.toml");
    fs::write(&agents, "[agents.nobody]\nprotocol = \"acp\"\ncommand = [\"no-such-program\"]\n").unwrap();
    refused(&["new", "--agent", "nobody"], "no-such-program");
    fs::remove_file(agents).unwrap();
    for arguments in [
        &["send", "x", "hello"][..],
        &["attach", "x"],
        &["screen", "x"],
        &["interrupt", "x"],
        &["answer", "x"],
        &["logs", "x"],
        &["rename", "x", "y"],
        &["kill", "x"],
        &["control", "send", "x", "hello"],
        &["wait", "x", "frames > 0"],
    ] {
        let (words, code) = if arguments[0] == "attach" { ("requires a terminal", 2) } else { ("no session \"x\"", 6) };
        assert_eq!(refused(arguments, words), code, "{arguments:?}");
    }
    // The name of an ended session is free.
    daemon.ok(&["kill", "a"]);
    daemon.demo("a", 0);
}

#[test]
fn wh_without_arguments_offers_the_live_sessions() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let shell = shell(&daemon, 100, 30);
    enter(&shell, "wh");
    shell.wait_for("Type a message");
    leave(&shell);
    daemon.demo("first", 0);
    let second = daemon.demo("second", 0);
    daemon.ok(&["send", "second", "hello you"]);
    enter(&shell, "clear; wh");
    shell.wait_for("1  first");
    shell.wait_for("2  second");
    enter(&shell, "7");
    enter(&shell, "2");
    shell.wait_for("hello you");
    attached(&daemon, &second.id, 1);
    shell.send_keys(&["C-\\"]);
    shell.wait_for("detached from second");
    // Clears earlier output, so that it does not match below.
    enter(&shell, "clear; echo cleared $((40 + 2))");
    shell.wait_for("cleared 42");
    // An empty choice opens a new space. With an argument there is no prompt.
    enter(&shell, "wh");
    shell.wait_for("2  second");
    shell.send_keys(&["Enter"]);
    shell.wait_for("Type a message");
    leave(&shell);
    enter(&shell, "clear; wh --agent demo");
    shell.wait_for("Type a message");
    attached(&daemon, &second.id, 0);
    leave(&shell);
    // Without a terminal there is no prompt.
    let output = Command::new("bash")
        .args(["-c", "wh </dev/null 2>&1 | head -c 300"])
        .envs(daemon.environment())
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Running sessions"));
}

#[test]
fn only_the_same_version_can_join_a_session_and_only_an_agent_session() {
    let daemon = TestDaemon::new();
    daemon.demo("a", 0);
    daemon.create(json!({ "command": ["cat"], "name": "c" }));
    let link = concat!("wh-", env!("CARGO_PKG_VERSION"), "-link-1");
    let refused = |session: &str, link: &str| {
        let answer = daemon.connect().ask("join", &json!({ "session_id": session, "link": link }));
        answer["error"]["code"].as_str().map(str::to_owned)
    };
    assert_eq!(refused("a", "wh-0.0.1-link-0").as_deref(), Some("VERSION_MISMATCH"));
    assert_eq!(refused("c", link).as_deref(), Some("INVALID_REQUEST"));
    assert_eq!(refused("nobody", link).as_deref(), Some("SESSION_NOT_FOUND"));
    let mut talk = daemon.connect();
    let joined = talk.ask("join", &json!({ "session_id": "a", "link": link }));
    assert_eq!(
        (&joined["payload"]["participant"], &joined["payload"]["session"]["name"]),
        (&json!("human"), &json!("a"))
    );
    // An invalid line ends only the connection.
    talk.write(b"no line of ours\n");
    attached(&daemon, "a", 0);
    assert!(daemon.ok(&["ls"]).contains("a"));
}
