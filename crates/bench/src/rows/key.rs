//! Row 1: from a key to the first snapshot that shows what it did.

use std::time::{Duration, Instant};

use crate::bare::BareTerminal;
use crate::contenders::{Contender, InControlMode, OverHttp};
use crate::content::{COLUMNS, ROWS};
use crate::table::{Measured, Row, Unit};
use crate::{Outcome, Setting, say};

/// Keys in one turn: a line of text.
const KEYS: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

/// Between two looks that are not measured.
const BETWEEN: Duration = Duration::from_millis(1);

pub fn key_to_visible(setting: &Setting) -> Outcome<Vec<Row>> {
    let rounds = setting.pick(40, 2);
    let mut wh = OverHttp::start(setting, 2000, &["cat"])?;
    let mut tmux = InControlMode::start(2000, &["cat"])?;
    let mut bare = BareTerminal::start(COLUMNS, ROWS, &["cat"])?;
    let (mut ours, mut rival, mut limit) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        // The first turn warms up.
        let counts = round > 0;
        let turn = line_of_keys(&mut wh, round)?;
        ours.extend(turn.into_iter().filter(|_| counts));
        let turn = line_of_keys(&mut tmux, round)?;
        rival.extend(turn.into_iter().filter(|_| counts));
        let turn = bare_keys(&mut bare)?;
        limit.extend(turn.into_iter().filter(|_| counts));
    }
    say(&format!("row 1: {} keys each", ours.len()));
    Ok(vec![Row {
        number: 1,
        what: "key to visible",
        unit: Unit::Seconds,
        wh: Measured::of(&mut ours),
        tmux: Measured::of(&mut rival),
        limit: ("bare PTY echo", Measured::of(&mut limit)),
    }])
}

fn line_of_keys(contender: &mut impl Contender, round: usize) -> Outcome<Vec<f64>> {
    // So that no earlier line can be taken for this one.
    let mut shown = format!("line {round}: ");
    contender.type_in(&shown)?;
    contender.until_shown(shown.trim_end(), Duration::ZERO)?;
    let mut took = Vec::with_capacity(KEYS.len());
    for key in KEYS.chars() {
        shown.push(key);
        let start = Instant::now();
        contender.type_in(key.encode_utf8(&mut [0; 4]))?;
        contender.until_shown(&shown, Duration::ZERO)?;
        took.push(start.elapsed().as_secs_f64());
    }
    // cat gives the line back; nothing is typed into the midst of that.
    let times = contender.count(&shown)?;
    contender.type_in("\n")?;
    contender.until_counted(&shown, 2 * times, BETWEEN)?;
    Ok(took)
}

fn bare_keys(bare: &mut BareTerminal) -> Outcome<Vec<f64>> {
    let mut took = Vec::with_capacity(KEYS.len());
    for key in KEYS.chars() {
        let key = key.to_string();
        let start = Instant::now();
        bare.write(&key)?;
        bare.read_until(&key)?;
        took.push(start.elapsed().as_secs_f64());
    }
    bare.write("\n")?;
    // After the line's end comes the line as cat gives it back.
    bare.read_until(&format!("\r\n{KEYS}\r\n"))?;
    Ok(took)
}
