//! Neighbours and noise: connections that say nothing, lines that do not end, descriptors and sizes that nobody wants. The owner is served.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use wh_testkit::{eventually, process, tools};

use super::House;

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
    if !tools::present(&["python3"]) {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        tools::skip("only root can be another user", true);
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
