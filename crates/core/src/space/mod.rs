//! A conversation with participants, as a machine: commands and reports go in, events and orders come out. Its state is
//! the fold of those events, so that everybody who hears them knows the same.

pub mod bounds;
pub mod command;
pub mod envelope;
pub mod event;
pub mod extent;
pub mod harness;
pub mod item;
mod items;
pub mod kept;
pub mod machine;
mod name;
#[cfg(test)]
mod properties;
pub mod query;
pub mod question;
pub mod roster;
mod session;
pub mod state;
#[cfg(test)]
mod tests;

pub use items::{Items, MOST_BYTES, MOST_ITEMS};
pub use name::{ItemId, ParticipantId, StreamId, TurnId};
