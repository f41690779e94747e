//! `wh hook` and `wh-hook` as agents call them, against a listener of the test.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::WH;

const PERMISSION: &str = r#"{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash"}"#;
const STOP: &str = r#"{"session_id":"s","hook_event_name":"Stop"}"#;

/// Both programs that are the hook process: command and first arguments.
const PROGRAMS: [&[&str]; 2] = [&[env!("CARGO_BIN_EXE_wh-hook")], &[WH, "hook"]];

/// Directory for a socket, and for the configuration of wh.
struct HookRoom(TempDir);

impl HookRoom {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("socket")
    }

    fn command(&self, program: &[&str], arguments: &[&str], socket: Option<&Path>) -> Command {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("WH_HOOK_SOCKET").stdin(Stdio::piped());
        for variable in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env(variable, self.0.path());
        }
        command.envs(socket.map(|socket| ("WH_HOOK_SOCKET", socket)));
        command
    }

    /// Starts the hook process and writes the payload.
    fn start(&self, program: &[&str], socket: Option<&Path>, payload: &str) -> Child {
        let mut child = self.command(program, &["--agent", "claude"], socket).spawn().unwrap();
        // Without the variable the process may exit before it has read anything.
        let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
        child
    }

    fn call(&self, program: &[&str], socket: Option<&Path>, payload: &str) -> HookResult {
        HookResult::of(self.start(program, socket, payload).wait_with_output().unwrap())
    }

    /// Serves one connection and returns its request.
    fn serve(&self, reply: Vec<u8>) -> JoinHandle<Value> {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let path = self.socket();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let request = request(&stream);
            (&stream).write_all(&reply).unwrap();
            fs::remove_file(path).unwrap();
            request
        })
    }
}

