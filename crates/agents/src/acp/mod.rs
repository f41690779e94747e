//! Agents that speak the Agent Client Protocol. Which there are is in the [`table`]; how they are spoken to is the same for
//! all of them, and what one can do is asked of the one that runs.

mod backlog;
mod conversation_files;
pub(crate) mod items;
mod manage;
mod protocol;
mod questions;
mod settings;
mod tools;

use std::sync::Arc;

use wh_pipe::Launch;

use crate::driver;
use crate::port::{ALLOW_SKIPPING, Harness, Start, StartError};
use crate::table;
pub(crate) use manage::conversations;
use protocol::AcpProtocol;
use table::Entry;

/// Starts an agent for a conversation.
pub(crate) fn start(entry: Arc<Entry>, mut launch: Launch, start: Start) -> Result<Harness, StartError> {
    if let Some(mode) = &start.mode {
        entry.allows(mode, start.may_skip_permissions)?;
    }
    let may_skip = start.may_skip_permissions;
    Ok(Harness::run(|inside| {
        launch.leash = Some(inside.leash.clone());
        driver::run(AcpProtocol::new(entry, launch, start), may_skip, inside)
    }))
}

impl Entry {
    /// Whether this mode asks for no permission.
    fn skips(&self, mode: &str) -> bool {
        self.skipping.iter().any(|one| one == mode)
    }

    fn allows(&self, mode: &str, may_skip: bool) -> Result<(), StartError> {
        if may_skip || !self.skips(mode) {
            return Ok(());
        }
        Err(StartError::SkipsPermissions {
            agent: self.title.clone(),
            mode: mode.to_owned(),
            hint: ALLOW_SKIPPING.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
