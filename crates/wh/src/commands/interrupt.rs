//! `wh interrupt`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use wh_wire::control::DoneBody;

use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};

/// Interrupt an agent or a terminal program
///
/// An agent ends its turn. A terminal program gets what Ctrl-C would give it, past all input that it has not read, which is
/// discarded.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh interrupt a\n  wh interrupt --port 9090"))]
pub struct Interrupt {
    /// The session; without one it is the only run
    #[arg(value_name = "SESSION")]
    named: Option<String>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Interrupt {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let door = self.door.onto(self.named)?;
        let answer = door.post("interrupt", &json!({}), Duration::ZERO)?;
        answer.show(door.json, |_: DoneBody| "interrupted\n".to_owned())
    }
}
