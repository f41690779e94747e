//! Who does the work. [`port`] says what wh asks of an agent, whatever it is and however it speaks; [`known`] lists the
//! agents that there are. [`demo`] is one that is always there.

pub mod demo;
pub mod port;

use std::sync::Arc;

pub use port::{Agent, Harness, Start, StartError};

/// Every agent that wh knows, installed or not, in the order in which to offer them.
pub fn known() -> Vec<Arc<dyn Agent>> {
    vec![Arc::new(demo::Demo::default())]
}

/// The agent of this id.
pub fn by_id(id: &str) -> Option<Arc<dyn Agent>> {
    known().into_iter().find(|agent| agent.facts().id == id)
}
