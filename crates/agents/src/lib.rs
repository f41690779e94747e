//! Who does the work. [`port`] says what wh asks of an agent, whatever it is and however it speaks; [`catalog`] lists
//! the agents that there are.

pub mod acp;
#[cfg(test)]
mod captures;
pub mod catalog;
pub mod claude;
pub mod codex;
pub mod driver;
pub mod kept;
pub mod manage;
pub mod port;
pub mod program;
pub mod program_agent;
pub mod rpc;
pub mod table;

pub use catalog::Catalog;
pub use port::{Agent, Harness, Start, StartError};
