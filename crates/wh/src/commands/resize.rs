//! `wh resize`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wh_core::terminal::Size;

use super::send::send;
use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};

/// Change the size of a run's terminal
///
/// Refused while a person's terminal is attached: its window decides.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh resize 100x30"))]
pub struct Resize {
    /// Columns and rows, from 2x1 to 1000x500
    #[arg(value_name = "COLSxROWS")]
    size: Size,

    #[command(flatten)]
    door: DoorArguments,
}

impl Resize {
    pub fn run(self) -> Result<ExitCode, Failure> {
        send(&self.door, "resize", &json!({ "width": self.size.columns, "height": self.size.rows }))
    }
}
