//! Which agents this run knows.

use std::path::Path;
use std::sync::Arc;

use wh_agents::{Agent, Catalog};

use crate::failure::{Failure, code};

/// The agents that are known to a run that works in this directory. Made once for each run.
pub fn catalog(_directory: &Path) -> Result<Catalog, Failure> {
    // Our own binary stands between wh and an agent's process, so that nothing of it outlives wh.
    let keeper = wh_pipe::keeper::own_command();
    let keeper = keeper.map_err(|error| Failure::new(code::FAILED, format!("wh cannot find itself: {error}")))?;
    Ok(Catalog::built_in(Some(keeper)))
}

/// The agent of this name, or which there are.
pub fn named(catalog: &Catalog, id: &str) -> Result<Arc<dyn Agent>, Failure> {
    catalog.by_id(id).ok_or_else(|| {
        let known = catalog.ids().join(", ");
        Failure::new(code::USAGE, format!("there is no agent {id:?}"))
            .hint(format!("choose one of {known}; any other program runs with `wh run -- PROGRAM`"))
    })
}
