//! `wh demo`.

use std::process::ExitCode;

use clap::Args;

use crate::demo;
use crate::failure::{Failure, code};

/// The built-in demonstration program, as `wh run --demo` runs it
///
/// A small full-screen program with something of everything that a control plane must cope with: an editor line, a
/// transcript, colours, wide characters, a spinner, the mouse. It needs a terminal.
#[derive(Debug, Args)]
pub struct Demo {
    /// Where its control plane is, to show how to drive it
    #[arg(long)]
    url: Option<String>,
}

impl Demo {
    pub fn run(self) -> Result<ExitCode, Failure> {
        demo::run(self.url.as_deref()).map_err(|error| {
            Failure::new(code::FAILED, format!("the demonstration needs a terminal: {error}"))
                .hint("run it as: wh run --demo --headless --control-port 9090")
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
