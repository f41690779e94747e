//! Terminal UI of a space: input, update, view. It is an ordinary client that mirrors the space, sends it requests and
//! draws it. [`run`] is the entry point; all other modules are pure functions from state and size to styled lines or
//! cells.

mod app;
pub mod bell;
mod call;
mod composer;
pub mod diff;
pub mod keymap;
mod markdown;
mod options;
mod paint;
mod panes;
mod picker;
mod run;
pub mod theme;
mod transcript;
mod view;
mod wrap;

pub use options::TuiOptions;
pub use run::{TuiError, TuiExit, run};
