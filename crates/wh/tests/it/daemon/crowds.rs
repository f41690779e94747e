//! Neighbours and noise: connections that say nothing, lines that do not end, descriptors and sizes that nobody wants. The owner is served.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use wh_testkit::{eventually, process, tools};

use super::{House, can_be_another_user, stdin};
use crate::WH;

/// Resident memory of the daemon, in bytes.
fn memory(house: &House) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", house.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

/// How long a command may take: less than the 30 s after which a server closes a connection that says nothing.
const IN_TIME: Duration = Duration::from_secs(25);

/// Runs a command of wh, which must succeed in time.
#[track_caller]
fn in_time(house: &House, arguments: &[&str]) {
    let mut child = house.wh(arguments).spawn().unwrap();
    let ended = process::wait(&mut child, IN_TIME);
    if ended.is_none() {
        child.kill().unwrap();
    }
    assert!(ended.is_some_and(|status| status.success()), "wh {arguments:?}: {ended:?}");
}

/// Another user who opens so many connections to a port, begins a request on each, and then waits for standard input to end.
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

    /// Number of the connections that are open.
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
    let house = House::new();
    house.demo("a", 0);
    let mut neighbour = Neighbour::new(house.port(), 300);
    in_time(&house, &["ls"]);
    in_time(&house, &["send", "a", "hello"]);
    // Each of the owner's requests has a connection of its own: more of them than other users have slots.
    for _ in 0..20 {
        assert_eq!(house.get("/sessions").status, 200);
    }
    eventually("the others have few connections", || (neighbour.open() <= 32).then_some(()));
    assert_eq!(house.get("/sessions").status, 200);
}

#[test]
fn a_thousand_idle_connections_at_the_socket_keep_nobody_out() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    if hard < 3000 {
        tools::skip("a thousand connections need more descriptors", true);
        return;
    }
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(3000), hard).unwrap();
    let house = House::new();
    let session = house.demo("a", 0);
    // One that works stays: those go first that never asked.
    let mut works = house.talk();
    assert_eq!(works.ask("health", &json!({}))["status"], "ok");
    let idle: Vec<UnixStream> = (0..1000).map(|_| UnixStream::connect(house.socket()).unwrap()).collect();
    assert_eq!(house.talk().ask("health", &json!({}))["status"], "ok");
    assert_eq!(house.control(&stdin(&session, "one", "hello"))["result"], "ok");
    house.receipt(&session, "one");
    in_time(&house, &["control", "send", "a", "hello", "--timeout", "30"]);
    assert_eq!(works.ask("health", &json!({}))["status"], "ok");
    drop(idle);
}

#[test]
fn unfinished_lines_take_bounded_memory_and_it_is_returned() {
    const MANY: usize = 12;
    let house = House::new();
    let before = memory(&house);
    let half = vec![b'x'; 7_900_000];
    let mut lines: Vec<_> = (0..MANY).map(|_| house.talk()).collect();
    for line in &mut lines {
        line.write(&half);
    }
    let meanwhile = memory(&house).saturating_sub(before);
    assert!(meanwhile < 56 << 20, "{meanwhile} bytes for {MANY} lines of {} bytes", half.len());
    // Short requests are answered meanwhile; a long one is told to come again, and its connection goes on.
    assert_eq!(house.talk().ask("health", &json!({}))["status"], "ok");
    let last = lines.last_mut().unwrap();
    last.write(b"\n");
    assert_eq!(last.line()["error"]["code"], "BUSY");
    assert_eq!(last.ask("health", &json!({}))["status"], "ok");
    drop(lines);
    eventually("the memory is returned", || (memory(&house) < before + (16 << 20)).then_some(()));
}

