//! `wh logs`.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::{LastScreenBody, ScreenBody, SessionKind};
use wh_wire::remote::HistoryEntry;

use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};
use crate::print::{clean, print, without_sequences};

/// Print what was said in a session, or the last output of its program
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh logs a\n  wh logs a --json | jq -r '.[].text'"))]
pub struct Logs {
    /// The session, by its name or id; without one it is the only run
    #[arg(value_name = "SESSION")]
    named: Option<String>,

    /// The newest so many messages; 0 is all of them
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    limit: u32,

    #[command(flatten)]
    door: DoorArguments,
}

impl Logs {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let door = self.door.onto(self.named)?;
        if let Some(text) = last_screen(&door)? {
            print(&(clean(text.trim_end()) + "\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let answer = door.ask("/history", &[("limit", &self.limit.to_string())])?;
        if answer.has_no_conversation() {
            let answer = door.get("screen", &[("history", "1")])?;
            return answer.show(door.json, |screen: ScreenBody| {
                let raw = screen.scrollback.raw.unwrap_or_default();
                clean(&without_sequences(&raw)).trim_end().to_owned() + "\n"
            });
        }
        answer.show(door.json, |entries: Vec<HistoryEntry>| {
            entries.iter().map(|entry| format!("{}: {}\n", entry.role, clean(&entry.text))).collect()
        })
    }
}

/// The last screen of a terminal session that was lost with an earlier daemon.
fn last_screen(door: &DoorArguments) -> Result<Option<String>, Failure> {
    if door.summary()?.is_none_or(|one| one.status.live || one.kind == SessionKind::Agent) {
        return Ok(None);
    }
    Ok(door.ask("/last_screen", &[])?.read::<LastScreenBody>().ok().map(|body| body.text))
}
