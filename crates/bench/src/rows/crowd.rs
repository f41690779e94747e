//! Rows 6 and 9: what a long conversation costs, in time for a frame and in memory for a message.

use std::time::Instant;

use crate::spaces::Crowded;
use crate::table::{Comparison, Measured, Unit};
use crate::{Outcome, Setting, say};

const SHORT: u32 = 100;

/// Pages that one goes up and down again. The short conversation has more than these.
const PAGES: usize = 4;

const KEYS: &str = "the wind turned at noon";

/// What is done to both conversations.
const DEEDS: [&str; 3] = ["a page scrolled", "to the beginning or the end", "a character typed"];

fn long(setting: &Setting) -> u32 {
    setting.pick(100_000, 2_000)
}

/// 100000 as 100,000.
fn thousands(number: u32) -> String {
    match number / 1000 {
        0 => number.to_string(),
        above => format!("{above},{:03}", number % 1000),
    }
}

/// How long each of the deeds took, in a turn of all of them.
fn turn(space: &mut Crowded) -> Outcome<[Vec<f64>; 3]> {
    let mut took = [Vec::new(), Vec::new(), Vec::new()];
    for key in ["pageup"; PAGES].into_iter().chain(["pagedown"; PAGES]) {
        took[0].push(timed(|| space.press(key))?);
    }
    for key in ["ctrl+home", "ctrl+end"] {
        took[1].push(timed(|| space.press(key))?);
    }
    for key in KEYS.chars() {
        took[2].push(timed(|| space.type_in(key.encode_utf8(&mut [0; 4])))?);
    }
    space.press("ctrl+u")?;
    Ok(took)
}

fn timed(deed: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    deed()?;
    Ok(start.elapsed().as_secs_f64())
}

pub fn frames(setting: &Setting) -> Outcome<Vec<Comparison>> {
    let (rounds, long) = (setting.pick(60, 2), long(setting));
    let mut crowds = [Crowded::start(setting, long)?, Crowded::start(setting, SHORT)?];
    let mut samples: [[Vec<f64>; 3]; 2] = Default::default();
    for round in 0..rounds {
        // Who comes second finds the machine warm: they take turns at that too.
        for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let took = turn(&mut crowds[which])?;
            // The first turn warms up: it draws what the others find drawn.
            if round > 0 {
                samples[which].iter_mut().zip(took).for_each(|(all, took)| all.extend(took));
            }
        }
    }
    let [of_long, of_short] = samples;
    say(&format!("row 6: {} frames each", of_long.iter().map(Vec::len).sum::<usize>()));
    let rows = DEEDS.into_iter().zip(of_long).zip(of_short).map(|((deed, mut of_long), mut of_short)| Comparison {
        number: 6,
        what: format!("{deed}, {} messages", thousands(long)),
        unit: Unit::Seconds,
        wh: Measured::of(&mut of_long),
        beside: Some((format!("{SHORT} messages"), Measured::of(&mut of_short))),
    });
    Ok(rows.collect())
}

pub fn memory(setting: &Setting) -> Outcome<Vec<Comparison>> {
    let (rounds, long) = (setting.pick(5, 1), long(setting));
    let (mut ours, mut said) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let crowds = (Crowded::start(setting, long)?, Crowded::start(setting, SHORT)?);
        let more = crowds.0.resident()? - crowds.1.resident()?;
        ours.push(more / f64::from(long - SHORT) * 10_000.0);
        said.push(crowds.0.bytes_said());
        say(&format!("row 9, round {} of {rounds}", round + 1));
    }
    Ok(vec![Comparison {
        number: 9,
        what: "resident for 10,000 messages".to_owned(),
        unit: Unit::Bytes,
        wh: Measured::of(&mut ours),
        beside: Some(("the bytes themselves".to_owned(), Measured::of(&mut said))),
    }])
}
