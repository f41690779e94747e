//! Row 14: control messages acknowledged on the daemon's socket, compared with bare SQLite. Row 15: many idle sessions,
//! compared with the same number of tmux windows.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wh_testkit::Tmux;
use wh_testkit::once::{SocketClient, TrialDaemon, TrialMessage, TrialTarget};

use super::store::{BareSqlite, CONCURRENT_CLIENTS, alternate, home, sqlite_rows};
use crate::table::{ComparisonRow, MeasuredQuantiles, ResultUnit};
use crate::{BenchConfig, BenchResult, print_progress, process};

/// Program that discards its input without any output.
const READER: [&str; 3] = ["sh", "-c", "stty -echo; exec cat > /dev/null"];

/// Client that sends messages to its own session.
struct MessageSender {
    line: SocketClient,
    token: String,
    target: TrialTarget,
    sent: usize,
}

impl MessageSender {
    /// Sends `each` messages one after the other. Returns the time of each message in seconds.
    fn send(&mut self, each: usize) -> BenchResult<Vec<f64>> {
        let mut took = Vec::with_capacity(each);
        for _ in 0..each {
            self.sent += 1;
            let message = TrialMessage::new(&self.target, format!("r{}", self.sent));
            let mut payload = message.payload(0);
            payload["content"] = json!("a line that is typed\n");
            let start = Instant::now();
            let ack = self.line.request("control", Some(&self.token), &payload)?;
            took.push(start.elapsed().as_secs_f64());
            if ack["result"] != "ok" || ack["duplicate"] != false {
                return Err(format!("the daemon acknowledged a new message with {ack} instead of `ok`").into());
            }
        }
        Ok(took)
    }
}

/// Sends `each` messages from every sender concurrently. Returns the total time, and the time of each message in
/// seconds.
fn send_concurrently(senders: &mut [MessageSender], each: usize) -> BenchResult<(Duration, Vec<f64>)> {
    let start = Instant::now();
    let took: Vec<BenchResult<Vec<f64>>> = thread::scope(|scope| {
        let all: Vec<_> = senders.iter_mut().map(|sender| scope.spawn(move || sender.send(each))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a sender panicked".into()))).collect()
    });
    let whole = start.elapsed();
    Ok((whole, took.into_iter().collect::<BenchResult<Vec<_>>>()?.concat()))
}

pub fn acknowledged(config: &BenchConfig) -> BenchResult<Vec<ComparisonRow>> {
    let (rounds, each) = (config.pick(15, 1), config.pick(100, 4));
    let disk = home()?;
    let state = disk.path().join("wh");
    std::fs::create_dir(&state)?;
    let mut daemon = TrialDaemon::with_state(&config.wh, &state);
    daemon.start();
    let mut senders = Vec::new();
    for number in 0..CONCURRENT_CLIENTS {
        let target = terminal(&daemon, number, &READER);
        senders.push(MessageSender { line: daemon.connect()?, token: daemon.token(), target, sent: 0 });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut single = BareSqlite::open(disk.path().join("single"), &runtime)?;
    let mut batches = BareSqlite::open(disk.path().join("batches"), &runtime)?;
    let samples = alternate(14, rounds, |which, _| match which {
        0 => send_concurrently(&mut senders[..1], each),
        1 => send_concurrently(&mut senders, each),
        2 => single.requests(1, each),
        _ => batches.requests(CONCURRENT_CLIENTS, each),
    })?;
    daemon.stop();
    Ok(sqlite_rows(14, "control messages acknowledged", samples))
}

fn terminal(daemon: &TrialDaemon, number: usize, command: &[&str]) -> TrialTarget {
    let size = json!({ "width": 80, "height": 24 });
    let wanted: Value = json!({ "command": command, "name": format!("t{number}"), "cwd": "/", "size": size });
    daemon.create(&wanted)
}

/// Returns the pids of the daemon and of its supervisors, but not of the programs.
fn processes(daemon: &TrialDaemon) -> BenchResult<Vec<i32>> {
    let own = daemon.pid().ok_or("the daemon is not running")?.as_raw();
    let mut all = process::children(own)?;
    all.push(own);
    Ok(all)
}

pub fn idle(config: &BenchConfig) -> BenchResult<Vec<ComparisonRow>> {
    let many: usize = config.pick(200, 4);
    let length = config.pick(Duration::from_secs(10), Duration::from_secs(1));
    let disk = home()?;
    let mut daemon = TrialDaemon::with_state(&config.wh, disk.path());
    daemon.start();
    let tmux = Tmux::options(80, 24).history(2000).start(&["sleep", "1000000"]);
    let server: Vec<i32> = vec![tmux.format("#{pid}").trim().parse()?];
    // tmux 3.3 crashes if a window is created while `window-size` is `manual`.
    tmux.run_ok(&["set-option", "-g", "window-size", "latest"]);
    let before = (process::proportional(&processes(&daemon)?)?, process::proportional(&server)?);
    for number in 0..many {
        terminal(&daemon, number, &["sleep", "1000000"]);
        tmux.run_ok(&["new-window", "-d", "sleep", "1000000"]);
    }
    print_progress(&format!("row 15: {many} sessions"));
    // The background work that follows the start must not be measured.
    thread::sleep(config.pick(Duration::from_secs(5), Duration::from_millis(500)));
    let ours = processes(&daemon)?;
    let each = |now: f64, before: f64| {
        let each = (now - before) / many as f64;
        MeasuredQuantiles { median: each, p99: each }
    };
    let (wh, rival) = (process::proportional(&ours)?, process::proportional(&server)?);
    let memory = (each(wh, before.0), each(rival, before.1));
    let start = (process::cpu_seconds(&ours)?, process::cpu_seconds(&server)?);
    thread::sleep(length);
    // The CPU time of processes that have exited is not counted, so the difference may be negative.
    let spent = |seconds: f64| MeasuredQuantiles { median: seconds.max(0.0), p99: seconds.max(0.0) };
    let spent = (spent(process::cpu_seconds(&ours)? - start.0), spent(process::cpu_seconds(&server)? - start.1));
    daemon.stop();
    let row = |what: String, unit, wh, rival| ComparisonRow {
        number: 15,
        what,
        unit,
        wh,
        other: Some(("tmux".to_owned(), rival)),
    };
    Ok(vec![
        row(format!("memory for each of {many} idle sessions"), ResultUnit::Bytes, memory.0, memory.1),
        row(format!("CPU time of {many} sessions in ten idle seconds"), ResultUnit::Seconds, spent.0, spent.1),
    ])
}
