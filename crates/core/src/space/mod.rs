//! State machine of a conversation with participants. It takes commands and reports, and returns events and orders. Its
//! state is the fold of the events, so that every subscriber can rebuild it.

pub mod bounds;
pub mod command;
pub mod envelope;
pub mod event;
pub mod extent;
pub mod harness;
pub mod item;
mod items;
pub mod machine;
mod name;
#[cfg(test)]
mod properties;
pub mod query;
pub mod question;
pub mod roster;
mod session;
pub mod state;
pub mod stored_item;
#[cfg(test)]
mod tests;

pub use items::{Items, MAX_ITEM_BYTES, MAX_ITEMS};
pub use name::{ItemId, ParticipantId, StreamId, TurnId};
