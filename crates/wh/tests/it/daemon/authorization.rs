//! Unauthorised control messages are refused with a reason and audited, and do not consume the request id.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use wh_testkit::{eventually, tools};

use super::inside::{ASKING, line};
use super::{TestDaemon, can_be_another_user, message, moment, stdin, with};
use crate::WH;

/// Checks that a request is refused and audited with this code, and that its request id can then be used.
#[track_caller]
fn refused(daemon: &TestDaemon, attempt: &Value, credential: Option<&str>, result: &str, error: &str, right: &Value) {
    let mut talk = daemon.connect();
    let mut line = json!({ "version": 1, "request_id": "s", "command": "control", "payload": attempt });
    if let Some(credential) = credential {
        line["token"] = json!(credential);
    }
    for _ in 0..2 {
        let answer = talk.say(&line);
        let ack = &answer["payload"];
        assert_eq!(
            (&ack["result"], &ack["error"], &ack["duplicate"]),
            (&json!(result), &json!(error), &json!(false)),
            "{answer}"
        );
        assert!(ack["detail"].as_str().is_some_and(|detail| detail.len() > 5), "{ack}");
    }
    let id = attempt["request_id"].as_str().unwrap();
    let records = eventually("it is written down", || {
        let records = daemon.audit(id);
        (records.iter().filter(|one| one["action"] == "control_failure").count() == 2).then_some(records)
    });
    let failure = records.iter().find(|one| one["action"] == "control_failure").unwrap();
    for field in ["request_id", "team", "session_id", "agent_id", "sender"] {
        assert_eq!(failure[field], attempt[field], "{failure}");
    }
    assert_eq!(
        (&failure["result"], &failure["error"], &failure["duplicate"]),
        (&json!(result), &json!(error), &json!(false))
    );
    assert!(!json!(records).to_string().contains("secret text"), "texts are not written down");
    if !right.is_null() {
        let ack = daemon.control(right);
        assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    }
}

#[test]
fn unproven_team_members_are_refused() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let local = daemon.credential("default", "local");
    let other = daemon.member("others", "eve");
    let right = |id: &str| stdin(&session, id, "secret text");

    refused(&daemon, &right("nobody"), None, "rejected", "unproven_sender", &Value::Null);
    refused(&daemon, &right("forged"), Some("no-such-credential"), "rejected", "unproven_sender", &Value::Null);
    // Another member's name without its credential.
    let stolen = with(right("stolen"), json!({ "sender": "admin" }));
    refused(&daemon, &stolen, Some(&local), "rejected", "other_sender", &Value::Null);
    let stranger = with(right("stranger"), json!({ "sender": "eve" }));
    refused(&daemon, &stranger, Some(&other), "rejected", "other_team", &Value::Null);
    // A session of another team is reported as missing.
    let elsewhere = with(right("elsewhere"), json!({ "sender": "eve", "team": "others" }));
    refused(&daemon, &elsewhere, Some(&other), "not_found", "no_session", &Value::Null);
    // Nothing reached the agent, and the request ids are unused.
    assert!(daemon.chats(&session).is_empty(), "{:?}", daemon.chats(&session));
    for id in ["nobody", "forged", "stolen", "stranger"] {
        let ack = daemon.control(&right(id));
        assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{id}: {ack}");
        daemon.receipt(&session, id);
    }
}

#[test]
fn removed_members_and_roles_without_permission_are_refused() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let mallory = daemon.member("default", "mallory");
    let as_mallory = |id: &str| with(stdin(&session, id, "hello"), json!({ "sender": "mallory" }));
    assert_eq!(daemon.connect().control(&as_mallory("in"), &mallory)["result"], "ok");
    daemon.receipt(&session, "in");
    let path = daemon.root().join("config/wheelhouse/teams/default/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["roles"] =
        json!({ "stopper": { "allow": ["interrupt"] }, "typist": { "allow": ["*"], "deny": ["stdin@a"] } });
    let mut give = |role: &str| {
        for member in config["members"].as_array_mut().unwrap().iter_mut().filter(|one| one["name"] == "mallory") {
            member["role"] = json!(role);
        }
        fs::write(&path, config.to_string()).unwrap();
    };
    let right = |id: &str| stdin(&session, id, "hello");
    give("stopper");
    refused(&daemon, &as_mallory("stops"), Some(&mallory), "rejected", "not_allowed", &right("stops"));
    daemon.receipt(&session, "stops");
    give("typist");
    refused(&daemon, &as_mallory("types"), Some(&mallory), "rejected", "denied", &right("types"));
    daemon.receipt(&session, "types");
    give("no-such-role");
    refused(&daemon, &as_mallory("roleless"), Some(&mallory), "rejected", "no_role", &Value::Null);
    daemon.ok(&["team", "remove", "default", "mallory"]);
    refused(&daemon, &as_mallory("out"), Some(&mallory), "rejected", "unproven_sender", &Value::Null);
}

