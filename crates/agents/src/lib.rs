//! Drives coding agents. [`interface`] defines the interface between wh and an agent, and [`catalog`] lists the
//! available agents.

pub mod acp;
#[cfg(test)]
mod captures;
pub mod catalog;
pub mod claude;
pub mod codex;
pub mod driver;
pub mod hooks;
pub mod interface;
pub mod manage;
pub mod overflow;
pub mod program;
pub mod program_agent;
pub mod rpc;
pub mod table;
pub mod terminal;

pub use catalog::Catalog;
pub use interface::{Agent, AgentStartError, Harness, StartOptions};
