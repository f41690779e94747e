//! `wh key`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wh_core::input::KeyPress;

use super::send::send;
use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};

/// Press keys in a run
///
/// A key is a name (enter, escape, tab, backspace, delete, up, pagedown, f5, space, …) or one character, after any of ctrl+,
/// alt+ and shift+. All are sent as one command, as the program expects them now.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh key enter\n  wh key ctrl+a ctrl+k\n  wh key shift+tab down down enter"))]
pub struct Key {
    /// The keys, in order. A first word that is no key, or is what one of the daemon's sessions is called, is the session
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Key {
    pub fn run(mut self) -> Result<ExitCode, Failure> {
        let session = match self.names.as_slice() {
            [first, _, ..] if first.parse::<KeyPress>().is_err() || self.door.names_session(first)? => {
                Some(self.names.remove(0))
            }
            [first] => {
                self.door.nothing_for(first, "wh key", "NAME")?;
                None
            }
            _ => None,
        };
        let door = self.door.onto(session)?;
        send(&door, "send_input", &json!({ "keys": self.names }))
    }
}
