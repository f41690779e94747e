//! Implements `wh mark`, which adds a marker to the events and the recording of a run.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::send::send;
use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::target::TargetArguments;

/// Add a marker to the event stream and the recording of a run
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh mark 'before the upgrade'", API_CODES))]
pub struct MarkCommand {
    /// Label of the marker
    #[arg(default_value = "")]
    label: String,

    #[command(flatten)]
    target: TargetArguments,
}

impl MarkCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        send(&self.target, "mark", &json!({ "label": self.label }))
    }
}
