//! Two shells and a daemon: sessions are made in one, seen in the other, and outlive both.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use wh_testkit::{Tmux, eventually, process, tools};

use super::{House, Session};
use crate::WH;

/// A shell of this user in a terminal of that size.
pub(super) fn shell(house: &House, cols: u16, rows: u16) -> Tmux {
    let mut environment = house.environment();
    let bin = Path::new(WH).parent().unwrap().display().to_string();
    for (name, value) in &mut environment {
        if name == "PATH" {
            *value = format!("{bin}:{value}");
        }
    }
    environment.push(("PS1".to_owned(), "$ ".to_owned()));
    let shell = Tmux::options(cols, rows).environment(environment).directory(house.work()).start(&["bash", "--norc"]);
    shell.wait_for("$");
    shell
}

pub(super) fn enter(shell: &Tmux, line: &str) {
    shell.send_text(line);
    shell.send_keys(&["Enter"]);
}

/// Leaves the UI, and waits until the shell reads the terminal again: what is typed before that belongs to the UI.
fn leave(shell: &Tmux) {
    enter(shell, "/exit");
    eventually("the shell is back", || (shell.format("#{pane_current_command}") == "bash").then_some(()));
}

/// The process that attaches in this shell.
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

fn attached(house: &House, session: &str, count: u64) {
    eventually(&format!("{count} terminals are attached"), || {
        (house.get(&format!("/sessions/{session}")).json()["attached"] == count).then_some(())
    });
}

fn size(house: &House, session: &str, cols: u64, rows: u64) {
    eventually(&format!("the screen has {cols}x{rows} cells"), || {
        let screen = house.get(&format!("/sessions/{session}/control/screen")).json();
        (screen["width"] == cols && screen["height"] == rows).then_some(())
    });
}

#[test]
fn a_session_is_made_in_one_shell_seen_in_another_and_outlives_both() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    let (one, other) = (shell(&house, 100, 30), shell(&house, 100, 30));
    enter(&one, "wh new --agent demo --name a -- --pace 0");
    one.wait_for("a (");
    enter(&one, "wh send a 'hello from a shell'");
    enter(&other, "wh attach a");
    other.wait_for("hello from a shell");
    attached(&house, "a", 1);
    // The terminal goes, and then another is killed where it stands: the session goes on.
    drop(other);
    attached(&house, "a", 0);
    enter(&one, "clear; wh attach a");
    one.wait_for("hello from a shell");
    attached(&house, "a", 1);
    kill(attaching(&one), Signal::SIGKILL).unwrap();
    attached(&house, "a", 0);
    drop(one);
    let session = Session::of(&house.get("/sessions/a").json());
    house.ok(&["send", "a", "and once more"]);
    eventually("it answers", || {
        house.chats(&session).iter().any(|(from, text)| from == "demo" && text.contains("once more")).then_some(())
    });
    assert!(house.ok(&["logs", "a"]).contains("hello from a shell"));
}

#[test]
fn a_key_leaves_and_the_terminal_is_as_before() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    house.demo("a", 0);
    let shell = shell(&house, 100, 30);
    enter(&shell, "wh attach a");
    shell.wait_for("Type a message");
    shell.send_keys(&["C-\\"]);
    shell.wait_for("left a; it goes on");
    enter(&shell, "echo back $((40 + 2))");
    shell.wait_for("back 42");
    attached(&house, "a", 0);
    enter(&shell, "clear; wh attach a --detach-key f12");
    shell.wait_for("Type a message");
    shell.send_keys(&["F12"]);
    shell.wait_for("left a; it goes on");
}

#[test]
fn the_smallest_terminal_decides_the_size_of_a_program() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    let (mut large, small) = (shell(&house, 110, 35), shell(&house, 70, 40));
    enter(&large, "wh new --name a --attach -- cat");
    attached(&house, "a", 1);
    size(&house, "a", 110, 35);
    enter(&small, "wh attach a");
    attached(&house, "a", 2);
    size(&house, "a", 70, 35);
    large.resize(90, 20);
    size(&house, "a", 70, 20);
    small.send_keys(&["C-\\"]);
    small.wait_for("left a");
    size(&house, "a", 90, 20);
}

