//! Two builds of wh beside each other: `--against OLD`. Both are measured in every round, and take turns in going first, so that a
//! busy moment of the machine does not count against one of them.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::table::{Comparison, Measured, Unit, quantile, ratio};
use crate::{Outcome, Setting, lab, rows, say};

/// Rounds of a run that counts. Odd, so that one of them is the middle.
const ROUNDS: usize = 5;

/// One figure of one build in one round.
struct Sample {
    number: u8,
    what: String,
    unit: Unit,
    wh: Measured,
}

/// All rounds of one line.
struct Line {
    number: u8,
    what: String,
    unit: Unit,
    new: Vec<f64>,
    old: Vec<f64>,
}

/// Measures these rows with both builds; the table.
pub fn run(new: &Setting, old: PathBuf, wanted: &[u8]) -> Outcome<String> {
    let old = Setting { wh: old, quick: new.quick };
    let rounds = new.pick(ROUNDS, 1);
    let mut lines: Vec<Line> = Vec::new();
    for round in 0..rounds {
        say(&format!("round {} of {rounds}", round + 1));
        for &row in wanted {
            let (ours, theirs) = if round % 2 == 0 {
                let ours = measure(new, row)?;
                (ours, measure(&old, row)?)
            } else {
                let theirs = measure(&old, row)?;
                (measure(new, row)?, theirs)
            };
            add(&mut lines, ours, |line| &mut line.new);
            add(&mut lines, theirs, |line| &mut line.old);
        }
    }
    lines.sort_by_key(|line| line.number);
    Ok(table(&lines))
}

fn measure(setting: &Setting, row: u8) -> Outcome<Vec<Sample>> {
    let mut samples = Vec::new();
    for (_, measurement) in rows::ALL.into_iter().filter(|(number, _)| *number == row) {
        let of = |row: crate::table::Row| Sample {
            number: row.number,
            what: row.what.to_owned(),
            unit: row.unit,
            wh: row.wh,
        };
        samples.extend(measurement(setting)?.into_iter().map(of));
    }
    let others = rows::OF_THE_UI.into_iter().chain(rows::OF_THE_STORE);
    for (_, measurement) in others.filter(|(number, _)| *number == row) {
        let of = |row: Comparison| Sample { number: row.number, what: row.what, unit: row.unit, wh: row.wh };
        samples.extend(measurement(setting)?.into_iter().map(of));
    }
    if rows::IN_THE_LAB.contains(&row) {
        let measured = lab::compare(setting, &[row])?;
        if measured.is_empty() {
            return Err(format!("row {row} measures wh with real agents, which are not there").into());
        }
        samples.extend(measured.into_iter().map(|row| of_the_lab(&row)));
    }
    // One figure of wh may stand beside several others.
    samples.dedup_by(|one, other| one.what == other.what);
    Ok(samples)
}

/// A figure of the lab. In rows about conversations each agent has a line of its own.
fn of_the_lab(row: &Comparison) -> Sample {
    let what = match &row.beside {
        Some((agent, _)) if !rows::ALONE.contains(&row.number) => format!("{}, {agent}", row.what),
        _ => row.what.clone(),
    };
    Sample { number: row.number, what, unit: row.unit, wh: row.wh }
}

fn add(lines: &mut Vec<Line>, samples: Vec<Sample>, side: impl Fn(&mut Line) -> &mut Vec<f64>) {
    for Sample { number, what, unit, wh } in samples {
        let known = lines.iter().position(|line| line.number == number && line.what == what);
        let place = known.unwrap_or_else(|| {
            lines.push(Line { number, what, unit, new: Vec::new(), old: Vec::new() });
            lines.len() - 1
        });
        side(&mut lines[place]).push(wh.median);
    }
}

fn table(lines: &[Line]) -> String {
    let mut table = String::from(
        "| row | | this build | the other | times, median of rounds | worst | best |\n|---|---|---|---|---|---|---|\n",
    );
    for line in lines {
        let middle = |values: &[f64]| line.unit.cell(quantile(&mut values.to_vec(), 0.5));
        let of_round = |(new, old): (&f64, &f64)| line.unit.times(*new, *old);
        let mut times: Vec<f64> = line.new.iter().zip(&line.old).map(of_round).collect();
        let [median, worst, best] = [0.5, 0.0, 1.0].map(|share| ratio(quantile(&mut times, share)));
        let (new, old) = (middle(&line.new), middle(&line.old));
        let _ = writeln!(table, "| {} | {} | {new} | {old} | {median} | {worst} | {best} |", line.number, line.what);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_of_the_lab_has_a_line_and_a_ui_of_wh_has_one() {
        let beside = |number, agent: &str| {
            let wh = Measured::of(&mut [1.0]);
            let row =
                Comparison { number, what: "it".into(), unit: Unit::Seconds, wh, beside: Some((agent.into(), wh)) };
            of_the_lab(&row).what
        };
        assert_eq!(
            [beside(12, "Codex"), beside(13, "Gemini CLI"), beside(7, "Codex")],
            ["it, Codex", "it, Gemini CLI", "it"]
        );
    }

    #[test]
    fn rounds_are_compared_one_by_one_and_above_one_is_better() {
        let line = |unit, new: &[f64], old: &[f64]| Line {
            number: 1,
            what: "something".to_owned(),
            unit,
            new: new.to_vec(),
            old: old.to_vec(),
        };
        let lines = [
            line(Unit::Seconds, &[0.001, 0.002, 0.004], &[0.002, 0.002, 0.002]),
            line(Unit::PerSecond, &[50.0], &[100.0]),
        ];
        let table = table(&lines);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 1 | something | 2.0 ms | 2.0 ms | 1.00 | 0.50 | 2.00 |",
                "| 1 | something | 50/s | 100/s | 0.50 | 0.50 | 0.50 |",
            ]
        );
    }
}
