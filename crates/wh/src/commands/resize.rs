//! Implements `wh resize`, which resizes the terminal of a run.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wh_core::terminal::Size;

use super::send::send;
use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::target::TargetArguments;

/// Resize the terminal of a run
///
/// Refused while a real terminal is attached, because its window determines the size.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh resize 100x30", API_CODES))]
pub struct ResizeCommand {
    /// Columns and rows, from 2x1 to 1000x500
    #[arg(value_name = "COLSxROWS")]
    size: Size,

    #[command(flatten)]
    target: TargetArguments,
}

impl ResizeCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        send(&self.target, "resize", &json!({ "width": self.size.columns, "height": self.size.rows }))
    }
}
