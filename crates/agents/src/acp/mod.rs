//! Drives agents that implement the Agent Client Protocol (ACP). All agents are driven in the same way, according to
//! the capabilities that the running agent reports. The [`table`] defines the agents.

mod conversation_files;
mod handshake_buffer;
pub(crate) mod items;
mod manage;
mod protocol;
mod questions;
mod settings;
pub(crate) mod tools;

use std::sync::Arc;

use wh_pipe::LaunchSpec;

use crate::driver;
use crate::interface::{ALLOW_SKIPPING, AgentStartError, Harness, StartOptions};
use crate::table;
pub(crate) use manage::conversations;
use protocol::AcpProtocol;
use table::AgentEntry;

/// Starts a harness that runs an ACP agent for one conversation.
pub(crate) fn start(
    entry: Arc<AgentEntry>,
    mut launch: LaunchSpec,
    start: StartOptions,
) -> Result<Harness, AgentStartError> {
    if let Some(mode) = &start.mode {
        entry.allows(mode, start.may_skip_permissions)?;
    }
    let may_skip = start.may_skip_permissions;
    Ok(Harness::run(|task| {
        launch.kill_switch = Some(task.kill_switch.clone());
        driver::run(AcpProtocol::new(entry, launch, start), may_skip, task)
    }))
}

impl AgentEntry {
    /// Returns true if the mode skips permissions.
    fn skips(&self, mode: &str) -> bool {
        self.skipping_modes.iter().any(|one| one == mode)
    }

    fn allows(&self, mode: &str, may_skip: bool) -> Result<(), AgentStartError> {
        if may_skip || !self.skips(mode) {
            return Ok(());
        }
        Err(AgentStartError::SkipsPermissions {
            agent: self.title.clone(),
            mode: mode.to_owned(),
            hint: ALLOW_SKIPPING.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
