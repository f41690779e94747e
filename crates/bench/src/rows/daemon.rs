//! Rows 14 and 15: control messages that are acknowledged through the daemon's socket, beside bare SQLite; and many idle
//! sessions, beside as many windows of tmux.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wh_testkit::Tmux;
use wh_testkit::once::{House, Line, Message, Target};

use super::store::{Bare, MANY, beside_sqlite, home, in_turns};
use crate::table::{Comparison, Measured, Unit};
use crate::{Outcome, Setting, process, say};

/// Takes every line that is typed to it, and says nothing.
const READER: [&str; 3] = ["sh", "-c", "stty -echo; exec cat > /dev/null"];

/// One who sends, to a session of its own.
struct Sender {
    line: Line,
    token: String,
    target: Target,
    sent: usize,
}

impl Sender {
    /// So many messages, one after the other; how long each took.
    fn send(&mut self, each: usize) -> Outcome<Vec<f64>> {
        let mut took = Vec::with_capacity(each);
        for _ in 0..each {
            self.sent += 1;
            let message = Message::new(&self.target, format!("r{}", self.sent));
            let mut payload = message.payload(0);
            payload["content"] = json!("a line that is typed\n");
            let start = Instant::now();
            let ack = self.line.ask("control", Some(&self.token), &payload)?;
            took.push(start.elapsed().as_secs_f64());
            if ack["result"] != "ok" || ack["duplicate"] != false {
                return Err(format!("a message was acknowledged with {ack}").into());
            }
        }
        Ok(took)
    }
}

/// All of them at once. The whole time, and that of each message.
fn at_once(senders: &mut [Sender], each: usize) -> Outcome<(Duration, Vec<f64>)> {
    let start = Instant::now();
    let took: Vec<Outcome<Vec<f64>>> = thread::scope(|scope| {
        let all: Vec<_> = senders.iter_mut().map(|sender| scope.spawn(move || sender.send(each))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a sender panicked".into()))).collect()
    });
    let whole = start.elapsed();
    Ok((whole, took.into_iter().collect::<Outcome<Vec<_>>>()?.concat()))
}

pub fn acknowledged(setting: &Setting) -> Outcome<Vec<Comparison>> {
    let (rounds, each) = (setting.pick(15, 1), setting.pick(100, 4));
    let disk = home()?;
    let state = disk.path().join("wh");
    std::fs::create_dir(&state)?;
    let mut house = House::keeping(&setting.wh, &state);
    house.start();
    let mut senders = Vec::new();
    for number in 0..MANY {
        let target = terminal(&house, number, &READER);
        senders.push(Sender { line: house.line()?, token: house.token(), target, sent: 0 });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut single = Bare::open(disk.path().join("single"), &runtime)?;
    let mut batches = Bare::open(disk.path().join("batches"), &runtime)?;
    let samples = in_turns(14, rounds, |which, _| match which {
        0 => at_once(&mut senders[..1], each),
        1 => at_once(&mut senders, each),
        2 => single.requests(1, each),
        _ => batches.requests(MANY, each),
    })?;
    house.stop();
    Ok(beside_sqlite(14, "control messages acknowledged", samples))
}

fn terminal(house: &House, number: usize, command: &[&str]) -> Target {
    let size = json!({ "width": 80, "height": 24 });
    let wanted: Value = json!({ "command": command, "name": format!("t{number}"), "cwd": "/", "size": size });
    house.create(&wanted)
}

/// The daemon and whoever stands between it and the programs; not the programs themselves.
fn processes(house: &House) -> Outcome<Vec<i32>> {
    let own = house.pid().ok_or("the daemon is gone")?.as_raw();
    let mut all = process::children(own)?;
    all.push(own);
    Ok(all)
}

pub fn idle(setting: &Setting) -> Outcome<Vec<Comparison>> {
    let many: usize = setting.pick(200, 4);
    let length = setting.pick(Duration::from_secs(10), Duration::from_secs(1));
    let disk = home()?;
    let mut house = House::keeping(&setting.wh, disk.path());
    house.start();
    let tmux = Tmux::options(80, 24).history(2000).start(&["sleep", "1000000"]);
    let server: Vec<i32> = vec![tmux.format("#{pid}").trim().parse()?];
    // tmux 3.3 crashes when a window starts with `manual`.
    tmux.tell(&["set-option", "-g", "window-size", "latest"]);
    let before = (process::proportional(&processes(&house)?)?, process::proportional(&server)?);
    for number in 0..many {
        terminal(&house, number, &["sleep", "1000000"]);
        tmux.tell(&["new-window", "-d", "sleep", "1000000"]);
    }
    say(&format!("row 15: {many} sessions"));
    // What the start left to do is done.
    thread::sleep(setting.pick(Duration::from_secs(5), Duration::from_millis(500)));
    let ours = processes(&house)?;
    let each = |now: f64, before: f64| {
        let each = (now - before) / many as f64;
        Measured { median: each, p99: each }
    };
    let (wh, rival) = (process::proportional(&ours)?, process::proportional(&server)?);
    let memory = (each(wh, before.0), each(rival, before.1));
    let start = (process::cpu_seconds(&ours)?, process::cpu_seconds(&server)?);
    thread::sleep(length);
    // What has ended meanwhile takes its time with it.
    let spent = |seconds: f64| Measured { median: seconds.max(0.0), p99: seconds.max(0.0) };
    let spent = (spent(process::cpu_seconds(&ours)? - start.0), spent(process::cpu_seconds(&server)? - start.1));
    house.stop();
    let row = |what: String, unit, wh, rival| Comparison {
        number: 15,
        what,
        unit,
        wh,
        beside: Some(("tmux".to_owned(), rival)),
    };
    Ok(vec![
        row(format!("memory for each of {many} idle sessions"), Unit::Bytes, memory.0, memory.1),
        row(format!("CPU time of {many} sessions in ten idle seconds"), Unit::Seconds, spent.0, spent.1),
    ])
}
