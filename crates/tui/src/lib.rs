//! What a person sees of a space in the terminal: input, update, view. A client like any other: it mirrors the space,
//! asks it for things, and draws. [`run`] is the whole of it; the parts below are pure, state and a size in, styled
//! lines or cells out.

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

pub use options::Options;
pub use run::{Error, Left, run};
