//! The way to the UIs of the real agents: this program starts once more where they can reach nothing but the scripted
//! model, measures there, and prints its samples, a line for each UI and row. Where that cannot be, wh is measured alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wh_testkit::Lab;

use crate::rows::ALONE;
use crate::rows::turns::{self, THROUGH};
use crate::rows::ui::{self, Samples};
use crate::table::{Comparison, Measured, Unit};
use crate::tuis::{Place, Tui, WH};
use crate::{Outcome, Setting, io, say};

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(900);

/// Measures these rows outside, with the help of a process inside.
pub fn compare(setting: &Setting, rows: &[u8]) -> Outcome<Vec<Comparison>> {
    let samples = match sent_in(setting, rows) {
        Ok(samples) => samples,
        Err(reason) => {
            let left_out: Vec<String> = rows.iter().map(u8::to_string).collect();
            say(&format!(
                "wh-bench: LEFT OUT: real agents in rows {}, because {reason}; crates/testkit/install-clis \
                 installs them. wh is measured alone.",
                left_out.join(", ")
            ));
            let directory = tempfile::tempdir()?;
            let place = Place { environment: None, directory: directory.path().to_owned() };
            let rows: Vec<u8> = rows.iter().copied().filter(|row| ALONE.contains(row)).collect();
            ui::measure(setting, &place, &[Tui::wh(setting)], &rows)?
        }
    };
    Ok(compared(samples))
}

fn sent_in(setting: &Setting, rows: &[u8]) -> Result<Vec<Samples>, String> {
    let wh = setting.wh.canonicalize().map_err(|error| error.to_string())?;
    let mut arguments = vec!["--in-lab".to_owned(), "--wh".to_owned(), wh.to_string_lossy().into_owned()];
    arguments.extend(rows.iter().map(|row| format!("--row={row}")));
    arguments.extend(setting.quick.then(|| "--quick".to_owned()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    Lab::reenter(&arguments, LIMIT, move |line| {
        if let (Some(samples), Ok(mut heard)) = (read(line), hearing.lock()) {
            heard.push(samples);
        }
    })?;
    let mut heard = heard.lock().map_err(|_| "a reader panicked".to_owned())?;
    Ok(std::mem::take(&mut heard))
}

/// Measures these rows inside.
pub fn inside(setting: &Setting, rows: &[u8]) -> Outcome<()> {
    let lab = Lab::here().ok_or("--in-lab is for wh-bench itself")?;
    let tuis: Vec<Tui> = std::iter::once(Tui::wh(setting)).chain(Tui::agents()).collect();
    let mut all = ui::measure(setting, &Place::lab(&lab), &tuis, rows)?;
    if rows.iter().any(|row| !ALONE.contains(row)) {
        all.extend(turns::measure(setting, &lab, rows)?);
    }
    for samples in all {
        io::Write::write_all(&mut io::stdout(), format!("{}\n", written(&samples)).as_bytes())?;
    }
    Ok(())
}

fn written(samples: &Samples) -> String {
    let values: Vec<String> = samples.values.iter().map(f64::to_string).collect();
    format!("{}\t{}\t{}", samples.row, samples.name, values.join(" "))
}

fn read(line: &str) -> Option<Samples> {
    let mut parts = line.split('\t');
    let (row, name, values) = (parts.next()?.parse().ok()?, parts.next()?.to_owned(), parts.next()?);
    Some(Samples { row, name, values: values.split(' ').map(str::parse).collect::<Result<_, _>>().ok()? })
}

/// wh beside each of the others, row by row.
fn compared(samples: Vec<Samples>) -> Vec<Comparison> {
    let (ours, others): (Vec<Samples>, Vec<Samples>) =
        samples.into_iter().partition(|samples| samples.name == WH || samples.name.starts_with(THROUGH));
    let mut rows = Vec::new();
    for mut ours in ours {
        let wh = Measured::of(&mut ours.values);
        let row =
            |beside| Comparison { number: ours.row, what: what(ours.row).to_owned(), unit: Unit::Seconds, wh, beside };
        let agent = ours.name.strip_prefix(THROUGH).map(str::to_owned);
        let same = |other: &&Samples| agent.as_ref().is_none_or(|agent| other.name == *agent);
        let of_row = others.iter().filter(|other| other.row == ours.row).filter(same);
        let beside = of_row.map(|other| (other.name.clone(), Measured::of(&mut other.values.clone())));
        let before = rows.len();
        rows.extend(beside.map(|beside| row(Some(beside))));
        if rows.len() == before {
            rows.push(row(None));
        }
    }
    rows
}

fn what(row: u8) -> &'static str {
    match row {
        7 => "key to frame",
        8 => "CPU time in ten idle seconds",
        12 => "prompt to first event",
        13 => "a turn of 512 events, for each",
        _ => "start to first frame",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_survive_the_way_out_of_the_lab() {
        let samples = Samples { row: 7, name: "Gemini CLI".to_owned(), values: vec![0.1, 1.0 / 3.0, 2e-9] };
        assert_eq!(read(&written(&samples)), Some(samples));
        assert_eq!(read("a line that something else printed"), None);
    }

    #[test]
    fn wh_stands_beside_each_of_the_others_or_alone() {
        let of = |row, name: &str, value| Samples { row, name: name.to_owned(), values: vec![value] };
        let rows = compared(vec![of(7, WH, 1.0), of(7, "Codex", 2.0), of(7, "Gemini CLI", 3.0), of(10, WH, 4.0)]);
        let seen: Vec<(u8, Option<&str>)> =
            rows.iter().map(|row| (row.number, row.beside.as_ref().map(|(name, _)| name.as_str()))).collect();
        assert_eq!(seen, [(7, Some("Codex")), (7, Some("Gemini CLI")), (10, None)]);
    }
}
