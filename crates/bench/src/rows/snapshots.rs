//! Row 2: snapshots of a full screen per second, with one client and with eight.

use std::thread;
use std::time::{Duration, Instant};

use wh_api::{HttpRequest, blocking};

use crate::bare::StaticServer;
use crate::contenders::{Contender, TmuxContender, WhContender};
use crate::content::{self, ROWS};
use crate::table::{MeasuredQuantiles, ResultUnit, TmuxRow, quantile};
use crate::{BenchConfig, BenchResult, client, print_progress};

/// Client that takes one snapshot per call.
type SnapshotClient = Box<dyn FnMut() -> BenchResult<()> + Send>;

/// Snapshots per second of each round, and the duration of each snapshot in seconds.
#[derive(Default)]
struct SnapshotSamples {
    rates: Vec<f64>,
    took: Vec<f64>,
}

impl SnapshotSamples {
    fn measured(mut self) -> MeasuredQuantiles {
        MeasuredQuantiles { median: quantile(&mut self.rates, 0.5), p99: quantile(&mut self.took, 0.99) }
    }
}

pub fn snapshots(config: &BenchConfig) -> BenchResult<Vec<TmuxRow>> {
    let directory = tempfile::tempdir()?;
    let text = directory.path().join("screen");
    content::write_lines(&text, ROWS.into())?;
    let text = text.to_string_lossy();
    let script = ["sh", "-c", "cat \"$0\"; exec sleep 1000000", &text];
    let mut wh = WhContender::start(config, 2000, &script)?;
    let mut tmux = TmuxContender::start(2000, &script)?;
    let bottom = last_line_text(directory.path())?;
    wh.wait_for_text(&bottom, Duration::from_millis(20))?;
    tmux.wait_for_text(&bottom, Duration::from_millis(20))?;
    // The snapshot contains the time of the last frame, which may not be known yet when the text is first shown.
    thread::sleep(Duration::from_millis(100));
    let length = wh.snapshot()?.len();
    print_progress(&format!("row 2: snapshots of {length} bytes from wh, {} from tmux", tmux.snapshot()?.len()));
    let server = StaticServer::start(length)?;
    Ok(vec![
        row(config, 1, "snapshots, one client", &wh, &tmux, &server)?,
        row(config, 8, "snapshots, eight clients", &wh, &tmux, &server)?,
    ])
}

/// Returns a text that occurs only on the last line of the screen.
fn last_line_text(directory: &std::path::Path) -> BenchResult<String> {
    let text = std::fs::read_to_string(directory.join("screen"))?;
    let last = text.lines().last().ok_or("the screen is empty")?;
    let plain: Vec<&str> =
        last.split('\x1b').filter_map(|part| part.split_once("m ").map(|(_, plain)| plain)).collect();
    plain
        .into_iter()
        .max_by_key(|part| part.len())
        .map(|part| part.trim().to_owned())
        .ok_or_else(|| "the screen has no unstyled text".into())
}

fn row(
    config: &BenchConfig,
    clients: usize,
    what: &'static str,
    wh: &WhContender,
    tmux: &TmuxContender,
    server: &StaticServer,
) -> BenchResult<TmuxRow> {
    let (rounds, length) = (config.pick(7, 1), config.pick(Duration::from_secs(1), Duration::from_millis(100)));
    let mut ours = crowd(clients, || over_http(wh.snapshot_client()?))?;
    let mut rival = crowd(clients, || {
        let (mut control, capture) = tmux.snapshot_client()?;
        Ok(Box::new(move || control.ask(capture).map(drop)))
    })?;
    let mut limit = crowd(clients, || over_http((client::open(server.port, None)?, HttpRequest::get("/"))))?;
    let mut samples = [SnapshotSamples::default(), SnapshotSamples::default(), SnapshotSamples::default()];
    for round in 0..rounds {
        for (crowd, samples) in [&mut ours, &mut rival, &mut limit].into_iter().zip(&mut samples) {
            take_snapshots(length, crowd, samples)?;
        }
        print_progress(&format!("row 2, {clients} clients, round {} of {rounds}", round + 1));
    }
    let [ours, rival, limit] = samples.map(SnapshotSamples::measured);
    Ok(TmuxRow {
        number: 2,
        what,
        unit: ResultUnit::PerSecond,
        wh: ours,
        tmux: rival,
        limit: ("static axum body", limit),
    })
}

fn over_http((client, request): (blocking::Client, HttpRequest)) -> BenchResult<SnapshotClient> {
    Ok(Box::new(move || client::ask(&client, &request).map(drop)))
}

fn crowd(
    clients: usize,
    snapshot_client: impl Fn() -> BenchResult<SnapshotClient>,
) -> BenchResult<Vec<SnapshotClient>> {
    (0..clients).map(|_| snapshot_client()).collect()
}

/// Takes snapshots with all clients concurrently until `length` has passed.
fn take_snapshots(length: Duration, crowd: &mut [SnapshotClient], samples: &mut SnapshotSamples) -> BenchResult<()> {
    let start = Instant::now();
    let took = thread::scope(|scope| {
        let look = |look: &mut SnapshotClient| {
            let mut took = Vec::new();
            while start.elapsed() < length {
                let before = Instant::now();
                look()?;
                took.push(before.elapsed().as_secs_f64());
            }
            BenchResult::Ok(took)
        };
        let threads: Vec<_> =
            crowd.iter_mut().map(|snapshot_client| scope.spawn(move || look(snapshot_client))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        BenchResult::Ok(all)
    })?;
    samples.rates.push(took.len() as f64 / start.elapsed().as_secs_f64());
    samples.took.extend(took);
    Ok(())
}
