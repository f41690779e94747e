//! Test support shared by Wheelhouse's tests and benchmarks. No released crate depends on it.
//!
//! [`Wh`] runs the program under test and sends requests to its [`http`] API. [`Tmux`] is a reference terminal. [`Lab`]
//! runs the real agent CLIs offline against a [`ScriptedModel`]. [`once`] kills daemons and checks that each message is
//! delivered exactly once. [`interrupts`] compares the receipts of interrupted prompts with the log of the model.
//! [`terminal_interrupts`] interrupts real terminal programs. [`truth`] sends messages to agents in their own terminal UI
//! at hostile moments. [`line_agent`] is a scripted agent for tests of the agent driver. [`deadline`] waits for
//! conditions.
#![allow(clippy::disallowed_methods, reason = "tests are not child subreapers and end the processes that they start")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "this crate runs only in tests, which report failures by panics and on stderr"
)]

pub mod deadline;
pub mod disk;
pub mod http;
pub mod interrupts;
pub mod lab;
pub mod line_agent;
pub mod model;
pub mod once;
mod output;
pub mod process;
mod random;
pub mod terminal_interrupts;
pub mod tmux;
pub mod tools;
pub mod truth;
pub mod wh;

pub use deadline::{CONDITION_TIMEOUT, eventually, eventually_within};
pub use lab::Lab;
pub use model::ScriptedModel;
pub use tmux::Tmux;
pub use wh::Wh;
