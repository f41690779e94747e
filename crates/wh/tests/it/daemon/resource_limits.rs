//! Resource limits: idle connections, endless lines, passed descriptors and extreme sizes. The owner is still served.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use wh_testkit::{eventually, process, tools};

use super::{TestDaemon, can_be_another_user, stdin};
use crate::WH;

/// Returns the daemon's resident memory in bytes.
fn memory(daemon: &TestDaemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

/// Time for a command: less than the 30 s after which a server closes an idle connection.
const IN_TIME: Duration = Duration::from_secs(25);

/// Runs a wh command that must succeed in time.
#[track_caller]
fn in_time(daemon: &TestDaemon, arguments: &[&str]) {
    let mut child = daemon.wh(arguments).spawn().unwrap();
    let ended = process::wait(&mut child, IN_TIME);
    if ended.is_none() {
        child.kill().unwrap();
    }
    assert!(ended.is_some_and(|status| status.success()), "wh {arguments:?}: {ended:?}");
}

/// Script of another user: opens this number of connections to a port, begins a request on each, and waits for the end
/// of standard input.
struct Neighbour(Child);

impl Neighbour {
    fn new(port: u16, connections: u32) -> Self {
        let script = "
import os, resource, select, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
poll, held = select.poll(), []
for _ in range(int(sys.argv[2])):
    s = socket.socket()
    held.append(s)
    s.connect(('127.0.0.1', int(sys.argv[1])))
    try: s.sendall(b'GET /sessions HTTP/1.1\\r\\n')
    except OSError: pass
    poll.register(s, select.POLLRDHUP)
print('ready', flush=True)
for line in sys.stdin:
    print(len(held) - len(poll.poll(0)), flush=True)
";
        let mut child = Command::new("python3")
            .args(["-c", script, &port.to_string(), &connections.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        Self(child)
    }

    /// Returns the number of open connections.
    fn open(&mut self) -> u32 {
        self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        BufReader::with_capacity(1, self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim().parse().unwrap()
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn the_owner_is_served_while_another_user_holds_300_unfinished_requests() {
    if !can_be_another_user() {
        return;
    }
    let daemon = TestDaemon::new();
    daemon.demo("a", 0);
    let mut neighbour = Neighbour::new(daemon.port(), 300);
    in_time(&daemon, &["ls"]);
    in_time(&daemon, &["send", "a", "hello"]);
    // Each request of the owner has its own connection. There are more of them than slots for other users.
    for _ in 0..20 {
        assert_eq!(daemon.get("/sessions").status, 200);
    }
    eventually("the others have few connections", || (neighbour.open() <= 32).then_some(()));
    assert_eq!(daemon.get("/sessions").status, 200);
}

#[test]
fn a_thousand_idle_connections_do_not_block_other_clients() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    if hard < 3000 {
        tools::skip("a thousand connections need more descriptors", true);
        return;
    }
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(3000), hard).unwrap();
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    // A connection that sent a request stays. Connections without a request are evicted first.
    let mut works = daemon.connect();
    assert_eq!(works.ask("health", &json!({}))["status"], "ok");
    let idle: Vec<UnixStream> = (0..1000).map(|_| UnixStream::connect(daemon.socket()).unwrap()).collect();
    assert_eq!(daemon.connect().ask("health", &json!({}))["status"], "ok");
    assert_eq!(daemon.control(&stdin(&session, "one", "hello"))["result"], "ok");
    daemon.receipt(&session, "one");
    in_time(&daemon, &["control", "send", "a", "hello", "--timeout", "30"]);
    assert_eq!(works.ask("health", &json!({}))["status"], "ok");
    drop(idle);
}

#[test]
fn unfinished_lines_use_bounded_memory_that_is_freed() {
    const MANY: usize = 12;
    let daemon = TestDaemon::new();
    let before = memory(&daemon);
    let half = vec![b'x'; 7_900_000];
    let mut lines: Vec<_> = (0..MANY).map(|_| daemon.connect()).collect();
    for line in &mut lines {
        line.write(&half);
    }
    let meanwhile = memory(&daemon).saturating_sub(before);
    assert!(meanwhile < 56 << 20, "{meanwhile} bytes for {MANY} lines of {} bytes", half.len());
    // Short requests are answered. A long one is refused with a retry hint, and its connection stays open.
    assert_eq!(daemon.connect().ask("health", &json!({}))["status"], "ok");
    let last = lines.last_mut().unwrap();
    last.write(b"\n");
    assert_eq!(last.line()["error"]["code"], "BUSY");
    assert_eq!(last.ask("health", &json!({}))["status"], "ok");
    drop(lines);
    eventually("the memory is returned", || (memory(&daemon) < before + (16 << 20)).then_some(()));
}

#[test]
fn passed_descriptors_are_closed_and_the_peer_is_answered() {
    if !tools::present(&["python3"]) {
        return;
    }
    let daemon = TestDaemon::new();
    let descriptors = format!("/proc/{}/fd", daemon.pid());
    if fs::read_dir(&descriptors).is_err() {
        return tools::skip("only root can look into an undumpable process", true);
    }
    let open = || fs::read_dir(&descriptors).unwrap().count();
    assert_eq!(daemon.connect().ask("health", &json!({}))["status"], "ok");
    let before = open();
    // The daemon is stopped, so all data is available when it reads.
    let script = "
import os, signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
reader = s.makefile()
line = sys.argv[3].encode() + b'\\n'
s.sendall(line); reader.readline()
os.kill(int(sys.argv[2]), signal.SIGSTOP)
try:
    socket.send_fds(s, [line[:1]], [0, 1, 2])
    s.sendall(line[1:9])
    socket.send_fds(s, [line[9:12]], [0])
    s.sendall(line[12:])
finally:
    os.kill(int(sys.argv[2]), signal.SIGCONT)
print(reader.readline())
";
    let health = json!({ "version": 1, "request_id": "h", "command": "health" }).to_string();
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(daemon.socket())
        .args([daemon.pid().to_string(), health])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(r#""status":"ok""#), "{said}{}", String::from_utf8_lossy(&output.stderr));
    eventually("the descriptors are closed", || (open() <= before).then_some(()));
}

#[test]
fn an_invalid_terminal_size_is_ignored_and_memory_of_a_large_screen_is_freed() {
    let daemon = TestDaemon::new();
    let session = daemon.create(json!({ "command": ["sh", "-c", "seq 1 4000; cat"], "name": "a" }));
    daemon.wait(&session, "screen_contains \"4000\"");
    let size = || {
        let state = daemon.get(&format!("/sessions/{}/control/screen", session.id)).json();
        (state["width"].clone(), state["height"].clone())
    };
    let first = size();
    let before = memory(&daemon);
    let mut talk = daemon.connect();
    let wanted = json!({ "session_id": session.id, "size": { "width": 65535, "height": 65535 } });
    assert_eq!(talk.ask("attach", &wanted)["status"], "ok");
    assert_eq!(size(), first);
    drop(talk);
    let resize = |size: &str| {
        let (cols, rows) = size.split_once('x').unwrap();
        let body = json!({ "cols": cols.parse::<u16>().unwrap(), "rows": rows.parse::<u16>().unwrap() });
        let answer = daemon.post(&format!("/sessions/{}/control/resize", session.id), body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    resize("1000x500");
    assert!(memory(&daemon) > before + (24 << 20), "it was large");
    resize("80x24");
    eventually("the memory is returned", || (memory(&daemon) < before + (16 << 20)).then_some(()));
}

#[test]
fn control_message_limits_are_set_at_start_and_shown() {
    if !tools::present(&["bash"]) {
        return;
    }
    let daemon = TestDaemon::empty([
        ("WH_CONTROL_MAX_SKEW".to_owned(), "7".to_owned()),
        ("WH_CONTROL_MAX_AGE".to_owned(), "100".to_owned()),
    ]);
    let (code, said) = daemon.fails(&["daemon", "start", "--control-dedupe-ttl", "106"]);
    assert!(code == 2 && said.contains("--control-dedupe-ttl") && said.contains("107 s"), "{code}: {said}");
    // Starts with a low descriptor limit, as on many systems.
    let start = "ulimit -Sn 512; exec \"$0\" daemon start --control-max-age 50 --control-hard-limit 2048 --control-dedupe-capacity 9";
    let mut shell = Command::new("bash");
    shell.args(["-c", start, WH]).env_clear().envs(daemon.environment()).stdin(Stdio::null());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = daemon.connect().ask("health", &json!({}));
    let limits = &answer["payload"]["limits"];
    for (limit, value) in
        [("max_skew_secs", 7), ("max_age_secs", 50), ("hard_bytes", 2048), ("dedupe_secs", 900), ("dedupe_capacity", 9)]
    {
        assert_eq!(limits[limit], json!(value), "{limit} in {answer}");
    }
    let session = daemon.demo("a", 0);
    let ack = daemon.control(&stdin(&session, "long", &"x".repeat(2049)));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("too_long")), "{ack}");
    let table = fs::read_to_string(format!("/proc/{}/limits", daemon.status()["pid"])).unwrap();
    let row = table.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let numbers: Vec<u64> = row.split_whitespace().take(2).map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers[0], numbers[1].min(16_384), "{row}");
    let (code, said) = {
        let mut command = daemon.wh(&["new", "--agent", "demo"]);
        daemon.ok(&["daemon", "stop"]);
        let output = command.env("WH_CONTROL_MAX_AGE", "soon").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(code != Some(0) && said.contains("WH_CONTROL_MAX_AGE is \"soon\""), "{said}");
}
