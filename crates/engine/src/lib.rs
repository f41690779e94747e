//! Runs sessions: terminal programs ([`terminal`]), conversations with agents ([`space`]), and their durable state
//! ([`store`]). One task owns each session; other code sends it requests through the handles of [`wh_client`].
//! [`control`] authorises, executes and audits control messages from other programs.

pub mod control;
pub mod ledger;
pub mod sessions;
pub mod space;
pub mod store;
pub mod terminal;
