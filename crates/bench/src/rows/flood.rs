//! Row 3: a program that writes as fast as it can, until the end of what it wrote shows.

use std::time::{Duration, Instant};

use crate::bare::BareTerminal;
use crate::contenders::{Contender, InControlMode, OverHttp};
use crate::content::{self, COLUMNS, END, ROWS};
use crate::table::{Measured, Row, Unit};
use crate::{Outcome, Setting, say};

/// Waits for Enter, so that starting a shell is not measured; writes it all; waits again.
const SCRIPT: &str = "stty -echo; echo ready; while read line; do cat \"$0\"; echo \"$1$line\"; done";

/// How long to leave whoever is flooded alone between two looks.
const BETWEEN: Duration = Duration::from_millis(5);

pub fn flood(setting: &Setting) -> Outcome<Vec<Row>> {
    let (rounds, bytes) = (setting.pick(9, 1), setting.pick(50_000_000, 500_000));
    let directory = tempfile::tempdir()?;
    let text = directory.path().join("flood");
    content::write_flood(&text, bytes)?;
    let text = text.to_string_lossy();
    let script = ["sh", "-c", SCRIPT, &text, END];
    let mut wh = OverHttp::start(setting, 2000, &script)?;
    let mut tmux = InControlMode::start(2000, &script)?;
    let mut bare = BareTerminal::start(COLUMNS, ROWS, &script)?;
    wh.until_shown("ready", BETWEEN)?;
    tmux.until_shown("ready", BETWEEN)?;
    bare.read_until("ready\r\n")?;
    let (mut ours, mut rival, mut limit) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        ours.push(flooded(&mut wh, round)?);
        rival.push(flooded(&mut tmux, round)?);
        limit.push(read(&mut bare, round)?);
        let last = [&ours, &rival, &limit].map(|samples| samples.last().copied().unwrap_or_default());
        say(&format!("row 3, round {} of {rounds}: {last:.3?} s", round + 1));
    }
    Ok(vec![Row {
        number: 3,
        what: "50 MB of coloured text",
        unit: Unit::Seconds,
        wh: Measured::of(&mut ours),
        tmux: Measured::of(&mut rival),
        limit: ("bare PTY read", Measured::of(&mut limit)),
    }])
}

fn flooded(contender: &mut impl Contender, round: usize) -> Outcome<f64> {
    let start = Instant::now();
    contender.type_in(&format!("{round}\n"))?;
    contender.until_shown(&format!("{END}{round}"), BETWEEN)?;
    Ok(start.elapsed().as_secs_f64())
}

fn read(bare: &mut BareTerminal, round: usize) -> Outcome<f64> {
    let start = Instant::now();
    bare.write(&format!("{round}\n"))?;
    bare.read_until(&format!("{END}{round}\r\n"))?;
    Ok(start.elapsed().as_secs_f64())
}
