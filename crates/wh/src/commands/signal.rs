//! `wh signal`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::send::send;
use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};

/// Send a signal to a run's program
///
/// HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP, TSTP or WINCH, with or without SIG. Pressing ctrl+c is something else: it
/// sends a byte, which the terminal turns into a signal only if the program left that on.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh signal TERM\n  wh signal INT --foreground"))]
pub struct Signal {
    /// Which signal
    name: String,

    /// To what is in the foreground of the terminal: under a shell, the job that runs now
    #[arg(long)]
    foreground: bool,

    #[command(flatten)]
    door: DoorArguments,
}

impl Signal {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let target = if self.foreground { "foreground" } else { "program" };
        send(&self.door, "signal", &json!({ "signal": self.name, "target": target }))
    }
}
