//! Types and codecs of the protocols of Wheelhouse, one module per protocol. The crate performs no IO and reads no
//! clock.
//!
//! - [`claude`], [`codex`] and [`acp`] are the protocols of coding agents.
//! - [`hook`] is the protocol of hook processes: programs that a coding agent calls at its events.
//! - [`control`] and [`remote`] are the request and response bodies of the HTTP API.
//! - [`socket`] is the protocol of the daemon's socket, [`attach`] the frames of a terminal attached through it.
#![warn(missing_docs)]

pub mod acp;
pub mod attach;
pub mod claude;
pub mod codex;
pub mod control;
pub mod exit;
pub mod hook;
pub mod remote;
pub mod socket;
