//! Formats results as Markdown tables: comparisons with tmux and system limits, and comparisons with another program.

use std::fmt::Write as _;

/// Row of the first table: wh compared with tmux and with a system limit.
pub struct TmuxRow {
    pub number: u8,
    pub what: &'static str,
    pub unit: ResultUnit,
    pub wh: MeasuredQuantiles,
    pub tmux: MeasuredQuantiles,
    /// Name and value of the system limit.
    pub limit: (&'static str, MeasuredQuantiles),
}

/// Row of the other tables: the terminal UI or the daemon, compared with another program.
pub struct ComparisonRow {
    pub number: u8,
    pub what: String,
    pub unit: ResultUnit,
    pub wh: MeasuredQuantiles,
    /// Name and result of the other program; `None` if it is not available.
    pub other: Option<(String, MeasuredQuantiles)>,
}

/// Median and 99th percentile of several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredQuantiles {
    pub median: f64,
    /// 99th percentile in the unit of the median. For [`ResultUnit::PerSecond`], the 99th percentile of the time of one
    /// operation in seconds.
    pub p99: f64,
}

/// Unit of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultUnit {
    /// Time; less is better.
    Seconds,
    /// Rate; more is better.
    PerSecond,
    /// Memory; less is better.
    Bytes,
}

impl MeasuredQuantiles {
    /// Computes median and 99th percentile of the samples. Both are NaN if there are no samples.
    pub fn of(samples: &mut [f64]) -> Self {
        Self { median: quantile(samples, 0.5), p99: quantile(samples, 0.99) }
    }
}

/// Returns the quantile `share` (0 to 1) of the samples. Sorts the samples.
pub fn quantile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    samples.get((last as f64 * share).ceil() as usize).copied().unwrap_or(f64::NAN)
}

/// Formats rows as a table.
pub fn markdown(rows: &[TmuxRow]) -> String {
    let mut table = String::from(
        "| row | | wh | p99 | tmux -C | p99 | limit | | p99 | ratio to tmux | ratio to limit |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let (name, limit) = row.limit;
        let [wh, tmux, most] = [row.wh, row.tmux, limit].map(|measured| row.unit.cells(measured));
        let ahead = row.unit.better(row.wh, row.tmux);
        let share = row.unit.better(row.wh, limit);
        let _ = writeln!(
            table,
            "| {} | {} | {wh} | {tmux} | {name} | {most} | {} | {} |",
            row.number,
            row.what,
            ratio(ahead),
            ratio(share)
        );
    }
    table
}

/// Formats comparisons as a table.
pub fn comparisons(rows: &[ComparisonRow]) -> String {
    let mut table = String::from(
        "| row | | wh | p99 | compared with | | p99 | ratio |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let wh = row.unit.cells(row.wh);
        let other = match &row.other {
            Some((name, other)) => {
                format!("{name} | {} | {}", row.unit.cells(*other), ratio(row.unit.better(row.wh, *other)))
            }
            None => "not available | – | – | –".to_owned(),
        };
        let _ = writeln!(table, "| {} | {} | {wh} | {other} |", row.number, row.what);
    }
    table
}

pub fn ratio(value: f64) -> String {
    match value {
        value if value.is_nan() => "–".to_owned(),
        value if value.is_infinite() => "∞".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

impl ResultUnit {
    /// Returns the ratio of two results. Above 1, the first result is better.
    fn better(self, one: MeasuredQuantiles, other: MeasuredQuantiles) -> f64 {
        self.times(one.median, other.median)
    }

    /// Returns the ratio of two values. Above 1, the first value is better.
    pub fn times(self, one: f64, other: f64) -> f64 {
        match self {
            Self::PerSecond => one / other,
            Self::Seconds | Self::Bytes => other / one,
        }
    }

    /// Formats a value with its unit.
    pub fn cell(self, value: f64) -> String {
        match self {
            Self::Seconds => seconds(value),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Bytes => mebibytes(value),
        }
    }

    fn cells(self, MeasuredQuantiles { median, p99 }: MeasuredQuantiles) -> String {
        let worst = match self {
            Self::PerSecond => seconds(p99),
            Self::Seconds | Self::Bytes => self.cell(p99),
        };
        format!("{} | {worst}", self.cell(median))
    }
}

fn seconds(value: f64) -> String {
    match value {
        value if value >= 1.0 => format!("{value:.2} s"),
        value if value >= 0.001 => format!("{:.1} ms", value * 1e3),
        value => format!("{:.0} µs", value * 1e6),
    }
}

/// Formats bytes in MiB, or in KiB below 1 MiB.
fn mebibytes(value: f64) -> String {
    let (kibi, mebi) = (f64::from(1 << 10), f64::from(1 << 20));
    if value < mebi { format!("{:.0} KiB", value / kibi) } else { format!("{:.1} MiB", value / mebi) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_99th_percentile_of_many_rounds() {
        let mut samples: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        assert_eq!(MeasuredQuantiles::of(&mut samples), MeasuredQuantiles { median: 51.0, p99: 100.0 });
        assert_eq!(MeasuredQuantiles::of(&mut [3.0]), MeasuredQuantiles { median: 3.0, p99: 3.0 });
    }

    #[test]
    fn a_comparison_may_lack_the_other_program_or_divide_by_zero() {
        let measured = |median| MeasuredQuantiles { median, p99: median };
        let row = |wh, beside: Option<f64>| ComparisonRow {
            number: 8,
            what: "something".to_owned(),
            unit: ResultUnit::Seconds,
            wh: measured(wh),
            other: beside.map(|other| ("another".to_owned(), measured(other))),
        };
        let table = comparisons(&[row(0.002, None), row(0.002, Some(0.5)), row(0.0, Some(0.5)), row(0.0, Some(0.0))]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| 8 | something | 2.0 ms | 2.0 ms | not available | – | – | – |",
                "| 8 | something | 2.0 ms | 2.0 ms | another | 500.0 ms | 500.0 ms | 250 |",
                "| 8 | something | 0 µs | 0 µs | another | 500.0 ms | 500.0 ms | ∞ |",
                "| 8 | something | 0 µs | 0 µs | another | 0 µs | 0 µs | – |",
            ]
        );
    }

    #[test]
    fn ahead_is_above_one_whether_more_or_less_is_better() {
        let measured = |median| MeasuredQuantiles { median, p99: median };
        let row = |unit, wh, tmux| TmuxRow {
            number: 1,
            what: "something",
            unit,
            wh: measured(wh),
            tmux: measured(tmux),
            limit: ("the best", measured(wh)),
        };
        let table = markdown(&[row(ResultUnit::Seconds, 0.0005, 0.001), row(ResultUnit::PerSecond, 500.0, 1000.0)]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| 1 | something | 500 µs | 500 µs | 1.0 ms | 1.0 ms | the best | 500 µs | 500 µs | 2.00 | 1.00 |",
                "| 1 | something | 500/s | 500.00 s | 1000/s | 1000.00 s | the best | 500/s | 500.00 s | 0.50 | 1.00 |",
            ]
        );
    }
}
