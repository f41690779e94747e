//! Those who send control messages: what they ask first, when they try again and with what, and what they write down. Where the daemon must
//! behave as it never does, somebody else listens in its place.

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
use wh_client::sender::{Message, Sender, Tries};
use wh_testkit::{PATIENCE, eventually, process, tools};
use wh_wire::socket::{AuditAction, ControlKind, ControlResult, Credential};

use super::shells::{enter, shell};
use super::{House, stdin, with};

/// What the one in the daemon's place does with a request.
enum Reply {
    Answer(Value),
    Refuse(&'static str),
    Silence,
    HangUp,
}

/// Somebody who listens on the socket in the daemon's place.
struct Fake {
    path: PathBuf,
    heard: Arc<Mutex<Vec<Value>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// It does with each request what the script says.
    fn new(house: &House, mut script: impl FnMut(&Value) -> Reply + Send + 'static) -> Self {
        let path = house.socket();
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

    /// The requests with this command, in their order.
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

/// What a daemon can do.
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

/// The usual answers to what comes before a message, and to the message itself.
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

/// What the sender's account has about a message: what happened, and all of it.
fn sent(house: &House, request_id: &str) -> (Vec<String>, Vec<Value>) {
    let printed = house.ok(&["audit", "--sent", "--json", "--request-id", request_id]);
    let records: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (records.iter().map(|one| one["action"].as_str().unwrap().to_owned()).collect(), records)
}

fn moment_of(record: &Value) -> jiff::Timestamp {
    record["timestamp"].as_str().unwrap().parse().unwrap()
}

#[test]
fn a_message_that_nobody_acknowledges_is_sent_again_as_the_same_after_a_pause() {
    let house = House::empty([]);
    let mut messages = 0;
    let fake = Fake::new(&house, move |request| {
        messages += usize::from(request["command"] == "control");
        match (request["command"].as_str(), messages) {
            (Some("control"), 1) => Reply::Silence,
            (Some("control"), 2) => Reply::HangUp,
            (Some("control"), 3) => acknowledged(request, "busy"),
            _ => usual(request),
        }
    });
    let said = house.ok(&[
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
    let (acts, records) = sent(&house, "r1");
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
    let house = House::empty([]);
    let fake = Fake::new(&house, |request| match request["command"].as_str() {
        Some("control") if request["payload"]["meta"]["retry_count"] == 0 => {
            acknowledged(&json!({ "payload": { "request_id": "another" } }), "ok")
        }
        _ => usual(request),
    });
    let send = ["control", "send", "a", "hello", "--request-id", "r1", "--timeout", "30", "--retries"];
    let (code, said) = house.fails(&[&send[..], &["0"]].concat());
    assert!(code == 6 && said.contains("another message, \"another\""), "{code}: {said}");
    assert!(house.ok(&[&send[..], &["1"]].concat()).starts_with("ok\n    request_id r1"));
    assert_eq!(fake.heard("control").len(), 3, "it is sent again");
    assert_eq!(sent(&house, "r1").1[1]["error"], "other_request");
}

#[test]
fn a_long_text_has_more_time_to_be_acknowledged() {
    let house = House::empty([]);
    let fake = Fake::new(&house, |request| {
        if request["command"] == "control" {
            std::thread::sleep(Duration::from_millis(200));
        }
        usual(request)
    });
    let file = house.work().join("long.txt");
    fs::write(&file, "x".repeat(1 << 20)).unwrap();
    let mut send = house.wh(&["control", "send", "a", "-", "--timeout", "0.1", "--retries", "0"]);
    let sent = send.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(fake.heard("control").len(), 1);
}

#[test]
fn a_repetition_from_the_command_line_keeps_name_and_time() {
    let house = House::empty([]);
    let mut messages = 0;
    let fake = Fake::new(&house, move |request| {
        messages += usize::from(request["command"] == "control");
        match (request["command"].as_str(), messages) {
            (Some("control"), 1) => Reply::Silence,
            (Some("control"), 2) => acknowledged(request, "timeout"),
            _ => usual(request),
        }
    });
    let (code, said) = house.fails(&["control", "send", "a", "hello", "--timeout", "4", "--retries", "0"]);
    assert!(code == 3 && said.contains("no acknowledgement within 4 s"), "{code} {said}");
    let hint = said.split_once("ask again under the same name: ").expect(&said).1.trim().to_owned();
    let again: Vec<&str> = ["control", "send", "a", "hello", "--timeout", "30", "--retries", "0"]
        .into_iter()
        .chain(hint.split(' '))
        .collect();
    let repeated = house.run(&again);
    let shown = String::from_utf8(repeated.stdout).unwrap();
    assert!(repeated.status.code() == Some(3) && shown.contains(&hint), "{shown}");
    house.ok(&again);
    let messages = fake.heard("control");
    assert_eq!(messages.len(), 3);
    for field in ["request_id", "sent_at"] {
        assert!(messages.iter().all(|message| message[field] == messages[0][field]), "{messages:?}");
    }
    let (code, said) = house.fails(&["control", "interrupt", "a", "--request-id", "r", "--sent-at", "yesterday"]);
    assert!(code == 2 && said.contains("2026-11-16T08:04:36Z"), "{said}");
    assert_eq!(house.fails(&["control", "interrupt", "a", "--sent-at", "2026-11-16T08:04:36Z"]).0, 2);
}

#[test]
fn a_daemon_that_stands_still_is_not_waited_for_without_end() {
    let house = House::new();
    house.demo("a", 0);
    kill(house.pid(), Signal::SIGSTOP).unwrap();
    let mut command =
        house.wh(&["control", "send", "a", "hello", "--timeout", "1", "--retries", "1", "--request-id", "r1"]);
    let mut child = command.spawn().unwrap();
    let ended = process::wait(&mut child, PATIENCE);
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    kill(house.pid(), Signal::SIGCONT).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(ended.and_then(|status| status.code()), Some(3), "{said}");
    assert!(said.contains("the daemon does not answer within 1 s") && said.contains("--request-id r1"), "{said}");
    let (acts, records) = sent(&house, "r1");
    assert_eq!(acts, ["control_timeout", "control_timeout"]);
    assert_eq!((&records[0]["session_id"], &records[0]["duplicate"]), (&json!("a"), &json!(false)), "nothing was sent");
    // It goes on, and takes the same message.
    house.ok(&["control", "send", "a", "hello", "--request-id", "r1", "--timeout", "30"]);
}

#[test]
fn a_session_that_is_coming_back_is_asked_for_again() {
    let house = House::empty([]);
    let mut asked = 0;
    let fake = Fake::new(&house, move |request| {
        asked += usize::from(request["command"] == "session");
        if request["command"] == "session" && asked <= 3 { Reply::Refuse("BUSY") } else { usual(request) }
    });
    let once = ["control", "interrupt", "a", "--request-id", "r1", "--timeout", "30", "--backoff", "0.01", "--retries"];
    let (code, said) = house.fails(&[&once[..], &["0"]].concat());
    assert!(
        code == 4 && said.contains("it says BUSY") && said.contains("--request-id r1 --sent-at 20"),
        "{code} {said}"
    );
    house.ok(&[&once[..], &["2"]].concat());
    let messages = fake.heard("control");
    assert_eq!((messages.len(), &messages[0]["meta"]["retry_count"]), (1, &json!(0)));
    let (acts, records) = sent(&house, "r1");
    let failures = ["control_failure"; 3];
    assert_eq!(acts, [&failures[..], &["control_request", "control_ack"]].concat());
    assert_eq!((&records[2]["result"], &records[2]["error"]), (&json!("busy"), &json!("busy")));
}

#[test]
fn a_message_that_is_sent_while_the_daemon_is_restarted_arrives_once() {
    let mut house = House::new();
    let session = house.demo("a", 0);
    house.ok(&["control", "send", "a", "hello before", "--request-id", "r1", "--timeout", "30"]);
    house.receipt(&session, "r1");
    house.kill();
    let patient = ["--request-id", "r2", "--timeout", "30", "--backoff", "0.01", "--retries", "13"];
    let mut child = house.wh(&[&["control", "send", "a", "hello after"][..], &patient].concat()).spawn().unwrap();
    eventually("it finds nobody", || {
        let (acts, _) = sent(&house, "r2");
        assert!(acts.iter().all(|act| act == "control_failure"), "{acts:?}");
        (!acts.is_empty()).then_some(())
    });
    house.start();
    let ended = process::wait(&mut child, PATIENCE);
    let _ = child.kill();
    assert!(ended.is_some_and(|status| status.success()), "{ended:?} {:?}", sent(&house, "r2").1);
    house.receipt(&session, "r2");
    let chats = house.chats(&session);
    assert_eq!(chats.iter().filter(|(from, text)| from == "local" && text == "hello after").count(), 1, "{chats:?}");
}

#[test]
fn what_the_daemon_cannot_do_is_not_sent() {
    let house = House::empty([]);
    let fake = Fake::new(&house, |request| {
        let mut told = capabilities();
        told["control"]["actions"] = json!(["stdin", "answer"]);
        if request["command"] == "capabilities" { Reply::Answer(told) } else { usual(request) }
    });
    let (code, said) = house.fails(&["control", "interrupt", "a", "--request-id", "r1", "--timeout", "30"]);
    assert!(code == 4 && said.contains("wh of tomorrow takes no interrupt messages"), "{code} {said}");
    assert_eq!((fake.heard("capabilities").len(), fake.heard("control").len()), (1, 0));
    let (acts, records) = sent(&house, "r1");
    assert_eq!((acts, &records[0]["error"]), (vec!["control_failure".to_owned()], &json!("unsupported")));
    house.ok(&["control", "send", "a", "hello", "--timeout", "30"]);
}

#[test]
fn the_daemon_says_how_long_a_text_may_be_and_where_a_long_one_lies() {
    let house = House::empty([]);
    let base = house.root().join("elsewhere");
    let told = base.clone();
    let fake = Fake::new(&house, move |request| {
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
    let send = |bytes: usize| house.run(&["control", "send", "a", &"x".repeat(bytes), "--timeout", "30"]);
    let said = |bytes: usize| {
        let output = send(bytes);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(said(10), (Some(0), String::new()));
    assert_eq!(said(20), (Some(0), "wh: the text has 20 bytes, which is much for one message\n".to_owned()));
    assert_eq!(said(40), (Some(0), String::new()));
    let (code, words) = said(41);
    assert!(code == Some(4) && words.contains("41 bytes; at most 40 can be sent"), "{code:?} {words}");
    let messages = fake.heard("control");
    assert_eq!(messages.len(), 3);
    assert!(messages[1]["content_ref"].is_null() && messages[2]["content"].is_null());
    let path = messages[2]["content_ref"]["path"].as_str().unwrap();
    assert!(path.starts_with(base.join("default/input").to_str().unwrap()), "{path}");
    assert!(!fs::exists(path).unwrap(), "what is acknowledged needs no file");
    // A folder into which others may write is not used.
    fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
    let (code, words) = said(40);
    assert!(code == Some(125) && words.contains("the text cannot be written"), "{code:?} {words}");
    assert_eq!(fake.heard("control").len(), 3);
}

#[test]
fn everything_that_a_sender_meets_is_in_its_account() {
    let mut house = House::new();
    let session = house.demo("a", 0);
    let failed = |house: &House, id: &str, arguments: &[&str], code: i32, result: &str, error: &str, words: &str| {
        let all = [&["control"], arguments, &["--request-id", id, "--timeout", "30", "--backoff", "0.01"]].concat();
        assert_eq!(house.run(&all).status.code(), Some(code), "{all:?}");
        let (acts, records) = sent(house, id);
        let last = records.iter().rfind(|one| one["action"] == "control_failure").unwrap_or_else(|| panic!("{acts:?}"));
        assert_eq!(json!([last["result"], last["error"], last["duplicate"]]), json!([result, error, false]), "{last}");
        assert!(last["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{last}");
        acts
    };
    let acts = failed(&house, "r1", &["send", "nope", "x"], 6, "not_found", "no_session", "no session \"nope\"");
    assert_eq!(acts, ["control_failure"]);
    assert_eq!(house.ok(&["audit", "--sent", "--session", "nope"]).lines().count(), 1);
    failed(&house, "r2", &["send", "a", "x", "--as", "eve"], 5, "rejected", "no_credential", "eve@default");
    let acts = failed(&house, "r3", &["answer", "a", "q-9", "--approve"], 4, "rejected", "no_question", "q-9");
    assert_eq!(acts, ["control_request", "control_failure", "control_ack"]);
    // A repetition, and a message that replaces another.
    for _ in 0..2 {
        house.ok(&["control", "send", "a", "hello", "--request-id", "r4", "--retry-of", "r3", "--timeout", "30"]);
    }
    let (acts, records) = sent(&house, "r4");
    assert_eq!(acts, ["control_request", "control_ack", "control_request", "control_duplicate", "control_ack"]);
    assert_eq!((&records[3]["result"], &records[3]["duplicate"]), (&json!("ok"), &json!(true)));
    assert_eq!((&records[0]["retry_of"], &records[0]["message_text"]), (&json!("r3"), &Value::Null));
    let heard = eventually("it is written down", || Some(house.audit("r4")).filter(|all| all.len() == 5));
    assert_eq!(heard[0]["retry_of"], "r3");
    let printed = house.ok(&["audit", "--request-id", "r4"]);
    assert!(printed.contains("request_id=r4  retry_of=r3  sender=local"), "{printed}");
    assert!(printed.lines().all(|line| line.contains("agent_id=demo:")), "{printed}");
    let duplicates = printed.lines().filter(|line| line.contains("  ok  duplicate  ")).count();
    assert_eq!(duplicates, heard.iter().filter(|record| record["duplicate"] == true).count(), "{printed}");
    assert!(duplicates > 0, "{printed}");
    // At the receiver what has not the shape of a message was a request all the same.
    house.control(&with(stdin(&session, "r5", "x"), json!({ "sent_at": null })));
    let heard = eventually("it is written down", || Some(house.audit("r5")).filter(|all| all.len() == 2));
    assert_eq!((&heard[0]["action"], &heard[1]["action"]), (&json!("control_request"), &json!("control_failure")));
    house.kill();
    let acts = failed(&house, "r6", &["interrupt", "a"], 6, "not_live", "unreachable", "the daemon does not answer");
    assert_eq!(acts, ["control_failure", "control_failure"]);
    assert!(house.fails(&["control", "interrupt", "a"]).1.contains("wh daemon start"));
}

#[test]
fn a_text_is_in_the_account_only_as_far_as_it_is_wished() {
    let house = House::empty([]);
    let _fake = Fake::new(&house, usual);
    for (wish, id, logged) in
        [(None, "r1", Value::Null), (Some("all"), "r2", json!("hello")), (Some("2"), "r3", json!("he…"))]
    {
        let mut command = house.wh(&["control", "send", "a", "hello", "--request-id", id, "--timeout", "30"]);
        let output = command.envs(wish.map(|wish| ("WH_AUDIT_TEXT", wish))).output().unwrap();
        assert!(output.status.success());
        let (_, records) = sent(&house, id);
        assert_eq!((&records[0]["message_text"], &records[0]["content_bytes"]), (&logged, &json!(5)));
    }
}

#[test]
fn a_program_sends_without_the_binary() {
    let house = House::new();
    let session = house.demo("a", 0);
    let credentials = house.root().join("config/wheelhouse/teams");
    let notes: Arc<Mutex<Vec<(AuditAction, String)>>> = Arc::default();
    let tells = Arc::clone(&notes);
    let sender = Sender::new(house.socket(), "local", move |team| {
        let file = credentials.join(team).join("credentials/local.token");
        let token = fs::read_to_string(file).map_err(|error| error.to_string())?;
        Ok(Credential(token.trim().to_owned()))
    })
    .tries(ControlKind::Stdin, Tries { timeout: Duration::from_secs(30), ..Tries::default() })
    .account(move |record| tells.lock().unwrap().push((record.action, record.key.agent_id)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let message = Message::text("hello from a program");
    let send = || runtime.block_on(sender.send("a", &message)).unwrap();
    let (first, second) = (send(), send());
    assert_eq!((first.result, first.duplicate), (ControlResult::Ok, false));
    assert_eq!((second.result, second.duplicate), (ControlResult::Ok, true));
    house.receipt(&session, &message.request_id);
    let said =
        house.chats(&session).iter().filter(|(from, text)| from != "demo" && text == "hello from a program").count();
    assert_eq!(said, 1);
    let actions: Vec<AuditAction> = notes.lock().unwrap().iter().map(|(action, _)| *action).collect();
    let (request, ack) = (AuditAction::Request, AuditAction::Ack);
    assert_eq!(actions, [request, ack, request, AuditAction::Duplicate, ack]);
    assert!(notes.lock().unwrap().iter().all(|(_, agent)| *agent == session.agent_id));
}

#[test]
fn attaching_to_a_session_that_is_not_there_says_so() {
    if !tools::present(&["tmux", "bash"]) {
        return;
    }
    let house = House::new();
    let shell = shell(&house, 100, 30);
    enter(&shell, "wh attach nope; echo code $?");
    shell.wait_for("no session \"nope\"");
    shell.wait_for("code 6");
}

#[test]
fn which_session_a_name_means_is_the_same_in_the_audit_as_everywhere() {
    let house = House::new();
    // The one that lives has the name; another that had it is younger.
    let lives = house.demo("b", 0);
    let ended = house.demo("a", 0);
    for (session, id) in [(&lives, "to-the-living"), (&ended, "to-the-ended")] {
        house.control(&stdin(session, id, "hello"));
    }
    house.ok(&["kill", "a"]);
    house.ok(&["rename", "b", "a"]);
    eventually("it is written down", || house.audit("to-the-ended").get(1).cloned());
    let shown = house.ok(&["audit", "--session", "a"]);
    assert!(shown.contains("to-the-living") && !shown.contains("to-the-ended"), "{shown}");
    assert!(house.ok(&["audit", "--session", &ended.id]).contains("to-the-ended"));
    // What no daemon knows is taken as it is.
    assert_eq!(house.ok(&["audit", "--session", "nobody"]), "");
}
