//! Tables of sessions and runs, and the choice of a run if the user selected none.

use wh_api::ended::RegisteredRun;
use wh_wire::control::SessionSummary;

use super::resolve::ApiTarget;
use crate::commands::ago;
use crate::failure::{CliFailure, code};
use crate::print::clean_line;

/// Returns the failure for a command that finds no live run.
pub(super) fn no_run() -> CliFailure {
    CliFailure::new(code::UNREACHABLE, "no run with an HTTP API found")
        .hint("start one with: wh run --control-port 0 -- PROGRAM")
}

/// Returns the only live run. Fails if there is no live run, or more than one.
pub(super) fn only(runs: Vec<RegisteredRun>) -> Result<ApiTarget, CliFailure> {
    match runs.as_slice() {
        [run] => ApiTarget::at(&run.url, "the run's file"),
        [] => Err(no_run()),
        several => Err(CliFailure::new(
            code::UNREACHABLE,
            format!("{} runs have an HTTP API; choose one with --port", several.len()),
        )
        .hint(table(several).join("\n"))),
    }
}

/// Returns the failure for several matching runs or sessions, with a table of the matches.
pub(super) fn several(runs: &[RegisteredRun], sessions: &[&SessionSummary]) -> CliFailure {
    let mut lines = session_table(sessions);
    if !runs.is_empty() {
        lines.extend(table(runs));
    }
    let count = runs.len() + sessions.len();
    let choose = if runs.is_empty() { "--session" } else { "--session or --port" };
    CliFailure::new(code::UNREACHABLE, format!("{count} runs and sessions found; choose one with {choose}"))
        .hint(lines.join("\n"))
}

/// Formats sessions as a table with a heading.
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

/// Formats runs as a table with a heading.
pub fn table(runs: &[RegisteredRun]) -> Vec<String> {
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
