//! Implements `wh ls`, which lists sessions and runs.

use std::process::ExitCode;

use clap::Args;

use super::restorable;
use crate::daemon::DaemonPaths;
use crate::failure::{API_CODES, CliFailure, code, print_to_stderr, with_exit_codes};
use crate::print::{clean_line, json_line, print};
use crate::runtime;
use crate::target::{ResponseTimeout, TargetArguments, session_table, table};

/// List sessions of the daemon, and runs with an HTTP API
///
/// Sessions are created by `wh new`. Runs are your `wh --control-port` and `wh run --control-port` processes on this
/// machine. wh finds runs by their files in the runtime directory.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh ls\n  wh ls --all\n  wh ls --json | jq -r '.url // .session_id'", API_CODES))]
pub struct LsCommand {
    /// Include sessions that have ended
    #[arg(short, long)]
    all: bool,

    #[command(flatten)]
    answer: ResponseTimeout,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl LsCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let failed = |error: &dyn std::fmt::Display| CliFailure::new(code::FAILED, error);
        let runs = runtime::live().map_err(|error| failed(&error))?;
        let paths = DaemonPaths::here()?;
        let (mut sessions, returning, restorable_lines) = match paths.running_daemon() {
            Some(_) => {
                let listed = TargetArguments::for_daemon(self.answer.timeout).listed()?;
                (listed.sessions, listed.returning, Vec::new())
            }
            None => (Vec::new(), Vec::new(), restorable::lines(&paths, self.all)),
        };
        if !restorable_lines.is_empty() {
            print_to_stderr("wh: the daemon is not running");
            restorable_lines.iter().for_each(|line| print_to_stderr(&format!("    {line}")));
        }
        if !returning.is_empty() {
            print_to_stderr(&format!("wh: sessions being restored: {}", clean_line(&returning.join(", "))));
        }
        sessions.retain(|one| self.all || one.status.live);
        if runs.is_empty() && sessions.is_empty() && !(returning.is_empty() && restorable_lines.is_empty()) {
            // Nothing to list: the messages above describe the sessions.
        } else if runs.is_empty() && sessions.is_empty() {
            print_to_stderr("wh: no sessions and no runs; start one with: wh new --agent demo");
        } else if self.json {
            let sessions = sessions.iter().map(serde_json::to_string);
            let lines: Result<String, _> = runs
                .iter()
                .map(serde_json::to_string)
                .chain(sessions)
                .map(|json| json.map(|json| json_line(&json)))
                .collect();
            print(&lines.map_err(|error| failed(&error))?)?;
        } else {
            let mut lines = Vec::new();
            if !sessions.is_empty() {
                lines.extend(session_table(&sessions.iter().collect::<Vec<_>>()));
            }
            if !runs.is_empty() {
                lines.extend((!lines.is_empty()).then(String::new));
                lines.extend(table(&runs));
            }
            print(&(lines.join("\n") + "\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
