//! `wh receipt`.

use std::process::ExitCode;

use clap::Args;
use wh_api::percent_encoded;
use wh_wire::control::ReceiptBody;

use crate::door::DoorArguments;
use crate::failure::{Failure, with_exit_codes};

/// Print what became of a message or command, by its request id
///
/// The stages are accepted, delivered, submitted, started and finished, or failed with a reason. In the daemon a receipt is
/// stored: it is known after a restart too, whether the command came by wh, HTTP or the socket.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh receipt a r1\n  wh receipt r1 --port 9090\n  wh receipt a r1 --json | jq -r .stage"))]
pub struct Receipt {
    /// The session, and the request id. Without a session it is the only run
    #[arg(value_names = ["SESSION", "REQUEST_ID"], num_args = 1..=2, required = true)]
    words: Vec<String>,

    #[command(flatten)]
    door: DoorArguments,
}

impl Receipt {
    pub fn run(mut self) -> Result<ExitCode, Failure> {
        let id = self.words.pop().unwrap_or_default();
        if self.words.is_empty() {
            self.door.nothing_for(&id, "wh receipt", "REQUEST_ID")?;
        }
        let door = self.door.onto(self.words.pop())?;
        let path = format!("receipts/{}", percent_encoded(&id));
        door.get(&path, &[])?.show(door.json, |receipt: ReceiptBody| {
            let reached = receipt.reached.iter().map(|one| format!("{}  {}\n", one.at, one.stage));
            let reason = receipt.reason.map(|reason| format!("reason: {reason}\n"));
            reached.chain(reason).collect()
        })
    }
}
