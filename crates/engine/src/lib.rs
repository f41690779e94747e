//! Runs sessions: terminal programs ([`terminal`]), conversations with agents ([`space`]), and their durable state
//! ([`store`]). One task owns each session; other code reaches it through the handles of [`wh_client`]. [`control`]
//! admits, executes and audits the control messages of other programs.

pub mod control;
pub mod ledger;
pub mod sessions;
pub mod space;
pub mod store;
pub mod terminal;
