//! Hooks of agents that run in their own terminal UI: a listener for the messages of hook processes, and the changes to
//! a launch that make an agent call them. The same for all agents; `wh_wire::hook` has the types.

mod install;
mod listener;
mod origin;

#[cfg(test)]
mod tests;

pub use install::{CodexHooks, HookInstallError, HookInstallation, HookProgram, HookedLaunch};
pub use listener::{HookListener, HookResponder, IncomingHook};
