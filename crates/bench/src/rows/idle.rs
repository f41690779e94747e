//! Rows 4 and 5: what a run costs that does nothing.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::contenders::{Contender, InControlMode, OverHttp};
use crate::content::{self, END};
use crate::table::{Measured, Row, Unit};
use crate::{Outcome, Setting, process, say};

const SCRIPT: &str = "cat \"$0\"; echo; echo \"$1\"; exec sleep 1000000";

/// Both with this many lines of history, and nothing going on.
fn filled(setting: &Setting, directory: &Path, history: u32) -> Outcome<(OverHttp, InControlMode)> {
    let text = directory.join("history");
    // Some more than are kept: they are full in any case.
    content::write_lines(&text, history as usize + 100)?;
    let text = text.to_string_lossy();
    let script = ["sh", "-c", SCRIPT, &text, END];
    let mut wh = OverHttp::start(setting, history, &script)?;
    let mut tmux = InControlMode::start(history, &script)?;
    wh.until_shown(END, Duration::from_millis(20))?;
    tmux.until_shown(END, Duration::from_millis(20))?;
    Ok((wh, tmux))
}

pub fn memory(setting: &Setting) -> Outcome<Vec<Row>> {
    let rounds = setting.pick(5, 1);
    let mut rows = Vec::new();
    for (history, what) in [(2_000, "resident, 2,000 lines of history"), (10_000, "resident, 10,000 lines of history")]
    {
        let directory = tempfile::tempdir()?;
        let (mut ours, mut rival) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (wh, tmux) = filled(setting, directory.path(), history)?;
            ours.push(process::resident(&wh.processes()?)?);
            rival.push(process::resident(&tmux.processes()?)?);
        }
        say(&format!("row 4: {history} lines"));
        let text = std::fs::metadata(directory.path().join("history"))?.len() as f64;
        rows.push(Row {
            number: 4,
            what,
            unit: Unit::Bytes,
            wh: Measured::of(&mut ours),
            tmux: Measured::of(&mut rival),
            limit: ("the bytes themselves", Measured { median: text, p99: text }),
        });
    }
    Ok(rows)
}

pub fn processor(setting: &Setting) -> Outcome<Vec<Row>> {
    let (rounds, length) = (setting.pick(3, 1), setting.pick(Duration::from_secs(10), Duration::from_secs(1)));
    let directory = tempfile::tempdir()?;
    let (wh, tmux) = filled(setting, directory.path(), 2000)?;
    let (wh, tmux) = (wh.processes()?, tmux.processes()?);
    // What the start left to do is done.
    thread::sleep(setting.pick(Duration::from_secs(2), Duration::from_millis(200)));
    let (mut ours, mut rival) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let before = (process::cpu_seconds(&wh)?, process::cpu_seconds(&tmux)?);
        thread::sleep(length);
        ours.push(process::cpu_seconds(&wh)? - before.0);
        rival.push(process::cpu_seconds(&tmux)? - before.1);
        say(&format!("row 5, round {} of {rounds}", round + 1));
    }
    Ok(vec![Row {
        number: 5,
        what: "CPU time in ten idle seconds",
        unit: Unit::Seconds,
        wh: Measured::of(&mut ours),
        tmux: Measured::of(&mut rival),
        limit: ("none at all", Measured { median: 0.0, p99: 0.0 }),
    }])
}