#[test]
fn two_people_at_one_agent_have_their_own_view_and_share_its_questions() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    house.demo("a", 0);
    let (one, other) = (shell(&house, 100, 30), shell(&house, 80, 24));
    for shell in [&one, &other] {
        enter(shell, "wh attach a");
        shell.wait_for("Type a message");
    }
    attached(&house, "a", 2);
    // A conversation that is longer than both screens.
    enter(&one, "/demo crowd 40");
    for shell in [&one, &other] {
        shell.wait_for("40");
    }
    eventually("it rests", || {
        let wait = house.post("/sessions/a/control/wait", json!({ "condition": "idle", "timeout": 1000 }));
        (wait.status == 200).then_some(())
    });
    // One scrolls: the other does not.
    let (before, bottom) = (screen(&one), screen(&other));
    one.send_keys(&["PageUp"]);
    eventually("one has scrolled", || (screen(&one) != before).then_some(()));
    assert_eq!(screen(&other), bottom, "the other's view stays");
    // Each writes a draft of their own.
    one.send_text("draft of one");
    other.send_text("draft of the other");
    one.wait_for("draft of one");
    other.wait_for("draft of the other");
    assert!(!screen(&one).contains("draft of the other") && !screen(&other).contains("draft of one"));
    // A question is asked of both; one answers, and it closes for the other, whose draft is still there.
    one.send_keys(&["C-u"]);
    eventually("it is empty again", || screen(&one).contains("Type a message").then_some(()));
    house.ok(&["send", "a", "ask me for permission"]);
    for shell in [&one, &other] {
        shell.wait_for("demo asks");
        shell.wait_for("Esc interrupts");
    }
    one.send_keys(&["1"]);
    for shell in [&one, &other] {
        eventually("the dialog is closed", || (!screen(shell).contains("Esc interrupts")).then_some(()));
    }
    other.wait_for("draft of the other");
    assert_eq!(house.get("/sessions/a/control/questions").json()["questions"], json!([]));
}

#[test]
fn leaving_the_ui_leaves_one_terminal_and_nobody_else() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    let session = house.demo("a", 0);
    let (one, other) = (shell(&house, 100, 30), shell(&house, 100, 30));
    for shell in [&one, &other] {
        enter(shell, "wh attach a");
        shell.wait_for("Type a message");
    }
    attached(&house, "a", 2);
    enter(&other, "/exit");
    other.wait_for("left a; it goes on");
    attached(&house, "a", 1);
    enter(&one, "still here");
    one.wait_for("still here");
    eventually("it answers", || {
        house.chats(&session).iter().any(|(from, text)| from == "demo" && text.contains("still here")).then_some(())
    });
}

#[test]
fn a_terminal_program_is_attached_to_and_typed_into() {
    if !tools::present(&["tmux", "bash", "vim"]) {
        return;
    }
    let house = House::new();
    house.demo("agent", 0);
    let shell = shell(&house, 100, 30);
    enter(&shell, "wh new --name sh --attach -- bash --norc");
    attached(&house, "sh", 1);
    enter(&shell, "echo inside $((40 + 2)) $WH_SESSION");
    let id = house.get("/sessions/sh").json()["session_id"].as_str().unwrap().to_owned();
    shell.wait_for(&format!("inside 42 {id}"));
    for session in ["sh", "agent"] {
        enter(&shell, &format!("clear; wh attach {session}"));
        shell.wait_for("may not answer");
    }
    shell.send_keys(&["C-\\"]);
    shell.wait_for("left sh");
    enter(&shell, "clear; wh new --name ed --attach -- vim -u NONE -N out.txt");
    shell.wait_for("out.txt");
    shell.send_text("ityped by hand");
    shell.wait_for("typed by hand");
    shell.send_keys(&["Escape"]);
    enter(&shell, ":wq");
    shell.wait_for("ed has ended");
    assert_eq!(fs::read_to_string(house.work().join("out.txt")).unwrap(), "typed by hand\n");
    enter(&shell, "echo sane $((40 + 2))");
    shell.wait_for("sane 42");
    enter(&shell, "clear; wh attach ed");
    shell.wait_for("ed has ended; `wh logs` tells what it said");
}

#[test]
fn one_daemon_lives_in_a_place_and_what_a_dead_one_left_is_not_believed() {
    let mut house = House::new();
    let pid = house.pid();
    for arguments in [&["daemon", "start"][..], &["daemon", "start", "--foreground"]] {
        let (code, said) = house.fails(arguments);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains(&format!("a daemon runs here already (process {pid})")), "{said}");
    }
    let status = house.status();
    assert_eq!((&status["running"], &status["pid"]), (&json!(true), &json!(pid.as_raw())));
    house.kill();
    assert!(house.socket().exists(), "it could not tidy up");
    let (code, said) = house.fails(&["daemon", "status"]);
    assert!(code == 6 && said.contains("no daemon runs here"), "{code} {said}");
    assert_eq!(house.run(&["daemon", "status", "--json"]).status.code(), Some(6));
    let (code, said) = house.fails(&["send", "a", "hello"]);
    assert!(code == 6 && said.contains("wh daemon start"), "{code} {said}");
    // The process id has gone to another since.
    let file = house.root().join("runtime/wheelhouse/daemon.json");
    let mut left: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    left["pid"] = json!(std::process::id());
    fs::write(&file, left.to_string()).unwrap();
    assert_eq!(house.run(&["daemon", "status"]).status.code(), Some(6));
    house.start();
    assert_eq!(house.talk().ask("health", &json!({}))["payload"]["ok"], true);
    let said = house.ok(&["daemon", "stop"]);
    assert_eq!(said, "the daemon has ended\n");
    assert!(house.ended().success());
    assert!(!house.socket().exists() && !file.exists(), "it has tidied up");
    assert_eq!(house.ok(&["daemon", "stop"]), "no daemon runs here\n");
}

