//! Real agents and terminal programs in the daemon, controlled over the socket. Receipts match the actual outcome, and
//! no response contains a provider's session id.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wh_testkit::{Lab, eventually, tools};

use super::{Session, TestDaemon, message, stdin, with};

/// All responses of the daemon's interfaces.
#[derive(Default)]
struct Heard(Vec<String>);

impl Heard {
    /// Sends every query about a session over HTTP and the socket.
    fn listen(&mut self, daemon: &TestDaemon, session: &Session) {
        let mut talk = daemon.connect();
        let id = json!({ "session_id": session.id });
        for (command, payload) in
            [("list", json!({})), ("session", id), ("capabilities", json!({})), ("health", json!({}))]
        {
            self.0.push(talk.ask(command, &payload).to_string());
        }
        let below = ["state", "messages?limit=1000", "questions", "screen", "health", "metrics"];
        let mut paths: Vec<String> =
            below.iter().map(|path| format!("/sessions/{}/control/{path}", session.id)).collect();
        paths.extend([
            "/sessions".to_owned(),
            format!("/sessions/{}", session.id),
            format!("/sessions/{}/history", session.id),
        ]);
        for path in paths {
            let answer = daemon.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            self.0.push(answer.text());
        }
    }

    #[track_caller]
    fn never(&self, ids: &[String]) {
        assert!(!ids.is_empty(), "the agent's own files name its conversation");
        for id in ids {
            assert!(id.len() >= 8, "{id} would be found anywhere");
            let found = self.0.iter().find(|text| text.contains(id));
            assert!(found.is_none(), "the provider's id {id} is in {}", found.unwrap());
        }
    }
}

/// Starts a daemon in the lab with a session of this agent and a subscriber.
fn with_agent(lab: &Lab, agent: &str, mode: Option<&str>) -> (TestDaemon, Session, super::test_daemon::SocketClient) {
    let daemon = TestDaemon::with(lab.env());
    let mut wanted = json!({ "agent": agent, "name": "a", "cwd": lab.project });
    if let Some(mode) = mode {
        wanted["mode"] = json!(mode);
    }
    let session = daemon.create(wanted);
    let mut watcher = daemon.connect();
    let subscribed = watcher.ask("subscribe", &json!({ "session_id": session.id }));
    assert_eq!(subscribed["payload"]["streaming"], true, "{subscribed}");
    daemon.state(&session, "idle");
    (daemon, session, watcher)
}

#[track_caller]
fn ok(daemon: &TestDaemon, payload: &Value) {
    let ack = daemon.control(payload);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
}

#[track_caller]
fn ended(daemon: &TestDaemon, session: &Session, id: &str) -> (String, Option<String>) {
    let receipt = daemon.receipt(session, id);
    let reason = receipt["reason"].as_str().map(str::to_owned);
    (receipt["stage"].as_str().unwrap().to_owned(), reason)
}

fn interrupt(session: &Session, id: &str) -> Value {
    with(message(session, id), json!({ "type": "control.interrupt.request", "signal": "interrupt" }))
}

fn answer(session: &Session, id: &str, question: &Value, fields: Value) -> Value {
    let message =
        with(message(session, id), json!({ "type": "control.answer.request", "question_id": question["id"] }));
    with(message, fields)
}

