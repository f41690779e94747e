//! Implements `wh rename`, which renames a session.

use std::process::ExitCode;

use clap::Args;
use wh_api::Routes;

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::print::print;
use crate::target::{ResponseTimeout, TargetArguments};

/// Rename a session
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh rename a tests", API_CODES))]
pub struct RenameCommand {
    /// Session name or id
    session: String,

    /// New session name
    name: String,

    #[command(flatten)]
    answer: ResponseTimeout,
}

impl RenameCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let daemon = TargetArguments::for_daemon(self.answer.timeout).daemon()?;
        daemon.rename_session(&self.session, &self.name)?;
        print(&format!("renamed {} to {}\n", self.session, self.name))?;
        Ok(ExitCode::SUCCESS)
    }
}
