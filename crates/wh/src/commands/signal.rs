//! Implements `wh signal`, which sends a signal to a run's program.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::send::send;
use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::target::TargetArguments;

/// Send a signal to a run's program
///
/// Signals: HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP, TSTP or WINCH, with or without the prefix SIG. In
/// contrast, `wh key ctrl+c` sends a byte. The terminal converts this byte to SIGINT unless the program has disabled
/// the conversion.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh signal TERM\n  wh signal INT --foreground", API_CODES))]
pub struct SignalCommand {
    /// Name of the signal
    name: String,

    /// Send the signal to the foreground process group of the terminal: in a shell, the running job
    #[arg(long)]
    foreground: bool,

    #[command(flatten)]
    target: TargetArguments,
}

impl SignalCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let target = if self.foreground { "foreground" } else { "program" };
        send(&self.target, "signal", &json!({ "signal": self.name, "target": target }))
    }
}