#[test]
fn a_daemon_in_the_background_is_started_where_one_is_needed_and_takes_everything_with_it() {
    if !tools::present(&["bash", "setsid"]) {
        return;
    }
    let house = House::empty([]);
    let made = house.run(&[
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
    assert!(made.status.success() && said.contains("the daemon was started"), "{said}");
    let status = house.status();
    let daemon = Pid::from_raw(status["pid"].as_i64().unwrap() as i32);
    let sleeps = |pid: &Pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n");
    let family = eventually("all of it runs", || {
        let family: Vec<Pid> = process::descendants(daemon);
        (family.iter().filter(|pid| sleeps(pid)).count() == 2).then_some(family)
    });
    assert!(house.ok(&["daemon", "logs"]).contains("a session was made"));
    // What keeps them is wh itself, and ends when they have.
    let own = |pid: &Pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(7).any(|part| part == b"__guard"))
    };
    let (supervisors, programs): (Vec<Pid>, Vec<Pid>) = family.into_iter().partition(own);
    house.ok(&["daemon", "stop"]);
    let left: Vec<&Pid> = programs.iter().filter(|pid| process::running(**pid)).collect();
    assert!(left.is_empty(), "these are left: {left:?}");
    eventually("nothing is left", || {
        (!supervisors.iter().chain([&daemon]).any(|pid| process::running(*pid))).then_some(())
    });
}

#[test]
fn the_small_commands_take_a_session_by_its_name() {
    if !tools::present(&["bash"]) {
        return;
    }
    let house = House::new();
    let session = house.create(json!({ "command": ["bash", "--norc"], "name": "b" }));
    house.ok(&["send", "b", "echo $((40 + 2))", "--key", "enter"]);
    house.ok(&["wait", "b", "screen_matches /(?m)^42/", "--timeout", "60s"]);
    assert!(house.ok(&["screen", "b"]).contains("\n42"));
    assert!(house.ok(&["logs", "b"]).contains("42"));
    // Also where the name could be a key.
    house.ok(&["send", "b", "sleep 600; echo it was $?", "--key", "enter"]);
    house.ok(&["key", "b", "enter"]);
    house.ok(&["interrupt", "b"]);
    house.ok(&["send", "b", "echo after $?", "--key", "enter"]);
    house.ok(&["wait", "b", "screen_contains \"after 130\"", "--timeout", "60s"]);
    house.ok(&["rename", "b", "c"]);
    let listed = house.ok(&["ls"]);
    assert!(listed.lines().any(|line| line.split_whitespace().any(|word| word == "c")), "{listed}");
    assert_eq!(house.get("/sessions/c").json()["session_id"], session.id);
    house.ok(&["kill", "c"]);
    assert!(!house.ok(&["ls", "--json"]).contains(&session.id));
    assert!(house.ok(&["ls", "--all", "--json"]).contains(&session.id));
    assert!(house.ok(&["logs", "c"]).contains("after 130"), "what it said stays");
    house.ok(&["kill", "c", "--forget"]);
    assert!(!house.ok(&["ls", "--all", "--json"]).contains(&session.id));

    let agent = house.demo("a", 0);
    house.ok(&["send", "a", "ask me for permission"]);
    house.question(&agent);
    let asked = house.ok(&["answer", "a"]);
    let question = asked.split_whitespace().next().unwrap().to_owned();
    assert!(asked.contains("    allow_once  ") && asked.contains("bell"), "{asked}");
    assert_eq!(house.ok(&["answer", "a", &question, "allow_once"]), "answered\n");
    // The only session that lives is meant where none is named.
    house.ok(&["wait", "idle", "--timeout", "60s"]);
    let sent = house.ok(&["send", "to the only one"]);
    assert!(sent.starts_with("sent (") && sent.trim_end().ends_with(')'), "it is a message, and not typed: {sent}");
    house.ok(&["wait", "idle", "--timeout", "60s"]);
    assert!(house.ok(&["logs"]).contains("user: to the only one"));
}

