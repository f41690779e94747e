//! Implements `wh interrupt`, which interrupts an agent or a terminal program.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_wire::control::DoneBody;

use crate::failure::{CliFailure, code, with_exit_codes};
use crate::target::TargetArguments;

/// Interrupt the agent, or send Ctrl-C to a terminal program
///
/// An agent ends its turn. For a terminal program, pending input is discarded and Ctrl-C is delivered at once.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh interrupt a\n  wh interrupt --port 9090",
    &[code::TIMEOUT, code::REFUSED, code::UNAUTHORISED, code::UNREACHABLE]
))]
pub struct InterruptCommand {
    /// Session name or id [default: the only run or session]
    #[arg(value_name = "SESSION")]
    named: Option<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl InterruptCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let target = self.target.with_session(self.named)?;
        let answer = target.post("interrupt", &json!({}), Duration::ZERO)?;
        answer.show(target.json, |_: DoneBody| "interrupted\n".to_owned())
    }
}
