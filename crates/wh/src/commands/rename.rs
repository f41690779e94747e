//! `wh rename`.

use std::process::ExitCode;

use clap::Args;
use wh_api::Routes;

use crate::door::{AnswerTimeout, DoorArguments};
use crate::failure::{Failure, with_exit_codes};
use crate::print::print;

/// Give a session of the daemon another name
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh rename a tests"))]
pub struct Rename {
    /// The session, by its name or id
    session: String,

    /// What to call it
    name: String,

    #[command(flatten)]
    answer: AnswerTimeout,
}

impl Rename {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let daemon = DoorArguments::for_daemon(self.answer.timeout).daemon()?;
        daemon.rename_session(&self.session, &self.name)?;
        print(&format!("{} is called {} now\n", self.session, self.name))?;
        Ok(ExitCode::SUCCESS)
    }
}
