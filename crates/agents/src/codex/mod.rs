//! Drives Codex through `codex app-server`, which speaks JSON-RPC over pipes. Translates between Codex's messages and
//! wh's orders and reports.

mod calls;
pub(crate) mod items;
pub(crate) mod manage;
mod modes;
mod protocol;
mod questions;
#[cfg(test)]
mod tests;
mod tools;

use std::time::Duration;

use wh_pipe::LaunchSpec;

use crate::driver;
use crate::interface::{AgentStartError, Harness, StartOptions};
use protocol::CodexProtocol;

pub(crate) const TITLE: &str = "Codex";

pub(crate) const LOG_IN: &str = "run `codex login`, or `codex login --with-api-key` with the API key on standard input";

/// Time without messages during a turn after which wh checks the state of Codex. If Codex is idle then, the message
/// about the end of the turn was lost.
const TURN_SILENCE_TIMEOUT: Duration = Duration::from_secs(600);

/// Starts a harness that runs a Codex app-server for one conversation.
pub(crate) fn start(mut launch: LaunchSpec, start: StartOptions) -> Result<Harness, AgentStartError> {
    launch.arguments.insert(0, "app-server".into());
    let mode = start.mode.as_deref().map(|mode| modes::find(mode, start.may_skip_permissions)).transpose()?;
    let may_skip = start.may_skip_permissions;
    Ok(Harness::run(|task| {
        launch.kill_switch = Some(task.kill_switch.clone());
        driver::run(CodexProtocol::new(launch, start, mode, TURN_SILENCE_TIMEOUT), may_skip, task)
    }))
}