#[test]
fn messages_with_an_invalid_time_version_or_size_are_refused() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let local = daemon.credential("default", "local");
    let right = |id: &str| stdin(&session, id, "secret text");
    let refuse = |attempt: Value, result: &str, error: &str| {
        let id = attempt["request_id"].as_str().unwrap().to_owned();
        refused(&daemon, &attempt, Some(&local), result, error, &right(&id));
        daemon.receipt(&session, &id);
    };
    refuse(with(right("replayed"), json!({ "sent_at": moment(-3600) })), "rejected", "too_old");
    refuse(with(right("future"), json!({ "sent_at": moment(3600) })), "rejected", "clock_skew");
    refuse(with(right("large"), json!({ "content": "x".repeat((1 << 20) + 1) })), "rejected", "too_long");
    refuse(with(right("version"), json!({ "v": 2 })), "rejected", "unsupported_version");
    refuse(with(right("agent"), json!({ "agent_id": "codex:somebody" })), "rejected", "other_agent");
    let unknown = with(right("unknown"), json!({ "session_id": "nobody" }));
    refused(&daemon, &unknown, Some(&local), "not_found", "no_session", &Value::Null);

    // An executed message cannot be replayed after it is forgotten, because it is too old by then.
    let mut talk = daemon.connect();
    let envelope = json!({ "version": 2, "request_id": "s", "command": "control", "payload": right("envelope") });
    assert_eq!(talk.say(&envelope)["error"]["code"], "VERSION_MISMATCH");
    // A line above the limit is skipped, and the connection stays open.
    talk.write(&vec![b'x'; (8 << 20) + 1]);
    talk.write(b"\n");
    let answer = talk.line();
    assert_eq!((&answer["error"]["code"], &answer["request_id"]), (&json!("INVALID_REQUEST"), &json!("unknown")));
    assert_eq!(talk.ask("health", &json!({}))["status"], "ok");
}

/// Sends one line to the socket as another user. Returns the response or the error.
fn as_nobody(socket: &Path, line: &Value) -> String {
    let script = "
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    s.sendall(sys.stdin.buffer.read())
    print(s.makefile().readline())
except OSError as error:
    print(error.strerror)
";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .arg(socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn another_user_is_refused_even_if_file_permissions_allow_access() {
    if !can_be_another_user() {
        return;
    }
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let socket = daemon.socket();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    assert_eq!(mode(&daemon.root().join("runtime/wheelhouse/daemon.token")), 0o600);
    let line = json!({
        "version": 1, "request_id": "s", "command": "control", "token": daemon.credential("default", "local"),
        "payload": stdin(&session, "foreign", "hello"),
    });
    assert_eq!(as_nobody(&socket, &line).trim(), "Permission denied");
    // Even with all permissions open, the socket checks the user.
    let mut path = socket.clone();
    while path.starts_with(daemon.root()) {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(path.pop());
    }
    let answer: Value = serde_json::from_str(&as_nobody(&socket, &line)).unwrap();
    assert_eq!((&answer["status"], &answer["error"]["code"]), (&json!("error"), &json!("UNAUTHORIZED")), "{answer}");
    assert!(daemon.said().contains("refused a connection of another user"), "{}", daemon.said());
    eventually("it is written down", || {
        let written = fs::read_to_string(daemon.root().join("state/wheelhouse/audit/daemon.jsonl")).unwrap();
        written.lines().any(|line| line.contains("another_user") && line.contains("uid 65534")).then_some(())
    });
    assert!(daemon.chats(&session).is_empty());
    let ack = daemon.control(&stdin(&session, "foreign", "hello"));
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
}

/// Script of the agent's tool with all attempts to answer: over the socket, over HTTP, by typing and by attaching.
const ATTEMPTS: &str = r#"
sleep_until() { until "$@"; do :; done; }
question() { "$WH" answer cheat | head -n 1 | cut -d ' ' -f 1; }
sleep_until grep -q . <("$WH" answer cheat | grep -v nothing)
q=$(question)
id=$("$WH" ls --json | head -n 1 | grep -o '"session_id":"[^"]*"' | cut -d '"' -f 4)
url=$(grep -o 'http://[^"]*' "$XDG_RUNTIME_DIR/wheelhouse/daemon.json")
token=$(cat "$XDG_RUNTIME_DIR/wheelhouse/daemon.token")
echo "socket: $("$WH" control answer cheat "$q" --option yes --retries 0 --request-id cheat-1 --json 2>&1)"
echo "clean: $(env -u WH_SESSION setsid "$WH" control answer cheat "$q" --option yes --retries 0 --request-id cheat-2 --json 2>&1)"
echo "http: $("$WH" answer cheat "$q" yes 2>&1 | tr '\n' ' ')"
echo "typed: $("$WH" send cheat yes --paste 2>&1 | tr '\n' ' ')"
echo "keyed: $("$WH" key cheat enter 2>&1 | tr '\n' ' ')"
echo "attached: $(script -qec "\"$WH\" attach cheat" /dev/null 2>&1 < /dev/null | tr '\r\n' '  ')"
"#;

