//! Who does the work. [`port`] says what wh asks of an agent, whatever it is and however it speaks; [`known`] lists the
//! agents that there are. [`demo`] is one that is always there.

pub mod acp;
pub mod claude;
pub mod codex;
pub mod demo;
pub mod port;
pub mod rpc;

use std::ffi::OsString;
use std::sync::Arc;

pub use port::{Agent, Harness, Start, StartError};

/// Every agent that wh knows, installed or not, in the order in which to offer them. `keeper` is the command that stands
/// in front of those that are processes, so that nothing of them outlives wh (see `wh_pipe::keeper`).
pub fn known(keeper: Option<Vec<OsString>>) -> Vec<Arc<dyn Agent>> {
    let acp = acp::table::AGENTS.map(|entry| Arc::new(acp::Acp { entry, keeper: keeper.clone() }) as Arc<dyn Agent>);
    let mut known: Vec<Arc<dyn Agent>> = vec![
        Arc::new(demo::Demo::default()),
        Arc::new(claude::Claude { keeper: keeper.clone() }),
        Arc::new(codex::Codex { keeper }),
    ];
    known.extend(acp);
    known
}

/// The agent of this id.
pub fn by_id(id: &str, keeper: Option<Vec<OsString>>) -> Option<Arc<dyn Agent>> {
    known(keeper).into_iter().find(|agent| agent.facts().id == id)
}
