//! Implements `wh screen`, which prints the screen of a run or of a recording.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use wh_screen::{cast, render};
use wh_wire::control::ScreenBody;

use super::play;

use crate::failure::{API_CODES, CliFailure, code, with_exit_codes};
use crate::print::{print, without_controls, without_sequences};
use crate::target::TargetArguments;

/// Number of scrollback lines stored while a recording is replayed, the same as the default of `wh run`. When the
/// recorded screen grows, these lines become visible again.
const RECORDING_SCROLLBACK_LINES: usize = 2000;

/// Print the screen of a run
///
/// Prints plain text without trailing blank lines. Control characters are replaced by U+FFFD unless --raw is given.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh screen\n  wh screen --cast run.cast --at 12.5\n  wh screen --raw > frame.ansi\n  wh screen --json | jq .cursor", API_CODES
))]
pub struct ScreenCommand {
    /// Session name or id [default: the only run or session]
    #[arg(value_name = "SESSION", conflicts_with = "cast")]
    named: Option<String>,

    /// Print the screen with escape sequences, for a terminal of the same size
    #[arg(long, conflicts_with_all = ["json", "cells"])]
    raw: bool,

    /// Print JSON with every cell: text, width, colours and attributes
    #[arg(long)]
    cells: bool,

    /// Print the last output of the program instead of its screen; with --json, print both
    #[arg(long)]
    history: bool,

    /// Print the screen of a recording instead of a run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "cells", "history", "url", "port"])]
    cast: Option<PathBuf>,

    /// Time in the recording, in seconds [default: end of the recording]
    #[arg(long, value_name = "SECS", requires = "cast")]
    at: Option<f64>,

    #[command(flatten)]
    target: TargetArguments,
}

impl ScreenCommand {
    pub fn run(mut self) -> Result<ExitCode, CliFailure> {
        if let Some(path) = &self.cast {
            return self.recorded(path);
        }
        self.target = self.target.with_session(self.named.take())?;
        let mut query = Vec::new();
        if self.cells {
            query.push(("format", "cells"));
        }
        if self.history {
            query.push(("history", "1"));
        }
        let answer = self.target.get("screen", &query)?;
        answer.show(self.target.json || self.cells, |screen: ScreenBody| {
            let history = screen.scrollback.raw.filter(|_| self.history);
            match (history, self.raw) {
                (Some(output), true) => output,
                (Some(output), false) => lines(&without_sequences(&output)),
                (None, true) => screen.raw,
                (None, false) => lines(&screen.plain),
            }
        })
    }
}

impl ScreenCommand {
    fn recorded(&self, path: &Path) -> Result<ExitCode, CliFailure> {
        let cast = play::read(path)?;
        let at = match self.at.map(Duration::try_from_secs_f64).transpose() {
            Ok(at) => at.unwrap_or_else(|| cast.duration()),
            Err(_) => return Err(CliFailure::new(code::USAGE, "--at must be a number of seconds, for example 12.5")),
        };
        let frame = cast::screen_at(&cast, at, RECORDING_SCROLLBACK_LINES).frame();
        print(&if self.raw { render::ansi(&frame) } else { lines(&render::plain(&frame)) })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn lines(text: &str) -> String {
    match text.trim_end_matches('\n') {
        "" => String::new(),
        text => without_controls(text) + "\n",
    }
}
