//! Row 1: time from a key press to the first snapshot that shows the typed character.

use std::time::{Duration, Instant};

use crate::bare::BareTerminal;
use crate::contenders::{Contender, TmuxContender, WhContender};
use crate::content::{COLUMNS, ROWS};
use crate::table::{MeasuredQuantiles, ResultUnit, TmuxRow};
use crate::{BenchConfig, BenchResult, print_progress};

/// Keys of one round: a line of text.
const KEYS: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

/// Interval between two snapshots at the end of a round. This part of the round is not measured.
const ECHO_POLL_INTERVAL: Duration = Duration::from_millis(1);

pub fn key_to_visible(config: &BenchConfig) -> BenchResult<Vec<TmuxRow>> {
    let rounds = config.pick(40, 2);
    let mut wh = WhContender::start(config, 2000, &["cat"])?;
    let mut tmux = TmuxContender::start(2000, &["cat"])?;
    let mut bare = BareTerminal::start(COLUMNS, ROWS, &["cat"])?;
    let (mut ours, mut rival, mut limit) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        // The first round is a warm-up.
        let counts = round > 0;
        let turn = line_of_keys(&mut wh, round)?;
        ours.extend(turn.into_iter().filter(|_| counts));
        let turn = line_of_keys(&mut tmux, round)?;
        rival.extend(turn.into_iter().filter(|_| counts));
        let turn = bare_keys(&mut bare)?;
        limit.extend(turn.into_iter().filter(|_| counts));
    }
    print_progress(&format!("row 1: {} keys each", ours.len()));
    Ok(vec![TmuxRow {
        number: 1,
        what: "key press to screen update",
        unit: ResultUnit::Seconds,
        wh: MeasuredQuantiles::of(&mut ours),
        tmux: MeasuredQuantiles::of(&mut rival),
        limit: ("bare PTY echo", MeasuredQuantiles::of(&mut limit)),
    }])
}

fn line_of_keys(contender: &mut impl Contender, round: usize) -> BenchResult<Vec<f64>> {
    // A unique prefix, so that no earlier line matches.
    let mut shown = format!("line {round}: ");
    contender.type_in(&shown)?;
    contender.wait_for_text(shown.trim_end(), Duration::ZERO)?;
    let mut took = Vec::with_capacity(KEYS.len());
    for key in KEYS.chars() {
        shown.push(key);
        let start = Instant::now();
        contender.type_in(key.encode_utf8(&mut [0; 4]))?;
        contender.wait_for_text(&shown, Duration::ZERO)?;
        took.push(start.elapsed().as_secs_f64());
    }
    // The next line must not be typed before cat has printed this line again.
    let times = contender.count(&shown)?;
    contender.type_in("\n")?;
    contender.wait_for_count(&shown, 2 * times, ECHO_POLL_INTERVAL)?;
    Ok(took)
}

fn bare_keys(bare: &mut BareTerminal) -> BenchResult<Vec<f64>> {
    let mut took = Vec::with_capacity(KEYS.len());
    for key in KEYS.chars() {
        let key = key.to_string();
        let start = Instant::now();
        bare.write(&key)?;
        bare.read_until(&key)?;
        took.push(start.elapsed().as_secs_f64());
    }
    bare.write("\n")?;
    // After the line feed, cat prints the line again.
    bare.read_until(&format!("\r\n{KEYS}\r\n"))?;
    Ok(took)
}
