//! Implements `wh logs`, which prints the conversation or the last output of a session.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::{LastScreenBody, ScreenBody, SessionKind};
use wh_wire::remote::HistoryEntry;

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::print::{clean, print, without_sequences};
use crate::target::TargetArguments;

/// Print the conversation of a session, or the last output of its program
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh logs a\n  wh logs a --json | jq -r '.[].text'", API_CODES))]
pub struct LogsCommand {
    /// Session name or id [default: the only run or session]
    #[arg(value_name = "SESSION")]
    named: Option<String>,

    /// Print only the newest N messages; 0 prints all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    limit: u32,

    #[command(flatten)]
    target: TargetArguments,
}

impl LogsCommand {
    pub fn run(self) -> Result<ExitCode, CliFailure> {
        let target = self.target.with_session(self.named)?;
        if let Some(text) = last_screen(&target)? {
            print(&(clean(text.trim_end()) + "\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let answer = target.ask("/history", &[("limit", &self.limit.to_string())])?;
        if answer.has_no_conversation() {
            let answer = target.get("screen", &[("history", "1")])?;
            return answer.show(target.json, |screen: ScreenBody| {
                let raw = screen.scrollback.raw.unwrap_or_default();
                clean(&without_sequences(&raw)).trim_end().to_owned() + "\n"
            });
        }
        answer.show(target.json, |entries: Vec<HistoryEntry>| {
            entries.iter().map(|entry| format!("{}: {}\n", entry.role, clean(&entry.text))).collect()
        })
    }
}

/// Returns the last stored screen of an ended terminal session. `None` for agents and for live sessions.
fn last_screen(target: &TargetArguments) -> Result<Option<String>, CliFailure> {
    if target.summary()?.is_none_or(|one| one.status.live || one.kind == SessionKind::Agent) {
        return Ok(None);
    }
    Ok(target.ask("/last_screen", &[])?.read::<LastScreenBody>().ok().map(|body| body.text))
}
