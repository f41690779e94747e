//! The small commands' side of the HTTP API: which run or session is meant, exit codes, and how an answer is printed. The calls
//! themselves are `wh_api`'s.

mod answer;
mod ask;
mod ended;
mod peer;
mod table;
mod target;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wh_api::deadline::ANSWER_TIMEOUT;

use crate::commands::duration;
use crate::failure::{Failure, code};

pub use answer::Answer;
pub use peer::{NOTICE_AFTER, OPTIONAL_ANSWER_TIMEOUT, Peer, answered};
pub use table::{session_table, table};

/// Options that name the run to ask.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Ask the run at this address, as http://127.0.0.1:9090. The first of these says which run: --url, --port, the
    /// variables WH_CONTROL_URL and WH_CONTROL_PORT; without any it is the only one that there is
    #[arg(long, value_name = "URL", help_heading = "Which run")]
    url: Option<String>,

    /// Ask the run with this port on this machine; `wh ls` lists them
    #[arg(long, value_name = "PORT", help_heading = "Which run")]
    port: Option<u16>,

    /// Ask this session of the daemon, by its name or id; `wh ls` lists them
    #[arg(short = 's', long, value_name = "SESSION", help_heading = "Which run")]
    session: Option<String>,

    /// Send the token in this file, which only you may be able to read. The variable WH_CONTROL_TOKEN does the same
    #[arg(long, value_name = "FILE", help_heading = "Which run")]
    token_file: Option<PathBuf>,
}

/// The option that limits the time for an answer.
#[derive(Debug, Clone, Copy, Args)]
pub struct AnswerTimeout {
    /// Fail if the daemon or the run does not answer within this time: 500ms, 10s, 2m
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

/// Which run is asked, and how its answer is shown.
#[derive(Debug, Args)]
pub struct DoorArguments {
    #[command(flatten)]
    run: RunArguments,

    #[command(flatten)]
    answer: AnswerTimeout,

    /// Print the run's answer as JSON on one line, an error too
    #[arg(long)]
    pub json: bool,
}

impl DoorArguments {
    /// Asks this run.
    pub fn new(run: RunArguments, json: bool) -> Self {
        Self { run, answer: AnswerTimeout { timeout: ANSWER_TIMEOUT }, json }
    }

    /// Asks the daemon itself, which has this long to answer.
    pub fn for_daemon(timeout: Duration) -> Self {
        let run = RunArguments { url: None, port: None, session: None, token_file: None };
        Self { run, answer: AnswerTimeout { timeout }, json: false }
    }

    /// The same, onto this session if one is given in the place of an argument.
    pub fn onto(mut self, session: Option<String>) -> Result<Self, Failure> {
        match (&self.run.session, session) {
            (Some(given), Some(other)) if *given != other => {
                Err(Failure::new(code::USAGE, format!("two sessions are named, {given:?} and {other:?}")))
            }
            (_, Some(session)) => {
                self.run.session = Some(session);
                Ok(self)
            }
            (_, None) => Ok(self),
        }
    }
}
