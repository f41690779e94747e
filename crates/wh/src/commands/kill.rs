//! Implements `wh kill`, which ends a session and all of its processes.

use std::process::ExitCode;

use clap::Args;
use wh_api::{EndQuery, Routes};

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::print::{json_line, print};
use crate::target::{ResponseTimeout, TargetArguments};

/// End a session and all of its processes
///
/// wh asks the session to exit, then terminates it, and finally kills it. The history of the session is kept unless
/// --forget is given.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh kill a\n  wh kill --now build\n  wh kill --forget a", API_CODES))]
pub struct KillCommand {
    /// Session name or id
    session: String,

    /// Kill the processes immediately
    #[arg(long)]
    now: bool,

    /// Delete the session's history too
    #[arg(long)]
    forget: bool,

    #[command(flatten)]
    answer: ResponseTimeout,

    /// Print the ended session as JSON on one line
    #[arg(long)]
    json: bool,
}

impl KillCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let daemon = TargetArguments::for_daemon(self.answer.timeout).daemon()?;
        daemon.daemon_health()?;
        let session = daemon.end_session(&self.session, EndQuery { now: self.now, forget: self.forget })?;
        if self.json {
            print(&json_line(&serde_json::json!(session).to_string()))?;
        } else {
            let how = session.status.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            print(&format!("{} has ended{how}\n", session.name))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
