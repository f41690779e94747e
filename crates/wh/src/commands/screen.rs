//! `wh screen`.

use std::process::ExitCode;

use clap::Args;
use wh_wire::control::ScreenBody;

use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};
use crate::print::{clean, without_sequences};

/// Print the screen of a run
///
/// As text, without the blank lines at its end. Control characters never reach your terminal, unless --raw asks for them.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes(
    "  wh screen\n  wh screen --raw > frame.ansi\n  wh screen --json | jq .cursor"
))]
pub struct Screen {
    /// The frame with its colours, as it is: escape sequences that draw it on a terminal of the same size
    #[arg(long, conflicts_with_all = ["json", "cells"])]
    raw: bool,

    /// As --json, with every cell: its text, width, colours and attributes
    #[arg(long)]
    cells: bool,

    /// The last output of the program instead of its screen; in JSON, beside it
    #[arg(long)]
    history: bool,

    #[command(flatten)]
    door: DoorArguments,
}

impl Screen {
    pub fn run(self) -> Result<ExitCode, Failure> {
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

fn lines(text: &str) -> String {
    match text.trim_end_matches('\n') {
        "" => String::new(),
        text => clean(text) + "\n",
    }
}
