//! Row 2: how many snapshots of a full screen a second, to one client and to eight.

use std::thread;
use std::time::{Duration, Instant};

use wh_api::{Request, blocking};

use crate::bare::StaticServer;
use crate::contenders::{Contender, InControlMode, OverHttp};
use crate::content::{self, ROWS};
use crate::table::{Measured, Row, Unit, quantile};
use crate::{Outcome, Setting, client, say};

/// Somebody who takes one snapshot after the other.
type Onlooker = Box<dyn FnMut() -> Outcome<()> + Send>;

/// Rates by round, and how long each snapshot took.
#[derive(Default)]
struct Samples {
    rates: Vec<f64>,
    took: Vec<f64>,
}

impl Samples {
    fn measured(mut self) -> Measured {
        Measured { median: quantile(&mut self.rates, 0.5), p99: quantile(&mut self.took, 0.99) }
    }
}

pub fn snapshots(setting: &Setting) -> Outcome<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let text = directory.path().join("screen");
    content::write_lines(&text, ROWS.into())?;
    let text = text.to_string_lossy();
    let script = ["sh", "-c", "cat \"$0\"; exec sleep 1000000", &text];
    let mut wh = OverHttp::start(setting, 2000, &script)?;
    let mut tmux = InControlMode::start(2000, &script)?;
    let bottom = last_word(directory.path())?;
    wh.until_shown(&bottom, Duration::from_millis(20))?;
    tmux.until_shown(&bottom, Duration::from_millis(20))?;
    // The frame may be shown before it is known to be complete; its time stands in the body.
    thread::sleep(Duration::from_millis(100));
    let length = wh.snapshot()?.len();
    say(&format!("row 2: {length} bytes from wh, {} from tmux", tmux.snapshot()?.len()));
    let server = StaticServer::start(length)?;
    Ok(vec![
        row(setting, 1, "snapshots, one client", &wh, &tmux, &server)?,
        row(setting, 8, "snapshots, eight clients", &wh, &tmux, &server)?,
    ])
}

/// A word that stands on the last line only: the first line's colour of the last line.
fn last_word(directory: &std::path::Path) -> Outcome<String> {
    let text = std::fs::read_to_string(directory.join("screen"))?;
    let last = text.lines().last().ok_or("an empty screen")?;
    let plain: Vec<&str> =
        last.split('\x1b').filter_map(|part| part.split_once("m ").map(|(_, plain)| plain)).collect();
    plain
        .into_iter()
        .max_by_key(|part| part.len())
        .map(|part| part.trim().to_owned())
        .ok_or_else(|| "no plain words".into())
}

fn row(
    setting: &Setting,
    clients: usize,
    what: &'static str,
    wh: &OverHttp,
    tmux: &InControlMode,
    server: &StaticServer,
) -> Outcome<Row> {
    let (rounds, length) = (setting.pick(7, 1), setting.pick(Duration::from_secs(1), Duration::from_millis(100)));
    let mut ours = crowd(clients, || over_http(wh.onlooker()?))?;
    let mut rival = crowd(clients, || {
        let (mut control, capture) = tmux.onlooker()?;
        Ok(Box::new(move || control.ask(capture).map(drop)))
    })?;
    let mut limit = crowd(clients, || over_http((client::open(server.port, None)?, Request::get("/"))))?;
    let mut samples = [Samples::default(), Samples::default(), Samples::default()];
    for round in 0..rounds {
        for (crowd, samples) in [&mut ours, &mut rival, &mut limit].into_iter().zip(&mut samples) {
            look_for(length, crowd, samples)?;
        }
        say(&format!("row 2, {clients} clients, round {} of {rounds}", round + 1));
    }
    let [ours, rival, limit] = samples.map(Samples::measured);
    Ok(Row { number: 2, what, unit: Unit::PerSecond, wh: ours, tmux: rival, limit: ("static axum body", limit) })
}

fn over_http((client, request): (blocking::Client, Request)) -> Outcome<Onlooker> {
    Ok(Box::new(move || client::ask(&client, &request).map(drop)))
}

fn crowd(clients: usize, onlooker: impl Fn() -> Outcome<Onlooker>) -> Outcome<Vec<Onlooker>> {
    (0..clients).map(|_| onlooker()).collect()
}

/// All look at once, for this long.
fn look_for(length: Duration, crowd: &mut [Onlooker], samples: &mut Samples) -> Outcome<()> {
    let start = Instant::now();
    let took = thread::scope(|scope| {
        let look = |look: &mut Onlooker| {
            let mut took = Vec::new();
            while start.elapsed() < length {
                let before = Instant::now();
                look()?;
                took.push(before.elapsed().as_secs_f64());
            }
            Outcome::Ok(took)
        };
        let threads: Vec<_> = crowd.iter_mut().map(|onlooker| scope.spawn(move || look(onlooker))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        Outcome::Ok(all)
    })?;
    samples.rates.push(took.len() as f64 / start.elapsed().as_secs_f64());
    samples.took.extend(took);
    Ok(())
}
