//! Sessions and runs as tables, and the choice of the one that is meant where none was named.

use wh_api::ended::RunFile;
use wh_wire::control::SessionSummary;

use super::target::Target;
use crate::commands::ago;
use crate::failure::{Failure, code};
use crate::print::clean_line;

/// The failure to find any run.
pub(super) fn no_run() -> Failure {
    Failure::new(code::UNREACHABLE, "no run has a control plane now")
        .hint("start one with: wh run --control-port 0 -- PROGRAM")
}

/// The one run that lives.
pub(super) fn only(runs: Vec<RunFile>) -> Result<Target, Failure> {
    match runs.as_slice() {
        [run] => Target::at(&run.url, "the run's file"),
        [] => Err(no_run()),
        several => Err(Failure::new(
            code::UNREACHABLE,
            format!("{} runs have a control plane; choose one with --port", several.len()),
        )
        .hint(table(several).join("\n"))),
    }
}

/// The failure to choose among several.
pub(super) fn several(runs: &[RunFile], sessions: &[&SessionSummary]) -> Failure {
    let mut lines = session_table(sessions);
    if !runs.is_empty() {
        lines.extend(table(runs));
    }
    let count = runs.len() + sessions.len();
    let choose = if runs.is_empty() { "--session" } else { "--session or --port" };
    Failure::new(code::UNREACHABLE, format!("{count} could be meant; choose one with {choose}")).hint(lines.join("\n"))
}

/// Sessions as a person reads them: a heading, and a line for each.
pub fn session_table(sessions: &[&SessionSummary]) -> Vec<String> {
    let rows: Vec<[String; 6]> = sessions
        .iter()
        .map(|one| {
            let what = one.command.as_ref().map_or_else(|| one.agent.clone(), |command| command.join(" "));
            let mut state = one.status.state.clone();
            if let (false, Some(reason)) = (one.status.live, &one.status.reason) {
                state = format!("{state}: {reason}");
            }
            let since = ago(&one.status.since);
            [one.name.clone(), one.session_id.clone(), state, since, one.cwd.clone(), what]
                .map(|cell| clean_line(&cell))
        })
        .collect();
    let heading = ["NAME", "ID", "STATE", "SINCE", "DIRECTORY", "WHAT"].map(str::to_owned);
    let width = |column: usize| rows.iter().chain([&heading]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |row: &[String; 6]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    std::iter::once(line(&heading)).chain(rows.iter().map(line)).collect()
}

/// Runs as a person reads them: a heading, and a line for each.
pub fn table(runs: &[RunFile]) -> Vec<String> {
    let urls: Vec<String> = runs.iter().map(|run| clean_line(&run.url)).collect();
    let width = urls.iter().map(String::len).max().unwrap_or(0).max(3);
    let mut lines = vec![format!("{:<8} {:<width$} {:<20} COMMAND", "PID", "URL", "STARTED")];
    lines.extend(runs.iter().zip(urls).map(|(run, url)| {
        let started = match run.started_at.split_once('.') {
            Some((seconds, _)) => format!("{seconds}Z"),
            None => run.started_at.clone(),
        };
        let (started, command) = (clean_line(&started), clean_line(&run.command.join(" ")));
        format!("{:<8} {url:<width$} {started:<20} {command}", run.pid)
    }));
    lines
}
