//! `wh ls`.

use std::process::ExitCode;

use clap::Args;

use crate::door::table;
use crate::failure::{Failure, code, say, with_exit_codes};
use crate::print::{json_line, print};
use crate::runtime;

/// List the runs that have a control plane now
///
/// Finds every `wh run --control-port` of yours on this machine, by the files that they keep in the runtime directory.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh ls\n  wh ls --json | jq -r .url"))]
pub struct Ls {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Ls {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(code::FAILED, error);
        let runs = runtime::live().map_err(|error| failed(&error))?;
        if runs.is_empty() {
            say("wh: no run has a control plane now; start one with: wh run --control-port 0 -- PROGRAM");
        } else if self.json {
            let lines: Result<String, _> =
                runs.iter().map(|run| serde_json::to_string(run).map(|json| json_line(&json))).collect();
            print(&lines.map_err(|error| failed(&error))?)?;
        } else {
            print(&(table(&runs).join("\n") + "\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