fn request(stream: &UnixStream) -> Value {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// Exit code and output of a hook process.
#[derive(Debug, PartialEq)]
struct HookResult {
    code: Option<i32>,
    out: String,
    err: String,
}

impl HookResult {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn decides_nothing(&self) {
        assert_eq!((self.code, self.out.as_str(), self.err.as_str()), (Some(0), "{}\n", ""));
    }

    #[track_caller]
    fn denies(&self, reason: &str) {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{self:?}");
        assert!(self.err.contains(reason), "{self:?}");
    }
}

#[test]
fn without_the_variable_a_hook_does_nothing() {
    let room = HookRoom::new();
    for program in PROGRAMS {
        for payload in [PERMISSION, STOP, "", "no JSON"] {
            room.call(program, None, payload).decides_nothing();
        }
        room.call(program, Some(Path::new("")), PERMISSION).decides_nothing();
        // The agent keeps stdin open.
        let mut child = room.command(program, &["--agent", "gemini"], None).spawn().unwrap();
        let stdin = child.stdin.take();
        HookResult::of(child.wait_with_output().unwrap()).decides_nothing();
        drop(stdin);
    }
}

#[test]
fn without_a_listener_permissions_are_denied_and_everything_else_passes() {
    let room = HookRoom::new();
    let refused = room.0.path().join("refused");
    drop(UnixListener::bind(&refused).unwrap());
    let file = room.0.path().join("file");
    fs::write(&file, "").unwrap();
    let sockets =
        [(room.0.path().join("missing"), "No such file"), (refused, "Connection refused"), (file, "is not a socket")];
    for program in PROGRAMS {
        for (socket, reason) in &sockets {
            room.call(program, Some(socket), PERMISSION).denies(reason);
            room.call(program, Some(socket), STOP).decides_nothing();
            room.call(program, Some(socket), "no JSON").decides_nothing();
        }
    }
}

#[test]
fn the_reply_of_the_listener_is_printed_with_its_exit_code() {
    let room = HookRoom::new();
    for program in PROGRAMS {
        let reply = json!({ "code": 3, "stdout": "{\"a\":\"é\"}", "stderr": "e" });
        let serving = room.serve(format!("{reply}\n").into_bytes());
        let payload = PERMISSION.replace(',', ",\r\n  ");
        let result = room.call(program, Some(&room.socket()), &payload);
        assert_eq!(result, HookResult { code: Some(3), out: "{\"a\":\"é\"}\n".to_owned(), err: "e\n".to_owned() });
        let request = serving.join().unwrap();
        assert_eq!(request["agent"], "claude");
        assert_eq!(request["parent"], std::process::id());
        assert_eq!(request["payload"], serde_json::from_str::<Value>(PERMISSION).unwrap());
    }
}

#[test]
fn a_missing_or_invalid_reply_denies_a_permission() {
    let room = HookRoom::new();
    for program in PROGRAMS {
        for (reply, reason) in [
            ("", "closed without a reply"),
            ("{\"code\":0,\"stdout\":\"{}\"}", "closed without a reply"),
            ("garbage\n", "not a valid hook frame"),
            ("{\"code\":300}\n", "not a valid hook frame"),
        ] {
            let serving = room.serve(reply.as_bytes().to_vec());
            room.call(program, Some(&room.socket()), PERMISSION).denies(reason);
            serving.join().unwrap();
            let serving = room.serve(reply.as_bytes().to_vec());
            room.call(program, Some(&room.socket()), STOP).decides_nothing();
            serving.join().unwrap();
        }
    }
}

#[test]
fn a_payload_of_megabytes_passes_unchanged() {
    let room = HookRoom::new();
    let payload = json!({ "hook_event_name": "PostToolUse", "tool_response": "é\"\n".repeat(2 << 20) });
    let serving = room.serve(b"{\"code\":0,\"stdout\":\"{}\"}\n".to_vec());
    room.call(PROGRAMS[0], Some(&room.socket()), &payload.to_string()).decides_nothing();
    assert_eq!(serving.join().unwrap()["payload"], payload);
}

#[test]
fn a_hook_ends_when_its_listener_is_killed() {
    let room = HookRoom::new();
    // The listener is a process, so that the kernel closes its connections.
    let script = "import socket,sys,time\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n\
                  print('listening',flush=True)\nc,_=s.accept()\nc.recv(9)\nprint('held',flush=True)\ntime.sleep(600)";
    if !wh_testkit::tools::present(&["python3"]) {
        return;
    }
    for (payload, permission) in [(PERMISSION, true), (STOP, false)] {
        let mut listener = Command::new("python3")
            .args(["-c", script])
            .arg(room.socket())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 is there");
        let mut lines = BufReader::new(listener.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "listening");
        let hook = room.start(PROGRAMS[0], Some(&room.socket()), payload);
        assert_eq!(lines.next().unwrap().unwrap(), "held");
        listener.kill().unwrap();
        let result = HookResult::of(hook.wait_with_output().unwrap());
        if permission {
            result.denies("wh cannot decide")
        } else {
            result.decides_nothing()
        }
        listener.wait().unwrap();
        fs::remove_file(room.socket()).unwrap();
    }
}

#[test]
fn a_hook_without_payload_or_reply_ends_before_the_agent_ends_it() {
    let room = HookRoom::new();
    let listener = UnixListener::bind(room.socket()).unwrap();
    // No reply: the connection stays in the backlog.
    room.call(PROGRAMS[0], Some(&room.socket()), STOP).decides_nothing();
    // No end of the payload.
    let mut child = room.command(PROGRAMS[0], &["--agent", "claude"], Some(&room.socket())).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(PERMISSION.as_bytes()).unwrap();
    HookResult::of(child.wait_with_output().unwrap()).decides_nothing();
    drop((stdin, listener));
}

#[test]
fn a_notification_is_sent_and_then_given_to_the_program_of_the_user() {
    let room = HookRoom::new();
    let payload = r#"{"type":"agent-turn-complete","thread-id":"t"}"#;
    let script = "printf '%s|' \"$@\"";
    for program in PROGRAMS {
        let notify = |arguments: &[&str], socket: Option<&Path>| {
            let arguments = [&["--agent", "codex"], arguments, &[payload]].concat();
            HookResult::of(room.command(program, &arguments, socket).output().unwrap())
        };
        let arguments = ["--notify-then", "sh", "-c", script, "name", "--agent", "-x"];
        let expected = HookResult { code: Some(0), out: format!("--agent|-x|{payload}|"), err: String::new() };
        assert_eq!(notify(&arguments, None), expected);
        assert_eq!(notify(&arguments, Some(Path::new("/missing"))), expected);
        let serving = room.serve(b"{\"code\":0,\"stdout\":\"{}\"}\n".to_vec());
        assert_eq!(notify(&arguments, Some(&room.socket())), expected);
        assert_eq!(serving.join().unwrap()["payload"], serde_json::from_str::<Value>(payload).unwrap());
        let serving = room.serve(Vec::new());
        let nothing = HookResult { code: Some(0), out: String::new(), err: String::new() };
        assert_eq!(notify(&["--notify"], Some(&room.socket())), nothing);
        serving.join().unwrap();
    }
}

#[test]
fn invalid_arguments_never_deny_and_help_says_who_calls() {
    let room = HookRoom::new();
    let run =
        |program: &[&str], arguments: &[&str]| HookResult::of(room.command(program, arguments, None).output().unwrap());
    assert_eq!(run(PROGRAMS[0], &["--agent", "cursor"]).code, Some(1));
    for program in PROGRAMS {
        let help = run(program, &["--help"]);
        assert_eq!(help.code, Some(0));
        assert!(help.out.contains("Coding agents call this") && help.out.contains("WH_HOOK_SOCKET"), "{}", help.out);
    }
}
