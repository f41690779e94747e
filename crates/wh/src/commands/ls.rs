//! `wh ls`.

use std::process::ExitCode;

use clap::Args;

use super::outlook;
use crate::daemon::Place;
use crate::door::{AnswerTimeout, DoorArguments, session_table, table};
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::print::{clean_line, json_line, print};
use crate::runtime;

/// List the daemon's sessions, and the runs that have a control plane now
///
/// Sessions are what `wh new` made. Runs are every `wh --control-port` and `wh run --control-port` of yours on this machine, by the
/// files that they keep in the runtime directory.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh ls\n  wh ls --all\n  wh ls --json | jq -r '.url // .session_id'"))]
pub struct Ls {
    /// Sessions that have ended, too
    #[arg(short, long)]
    all: bool,

    #[command(flatten)]
    answer: AnswerTimeout,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(code::FAILED, error);
        let runs = runtime::live().map_err(|error| failed(&error))?;
        let place = Place::here()?;
        let (mut sessions, returning, outlook) = match place.living() {
            Some(_) => {
                let listed = DoorArguments::for_daemon(self.answer.timeout).listed()?;
                (listed.sessions, listed.returning, Vec::new())
            }
            None => (Vec::new(), Vec::new(), outlook::lines(&place, self.all)),
        };
        if !outlook.is_empty() {
            say("wh: no daemon runs here");
            outlook.iter().for_each(|line| say(&format!("    {line}")));
        }
        if !returning.is_empty() {
            say(&format!("wh: coming back since the daemon was restarted: {}", clean_line(&returning.join(", "))));
        }
        sessions.retain(|one| self.all || one.status.live);
        if runs.is_empty() && sessions.is_empty() && !(returning.is_empty() && outlook.is_empty()) {
            // What there is to say was said.
        } else if runs.is_empty() && sessions.is_empty() {
            say("wh: nothing runs now; start something with: wh new --agent demo");
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
