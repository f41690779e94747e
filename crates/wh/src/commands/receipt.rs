//! Implements `wh receipt`, which shows the delivery status of a message or command.

use std::process::ExitCode;

use clap::Args;
use wh_api::percent_encoded;
use wh_wire::control::ReceiptBody;

use crate::failure::{API_CODES, CliFailure, with_exit_codes};
use crate::target::TargetArguments;

/// Show the delivery status of a message or command
///
/// Stages: accepted, delivered, submitted, started and finished, or failed with a reason. The daemon stores receipts of
/// commands from wh, HTTP and the socket, so they survive a restart.
#[derive(Debug, Args)]
#[command(after_help = with_exit_codes("  wh receipt a r1\n  wh receipt r1 --port 9090\n  wh receipt a r1 --json | jq -r .stage", API_CODES))]
#[command(override_usage = "wh receipt [OPTIONS] [SESSION] <REQUEST_ID>")]
pub struct ReceiptCommand {
    /// Session and request id. Without SESSION, the only run or session is used
    #[arg(value_names = ["SESSION", "REQUEST_ID"], num_args = 1..=2, required = true)]
    words: Vec<String>,

    #[command(flatten)]
    target: TargetArguments,
}

impl ReceiptCommand {
    pub fn run(mut self) -> Result<ExitCode, CliFailure> {
        let id = self.words.pop().unwrap_or_default();
        if self.words.is_empty() {
            self.target.check_not_session(&id, "wh receipt", "REQUEST_ID")?;
        }
        let target = self.target.with_session(self.words.pop())?;
        let path = format!("receipts/{}", percent_encoded(&id));
        target.get(&path, &[])?.show(target.json, |receipt: ReceiptBody| {
            let reached = receipt.reached.iter().map(|one| format!("{}  {}\n", one.at, one.stage));
            let reason = receipt.reason.map(|reason| format!("reason: {reason}\n"));
            reached.chain(reason).collect()
        })
    }
}