#[test]
fn an_agents_tool_cannot_answer_the_agents_question_over_any_interface() {
    if !tools::present(&["bash", "setsid", "script"]) {
        return;
    }
    let mut daemon = TestDaemon::empty([("WH".to_owned(), WH.to_owned())]);
    daemon.add_agent("asking", ASKING);
    daemon.script("attempts", ATTEMPTS);
    daemon.start();
    let session = daemon.create(json!({ "agent": "asking", "name": "cheat" }));
    daemon.state(&session, "idle");
    assert_eq!(daemon.control(&stdin(&session, "go", "run attempts"))["result"], "ok");
    let out = daemon.root().join("attempts.out");
    let said = eventually("it has tried everything", || fs::read_to_string(&out).ok());
    let line = |name: &str| line(&said, name);
    for name in ["socket", "clean"] {
        let ack: Value = serde_json::from_str(line(name)).unwrap_or_else(|error| panic!("{said}: {error}"));
        assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("own_question")), "{name}: {ack}");
    }
    for name in ["http", "typed", "keyed"] {
        assert!(line(name).contains("may not answer"), "{name}: {said}");
    }
    assert!(line("attached").contains("may not answer"), "{said}");
    // The question is still open, and another caller may answer it.
    let question = daemon.question(&session);
    let answer = |id: &str| {
        let fields = json!({ "type": "control.answer.request", "question_id": question["id"], "option": "yes" });
        with(message(&session, id), fields)
    };
    let is_refusal = |line: &&str| line.contains("own_question") && line.contains("\"request_id\":\"\"");
    for id in ["cheat-1", "cheat-2"] {
        eventually(id, || daemon.audit(id).iter().any(|one| one["error"] == "own_question").then_some(()));
    }
    eventually("what HTTP refused is written down too", || {
        let by_http = daemon.ok(&["audit", "--json", "--session", "cheat", "-n", "1000"]);
        (by_http.lines().filter(is_refusal).count() >= 3).then_some(())
    });
    let ack = daemon.control(&answer("cheat-1"));
    assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{ack}");
    assert_eq!(daemon.receipt(&session, "go")["stage"], "finished");
}

#[test]
fn a_terminal_session_cannot_type_into_itself_or_answer_foreign_sessions() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::with([("WH".to_owned(), WH.to_owned())]);
    let session = daemon.create(json!({ "command": ["bash", "--norc"], "name": "shell" }));
    let agent = daemon.demo("asks", 0);
    assert_eq!(daemon.control(&stdin(&agent, "ask", "/demo ask"))["result"], "ok");
    let question = daemon.question(&agent);
    let allow = question["options"].as_array().unwrap().iter().find(|one| one["kind"] == "allow_once").unwrap();
    let run = |name: &str, words: &str| {
        let out = daemon.root().join(name);
        let line = format!("{words} > {0} 2>&1; touch {0}.done\n", out.display());
        assert_eq!(daemon.control(&stdin(&session, name, &line))["result"], "ok");
        let done = daemon.root().join(format!("{name}.done"));
        eventually("the shell has run it", || done.exists().then(|| fs::read_to_string(&out).unwrap()))
    };
    let own = run("own", "$WH control send shell 'echo mine' --retries 0 --json");
    assert!(own.contains("own_question"), "{own}");
    let by_http = run("by-http", "$WH send shell 'echo mine'");
    assert!(by_http.contains("may not answer"), "{by_http}");
    let (id, option) = (question["id"].as_str().unwrap(), allow["id"].as_str().unwrap());
    let other = run("other", &format!("$WH control answer asks {id} --option {option} --json"));
    assert!(other.contains("inside_session"), "{other}");
    assert_eq!(daemon.question(&agent)["id"], question["id"], "it is still open");
}

#[test]
fn a_connection_whose_opener_has_exited_cannot_answer_questions() {
    if !tools::present(&["python3"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let session = daemon.demo("asks", 0);
    assert_eq!(daemon.control(&stdin(&session, "ask", "/demo ask"))["result"], "ok");
    let question = daemon.question(&session);
    let fields = json!({ "type": "control.answer.request", "question_id": question["id"], "decision": "approve" });
    let line = json!({
        "version": 1, "request_id": "s", "command": "control", "token": daemon.credential("default", "local"),
        "payload": with(message(&session, "handed-on"), fields),
    });
    // The connecting process exits; its child continues to use the connection.
    let script = "
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
opener = os.getpid()
text = sys.stdin.buffer.read()
if os.fork() != 0:
    os._exit(0)
while os.getppid() == opener:
    pass
s.sendall(text)
print(s.makefile().readline(), flush=True)
";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .arg(daemon.socket())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    // Reaped at once, because a zombie would still be known.
    child.wait().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let answer: Value = serde_json::from_str(&said).unwrap();
    let ack = &answer["payload"];
    assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("untraceable")), "{answer}");
    assert_eq!(daemon.question(&session)["id"], question["id"], "it is still open");
}
