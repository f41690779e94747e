//! Terminal UI of a space. [`run`] is the entry point: an ordinary client that mirrors the space, sends requests and
//! draws the state. Most other modules are pure functions from state and size to styled lines or cells.

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
