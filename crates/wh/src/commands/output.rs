//! Implements `wh output`, which prints the full output of a tool call, message or question.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::OutputBody;

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::print::{clean, print, without_sequences};
use crate::target::TargetArguments;

/// Print the full output of a tool call, message or question
///
/// The UI truncates long output and shows its id. While an agent runs, wh stores the newest 64 MiB of its output.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh output i12 | less\n  wh output i12 --offset 50000\n  wh output i12 --raw > output.txt", API_CODES))]
pub struct OutputCommand {
    /// Item id, e.g. i12
    #[arg(value_name = "ITEM")]
    item: String,

    /// Start at this byte
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    offset: u64,

    /// Do not remove escape sequences and control characters
    #[arg(long, conflicts_with = "json")]
    raw: bool,

    #[command(flatten)]
    target: TargetArguments,
}

impl OutputCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let path = format!("items/{}/output", self.item.replace(['/', '?', '#', '%', ' '], "_"));
        let mut offset = self.offset;
        loop {
            let from = offset.to_string();
            let answer = self.target.get(&path, &[("offset", &from)])?;
            if self.target.json {
                return answer.show(true, |body: OutputBody| body.text);
            }
            let body: OutputBody = answer.body()?;
            print(&if self.raw { body.text } else { clean(&without_sequences(&body.text)) })?;
            match body.next.filter(|next| *next > offset) {
                Some(next) => offset = next,
                None => return Ok(ExitCode::SUCCESS),
            }
        }
    }
}
