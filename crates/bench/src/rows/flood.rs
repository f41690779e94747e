//! Row 3: time until the end of a large output is shown.

use std::time::{Duration, Instant};

use crate::bare::BareTerminal;
use crate::contenders::{Contender, TmuxContender, WhContender};
use crate::content::{self, COLUMNS, FLOOD_END, ROWS};
use crate::table::{MeasuredQuantiles, ResultUnit, TmuxRow};
use crate::{BenchConfig, BenchResult, print_progress};

/// Shell script that prints a file for each line of input. The script prints `ready` first, so that the measurement can
/// begin after the start of the shell.
const SCRIPT: &str = "stty -echo; echo ready; while read line; do cat \"$0\"; echo \"$1$line\"; done";

/// Interval between two snapshots. In this time, the contender can process output undisturbed.
const FLOOD_POLL_INTERVAL: Duration = Duration::from_millis(5);

pub fn flood(config: &BenchConfig) -> BenchResult<Vec<TmuxRow>> {
    let (rounds, bytes) = (config.pick(9, 1), config.pick(50_000_000, 500_000));
    let directory = tempfile::tempdir()?;
    let text = directory.path().join("flood");
    content::write_flood(&text, bytes)?;
    let text = text.to_string_lossy();
    let script = ["sh", "-c", SCRIPT, &text, FLOOD_END];
    let mut wh = WhContender::start(config, 2000, &script)?;
    let mut tmux = TmuxContender::start(2000, &script)?;
    let mut bare = BareTerminal::start(COLUMNS, ROWS, &script)?;
    wh.wait_for_text("ready", FLOOD_POLL_INTERVAL)?;
    tmux.wait_for_text("ready", FLOOD_POLL_INTERVAL)?;
    bare.read_until("ready\r\n")?;
    let (mut ours, mut rival, mut limit) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        ours.push(flooded(&mut wh, round)?);
        rival.push(flooded(&mut tmux, round)?);
        limit.push(read(&mut bare, round)?);
        let last = [&ours, &rival, &limit].map(|samples| samples.last().copied().unwrap_or_default());
        print_progress(&format!("row 3, round {} of {rounds}: {last:.3?} s", round + 1));
    }
    Ok(vec![TmuxRow {
        number: 3,
        what: "50 MB of coloured text",
        unit: ResultUnit::Seconds,
        wh: MeasuredQuantiles::of(&mut ours),
        tmux: MeasuredQuantiles::of(&mut rival),
        limit: ("bare PTY read", MeasuredQuantiles::of(&mut limit)),
    }])
}

fn flooded(contender: &mut impl Contender, round: usize) -> BenchResult<f64> {
    let start = Instant::now();
    contender.type_in(&format!("{round}\n"))?;
    contender.wait_for_text(&format!("{FLOOD_END}{round}"), FLOOD_POLL_INTERVAL)?;
    Ok(start.elapsed().as_secs_f64())
}

fn read(bare: &mut BareTerminal, round: usize) -> BenchResult<f64> {
    let start = Instant::now();
    bare.write(&format!("{round}\n"))?;
    bare.read_until(&format!("{FLOOD_END}{round}\r\n"))?;
    Ok(start.elapsed().as_secs_f64())
}