#[test]
fn names_that_cannot_be_are_refused_and_those_that_are_not_there_are_said_so() {
    let house = House::new();
    house.demo("a", 0);
    let refused = |arguments: &[&str], words: &str| {
        let (code, said) = house.fails(arguments);
        assert!(said.contains(words), "{arguments:?} ({code}): {said}");
        code
    };
    assert_eq!(refused(&["new", "--agent", "demo", "--name", "a"], "lives already"), 4);
    for name in ["a b", "../a", "-a", ""] {
        refused(&["new", "--agent", "demo", &format!("--name={name}")], "cannot be a session's name");
        refused(&["rename", "a", "--", name], "cannot be a session's name");
    }
    house.demo("b", 0);
    assert_eq!(refused(&["rename", "b", "a"], "lives already"), 4);
    refused(&["new", "--agent", "nobody"], "there is no agent");
    refused(&["new", "--", "no-such-program"], "no-such-program");
    assert_eq!(refused(&["new", "--agent", "demo", "--name", "unseen", "--attach"], "needs a terminal"), 2);
    assert!(!house.ok(&["ls", "--json"]).contains("unseen"), "nothing is made that cannot be attached to");
    for forgotten in [&["send", "a"][..], &["key", "a"], &["wait", "a"]] {
        assert_eq!(refused(forgotten, "a is a session, and there is nothing for it"), 2, "{forgotten:?}");
    }
    // What the person's own file says is known at once.
    fs::create_dir_all(house.root().join("config/wheelhouse")).unwrap();
    let agents = house.root().join("config/wheelhouse/agents.toml");
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
        let (words, code) = if arguments[0] == "attach" { ("needs a terminal", 2) } else { ("no session \"x\"", 6) };
        assert_eq!(refused(arguments, words), code, "{arguments:?}");
    }
    // The name of one that has ended is free.
    house.ok(&["kill", "a"]);
    house.demo("a", 0);
}

#[test]
fn wh_alone_offers_the_sessions_that_there_are() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    let shell = shell(&house, 100, 30);
    enter(&shell, "wh");
    shell.wait_for("Type a message");
    leave(&shell);
    house.demo("first", 0);
    let second = house.demo("second", 0);
    house.ok(&["send", "second", "hello you"]);
    enter(&shell, "clear; wh");
    shell.wait_for("1  first");
    shell.wait_for("2  second");
    enter(&shell, "7");
    enter(&shell, "2");
    shell.wait_for("hello you");
    attached(&house, &second.id, 1);
    shell.send_keys(&["C-\\"]);
    shell.wait_for("left second");
    // What was on the screen before must not be taken for what comes now.
    enter(&shell, "clear; echo cleared $((40 + 2))");
    shell.wait_for("cleared 42");
    // Nothing chosen is a new space; an argument is a choice already.
    enter(&shell, "wh");
    shell.wait_for("2  second");
    shell.send_keys(&["Enter"]);
    shell.wait_for("Type a message");
    leave(&shell);
    enter(&shell, "clear; wh --agent demo");
    shell.wait_for("Type a message");
    attached(&house, &second.id, 0);
    leave(&shell);
    // Who cannot be asked is not.
    let output = Command::new("bash")
        .args(["-c", "wh </dev/null 2>&1 | head -c 300"])
        .envs(house.environment())
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("keeps these sessions"));
}

#[test]
fn a_conversation_is_joined_by_the_same_version_only_and_a_program_is_not() {
    let house = House::new();
    house.demo("a", 0);
    house.create(json!({ "command": ["cat"], "name": "c" }));
    let link = concat!("wh-", env!("CARGO_PKG_VERSION"), "-link-1");
    let refused = |session: &str, link: &str| {
        let answer = house.talk().ask("join", &json!({ "session_id": session, "link": link }));
        answer["error"]["code"].as_str().map(str::to_owned)
    };
    assert_eq!(refused("a", "wh-0.0.1-link-0").as_deref(), Some("VERSION_MISMATCH"));
    assert_eq!(refused("c", link).as_deref(), Some("INVALID_REQUEST"));
    assert_eq!(refused("nobody", link).as_deref(), Some("SESSION_NOT_FOUND"));
    let mut talk = house.talk();
    let joined = talk.ask("join", &json!({ "session_id": "a", "link": link }));
    assert_eq!(
        (&joined["payload"]["participant"], &joined["payload"]["session"]["name"]),
        (&json!("human"), &json!("a"))
    );
    // A line that is none ends the connection, and nothing else.
    talk.write(b"no line of ours\n");
    attached(&house, "a", 0);
    assert!(house.ok(&["ls"]).contains("a"));
}
