//! Rows 4 and 5: memory and CPU time of an idle run.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::contenders::{Contender, TmuxContender, WhContender};
use crate::content::{self, FLOOD_END};
use crate::table::{MeasuredQuantiles, ResultUnit, TmuxRow};
use crate::{BenchConfig, BenchResult, print_progress, process};

const SCRIPT: &str = "cat \"$0\"; echo; echo \"$1\"; exec sleep 1000000";

/// Starts wh and tmux and fills the history of both. Returns when both show the end of the text and are idle.
fn filled(config: &BenchConfig, directory: &Path, history: u32) -> BenchResult<(WhContender, TmuxContender)> {
    let text = directory.join("history");
    // The text has more lines than the history, so that the history is full.
    content::write_lines(&text, history as usize + 100)?;
    let text = text.to_string_lossy();
    let script = ["sh", "-c", SCRIPT, &text, FLOOD_END];
    let mut wh = WhContender::start(config, history, &script)?;
    let mut tmux = TmuxContender::start(history, &script)?;
    wh.wait_for_text(FLOOD_END, Duration::from_millis(20))?;
    tmux.wait_for_text(FLOOD_END, Duration::from_millis(20))?;
    Ok((wh, tmux))
}

pub fn memory(config: &BenchConfig) -> BenchResult<Vec<TmuxRow>> {
    let rounds = config.pick(5, 1);
    let mut rows = Vec::new();
    for (history, what) in [(2_000, "memory, 2,000 lines of history"), (10_000, "memory, 10,000 lines of history")] {
        let directory = tempfile::tempdir()?;
        let (mut ours, mut rival) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (wh, tmux) = filled(config, directory.path(), history)?;
            ours.push(process::resident(&wh.processes()?)?);
            rival.push(process::resident(&tmux.processes()?)?);
        }
        print_progress(&format!("row 4: {history} lines"));
        let text = std::fs::metadata(directory.path().join("history"))?.len() as f64;
        rows.push(TmuxRow {
            number: 4,
            what,
            unit: ResultUnit::Bytes,
            wh: MeasuredQuantiles::of(&mut ours),
            tmux: MeasuredQuantiles::of(&mut rival),
            limit: ("size of the text", MeasuredQuantiles { median: text, p99: text }),
        });
    }
    Ok(rows)
}

pub fn processor(config: &BenchConfig) -> BenchResult<Vec<TmuxRow>> {
    let (rounds, length) = (config.pick(3, 1), config.pick(Duration::from_secs(10), Duration::from_secs(1)));
    let directory = tempfile::tempdir()?;
    let (wh, tmux) = filled(config, directory.path(), 2000)?;
    let (wh, tmux) = (wh.processes()?, tmux.processes()?);
    // The background work that follows the start must not be measured.
    thread::sleep(config.pick(Duration::from_secs(2), Duration::from_millis(200)));
    let (mut ours, mut rival) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let before = (process::cpu_seconds(&wh)?, process::cpu_seconds(&tmux)?);
        thread::sleep(length);
        ours.push(process::cpu_seconds(&wh)? - before.0);
        rival.push(process::cpu_seconds(&tmux)? - before.1);
        print_progress(&format!("row 5, round {} of {rounds}", round + 1));
    }
    Ok(vec![TmuxRow {
        number: 5,
        what: "CPU time in ten idle seconds",
        unit: ResultUnit::Seconds,
        wh: MeasuredQuantiles::of(&mut ours),
        tmux: MeasuredQuantiles::of(&mut rival),
        limit: ("no CPU time", MeasuredQuantiles { median: 0.0, p99: 0.0 }),
    }])
}
