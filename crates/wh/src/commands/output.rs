//! `wh output`.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::OutputBody;

use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};
use crate::print::{clean, print, without_sequences};

/// Print all of what a tool gave, of what was said, or of what is asked, by the item's id
///
/// The UI shows so much of a long one, and says the id. The rest is kept while the agent runs, and the newest 67 MB of it.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh output i12 | less\n  wh output i12 --offset 50000\n  wh output i12 --raw > output.txt"))]
pub struct Output {
    /// The item's id, as i12
    #[arg(value_name = "ITEM")]
    item: String,

    /// From this byte on
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    offset: u64,

    /// As it is, with whatever a terminal would obey
    #[arg(long, conflicts_with = "json")]
    raw: bool,

    #[command(flatten)]
    door: DoorArguments,
}

impl Output {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let path = format!("items/{}/output", self.item.replace(['/', '?', '#', '%', ' '], "_"));
        let mut offset = self.offset;
        loop {
            let from = offset.to_string();
            let answer = self.door.get(&path, &[("offset", &from)])?;
            if self.door.json {
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
