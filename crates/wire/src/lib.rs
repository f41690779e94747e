//! What is said: one file per protocol, with its types and codecs. No IO, no clock.

pub mod acp;
pub mod attach;
pub mod claude;
pub mod codex;
pub mod control;
pub mod exit;
pub mod remote;
pub mod socket;
