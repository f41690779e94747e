//! The proving ground: what Wheelhouse's own tests and its benchmark share. Nothing that ships depends on it.
//!
//! [`Wh`] is the program under test, asked over its [`http`] door. [`Tmux`] is a second opinion on what a terminal shows.
//! [`Lab`] runs the real agent CLIs against a scripted [`Model`], offline. [`once`] kills daemons and counts what arrived.
//! [`interrupts`] compares receipts of interrupted prompts with what the model delivered. [`terminal_interrupts`]
//! interrupts real terminal programs. [`line_agent`] is a scripted
//! agent for tests of the driver. All waiting goes through [`deadline`].
#![allow(clippy::disallowed_methods, reason = "it is no child subreaper, and ends what it starts")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "this crate runs in tests only, where a panic is a verdict and stderr is the report"
)]

mod chance;
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
pub mod terminal_interrupts;
pub mod tmux;
pub mod tools;
pub mod wh;

pub use deadline::{PATIENCE, eventually, eventually_within};
pub use lab::Lab;
pub use model::Model;
pub use tmux::Tmux;
pub use wh::Wh;
