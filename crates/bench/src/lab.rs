//! Measures the rows that need real agents. Starts `wh-bench` again inside the lab: a network namespace in which agents
//! can reach only the scripted model. The second process prints one line of samples for each program and row; without a
//! lab, only wh is measured.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wh_testkit::Lab;

use crate::rows::ROWS_WITHOUT_AGENTS;
use crate::rows::turns::{self, THROUGH_WH_PREFIX};
use crate::rows::ui::{self, LabSamples};
use crate::table::{ComparisonRow, MeasuredQuantiles, ResultUnit};
use crate::tuis::{Tui, TuiEnvironment, WH};
use crate::{BenchConfig, BenchResult, io, print_progress};

/// Timeout for all measurements in the lab.
const LAB_TIMEOUT: Duration = Duration::from_secs(900);

/// Measures these rows in a process inside the lab. If the lab is not available, measures only wh, and only the rows in
/// [`ROWS_WITHOUT_AGENTS`].
pub fn compare(config: &BenchConfig, rows: &[u8]) -> BenchResult<Vec<ComparisonRow>> {
    let samples = match run_in_lab(config, rows) {
        Ok(samples) => samples,
        Err(reason) => {
            let left_out: Vec<String> = rows.iter().map(u8::to_string).collect();
            print_progress(&format!(
                "wh-bench: SKIPPED: real agents in rows {}: {reason}. Only wh is measured; \
                 install the agents with crates/testkit/install-clis.",
                left_out.join(", ")
            ));
            let directory = tempfile::tempdir()?;
            let environment = TuiEnvironment { environment: None, directory: directory.path().to_owned() };
            let rows: Vec<u8> = rows.iter().copied().filter(|row| ROWS_WITHOUT_AGENTS.contains(row)).collect();
            ui::measure(config, &environment, &[Tui::wh(config)], &rows)?
        }
    };
    Ok(comparison_rows(samples))
}

fn run_in_lab(config: &BenchConfig, rows: &[u8]) -> Result<Vec<LabSamples>, String> {
    let wh = config.wh.canonicalize().map_err(|error| error.to_string())?;
    let mut arguments = vec!["--in-lab".to_owned(), "--wh".to_owned(), wh.to_string_lossy().into_owned()];
    arguments.extend(rows.iter().map(|row| format!("--row={row}")));
    arguments.extend(config.quick.then(|| "--quick".to_owned()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let received = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&received);
    Lab::reenter(&arguments, LAB_TIMEOUT, move |line| {
        if let (Some(samples), Ok(mut received)) = (parse_samples(line), sink.lock()) {
            received.push(samples);
        }
    })?;
    let mut received =
        received.lock().map_err(|_| "the thread that reads the output of the lab panicked".to_owned())?;
    Ok(std::mem::take(&mut received))
}

/// Measures these rows and prints the samples. Runs inside the lab.
pub fn inside(config: &BenchConfig, rows: &[u8]) -> BenchResult<()> {
    let lab = Lab::here().ok_or("--in-lab is for internal use; start wh-bench without --in-lab")?;
    let tuis: Vec<Tui> = std::iter::once(Tui::wh(config)).chain(Tui::agents()).collect();
    let mut all = ui::measure(config, &TuiEnvironment::lab(&lab), &tuis, rows)?;
    if rows.iter().any(|row| !ROWS_WITHOUT_AGENTS.contains(row)) {
        all.extend(turns::measure(config, &lab, rows)?);
    }
    for samples in all {
        io::Write::write_all(&mut io::stdout(), format!("{}\n", format_samples(&samples)).as_bytes())?;
    }
    Ok(())
}

fn format_samples(samples: &LabSamples) -> String {
    let values: Vec<String> = samples.values.iter().map(f64::to_string).collect();
    format!("{}\t{}\t{}", samples.row, samples.name, values.join(" "))
}

fn parse_samples(line: &str) -> Option<LabSamples> {
    let mut parts = line.split('\t');
    let (row, name, values) = (parts.next()?.parse().ok()?, parts.next()?.to_owned(), parts.next()?);
    Some(LabSamples { row, name, values: values.split(' ').map(str::parse).collect::<Result<_, _>>().ok()? })
}

/// Creates a row for each program that wh is compared with. If there is no other program, creates a row for wh alone.
fn comparison_rows(samples: Vec<LabSamples>) -> Vec<ComparisonRow> {
    let (ours, others): (Vec<LabSamples>, Vec<LabSamples>) =
        samples.into_iter().partition(|samples| samples.name == WH || samples.name.starts_with(THROUGH_WH_PREFIX));
    let mut rows = Vec::new();
    for mut ours in ours {
        let wh = MeasuredQuantiles::of(&mut ours.values);
        let row = |other| ComparisonRow {
            number: ours.row,
            what: row_label(ours.row).to_owned(),
            unit: ResultUnit::Seconds,
            wh,
            other,
        };
        let agent = ours.name.strip_prefix(THROUGH_WH_PREFIX).map(str::to_owned);
        let same = |other: &&LabSamples| agent.as_ref().is_none_or(|agent| other.name == *agent);
        let of_row = others.iter().filter(|other| other.row == ours.row).filter(same);
        let compared = of_row.map(|other| (other.name.clone(), MeasuredQuantiles::of(&mut other.values.clone())));
        let before = rows.len();
        rows.extend(compared.map(|other| row(Some(other))));
        if rows.len() == before {
            rows.push(row(None));
        }
    }
    rows
}

fn row_label(row: u8) -> &'static str {
    match row {
        7 => "key press to frame",
        8 => "CPU time in ten idle seconds",
        12 => "prompt to first event",
        13 => "time per event in a turn of 512 events",
        _ => "start to first frame",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_survive_formatting_and_parsing() {
        let samples = LabSamples { row: 7, name: "Gemini CLI".to_owned(), values: vec![0.1, 1.0 / 3.0, 2e-9] };
        assert_eq!(parse_samples(&format_samples(&samples)), Some(samples));
        assert_eq!(parse_samples("a line that something else printed"), None);
    }

    #[test]
    fn wh_is_compared_with_each_of_the_others_or_alone() {
        let of = |row, name: &str, value| LabSamples { row, name: name.to_owned(), values: vec![value] };
        let rows =
            comparison_rows(vec![of(7, WH, 1.0), of(7, "Codex", 2.0), of(7, "Gemini CLI", 3.0), of(10, WH, 4.0)]);
        let seen: Vec<(u8, Option<&str>)> =
            rows.iter().map(|row| (row.number, row.other.as_ref().map(|(name, _)| name.as_str()))).collect();
        assert_eq!(seen, [(7, Some("Codex")), (7, Some("Gemini CLI")), (10, None)]);
    }
}
