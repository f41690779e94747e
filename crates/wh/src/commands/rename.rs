//! `wh rename`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hyper::Method;
use serde_json::json;

use crate::door::{AnswerTimeout, DoorArguments, percent_encoded};
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
        let path = format!("/sessions/{}", percent_encoded(&self.session));
        let body = json!({ "name": self.name });
        let door = DoorArguments::for_daemon(self.answer.timeout);
        door.daemon_call(Method::PATCH, &path, Some(&body), Duration::ZERO)?;
        print(&format!("{} is called {} now\n", self.session, self.name))?;
        Ok(ExitCode::SUCCESS)
    }
}
