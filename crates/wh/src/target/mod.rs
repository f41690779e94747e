//! Client side of the HTTP API for commands: selects the run or session, maps statuses to exit codes and prints
//! responses. `wh_api` sends the requests.

mod ended_run;
mod requests;
mod resolve;
mod response;
mod server_process;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wh_api::deadline::ANSWER_TIMEOUT;

use crate::commands::duration;
use crate::failure::{CliFailure, code};

pub use response::ApiResponse;
pub use server_process::{NOTICE_DELAY, OPTIONAL_ANSWER_TIMEOUT, ServerProcess, answered};
pub use table::{session_table, table};

/// Options that select a run or session.
#[derive(Debug, Args)]
pub struct RunSelector {
    /// URL of the run, e.g. http://127.0.0.1:9090. Precedence: --url, --port, WH_CONTROL_URL, WH_CONTROL_PORT, the only
    /// run or session
    #[arg(long, value_name = "URL", help_heading = "Run or session")]
    url: Option<String>,

    /// Port of the run on this machine; `wh ls` lists runs
    #[arg(long, value_name = "PORT", help_heading = "Run or session")]
    port: Option<u16>,

    /// Name or id of a session of the daemon; `wh ls` lists sessions
    #[arg(short = 's', long, value_name = "SESSION", help_heading = "Run or session")]
    session: Option<String>,

    /// Send the API token in FILE, which must be readable only by you. The environment variable WH_CONTROL_TOKEN does
    /// the same
    #[arg(long, value_name = "FILE", help_heading = "Run or session")]
    token_file: Option<PathBuf>,
}

/// Option that limits the time for a response.
#[derive(Debug, Clone, Copy, Args)]
pub struct ResponseTimeout {
    /// Fail if the daemon or run does not answer within this time, e.g. 500ms, 10s or 2m
    #[arg(
        id = "answer_timeout",
        long = "timeout",
        value_name = "TIME",
        default_value = "10s",
        env = "WH_ANSWER_TIMEOUT",
        value_parser = duration
    )]
    pub timeout: Duration,
}

/// Options that select a run or session and the output format.
#[derive(Debug, Args)]
pub struct TargetArguments {
    #[command(flatten)]
    run: RunSelector,

    #[command(flatten)]
    answer: ResponseTimeout,

    /// Print the response as JSON on one line, including errors
    #[arg(long)]
    pub json: bool,
}

impl TargetArguments {
    pub fn new(run: RunSelector, json: bool) -> Self {
        Self { run, answer: ResponseTimeout { timeout: ANSWER_TIMEOUT }, json }
    }

    /// Selects the daemon itself.
    pub fn for_daemon(timeout: Duration) -> Self {
        let run = RunSelector { url: None, port: None, session: None, token_file: None };
        Self { run, answer: ResponseTimeout { timeout }, json: false }
    }

    /// Selects the session of a positional argument, if there is one. Fails if `--session` names another session.
    pub fn with_session(mut self, session: Option<String>) -> Result<Self, CliFailure> {
        match (&self.run.session, session) {
            (Some(given), Some(other)) if *given != other => {
                Err(CliFailure::new(code::USAGE, format!("two sessions given: {given:?} and {other:?}")))
            }
            (_, Some(session)) => {
                self.run.session = Some(session);
                Ok(self)
            }
            (_, None) => Ok(self),
        }
    }
}
