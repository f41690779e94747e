//! `wh ls`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::failure::{Failure, code};
use crate::runtime;

/// List the runs that have a control plane now
///
/// Finds every `wh run --control-port` of yours on this machine, by the files that they keep in the runtime directory.
#[derive(Debug, Args)]
pub struct Ls {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let runs = runtime::live().map_err(|error| Failure::new(code::FAILED, error))?;
        let mut out = std::io::stdout().lock();
        for run in runs {
            let line = if self.json {
                serde_json::to_string(&run).unwrap_or_default()
            } else {
                // Control characters in a command must not reach the terminal.
                let command: String = run
                    .command
                    .join(" ")
                    .chars()
                    .map(|character| if character.is_control() { '�' } else { character })
                    .collect();
                format!("{:<8} {:<28} {command}", run.pid, run.url)
            };
            if writeln!(out, "{line}").is_err() {
                break;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
