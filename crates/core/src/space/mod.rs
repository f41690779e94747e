//! Conversation of users and agents in a space. The state machine takes commands and reports, and returns events and
//! orders. The state of a space is computed only from its events: every subscriber can compute the same state.

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
