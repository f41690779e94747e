//! Who does the work. [`port`] says what wh asks of an agent, whatever it is and however it speaks; [`catalog`] lists
//! the agents that there are. [`demo`] is one that is always there.

pub mod acp;
mod backlog;
#[cfg(test)]
mod captures;
pub mod catalog;
pub mod claude;
pub mod codex;
pub mod demo;
pub mod kept;
pub mod manage;
mod meanwhile;
pub mod port;
pub mod program;
pub mod rpc;

pub use catalog::Catalog;
pub use port::{Agent, Harness, Start, StartError};
