//! Rows 6 and 9: time for a frame, and memory for a message, in a long conversation.

use std::time::Instant;

use crate::spaces::FilledSpace;
use crate::table::{ComparisonRow, MeasuredQuantiles, ResultUnit};
use crate::{BenchConfig, BenchResult, print_progress};

const SHORT_CONVERSATION: u32 = 100;

/// Number of pages to scroll up and then down. The short conversation has more pages.
const SCROLLED_PAGES: usize = 4;

const KEYS: &str = "the wind turned at noon";

/// Operations measured in both conversations.
const OPERATIONS: [&str; 3] = ["scroll a page", "jump to beginning or end", "type a character"];

fn long(config: &BenchConfig) -> u32 {
    config.pick(100_000, 2_000)
}

/// Formats 100000 as 100,000.
fn thousands(number: u32) -> String {
    match number / 1000 {
        0 => number.to_string(),
        above => format!("{above},{:03}", number % 1000),
    }
}

/// Runs all [`OPERATIONS`]. Returns the times of each operation in seconds.
fn run_operations(space: &mut FilledSpace) -> BenchResult<[Vec<f64>; 3]> {
    let mut took = [Vec::new(), Vec::new(), Vec::new()];
    for key in ["pageup"; SCROLLED_PAGES].into_iter().chain(["pagedown"; SCROLLED_PAGES]) {
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

fn timed(operation: impl FnOnce() -> BenchResult<()>) -> BenchResult<f64> {
    let start = Instant::now();
    operation()?;
    Ok(start.elapsed().as_secs_f64())
}

pub fn frames(config: &BenchConfig) -> BenchResult<Vec<ComparisonRow>> {
    let (rounds, long) = (config.pick(60, 2), long(config));
    let mut spaces = [FilledSpace::start(config, long)?, FilledSpace::start(config, SHORT_CONVERSATION)?];
    let mut samples: [[Vec<f64>; 3]; 2] = Default::default();
    for round in 0..rounds {
        // The conversation that is measured second benefits from warm caches, so the order alternates.
        for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let took = run_operations(&mut spaces[which])?;
            // The first round is a warm-up: it fills the caches that later rounds use.
            if round > 0 {
                samples[which].iter_mut().zip(took).for_each(|(all, took)| all.extend(took));
            }
        }
    }
    let [of_long, of_short] = samples;
    print_progress(&format!("row 6: {} frames each", of_long.iter().map(Vec::len).sum::<usize>()));
    let rows = OPERATIONS.into_iter().zip(of_long).zip(of_short).map(|((operation, mut of_long), mut of_short)| {
        ComparisonRow {
            number: 6,
            what: format!("{operation}, {} messages", thousands(long)),
            unit: ResultUnit::Seconds,
            wh: MeasuredQuantiles::of(&mut of_long),
            other: Some((format!("{SHORT_CONVERSATION} messages"), MeasuredQuantiles::of(&mut of_short))),
        }
    });
    Ok(rows.collect())
}

pub fn memory(config: &BenchConfig) -> BenchResult<Vec<ComparisonRow>> {
    let (rounds, long) = (config.pick(5, 1), long(config));
    let (mut ours, mut content) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let spaces = (FilledSpace::start(config, long)?, FilledSpace::start(config, SHORT_CONVERSATION)?);
        let more = spaces.0.resident()? - spaces.1.resident()?;
        ours.push(more / f64::from(long - SHORT_CONVERSATION) * 10_000.0);
        content.push(spaces.0.content_bytes());
        print_progress(&format!("row 9, round {} of {rounds}", round + 1));
    }
    Ok(vec![ComparisonRow {
        number: 9,
        what: "memory per 10,000 messages".to_owned(),
        unit: ResultUnit::Bytes,
        wh: MeasuredQuantiles::of(&mut ours),
        other: Some(("size of the content".to_owned(), MeasuredQuantiles::of(&mut content))),
    }])
}
