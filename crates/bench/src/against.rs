//! Compares two builds of wh (`--against OLD`). Each round measures both builds, in alternating order, so that load on
//! the machine affects both results.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::table::{ComparisonRow, MeasuredQuantiles, ResultUnit, quantile, ratio};
use crate::{BenchConfig, BenchResult, lab, print_progress, rows};

/// Number of rounds in a full run. Odd, so that the median is the value of one round.
const ROUNDS: usize = 5;

/// Measurement of one build in one round, for one line of the table.
struct BuildSample {
    number: u8,
    what: String,
    unit: ResultUnit,
    wh: MeasuredQuantiles,
}

/// Line of the table: a row measured with both builds. Each build has one median for each round.
struct BuildComparison {
    number: u8,
    what: String,
    unit: ResultUnit,
    new: Vec<f64>,
    old: Vec<f64>,
}

/// Measures the rows `wanted` with both builds. Returns a Markdown table.
pub fn run(new: &BenchConfig, old: PathBuf, wanted: &[u8]) -> BenchResult<String> {
    let old = BenchConfig { wh: old, quick: new.quick };
    let rounds = new.pick(ROUNDS, 1);
    let mut lines: Vec<BuildComparison> = Vec::new();
    for round in 0..rounds {
        print_progress(&format!("round {} of {rounds}", round + 1));
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

fn measure(config: &BenchConfig, row: u8) -> BenchResult<Vec<BuildSample>> {
    let mut samples = Vec::new();
    for (_, measurement) in rows::TMUX_ROWS.into_iter().filter(|(number, _)| *number == row) {
        let of = |row: crate::table::TmuxRow| BuildSample {
            number: row.number,
            what: row.what.to_owned(),
            unit: row.unit,
            wh: row.wh,
        };
        samples.extend(measurement(config)?.into_iter().map(of));
    }
    let others = rows::UI_ROWS.into_iter().chain(rows::DAEMON_ROWS);
    for (_, measurement) in others.filter(|(number, _)| *number == row) {
        let of = |row: ComparisonRow| BuildSample { number: row.number, what: row.what, unit: row.unit, wh: row.wh };
        samples.extend(measurement(config)?.into_iter().map(of));
    }
    if rows::LAB_ROWS.contains(&row) {
        let measured = lab::compare(config, &[row])?;
        if measured.is_empty() {
            return Err(format!("row {row} needs real agents; install them with crates/testkit/install-clis").into());
        }
        samples.extend(measured.into_iter().map(|row| of_the_lab(&row)));
    }
    // If wh is compared with several programs, each of these rows contains the same result of wh. Only one is used.
    samples.dedup_by(|one, other| one.what == other.what);
    Ok(samples)
}

/// Converts a row that was measured in the lab. Adds the name of the agent to the label if the row measures turns of an
/// agent.
fn of_the_lab(row: &ComparisonRow) -> BuildSample {
    let what = match &row.other {
        Some((agent, _)) if !rows::ROWS_WITHOUT_AGENTS.contains(&row.number) => format!("{}, {agent}", row.what),
        _ => row.what.clone(),
    };
    BuildSample { number: row.number, what, unit: row.unit, wh: row.wh }
}

fn add(
    lines: &mut Vec<BuildComparison>,
    samples: Vec<BuildSample>,
    side: impl Fn(&mut BuildComparison) -> &mut Vec<f64>,
) {
    for BuildSample { number, what, unit, wh } in samples {
        let known = lines.iter().position(|line| line.number == number && line.what == what);
        let place = known.unwrap_or_else(|| {
            lines.push(BuildComparison { number, what, unit, new: Vec::new(), old: Vec::new() });
            lines.len() - 1
        });
        side(&mut lines[place]).push(wh.median);
    }
}

fn table(lines: &[BuildComparison]) -> String {
    let mut table = String::from(
        "| row | | this build | other build | ratio, median of rounds | worst | best |\n|---|---|---|---|---|---|---|\n",
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
        let compared = |number, agent: &str| {
            let wh = MeasuredQuantiles::of(&mut [1.0]);
            let row = ComparisonRow {
                number,
                what: "it".into(),
                unit: ResultUnit::Seconds,
                wh,
                other: Some((agent.into(), wh)),
            };
            of_the_lab(&row).what
        };
        assert_eq!(
            [compared(12, "Codex"), compared(13, "Gemini CLI"), compared(7, "Codex")],
            ["it, Codex", "it, Gemini CLI", "it"]
        );
    }

    #[test]
    fn rounds_are_compared_one_by_one_and_above_one_is_better() {
        let line = |unit, new: &[f64], old: &[f64]| BuildComparison {
            number: 1,
            what: "something".to_owned(),
            unit,
            new: new.to_vec(),
            old: old.to_vec(),
        };
        let lines = [
            line(ResultUnit::Seconds, &[0.001, 0.002, 0.004], &[0.002, 0.002, 0.002]),
            line(ResultUnit::PerSecond, &[50.0], &[100.0]),
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