#[test]
fn a_peer_that_passes_descriptors_is_answered_and_they_are_closed() {
    if !tools::present(&["python3"]) {
        return;
    }
    let house = House::new();
    let descriptors = format!("/proc/{}/fd", house.pid());
    if fs::read_dir(&descriptors).is_err() {
        return tools::skip("only root can look into an undumpable process", true);
    }
    let open = || fs::read_dir(&descriptors).unwrap().count();
    assert_eq!(house.talk().ask("health", &json!({}))["status"], "ok");
    let before = open();
    // All of it is there when the daemon reads: it stands still meanwhile.
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
        .arg(house.socket())
        .args([house.pid().to_string(), health])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(r#""status":"ok""#), "{said}{}", String::from_utf8_lossy(&output.stderr));
    eventually("the descriptors are closed", || (open() <= before).then_some(()));
}

#[test]
fn a_terminal_of_an_impossible_size_changes_nothing_and_a_large_screen_gives_its_memory_back() {
    let house = House::new();
    let session = house.create(json!({ "command": ["sh", "-c", "seq 1 4000; cat"], "name": "a" }));
    house.wait(&session, "screen_contains \"4000\"");
    let size = || {
        let state = house.get(&format!("/sessions/{}/control/screen", session.id)).json();
        (state["width"].clone(), state["height"].clone())
    };
    let first = size();
    let before = memory(&house);
    let mut talk = house.talk();
    let wanted = json!({ "session_id": session.id, "size": { "width": 65535, "height": 65535 } });
    assert_eq!(talk.ask("attach", &wanted)["status"], "ok");
    assert_eq!(size(), first);
    drop(talk);
    let resize = |size: &str| {
        let (cols, rows) = size.split_once('x').unwrap();
        let body = json!({ "cols": cols.parse::<u16>().unwrap(), "rows": rows.parse::<u16>().unwrap() });
        let answer = house.post(&format!("/sessions/{}/control/resize", session.id), body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    resize("1000x500");
    assert!(memory(&house) > before + (24 << 20), "it was large");
    resize("80x24");
    eventually("the memory is returned", || (memory(&house) < before + (16 << 20)).then_some(()));
}

#[test]
fn the_limits_of_control_messages_are_chosen_at_the_start_and_shown() {
    if !tools::present(&["bash"]) {
        return;
    }
    let house = House::empty([
        ("WH_CONTROL_MAX_SKEW".to_owned(), "7".to_owned()),
        ("WH_CONTROL_MAX_AGE".to_owned(), "100".to_owned()),
    ]);
    let (code, said) = house.fails(&["daemon", "start", "--control-dedupe-ttl", "106"]);
    assert!(code == 2 && said.contains("--control-dedupe-ttl") && said.contains("107 s"), "{code}: {said}");
    // Few descriptors to begin with, as many systems have it.
    let start = "ulimit -Sn 512; exec \"$0\" daemon start --control-max-age 50 --control-hard-limit 2048 --control-dedupe-capacity 9";
    let mut shell = Command::new("bash");
    shell.args(["-c", start, WH]).env_clear().envs(house.environment()).stdin(Stdio::null());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer = house.talk().ask("health", &json!({}));
    let limits = &answer["payload"]["limits"];
    for (limit, value) in
        [("max_skew_secs", 7), ("max_age_secs", 50), ("hard_bytes", 2048), ("dedupe_secs", 900), ("dedupe_capacity", 9)]
    {
        assert_eq!(limits[limit], json!(value), "{limit} in {answer}");
    }
    let session = house.demo("a", 0);
    let ack = house.control(&stdin(&session, "long", &"x".repeat(2049)));
    assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!("too_long")), "{ack}");
    let table = fs::read_to_string(format!("/proc/{}/limits", house.status()["pid"])).unwrap();
    let row = table.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let numbers: Vec<u64> = row.split_whitespace().take(2).map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers[0], numbers[1].min(16_384), "{row}");
    let (code, said) = {
        let mut command = house.wh(&["new", "--agent", "demo"]);
        house.ok(&["daemon", "stop"]);
        let output = command.env("WH_CONTROL_MAX_AGE", "soon").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(code != Some(0) && said.contains("WH_CONTROL_MAX_AGE is \"soon\""), "{said}");
}
