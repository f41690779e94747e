//! Codex, driven by `codex app-server`: JSON-RPC over pipes. Here its words become orders and reports.

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

use wh_pipe::Launch;

use crate::driver;
use crate::port::{Harness, Start, StartError};
use protocol::CodexProtocol;

pub(crate) const TITLE: &str = "Codex";

pub(crate) const LOG_IN: &str = "run `codex login`, or `codex login --with-api-key` with a key on its input";

/// How long a turn may be without a word while Codex works on nothing. Then its end was lost.
const SILENCE: Duration = Duration::from_secs(600);

/// Starts an app-server for a conversation.
pub(crate) fn start(mut launch: Launch, start: Start) -> Result<Harness, StartError> {
    launch.arguments.insert(0, "app-server".into());
    let mode = start.mode.as_deref().map(|mode| modes::find(mode, start.may_skip_permissions)).transpose()?;
    let may_skip = start.may_skip_permissions;
    Ok(Harness::run(|inside| {
        launch.leash = Some(inside.leash.clone());
        driver::run(CodexProtocol::new(launch, start, mode, SILENCE), may_skip, inside)
    }))
}
