//! `wh screen`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use wh_screen::{cast, render};
use wh_wire::control::ScreenBody;

use super::play;

use crate::door::DoorArguments;
use crate::failure::{Failure, code, with_exit_codes};
use crate::print::{print, without_controls, without_sequences};

/// Lines above the screen, as `wh run` keeps them unless told otherwise: a screen that grows takes them back.
const HISTORY: usize = 2000;

/// Print the screen of a run
///
/// As text, without the blank lines at its end. Control characters never reach your terminal, unless --raw asks for them.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh screen\n  wh screen --cast run.cast --at 12.5\n  wh screen --raw > frame.ansi\n  wh screen --json | jq .cursor"
))]
pub struct Screen {
    /// The session of the daemon; without one it is the only run
    #[arg(value_name = "SESSION", conflicts_with = "cast")]
    named: Option<String>,

    /// The frame with its colours, as it is: escape sequences that draw it on a terminal of the same size
    #[arg(long, conflicts_with_all = ["json", "cells"])]
    raw: bool,

    /// As --json, with every cell: its text, width, colours and attributes
    #[arg(long)]
    cells: bool,

    /// The last output of the program instead of its screen; in JSON, beside it
    #[arg(long)]
    history: bool,

    /// The screen of this recording instead of a run's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "cells", "history", "url", "port"])]
    cast: Option<PathBuf>,

    /// The moment of the recording, in seconds; its end when absent
    #[arg(long, value_name = "SECS", requires = "cast")]
    at: Option<f64>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Screen {
    pub fn run(mut self) -> Result<ExitCode, Failure> {
        if let Some(path) = &self.cast {
            return self.recorded(path);
        }
        self.door = self.door.onto(self.named.take())?;
        let mut query = Vec::new();
        if self.cells {
            query.push(("format", "cells"));
        }
        if self.history {
            query.push(("history", "1"));
        }
        let answer = self.door.get("screen", &query)?;
        answer.show(self.door.json || self.cells, |screen: ScreenBody| {
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

impl Screen {
    fn recorded(&self, path: &Path) -> Result<ExitCode, Failure> {
        let cast = play::read(path)?;
        let at = match self.at.map(Duration::try_from_secs_f64).transpose() {
            Ok(at) => at.unwrap_or_else(|| cast.duration()),
            Err(_) => return Err(Failure::new(code::USAGE, "--at must be a number of seconds, for example 12.5")),
        };
        let frame = cast::screen_at(&cast, at, HISTORY).frame();
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
