//! Implements `wh key`, which presses keys in a run.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wh_core::input::KeyPress;

use super::send::send;
use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::target::TargetArguments;

/// Press keys in a run
///
/// A key is a name (enter, escape, tab, backspace, delete, up, pagedown, f5, space, …) or one character, with optional
/// prefixes ctrl+, alt+ and shift+. All keys are sent as one command, encoded for the program's current keyboard mode.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh key enter\n  wh key ctrl+a ctrl+k\n  wh key shift+tab down down enter", API_CODES))]
pub struct KeyCommand {
    /// Keys to press, in order. With several words, the first word selects the session if it is a session name or is
    /// not a key
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl KeyCommand {
    pub fn run(mut self) -> Result<ExitCode, CliFailure> {
        let session = match self.names.as_slice() {
            [first, _, ..] if first.parse::<KeyPress>().is_err() || self.target.is_live_session(first)? => {
                Some(self.names.remove(0))
            }
            [first] => {
                self.target.check_not_session(first, "wh key", "NAME")?;
                None
            }
            _ => None,
        };
        let target = self.target.with_session(session)?;
        send(&target, "send_input", &json!({ "keys": self.names }))
    }
}
