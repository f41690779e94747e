//! Implements `wh demo`, which runs the built-in demo program.

use std::process::ExitCode;

use clap::Args;

use crate::demo;
use crate::failure::{CliFailure, code};

/// Run the built-in demo program, which `wh run --demo` also runs
///
/// Use this small full-screen program to test automation. It has an input line, a transcript, colours, wide characters,
/// a spinner and mouse input. The program needs a terminal.
#[derive(Debug, Args)]
pub struct DemoCommand {
    /// URL of an HTTP API to show in the demo's example command
    #[arg(long)]
    url: Option<String>,
}

impl DemoCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        demo::run(self.url.as_deref()).map_err(|error| {
            CliFailure::new(code::FAILED, format!("the demo needs a terminal: {error}"))
                .hint("without a terminal, use: wh run --demo --headless --control-port 9090")
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
