//! Rows 7, 8 and 10: wh's UI beside those of real agents. Each is in a terminal of its own, and wh holds all of them and
//! looks at them in the same way.

use std::thread;
use std::time::{Duration, Instant};

use crate::tuis::{Place, Terminal, Tui};
use crate::{Outcome, Setting, say};

/// Keys in one turn.
const KEYS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Between a key that shows and the next: who types faster is taken to paste by some of them.
const TYPING: Duration = Duration::from_millis(50);

/// What was measured of one of them.
#[derive(Debug, PartialEq)]
pub struct Samples {
    pub row: u8,
    pub name: String,
    pub values: Vec<f64>,
}

/// Measures these rows.
pub fn measure(setting: &Setting, place: &Place, tuis: &[Tui], rows: &[u8]) -> Outcome<Vec<Samples>> {
    let mut all = Vec::new();
    if rows.contains(&10) {
        all.extend(starts(setting, place, tuis)?);
    }
    if rows.contains(&7) || rows.contains(&8) {
        let mut terminals = Vec::new();
        for tui in tuis {
            let mut terminal = tui.prepare(setting, place)?;
            terminal.begin()?;
            terminals.push((tui.name, terminal));
        }
        if rows.contains(&7) {
            all.extend(keys(setting, &mut terminals)?);
        }
        if rows.contains(&8) {
            all.extend(idle(setting, &mut terminals)?);
        }
    }
    Ok(all)
}

/// Somewhere to put what is measured of each.
fn samples<'a>(row: u8, names: impl Iterator<Item = &'a str>) -> Vec<Samples> {
    names.map(|name| Samples { row, name: name.to_owned(), values: Vec::new() }).collect()
}

fn starts(setting: &Setting, place: &Place, tuis: &[Tui]) -> Outcome<Vec<Samples>> {
    let rounds = setting.pick(7, 1);
    let least = Tui::least();
    let tuis: Vec<&Tui> = tuis.iter().chain([&least]).collect();
    let mut all = samples(10, tuis.iter().map(|tui| tui.name));
    for round in 0..rounds {
        for (tui, samples) in tuis.iter().zip(&mut all) {
            let mut terminal = tui.prepare(setting, place)?;
            let start = Instant::now();
            terminal.begin()?;
            samples.values.push(start.elapsed().as_secs_f64());
        }
        say(&format!("row 10, round {} of {rounds}", round + 1));
    }
    Ok(all)
}

fn keys(setting: &Setting, terminals: &mut [(&str, Terminal)]) -> Outcome<Vec<Samples>> {
    let (rounds, keys) = (setting.pick(7, 1), setting.pick(KEYS.len(), 3));
    let mut all = samples(7, terminals.iter().map(|(name, _)| *name));
    for round in 0..rounds {
        for ((_, terminal), samples) in terminals.iter_mut().zip(&mut all) {
            let mut shown = format!("line {round}:");
            terminal.type_until(&shown, &shown)?;
            for key in KEYS.chars().take(keys) {
                thread::sleep(TYPING);
                shown.push(key);
                let start = Instant::now();
                terminal.type_until(key.encode_utf8(&mut [0; 4]), &shown)?;
                samples.values.push(start.elapsed().as_secs_f64());
            }
            thread::sleep(TYPING);
            terminal.empty()?;
        }
        say(&format!("row 7, round {} of {rounds}", round + 1));
    }
    Ok(all)
}

fn idle(setting: &Setting, terminals: &mut [(&str, Terminal)]) -> Outcome<Vec<Samples>> {
    let (rounds, length) = (setting.pick(3, 1), setting.pick(Duration::from_secs(10), Duration::from_millis(500)));
    for (_, terminal) in &mut *terminals {
        terminal.say_hello()?;
    }
    // What the turn left to do is done, and what was said of it for a while is gone.
    thread::sleep(setting.pick(Duration::from_secs(12), Duration::from_millis(200)));
    let mut all = samples(8, terminals.iter().map(|(name, _)| *name));
    for round in 0..rounds {
        let before: Vec<f64> = terminals.iter().map(|(_, terminal)| terminal.cpu_seconds()).collect::<Outcome<_>>()?;
        thread::sleep(length);
        for (((_, terminal), samples), before) in terminals.iter().zip(&mut all).zip(before) {
            samples.values.push((terminal.cpu_seconds()? - before).max(0.0));
        }
        say(&format!("row 8, round {} of {rounds}", round + 1));
    }
    Ok(all)
}
