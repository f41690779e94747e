//! Sending control messages: queries before a message, retries, and the sender's audit log. A fake daemon simulates
//! unusual behaviour.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};
use wh_client::sender::{ControlSender, OutgoingControl, RetryPolicy};
use wh_testkit::{CONDITION_TIMEOUT, eventually, process, tools};
use wh_wire::socket::{AuditAction, ControlKind, ControlResult, Credential};

use super::shells::{enter, shell};
use super::{TestDaemon, stdin, with};

/// Reaction of the fake daemon to a request.
enum Reply {
    Answer(Value),
    Refuse(&'static str),
    Silence,
    HangUp,
}

/// Fake daemon that listens on the socket.
struct Fake {
    path: PathBuf,
    heard: Arc<Mutex<Vec<Value>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// Starts the fake daemon with a function that reacts to each request.
    fn new(daemon: &TestDaemon, mut script: impl FnMut(&Value) -> Reply + Send + 'static) -> Self {
        let path = daemon.socket();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let (heard, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (writes, ends) = (Arc::clone(&heard), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                let mut writer = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines() {
                    let Ok(line) = line else { break };
                    let request: Value = serde_json::from_str(&line).unwrap();
                    writes.lock().unwrap().push(request.clone());
                    let mut answer = json!({ "version": 1, "request_id": request["request_id"] });
                    match script(&request) {
                        Reply::Silence => continue,
                        Reply::HangUp => break,
                        Reply::Answer(payload) => {
                            answer["status"] = json!("ok");
                            answer["payload"] = payload;
                        }
                        Reply::Refuse(code) => {
                            answer["status"] = json!("error");
                            answer["error"] = json!({ "code": code, "message": format!("it says {code}") });
                        }
                    }
                    if writer.write_all(format!("{answer}\n").as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        Self { path, heard, over, thread: Some(thread) }
    }

    /// Returns the requests with this command, in order.
    fn heard(&self, command: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|one| one["command"] == command).map(|one| one["payload"].clone()).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = UnixStream::connect(&self.path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Capabilities of a daemon.
fn capabilities() -> Value {
    json!({
        "server": "wh of tomorrow", "protocol_versions": [1], "commands": ["control"],
        "control": { "v": [1], "actions": ["stdin", "interrupt", "answer"], "forms": ["type"], "encodings": ["utf-8"] },
        "limits": {
            "soft_bytes": 65536, "hard_bytes": 1_048_576, "content_ref_bytes": 16_777_216, "line_bytes": 8_388_608,
            "max_age_secs": 600, "max_skew_secs": 300, "dedupe_secs": 900,
        },
    })
}

/// Usual responses to the queries before a message and to the message.
fn usual(request: &Value) -> Reply {
    match request["command"].as_str() {
        Some("capabilities") => Reply::Answer(capabilities()),
        Some("session") => Reply::Answer(json!({
            "session": {
                "session_id": "s1", "agent_id": "demo:s1", "name": "a", "team": "default", "kind": "agent", "agent": "demo",
                "status": { "state": "idle", "evidence": "protocol", "since": "2026-11-16T08:04:36Z", "live": true },
                "created_at": "2026-11-16T08:04:36Z", "cwd": "/", "attached": 0, "questions": 0,
            },
            "questions": [],
        })),
        _ => acknowledged(request, "ok"),
    }
}

fn acknowledged(request: &Value, result: &str) -> Reply {
    let id = &request["payload"]["request_id"];
    Reply::Answer(json!({ "request_id": id, "acked_at": "2026-11-16T08:04:36Z", "result": result, "duplicate": false }))
}

/// Returns the sender's audit records of a message.
fn sent(daemon: &TestDaemon, request_id: &str) -> (Vec<String>, Vec<Value>) {
    let printed = daemon.ok(&["audit", "--sent", "--json", "--request-id", request_id]);
    let records: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (records.iter().map(|one| one["action"].as_str().unwrap().to_owned()).collect(), records)
}

fn moment_of(record: &Value) -> jiff::Timestamp {
    record["timestamp"].as_str().unwrap().parse().unwrap()
}

#[test]
fn an_unacknowledged_message_is_retried_with_the_same_id_after_a_delay() {
    let daemon = TestDaemon::empty([]);
    let mut messages = 0;
    let fake = Fake::new(&daemon, move |request| {
        messages += usize::from(request["command"] == "control");
        match (request["command"].as_str(), messages) {
            (Some("control"), 1) => Reply::Silence,
            (Some("control"), 2) => Reply::HangUp,
            (Some("control"), 3) => acknowledged(request, "busy"),
            _ => usual(request),
        }
    });
    let said = daemon.ok(&[
        "control",
        "send",
        "a",
        "hello",
        "--request-id",
        "r1",
        "--timeout",
        "3",
        "--retries",
        "3",
        "--backoff",
        "0.2",
    ]);
    assert!(said.starts_with("ok\n    request_id r1"), "{said}");
    let messages = fake.heard("control");
    assert_eq!(messages.len(), 4);
    for (count, message) in messages.iter().enumerate() {
        assert_eq!(message["meta"]["retry_count"], count);
        for field in ["request_id", "sent_at", "content", "session_id", "agent_id", "team", "sender"] {
            assert_eq!(message[field], messages[0][field], "{field}");
        }
    }
    assert_eq!((fake.heard("capabilities").len(), fake.heard("session").len()), (1, 1), "that is asked once");
    let (acts, records) = sent(&daemon, "r1");
    let expected = [
        "control_request",
        "control_timeout",
        "control_retry",
        "control_failure",
        "control_retry",
        "control_failure",
        "control_ack",
        "control_retry",
        "control_ack",
    ];
    assert_eq!(acts, expected);
    for record in &records {
        let key = ["team", "session_id", "agent_id", "sender"].map(|field| record[field].as_str().unwrap_or_default());
        assert_eq!(key, ["default", "s1", "demo:s1", "local"], "{record}");
    }
    let brief = |record: &Value| json!([record["result"], record["error"], record["duplicate"]]);
    assert_eq!(brief(&records[1]), json!(["timeout", "no_answer", null]));
    assert_eq!(brief(&records[3]), json!(["timeout", "broken_line", null]));
    assert_eq!(brief(&records[5]), json!(["busy", null, false]));
    assert_eq!(brief(&records[8]), json!(["ok", null, false]));
    for (number, pause) in [(1, 200), (3, 400)] {
        let waited = moment_of(&records[number + 1]).duration_since(moment_of(&records[number]));
        assert!(waited >= jiff::SignedDuration::from_millis(pause), "{waited}");
    }
}

#[test]
fn an_acknowledgement_of_another_message_does_not_count() {
    let daemon = TestDaemon::empty([]);
    let fake = Fake::new(&daemon, |request| match request["command"].as_str() {
        Some("control") if request["payload"]["meta"]["retry_count"] == 0 => {
            acknowledged(&json!({ "payload": { "request_id": "another" } }), "ok")
        }
        _ => usual(request),
    });
    let send = ["control", "send", "a", "hello", "--request-id", "r1", "--timeout", "30", "--retries"];
    let (code, said) = daemon.fails(&[&send[..], &["0"]].concat());
    assert!(code == 6 && said.contains("another message, \"another\""), "{code}: {said}");
    assert!(daemon.ok(&[&send[..], &["1"]].concat()).starts_with("ok\n    request_id r1"));
    assert_eq!(fake.heard("control").len(), 3, "it is sent again");
    assert_eq!(sent(&daemon, "r1").1[1]["error"], "other_request");
}

#[test]
fn a_long_text_has_more_time_to_be_acknowledged() {
    let daemon = TestDaemon::empty([]);
    let fake = Fake::new(&daemon, |request| {
        if request["command"] == "control" {
            std::thread::sleep(Duration::from_millis(200));
        }
        usual(request)
    });
    let file = daemon.work().join("long.txt");
    fs::write(&file, "x".repeat(1 << 20)).unwrap();
    let mut send = daemon.wh(&["control", "send", "a", "-", "--timeout", "0.1", "--retries", "0"]);
    let sent = send.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(fake.heard("control").len(), 1);
}

#[test]
fn a_retry_from_the_command_line_keeps_request_id_and_time() {
    let daemon = TestDaemon::empty([]);
    let mut messages = 0;
    let fake = Fake::new(&daemon, move |request| {
        messages += usize::from(request["command"] == "control");
        match (request["command"].as_str(), messages) {
            (Some("control"), 1) => Reply::Silence,
            (Some("control"), 2) => acknowledged(request, "timeout"),
            _ => usual(request),
        }
    });
    let (code, said) = daemon.fails(&["control", "send", "a", "hello", "--timeout", "4", "--retries", "0"]);
    assert!(code == 3 && said.contains("no acknowledgement within 4 s"), "{code} {said}");
    let hint = said.split_once("retry with the same request id: ").expect(&said).1.trim().to_owned();
    let again: Vec<&str> = ["control", "send", "a", "hello", "--timeout", "30", "--retries", "0"]
        .into_iter()
        .chain(hint.split(' '))
        .collect();
    let repeated = daemon.run(&again);
    let shown = String::from_utf8(repeated.stdout).unwrap();
    assert!(repeated.status.code() == Some(3) && shown.contains(&hint), "{shown}");
    daemon.ok(&again);
    let messages = fake.heard("control");
    assert_eq!(messages.len(), 3);
    for field in ["request_id", "sent_at"] {
        assert!(messages.iter().all(|message| message[field] == messages[0][field]), "{messages:?}");
    }
    let (code, said) = daemon.fails(&["control", "interrupt", "a", "--request-id", "r", "--sent-at", "yesterday"]);
    assert!(code == 2 && said.contains("2026-11-16T08:04:36Z"), "{said}");
    assert_eq!(daemon.fails(&["control", "interrupt", "a", "--sent-at", "2026-11-16T08:04:36Z"]).0, 2);
}

#[test]
fn a_message_to_a_stopped_daemon_times_out() {
    let daemon = TestDaemon::new();
    daemon.demo("a", 0);
    kill(daemon.pid(), Signal::SIGSTOP).unwrap();
    let mut command =
        daemon.wh(&["control", "send", "a", "hello", "--timeout", "1", "--retries", "1", "--request-id", "r1"]);
    let mut child = command.spawn().unwrap();
    let ended = process::wait(&mut child, CONDITION_TIMEOUT);
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    kill(daemon.pid(), Signal::SIGCONT).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(ended.and_then(|status| status.code()), Some(3), "{said}");
    assert!(said.contains("the daemon did not answer within 1 s") && said.contains("--request-id r1"), "{said}");
    let (acts, records) = sent(&daemon, "r1");
    assert_eq!(acts, ["control_timeout", "control_timeout"]);
    assert_eq!((&records[0]["session_id"], &records[0]["duplicate"]), (&json!("a"), &json!(false)), "nothing was sent");
    // The daemon continues and accepts the same message.
    daemon.ok(&["control", "send", "a", "hello", "--request-id", "r1", "--timeout", "30"]);
}

#[test]
fn a_session_being_restored_is_queried_again() {
    let daemon = TestDaemon::empty([]);
    let mut asked = 0;
    let fake = Fake::new(&daemon, move |request| {
        asked += usize::from(request["command"] == "session");
        if request["command"] == "session" && asked <= 3 { Reply::Refuse("BUSY") } else { usual(request) }
    });
    let once = ["control", "interrupt", "a", "--request-id", "r1", "--timeout", "30", "--backoff", "0.01", "--retries"];
    let (code, said) = daemon.fails(&[&once[..], &["0"]].concat());
    assert!(
        code == 4 && said.contains("it says BUSY") && said.contains("--request-id r1 --sent-at 20"),
        "{code} {said}"
    );
    daemon.ok(&[&once[..], &["2"]].concat());
    let messages = fake.heard("control");
    assert_eq!((messages.len(), &messages[0]["meta"]["retry_count"]), (1, &json!(0)));
    let (acts, records) = sent(&daemon, "r1");
    let failures = ["control_failure"; 3];
    assert_eq!(acts, [&failures[..], &["control_request", "control_ack"]].concat());
    assert_eq!((&records[2]["result"], &records[2]["error"]), (&json!("busy"), &json!("busy")));
}

#[test]
fn a_message_sent_during_a_daemon_restart_arrives_once() {
    let mut daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    daemon.ok(&["control", "send", "a", "hello before", "--request-id", "r1", "--timeout", "30"]);
    daemon.receipt(&session, "r1");
    daemon.kill();
    let patient = ["--request-id", "r2", "--timeout", "30", "--backoff", "0.01", "--retries", "13"];
    let mut child = daemon.wh(&[&["control", "send", "a", "hello after"][..], &patient].concat()).spawn().unwrap();
    eventually("it finds nobody", || {
        let (acts, _) = sent(&daemon, "r2");
        assert!(acts.iter().all(|act| act == "control_failure"), "{acts:?}");
        (!acts.is_empty()).then_some(())
    });
    daemon.start();
    let ended = process::wait(&mut child, CONDITION_TIMEOUT);
    let _ = child.kill();
    assert!(ended.is_some_and(|status| status.success()), "{ended:?} {:?}", sent(&daemon, "r2").1);
    daemon.receipt(&session, "r2");
    let chats = daemon.chats(&session);
    assert_eq!(chats.iter().filter(|(from, text)| from == "local" && text == "hello after").count(), 1, "{chats:?}");
}

#[test]
fn unsupported_commands_are_not_sent() {
    let daemon = TestDaemon::empty([]);
    let fake = Fake::new(&daemon, |request| {
        let mut told = capabilities();
        told["control"]["actions"] = json!(["stdin", "answer"]);
        if request["command"] == "capabilities" { Reply::Answer(told) } else { usual(request) }
    });
    let (code, said) = daemon.fails(&["control", "interrupt", "a", "--request-id", "r1", "--timeout", "30"]);
    assert!(code == 4 && said.contains("wh of tomorrow does not support interrupt messages"), "{code} {said}");
    assert_eq!((fake.heard("capabilities").len(), fake.heard("control").len()), (1, 0));
    let (acts, records) = sent(&daemon, "r1");
    assert_eq!((acts, &records[0]["error"]), (vec!["control_failure".to_owned()], &json!("unsupported")));
    daemon.ok(&["control", "send", "a", "hello", "--timeout", "30"]);
}

#[test]
fn the_daemon_reports_the_text_limit_and_the_content_directory() {
    let daemon = TestDaemon::empty([]);
    let base = daemon.root().join("elsewhere");
    let told = base.clone();
    let fake = Fake::new(&daemon, move |request| {
        let mut can = capabilities();
        can["content_ref_base"] = json!(told);
        for (limit, bytes) in [("soft_bytes", 10), ("hard_bytes", 20), ("content_ref_bytes", 40)] {
            can["limits"][limit] = json!(bytes);
        }
        if let Some(path) = request["payload"]["content_ref"]["path"].as_str() {
            assert_eq!(fs::read_to_string(path).unwrap(), "x".repeat(40));
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        if request["command"] == "capabilities" { Reply::Answer(can) } else { usual(request) }
    });
    let send = |bytes: usize| daemon.run(&["control", "send", "a", &"x".repeat(bytes), "--timeout", "30"]);
    let said = |bytes: usize| {
        let output = send(bytes);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(said(10), (Some(0), String::new()));
    assert_eq!(said(20), (Some(0), "wh: the text has 20 bytes; at most 10 are recommended\n".to_owned()));
    assert_eq!(said(40), (Some(0), String::new()));
    let (code, words) = said(41);
    assert!(code == Some(4) && words.contains("41 bytes; at most 40 can be sent"), "{code:?} {words}");
    let messages = fake.heard("control");
    assert_eq!(messages.len(), 3);
    assert!(messages[1]["content_ref"].is_null() && messages[2]["content"].is_null());
    let path = messages[2]["content_ref"]["path"].as_str().unwrap();
    assert!(path.starts_with(base.join("default/input").to_str().unwrap()), "{path}");
    assert!(!fs::exists(path).unwrap(), "what is acknowledged needs no file");
    // A directory that others can write to is not used.
    fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
    let (code, words) = said(40);
    assert!(code == Some(125) && words.contains("cannot write the text to a file"), "{code:?} {words}");
    assert_eq!(fake.heard("control").len(), 3);
}

#[test]
fn every_outcome_is_in_the_senders_audit_log() {
    let mut daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let failed = |daemon: &TestDaemon,
                  id: &str,
                  arguments: &[&str],
                  code: i32,
                  result: &str,
                  error: &str,
                  words: &str| {
        let all = [&["control"], arguments, &["--request-id", id, "--timeout", "30", "--backoff", "0.01"]].concat();
        assert_eq!(daemon.run(&all).status.code(), Some(code), "{all:?}");
        let (acts, records) = sent(daemon, id);
        let last = records.iter().rfind(|one| one["action"] == "control_failure").unwrap_or_else(|| panic!("{acts:?}"));
        assert_eq!(json!([last["result"], last["error"], last["duplicate"]]), json!([result, error, false]), "{last}");
        assert!(last["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{last}");
        acts
    };
    let acts = failed(&daemon, "r1", &["send", "nope", "x"], 6, "not_found", "no_session", "no session \"nope\"");
    assert_eq!(acts, ["control_failure"]);
    assert_eq!(daemon.ok(&["audit", "--sent", "--session", "nope"]).lines().count(), 1);
    failed(&daemon, "r2", &["send", "a", "x", "--as", "eve"], 5, "rejected", "no_credential", "eve@default");
    let acts = failed(&daemon, "r3", &["answer", "a", "q-9", "--approve"], 4, "rejected", "no_question", "q-9");
    assert_eq!(acts, ["control_request", "control_failure", "control_ack"]);
    // A retry, and a message that replaces another.
    for _ in 0..2 {
        daemon.ok(&["control", "send", "a", "hello", "--request-id", "r4", "--retry-of", "r3", "--timeout", "30"]);
    }
    let (acts, records) = sent(&daemon, "r4");
    assert_eq!(acts, ["control_request", "control_ack", "control_request", "control_duplicate", "control_ack"]);
    assert_eq!((&records[3]["result"], &records[3]["duplicate"]), (&json!("ok"), &json!(true)));
    assert_eq!((&records[0]["retry_of"], &records[0]["message_text"]), (&json!("r3"), &Value::Null));
    let heard = eventually("it is written down", || Some(daemon.audit("r4")).filter(|all| all.len() == 5));
    assert_eq!(heard[0]["retry_of"], "r3");
    let printed = daemon.ok(&["audit", "--request-id", "r4"]);
    assert!(printed.contains("request_id=r4  retry_of=r3  sender=local"), "{printed}");
    assert!(printed.lines().all(|line| line.contains("agent_id=demo:")), "{printed}");
    let duplicates = printed.lines().filter(|line| line.contains("  ok  duplicate  ")).count();
    assert_eq!(duplicates, heard.iter().filter(|record| record["duplicate"] == true).count(), "{printed}");
    assert!(duplicates > 0, "{printed}");
    // The receiver audits malformed messages too.
    daemon.control(&with(stdin(&session, "r5", "x"), json!({ "sent_at": null })));
    let heard = eventually("it is written down", || Some(daemon.audit("r5")).filter(|all| all.len() == 2));
    assert_eq!((&heard[0]["action"], &heard[1]["action"]), (&json!("control_request"), &json!("control_failure")));
    daemon.kill();
    let acts = failed(&daemon, "r6", &["interrupt", "a"], 6, "not_live", "unreachable", "cannot connect to the daemon");
    assert_eq!(acts, ["control_failure", "control_failure"]);
    assert!(daemon.fails(&["control", "interrupt", "a"]).1.contains("wh daemon start"));
}

#[test]
fn audit_text_follows_the_setting() {
    let daemon = TestDaemon::empty([]);
    let _fake = Fake::new(&daemon, usual);
    for (wish, id, logged) in
        [(None, "r1", Value::Null), (Some("all"), "r2", json!("hello")), (Some("2"), "r3", json!("he…"))]
    {
        let mut command = daemon.wh(&["control", "send", "a", "hello", "--request-id", id, "--timeout", "30"]);
        let output = command.envs(wish.map(|wish| ("WH_AUDIT_TEXT", wish))).output().unwrap();
        assert!(output.status.success());
        let (_, records) = sent(&daemon, id);
        assert_eq!((&records[0]["message_text"], &records[0]["content_bytes"]), (&logged, &json!(5)));
    }
}

#[test]
fn a_program_sends_with_the_library_instead_of_the_binary() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let credentials = daemon.root().join("config/wheelhouse/teams");
    let notes: Arc<Mutex<Vec<(AuditAction, String)>>> = Arc::default();
    let tells = Arc::clone(&notes);
    let sender = ControlSender::new(daemon.socket(), "local", move |team| {
        let file = credentials.join(team).join("credentials/local.token");
        let token = fs::read_to_string(file).map_err(|error| error.to_string())?;
        Ok(Credential(token.trim().to_owned()))
    })
    .retry_policy(ControlKind::Stdin, RetryPolicy { timeout: Duration::from_secs(30), ..RetryPolicy::default() })
    .on_audit(move |record| tells.lock().unwrap().push((record.action, record.key.agent_id)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let message = OutgoingControl::text("hello from a program");
    let send = || runtime.block_on(sender.send("a", &message)).unwrap();
    let (first, second) = (send(), send());
    assert_eq!((first.result, first.duplicate), (ControlResult::Ok, false));
    assert_eq!((second.result, second.duplicate), (ControlResult::Ok, true));
    daemon.receipt(&session, &message.request_id);
    let said =
        daemon.chats(&session).iter().filter(|(from, text)| from != "demo" && text == "hello from a program").count();
    assert_eq!(said, 1);
    let actions: Vec<AuditAction> = notes.lock().unwrap().iter().map(|(action, _)| *action).collect();
    let (request, ack) = (AuditAction::Request, AuditAction::Ack);
    assert_eq!(actions, [request, ack, request, AuditAction::Duplicate, ack]);
    assert!(notes.lock().unwrap().iter().all(|(_, agent)| *agent == session.agent_id));
}

#[test]
fn attaching_to_a_missing_session_is_reported() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let shell = shell(&daemon, 100, 30);
    enter(&shell, "wh attach nope; echo code $?");
    shell.wait_for("no session \"nope\"");
    shell.wait_for("code 6");
}

#[test]
fn audit_resolves_session_names_like_other_commands() {
    let daemon = TestDaemon::new();
    // The live session has the name, although an ended one with the name is newer.
    let lives = daemon.demo("b", 0);
    let ended = daemon.demo("a", 0);
    for (session, id) in [(&lives, "to-the-living"), (&ended, "to-the-ended")] {
        daemon.control(&stdin(session, id, "hello"));
    }
    daemon.ok(&["kill", "a"]);
    daemon.ok(&["rename", "b", "a"]);
    eventually("it is written down", || daemon.audit("to-the-ended").get(1).cloned());
    let shown = daemon.ok(&["audit", "--session", "a"]);
    assert!(shown.contains("to-the-living") && !shown.contains("to-the-ended"), "{shown}");
    assert!(daemon.ok(&["audit", "--session", &ended.id]).contains("to-the-ended"));
    // An unknown name is used unchanged.
    assert_eq!(daemon.ok(&["audit", "--session", "nobody"]), "");
}
