//! Rows 7, 8 and 10: the UI of wh compared with the UIs of real agents. Each UI runs in its own terminal of wh and is
//! measured in the same way.

use std::thread;
use std::time::{Duration, Instant};

use crate::tuis::{ObservedTerminal, Tui, TuiEnvironment};
use crate::{BenchConfig, BenchResult, print_progress};

/// Keys of one round.
const KEYS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Delay between two keys. Some UIs treat faster typing as a paste.
const KEY_DELAY: Duration = Duration::from_millis(50);

/// Values measured with one program for one row, in seconds.
#[derive(Debug, PartialEq)]
pub struct LabSamples {
    pub row: u8,
    pub name: String,
    pub values: Vec<f64>,
}

/// Measures these rows for all UIs.
pub fn measure(
    config: &BenchConfig,
    environment: &TuiEnvironment,
    tuis: &[Tui],
    rows: &[u8],
) -> BenchResult<Vec<LabSamples>> {
    let mut all = Vec::new();
    if rows.contains(&10) {
        all.extend(starts(config, environment, tuis)?);
    }
    if rows.contains(&7) || rows.contains(&8) {
        let mut terminals = Vec::new();
        for tui in tuis {
            let mut terminal = tui.prepare(config, environment)?;
            terminal.start_program()?;
            terminals.push((tui.name, terminal));
        }
        if rows.contains(&7) {
            all.extend(keys(config, &mut terminals)?);
        }
        if rows.contains(&8) {
            all.extend(idle(config, &mut terminals)?);
        }
    }
    Ok(all)
}

/// Creates empty samples for each UI.
fn samples<'a>(row: u8, names: impl Iterator<Item = &'a str>) -> Vec<LabSamples> {
    names.map(|name| LabSamples { row, name: name.to_owned(), values: Vec::new() }).collect()
}

fn starts(config: &BenchConfig, environment: &TuiEnvironment, tuis: &[Tui]) -> BenchResult<Vec<LabSamples>> {
    let rounds = config.pick(7, 1);
    let minimal = Tui::minimal();
    let tuis: Vec<&Tui> = tuis.iter().chain([&minimal]).collect();
    let mut all = samples(10, tuis.iter().map(|tui| tui.name));
    for round in 0..rounds {
        for (tui, samples) in tuis.iter().zip(&mut all) {
            let mut terminal = tui.prepare(config, environment)?;
            let start = Instant::now();
            terminal.start_program()?;
            samples.values.push(start.elapsed().as_secs_f64());
        }
        print_progress(&format!("row 10, round {} of {rounds}", round + 1));
    }
    Ok(all)
}

fn keys(config: &BenchConfig, terminals: &mut [(&str, ObservedTerminal)]) -> BenchResult<Vec<LabSamples>> {
    let (rounds, keys) = (config.pick(7, 1), config.pick(KEYS.len(), 3));
    let mut all = samples(7, terminals.iter().map(|(name, _)| *name));
    for round in 0..rounds {
        for ((_, terminal), samples) in terminals.iter_mut().zip(&mut all) {
            let mut shown = format!("line {round}:");
            terminal.type_until(&shown, &shown)?;
            for key in KEYS.chars().take(keys) {
                thread::sleep(KEY_DELAY);
                shown.push(key);
                let start = Instant::now();
                terminal.type_until(key.encode_utf8(&mut [0; 4]), &shown)?;
                samples.values.push(start.elapsed().as_secs_f64());
            }
            thread::sleep(KEY_DELAY);
            terminal.clear_composer()?;
        }
        print_progress(&format!("row 7, round {} of {rounds}", round + 1));
    }
    Ok(all)
}

fn idle(config: &BenchConfig, terminals: &mut [(&str, ObservedTerminal)]) -> BenchResult<Vec<LabSamples>> {
    let (rounds, length) = (config.pick(3, 1), config.pick(Duration::from_secs(10), Duration::from_millis(500)));
    for (_, terminal) in &mut *terminals {
        terminal.say_hello()?;
    }
    // Waits for the background work of the turn to finish, and for temporary messages to disappear.
    thread::sleep(config.pick(Duration::from_secs(12), Duration::from_millis(200)));
    let mut all = samples(8, terminals.iter().map(|(name, _)| *name));
    for round in 0..rounds {
        let before: Vec<f64> =
            terminals.iter().map(|(_, terminal)| terminal.cpu_seconds()).collect::<BenchResult<_>>()?;
        thread::sleep(length);
        for (((_, terminal), samples), before) in terminals.iter().zip(&mut all).zip(before) {
            samples.values.push((terminal.cpu_seconds()? - before).max(0.0));
        }
        print_progress(&format!("row 8, round {} of {rounds}", round + 1));
    }
    Ok(all)
}
