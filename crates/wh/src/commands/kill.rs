//! `wh kill`.

use std::process::ExitCode;

use clap::Args;
use wh_api::{EndQuery, Routes};

use crate::door::{AnswerTimeout, DoorArguments};
use crate::failure::{Failure, with_exit_codes};
use crate::print::{json_line, print};

/// End a session of the daemon and all that it started
///
/// First it is asked, then it is told, at last it is killed; what it said stays, until --forget.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh kill a\n  wh kill --now build\n  wh kill --forget a"))]
pub struct Kill {
    /// The session, by its name or id
    session: String,

    /// Kill it at once
    #[arg(long)]
    now: bool,

    /// Forget it too, with its history
    #[arg(long)]
    forget: bool,

    #[command(flatten)]
    answer: AnswerTimeout,

    /// Print how it ended as JSON on one line
    #[arg(long)]
    json: bool,
}

impl Kill {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let daemon = DoorArguments::for_daemon(self.answer.timeout).daemon()?;
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