/// Types, answers, denies and interrupts. `ids` returns the provider's session ids.
fn is_controlled(lab: &Lab, agent: &str, mode: Option<&str>, ids: impl Fn(&Lab) -> Vec<String>) {
    let (daemon, session, mut watcher) = with_agent(lab, agent, mode);
    let finished = ("finished".to_owned(), None);
    let cancelled = ("failed".to_owned(), Some("cancelled".to_owned()));
    ok(&daemon, &stdin(&session, "hello", "hello there"));
    assert_eq!(ended(&daemon, &session, "hello"), finished);
    let chats = daemon.chats(&session);
    assert!(chats.iter().any(|(from, text)| from == agent && text.contains("echo: hello there")), "{chats:?}");

    // A permission is granted by its option, and the action is executed.
    ok(&daemon, &stdin(&session, "granted", "tool: touch granted.txt"));
    let question = daemon.question(&session);
    let mut heard = Heard::default();
    heard.listen(&daemon, &session);
    let options = question["options"].as_array().unwrap();
    let allow = &options.iter().find(|one| one["kind"] == "allow_once").unwrap()["id"];
    let grants = answer(&session, "grants", &question, json!({ "option": allow }));
    ok(&daemon, &grants);
    assert_eq!(ended(&daemon, &session, "granted"), finished);
    assert!(lab.project.join("granted.txt").exists());
    let again = daemon.control(&grants);
    assert_eq!((&again["result"], &again["duplicate"]), (&json!("ok"), &json!(true)), "{again}");
    let late = daemon.control(&answer(&session, "late", &question, json!({ "option": allow })));
    assert_eq!((&late["result"], &late["error"]), (&json!("rejected"), &json!("question_closed")), "{late}");
    // Another one is rejected.
    ok(&daemon, &stdin(&session, "denied", "tool: touch denied.txt"));
    let question = daemon.question(&session);
    ok(&daemon, &answer(&session, "denies", &question, json!({ "decision": "reject" })));
    ended(&daemon, &session, "denied");
    daemon.state(&session, "idle");
    assert!(!lab.project.join("denied.txt").exists());
    // The scripted model still answers the rejection.
    ok(&daemon, &stdin(&session, "after", "hello"));
    assert_eq!(ended(&daemon, &session, "after"), finished);

    // A message during a long turn is queued, and delivered when the turn is interrupted.
    ok(&daemon, &stdin(&session, "slow", "slow: 600"));
    daemon.wait(&session, r#"screen_contains "word3""#);
    let queued = daemon.control(&stdin(&session, "queued", "slow: 600"));
    assert_eq!((&queued["result"], &queued["duplicate"]), (&json!("ok"), &json!(false)), "{queued}");
    assert!(queued["detail"].as_str().unwrap().starts_with("queued"), "{queued}");
    ok(&daemon, &interrupt(&session, "stop"));
    assert_eq!(ended(&daemon, &session, "slow"), cancelled);
    let begun =
        || daemon.get(&format!("/sessions/{}/control/receipts/queued", session.id)).json()["stage"] == "started";
    eventually("the queued message is being worked on", || begun().then_some(()));
    // A text can interrupt the current turn.
    ok(&daemon, &with(stdin(&session, "instead", "hello again"), json!({ "interrupt": true })));
    assert_eq!(ended(&daemon, &session, "queued"), cancelled);
    assert_eq!(ended(&daemon, &session, "instead"), finished);
    let nothing = daemon.control(&interrupt(&session, "nothing"));
    assert_eq!(
        (&nothing["result"], &nothing["error"]),
        (&json!("rejected"), &json!("nothing_to_interrupt")),
        "{nothing}"
    );

    heard.listen(&daemon, &session);
    for id in ["hello", "granted", "grants", "stop", "instead"] {
        heard.0.push(daemon.get(&format!("/sessions/{}/control/receipts/{id}", session.id)).text());
    }
    // All events of the subscriber up to the end of the last turn.
    loop {
        let line = watcher.line();
        heard.0.push(line.to_string());
        let receipt = &line["event"]["receipt"];
        let text = line.to_string();
        if receipt["request_id"] == "instead" && receipt["stage"] == "finished"
            || text.contains("\"instead\"") && text.contains("\"finished\"")
        {
            break;
        }
    }
    heard.0.push(daemon.ok(&["ls", "--json"]));
    heard.0.push(daemon.ok(&["audit", "--json", "-n", "1000"]));
    heard.never(&ids(lab));
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Returns the names of files with this extension that are ids.
fn named(directory: &Path, ending: &str) -> Vec<String> {
    let files = below(directory).into_iter().filter(|path| path.extension().is_some_and(|end| end == ending));
    let names = files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    names.filter(|name| name.len() >= 36).map(|name| name[name.len() - 36..].to_owned()).collect()
}

#[test]
fn claude_is_controlled_through_the_socket() {
    Lab::inside("daemon::real::claude_is_controlled_through_the_socket", |lab| {
        is_controlled(lab, "claude", None, |lab| named(&lab.home.join(".claude/projects"), "jsonl"));
    });
}

#[test]
fn codex_is_controlled_through_the_socket() {
    Lab::inside("daemon::real::codex_is_controlled_through_the_socket", |lab| {
        is_controlled(lab, "codex", Some("untrusted"), |lab| named(&lab.home.join(".codex/sessions"), "jsonl"));
    });
}

#[test]
fn gemini_is_controlled_through_the_socket() {
    Lab::inside("daemon::real::gemini_is_controlled_through_the_socket", |lab| {
        is_controlled(lab, "gemini", None, |lab| {
            let files = below(&lab.home.join(".gemini/tmp"));
            let texts = files.iter().filter_map(|path| fs::read_to_string(path).ok());
            let ids: Vec<String> = texts
                .flat_map(|text| {
                    let after = text
                        .split("\"sessionId\"")
                        .skip(1)
                        .map(|rest| rest.split('"').nth(1).unwrap_or_default().to_owned());
                    after.collect::<Vec<_>>()
                })
                .collect();
            ids
        });
    });
}

#[test]
fn a_shell_receives_input_and_interrupts() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let session = daemon.create(json!({ "command": ["bash", "--norc"], "name": "sh" }));
    let receipt = |id: &str| daemon.get(&format!("/sessions/{}/control/receipts/{id}", session.id)).json();
    ok(&daemon, &stdin(&session, "sum", "echo $((6 * 7))\n"));
    daemon.wait(&session, r#"screen_matches /(?m)^42/"#);
    let sum = receipt("sum");
    assert_eq!(sum["stage"], "delivered", "the terminal has it; more it cannot know: {sum}");
    let reached: Vec<&str> =
        sum["reached"].as_array().unwrap().iter().map(|one| one["stage"].as_str().unwrap()).collect();
    assert_eq!(reached, ["accepted", "delivered"]);
    assert_eq!(daemon.get(&format!("/sessions/{}/control/receipts/nothing", session.id)).status, 404);

    ok(&daemon, &stdin(&session, "sleep", "echo now; sleep 600\n"));
    daemon.wait(&session, r#"screen_matches /(?m)^now/"#);
    ok(&daemon, &interrupt(&session, "stop"));
    ok(&daemon, &stdin(&session, "code", "echo it ended with $?\n"));
    daemon.wait(&session, r#"screen_contains "it ended with 130""#);
    assert_eq!(receipt("stop")["stage"], "delivered");
    // A text with an interrupt first.
    ok(&daemon, &stdin(&session, "again", "echo then; sleep 600\n"));
    daemon.wait(&session, r#"screen_matches /(?m)^then/"#);
    ok(&daemon, &with(stdin(&session, "instead", "echo instead $?\n"), json!({ "interrupt": true })));
    daemon.wait(&session, r#"screen_contains "instead 130""#);

    // Over HTTP, ahead of 12 kB of queued input.
    ok(&daemon, &stdin(&session, "third", "echo third; sleep 600\n"));
    daemon.wait(&session, r#"screen_matches /(?m)^third/"#);
    ok(&daemon, &stdin(&session, "ahead", &"echo typed ahead\n".repeat(700)));
    assert_eq!(daemon.ok(&["interrupt", "sh"]).trim(), "interrupted");
    ok(&daemon, &stdin(&session, "last", "echo last $?\n"));
    daemon.wait(&session, r#"screen_contains "last 130""#);
    assert!(!daemon.ok(&["screen", "sh"]).contains("\ntyped ahead"), "what was typed ahead is discarded");

    let fields = json!({ "type": "control.answer.request", "question_id": "q", "decision": "approve" });
    let ack = daemon.control(&with(message(&session, "answers"), fields));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("not_supported")), "{ack}");
    ok(&daemon, &stdin(&session, "exit", "exit 3\n"));
    let summary = daemon.state(&session, "ended");
    assert_eq!(summary["status"]["reason"], "exited with 3", "{summary}");
    let ack = daemon.control(&stdin(&session, "late", "echo late\n"));
    assert_eq!(ack["result"], "not_live", "{ack}");
}

#[test]
fn input_is_not_delivered_until_the_program_reads_it() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let go = daemon.root().join("go");
    let script =
        format!("stty raw -echo; echo ready; until [ -e {} ]; do sleep 0.01; done; exec cat > /dev/null", go.display());
    let session = daemon.create(json!({ "command": ["bash", "-c", script], "name": "deaf" }));
    daemon.wait(&session, r#"screen_contains "ready""#);
    let much = stdin(&session, "much", &"x".repeat(256 << 10));
    let ack = daemon.control(&much);
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("unread")), "{ack}");
    let path = format!("/sessions/{}/control/receipts/much", session.id);
    assert_eq!(daemon.get(&path).json()["stage"], "accepted");
    // Later input waits behind it.
    let more = stdin(&session, "more", "x");
    let ack = daemon.control(&more);
    assert_eq!((&ack["result"], &ack["error"]), (&json!("timeout"), &json!("unread")), "{ack}");
    let busy = daemon.control(&much);
    assert_eq!((&busy["result"], &busy["duplicate"]), (&json!("busy"), &json!(true)), "it is under way: {busy}");
    fs::write(&go, "").unwrap();
    eventually("it has read everything", || (daemon.get(&path).json()["stage"] == "delivered").then_some(()));
    let later = eventually("that is known", || Some(daemon.control(&much)).filter(|ack| ack["result"] != "busy"));
    assert_eq!((&later["result"], &later["duplicate"]), (&json!("ok"), &json!(true)), "{later}");
    let ack = daemon.control(&more);
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(true)), "{ack}");
}

#[test]
fn an_editor_saves_the_typed_text() {
    if !tools::present(&["vim"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let session = daemon.create(json!({ "command": ["vim", "-u", "NONE", "-N", "out.txt"], "name": "editor" }));
    daemon.wait(&session, r#"screen_contains "out.txt""#);
    ok(&daemon, &stdin(&session, "types", "ihello from the socket"));
    daemon.wait(&session, r#"screen_contains "hello from the socket""#);
    // Ctrl-C leaves insert mode.
    ok(&daemon, &interrupt(&session, "leaves"));
    ok(&daemon, &stdin(&session, "saves", ":wq\n"));
    daemon.state(&session, "ended");
    assert_eq!(fs::read_to_string(daemon.work().join("out.txt")).unwrap(), "hello from the socket\n");
}
