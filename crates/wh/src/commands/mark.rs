//! `wh mark`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::send::send;
use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};

/// Mark this moment of a run, for those who watch and in its recording
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh mark 'before the upgrade'"))]
pub struct Mark {
    /// The name of this moment
    #[arg(default_value = "")]
    label: String,

    #[command(flatten)]
    door: DoorArguments,
}

impl Mark {
    pub fn run(self) -> Result<ExitCode, Failure> {
        send(&self.door, "mark", &json!({ "label": self.label }))
    }
}
